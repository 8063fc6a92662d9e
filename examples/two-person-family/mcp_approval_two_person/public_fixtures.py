"""Fixtures for users' own tests. Loaded with pytest, so nothing heavy is imported early."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_mcp_approval import Target

    from .driver import TwoPerson


@pytest.fixture
def approval_two_person(approval_turn: Target) -> TwoPerson:
    """The two-person rule with the server: request, approve."""
    from .driver import TwoPerson

    return TwoPerson(approval_turn)
