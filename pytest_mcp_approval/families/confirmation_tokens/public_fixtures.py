"""Fixtures of this family for users' own tests. Loaded with the plugin: imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ...target import Target
    from .driver import ConfirmationTokens


@pytest.fixture
def approval_tokens(approval_turn: Target) -> ConfirmationTokens:
    """Confirmation tokens of the server: issue, redeem, revoke (docs/confirmation-tokens.md)."""
    from .driver import ConfirmationTokens

    return ConfirmationTokens(approval_turn)
