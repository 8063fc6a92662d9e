"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import pytest

from ..base.scenario import check_preconditions
from .driver import ConfirmationTokens
from .needs import CHECKS
from .scenario import Confirmations


@pytest.fixture
def tokens(approval_tokens: ConfirmationTokens, request: pytest.FixtureRequest) -> Confirmations:
    """A scenario's view of the target; "not verified" if it lacks what the rules need."""
    item = request.node
    warn = check_preconditions(item, approval_tokens.target, CHECKS)

    def note(text: str) -> None:
        item.user_properties.append(("mcp_approval_note", text))
        item.add_report_section("call", "mcp-approval", text)

    approval_tokens.begin_afresh()
    return Confirmations(approval_tokens, warn, note)
