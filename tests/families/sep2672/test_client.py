"""The client half: four ends that cannot be taken for one another, with a real server behind."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.sep2672.client import (
    ApprovalClient,
    Approved,
    Declined,
    Refused,
    TransportFailure,
    UserDeclined,
)
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY, Reason
from pytest_mcp_approval.target import open_target
from virtual_authenticator import NotAllowedError

ARGUMENTS = {"symbol": "AAPL", "quantity": 10}


@pytest.fixture
def approval():
    target = open_target("reference", Settings(targets=("reference",)))
    yield Approval(target)
    target.close()


class Desk:
    """A user with a passkey before a client; keeps what happened, in order."""

    def __init__(self, approval, agrees=True):
        self.approval = approval
        self.agrees = agrees
        self.happened = []
        self.passkey = approval.enrol("icloud-keychain")
        self.client = ApprovalClient(self.call, show=self.show, sign=self.sign)

    def listing(self, name):
        return self.approval.tool(name).listing

    def call(self, method, params):
        self.happened.append(method)
        return self.approval.session.call(method, params)

    def show(self, text):
        self.happened.append(f"shown {text}")
        return self.agrees

    def sign(self, options):
        self.happened.append("signed")
        try:
            return self.passkey.authenticator.get(options, self.passkey.origin)
        except NotAllowedError as error:
            raise UserDeclined(str(error)) from error


def test_approved_in_the_order_of_the_document(approval):
    desk = Desk(approval)
    outcome = desk.client.call_tool(desk.listing("place_trade"), ARGUMENTS)
    assert isinstance(outcome, Approved)
    assert outcome.result["isError"] is False
    challenge, shown, signed, call = desk.happened
    assert challenge == "approval/challenge/create"
    assert "AAPL" in shown
    assert (signed, call) == ("signed", "tools/call")


def test_an_ungated_tool_is_called_at_once(approval):
    desk = Desk(approval)
    outcome = desk.client.call_tool(desk.listing("get_quote"), {"symbol": "AAPL"})
    assert isinstance(outcome, Approved)
    assert desk.happened == ["tools/call"]


def test_a_user_who_does_not_agree_signs_nothing(approval):
    desk = Desk(approval, agrees=False)
    outcome = desk.client.call_tool(desk.listing("place_trade"), ARGUMENTS)
    assert isinstance(outcome, Declined)
    assert "signed" not in desk.happened
    assert "tools/call" not in desk.happened


def test_a_user_who_cancels_the_prompt_has_declined(approval):
    desk = Desk(approval)
    desk.passkey.authenticator.person.will("decline")
    outcome = desk.client.call_tool(desk.listing("place_trade"), ARGUMENTS)
    assert outcome == Declined("the user declined")
    assert "tools/call" not in desk.happened


def test_a_refusal_carries_its_reason(approval):
    desk = Desk(approval)
    with desk.passkey.authenticator.faulty("signature-bit"):
        outcome = desk.client.call_tool(desk.listing("place_trade"), ARGUMENTS)
    assert isinstance(outcome, Refused)
    assert outcome.reason is Reason.SIGNATURE_VERIFICATION_FAILED
    assert outcome.method == "tools/call"


def test_a_challenge_that_is_refused_is_a_refusal_too(approval):
    desk = Desk(approval)
    gated = {**desk.listing("place_trade"), "name": "no_such_tool"}
    outcome = desk.client.call_tool(gated, {})
    assert isinstance(outcome, Refused)
    assert outcome.reason is Reason.TOOL_NOT_APPROVED_REQUIRED
    assert outcome.method == "approval/challenge/create"


def test_a_server_that_went_away_is_a_transport_failure(approval):
    desk = Desk(approval)
    listing = desk.listing("place_trade")
    approval.target.transport.close()
    outcome = desk.client.call_tool(listing, ARGUMENTS)
    assert isinstance(outcome, TransportFailure)
    assert "approval/challenge/create" in outcome.what


def test_another_error_is_refused_without_a_reason(approval):
    desk = Desk(approval)
    outcome = desk.client.call_tool({"name": "no_such_tool"}, {})
    assert isinstance(outcome, Refused)
    assert outcome.reason is None


@pytest.mark.parametrize("annotation", [True, {"required": True}, {"required": "verified", "x": 1}])
def test_whatever_is_marked_needs_approval(annotation):
    nobody: Any = None
    client = ApprovalClient(nobody, show=lambda _: True, sign=lambda _: {})
    assert client.needs_approval({"name": "x", "_meta": {META_KEY: annotation}})
    assert not client.needs_approval({"name": "x", "_meta": {"other": 1}})
