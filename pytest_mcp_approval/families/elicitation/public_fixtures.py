"""Fixtures of this family for users' own tests. Loaded with the plugin: imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ...target import Target
    from .driver import Elicitation


@pytest.fixture
def approval_elicitation(approval_turn: Target) -> Iterator[Elicitation]:
    """The tools of the server that ask by elicitation: call, look at the question, answer."""
    import contextlib

    from .driver import Elicitation

    with contextlib.closing(Elicitation(approval_turn)) as driver:
        yield driver
