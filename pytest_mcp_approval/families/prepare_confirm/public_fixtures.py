"""Fixtures of this family for users' own tests. Loaded with the plugin: imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ...target import Target
    from .driver import PrepareConfirm


@pytest.fixture
def approval_two_step(approval_turn: Target) -> PrepareConfirm:
    """The prepare_x and confirm_x tools of the server: prepare, look, confirm."""
    from .driver import PrepareConfirm

    return PrepareConfirm(approval_turn)
