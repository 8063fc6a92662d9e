"""Hypothesis strategies for property tests of your own: what exploration draws from.

Needs the extra `explore`. docs/exploration.md has examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from ..families.base.exploration import AnyChange, Choice, Parameter, Transition, Whole
from ..families.base.message_changes import KINDS

_FURTHEST = 400
_MOST_PLACES = 40


def changes() -> st.SearchStrategy[dict[str, Any]]:
    """Changes of a message, as data (`families.base.message_changes`)."""
    return st.fixed_dictionaries(
        {
            "kind": st.sampled_from(KINDS),
            "place": st.integers(0, _MOST_PLACES),
            "at": st.integers(0, _FURTHEST),
        }
    )


def parameter(one: Parameter) -> st.SearchStrategy[Any]:
    """The values of a transition's parameter."""
    if isinstance(one, Choice):
        return st.sampled_from(one.values)
    if isinstance(one, Whole):
        return st.integers(one.least, one.most)
    assert isinstance(one, AnyChange)
    return changes()


def parameters(transition: Transition) -> Mapping[str, st.SearchStrategy[Any]]:
    return {name: parameter(one) for name, one in transition.parameters.items()}
