"""Hypothesis strategies for property tests of your own: what explorations draw from.

    from hypothesis import given
    from pytest_mcp_approval.explore import strategies as approvals

    @given(request=approvals.requests({"toolName": "place_trade", "arguments": {"quantity": 1}}))
    def test_the_door_takes_anything(request): ...

Needs the extra `explore`; docs/exploration.md has examples. Knows no server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from virtual_authenticator import Authenticator, profiles
from virtual_authenticator.faults import FAULTS, Fault, fault

from ..families.base.exploration import AnyChange, OneOf, Parameter, Step, Transition, Whole
from ..families.base.message_changes import (
    KINDS,
    ODD_VALUES,
    CannotChangeError,
    Changed,
    change_params,
)
from ..families.sep2672.driver import Challenge, Passkey
from .findings import model_of

__all__ = [
    "DrawnEvidence",
    "authenticators",
    "changes",
    "evidence",
    "faults",
    "json_values",
    "requests",
    "tokens",
    "walks",
]

_FURTHEST = 400
_MOST_PLACES = 40
_COUNTERS: tuple[Mapping[str, Any], ...] = (
    {"kind": "zero"},
    {"kind": "global", "start": 1},
    {"kind": "per-credential", "start": 0},
    {"kind": "per-credential", "start": 98, "step": 33_000},
    {"kind": "overflow", "lead": 2},
)
_TRANSPORTS = ("usb", "nfc", "ble", "hybrid", "internal", "smart-card")


def json_values() -> st.SearchStrategy[Any]:
    """JSON values of every type, with numbers and texts that careless code stumbles over."""
    odd = [json.loads(text) for text in ODD_VALUES if text not in ("NaN", "1e400", "-1e400")]
    leaves = st.sampled_from(odd) | st.integers() | st.floats(allow_nan=False) | st.text()
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=8,
    )


def changes() -> st.SearchStrategy[dict[str, Any]]:
    """Changes of a message, as data that a walk can keep."""
    return st.fixed_dictionaries(
        {
            "kind": st.sampled_from(KINDS),
            "place": st.integers(0, _MOST_PLACES),
            "at": st.integers(0, _FURTHEST),
        }
    )


def requests(params: Mapping[str, Any]) -> st.SearchStrategy[Changed]:
    """An honest request's params with one change: types swapped, members dropped, doubled, renamed,
    numbers and texts of every kind. `.params` may hold `RawJson`; `.words` says what was done."""

    def changed(change: Mapping[str, Any]) -> Changed | None:
        try:
            return change_params(params, change)
        except CannotChangeError:
            return None

    in_params = changes().filter(lambda change: change["kind"] != "body")
    found = in_params.map(changed).filter(lambda one: one is not None)
    return found.map(lambda one: one)  # type: ignore[arg-type,return-value]


def faults() -> st.SearchStrategy[Fault]:
    """What an authenticator, a client or an attacker can get wrong."""
    return st.sampled_from(sorted(FAULTS)).map(fault)


@st.composite
def authenticators(draw: st.DrawFn) -> Authenticator:
    """Devices of any shape: every profile, with any transports and any honest counter."""
    given: dict[str, Any] = {}
    if draw(st.booleans()):
        given["transports"] = draw(
            st.lists(st.sampled_from(_TRANSPORTS), min_size=1, max_size=4, unique=True)
        )
    if draw(st.booleans()):
        given["counter"] = draw(st.sampled_from(_COUNTERS))
    verifying = sorted(name for name, one in profiles().items() if one.verifies)
    return Authenticator(draw(st.sampled_from(verifying)), **given)


@dataclass(frozen=True)
class DrawnEvidence:
    """Evidence of SEP-2672, and what was done to it."""

    value: Any
    words: str
    honest: bool


@st.composite
def evidence(draw: st.DrawFn, passkey: Passkey, challenge: Challenge) -> DrawnEvidence:
    """Evidence for a challenge: as it should be, signed with a fault that every verifier finds, or
    with one change of its JSON."""
    kind = draw(st.sampled_from(("honest", "faulty", "changed")))
    if kind == "faulty":
        name = draw(st.sampled_from(("signature-bit", "wrong-origin", "wrong-challenge")))
        return DrawnEvidence(passkey.sign(challenge, faults=name), name, honest=False)
    genuine = passkey.sign(challenge)
    if kind == "honest":
        return DrawnEvidence(genuine, "as it should be", honest=True)
    changed = draw(requests(genuine))
    return DrawnEvidence(changed.params, changed.words, honest=False)


@st.composite
def tokens(draw: st.DrawFn, token: str) -> str:
    """Texts that are nearly this token, and never it."""
    place = draw(st.integers(0, max(0, len(token) - 1)))
    character = draw(st.characters(min_codepoint=33, max_codepoint=126))
    ways: Sequence[str] = (
        token[:place],
        token[:place] + character + token[place + 1 :],
        token[:place] + character + token[place:],
        token[place:] + token[:place],
        token.swapcase(),
        f"{token}{token}",
        f" {token}",
    )
    made = draw(st.sampled_from(ways))
    return made if made != token else f"{token}{character}"


def walks(family: str, longest: int = 20) -> st.SearchStrategy[list[Step]]:
    """Walks over a family's model, for `run_walk`, which leaves out steps that are not possible."""
    every = [
        st.tuples(st.just(one.name), st.fixed_dictionaries(dict(parameters(one))))
        for one in model_of(family).transitions.values()
        for _ in range(one.weight)
    ]
    return st.lists(st.one_of(every), max_size=longest)


# ---- for the machine


def parameter(one: Parameter) -> st.SearchStrategy[Any]:
    """The values of a transition's parameter."""
    if isinstance(one, OneOf):
        return st.sampled_from(one.values)
    if isinstance(one, Whole):
        return st.integers(one.least, one.most)
    assert isinstance(one, AnyChange)
    return changes()


def parameters(transition: Transition) -> Mapping[str, st.SearchStrategy[Any]]:
    return {name: parameter(one) for name, one in transition.parameters.items()}
