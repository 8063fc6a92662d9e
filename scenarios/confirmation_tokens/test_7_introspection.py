"""Confirmation tokens, section 7.3: what can be asked about a token is answered truly."""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.wire.reply import show_json


def _state(tokens, issued):
    if not tokens.table.introspection["status"]:
        raise NotVerified("needs introspection.status, the query that tells a token's state")
    outcome = tokens.driver.status(issued.token)
    # A server that has forgotten the token, or tells nothing about it, says so with a code.
    return outcome.reason or tokens.driver.binding.state(outcome.answer)


def _spent(tokens, how):
    if how == "used":
        return tokens.used()
    issued = tokens.issue()
    if how == "revoked":
        tokens.driver.revoke(issued.token)
    else:
        tokens.move_beyond(issued)
    return issued


@requirement("confirmation_tokens/7.3-status")
@pytest.mark.parametrize("how", ["used", "revoked", "expired"])
def test_a_spent_token_is_not_called_fresh(tokens, how):
    """Its state is another than that of a token that serves."""
    fresh = _state(tokens, tokens.issue())
    if fresh is None:
        raise NotVerified("needs introspection.state_at, where a token's state is told")
    spent = _state(tokens, _spent(tokens, how))
    tokens.expect(
        spent != fresh,
        sent=f"introspection of a fresh token, and of one that is {how}",
        expected="two different states",
        got=f"{show_json(fresh)} and {show_json(spent)}",
    )


@requirement("confirmation_tokens/7.3-status")
def test_asking_changes_nothing(tokens):
    """A token that was asked about twice still serves."""
    issued = tokens.issue()
    once, twice = _state(tokens, issued), _state(tokens, issued)
    tokens.expect(
        once == twice,
        sent="introspection of a token, twice",
        expected="the same state",
        got=f"{show_json(once)}, then {show_json(twice)}",
    )
    tokens.expect_run(tokens.redeem(issued), sent="a token that was asked about")
