"""Fixtures of this family for users' own tests. Loaded with the plugin: imports nothing heavy.

def test_a_synced_passkey_approves_once(approval):
    passkey = approval.enrol("icloud-keychain")
    request = approval.challenge("place_trade", {"symbol": "AAPL", "quantity": 10})
    evidence = passkey.sign(request)

    assert approval.call(request, evidence).executed
    assert approval.call(request, evidence).refused_because("challenge_consumed")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage
    from ...target import Target
    from .driver import Approval, Passkey
    from .page import PageDriver


@pytest.fixture
def approval(approval_turn: Target) -> Approval:
    """The ceremonies of SEP-2672 with the server: enroll, challenge, sign, call."""
    from .driver import Approval

    return Approval(approval_turn)


@pytest.fixture
def approval_passkey(approval: Approval) -> Passkey:
    """An enrolled security key."""
    return approval.enrol("security-key")


@pytest.fixture
def approval_page_driver(approval_page: ApprovalPage, approval_turn: Target) -> PageDriver:
    """What a person does on the server's page, as [sep2672.page] describes it. For a page that
    needs more, write a fixture of this name in your conftest.py, with your own class
    (docs/browser.md)."""
    from .page import driver_for

    return driver_for(approval_page, approval_turn)
