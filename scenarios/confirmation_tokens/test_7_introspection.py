"""Confirmation tokens, sections 2.3 and 7.3: questions about a token are answered truthfully."""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenType
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
    """Its state differs from that of a usable token."""
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


# ---- section 2.3: the payload, as far as it is shown


def _members(value):
    """Every member of an answer by its name, at whatever depth."""
    found = {}
    for name, one in value.items() if isinstance(value, dict) else ():
        found.update(_members(one))
        found[name] = one
    return found


def _payload(tokens, issued):
    if not tokens.table.introspection["status"]:
        raise NotVerified("needs introspection.status, the query that tells a token's state")
    return _members(tokens.driver.status(issued.token).answer.body)


def _is_instant(tokens, value, instant, within):
    try:
        told = tokens.driver.binding.instant(value).at
    except ValueError:
        return False
    return abs((told - instant).total_seconds()) <= within


@requirement("confirmation_tokens/2.3-payload")
@pytest.mark.parametrize("kind", list(TokenType), ids=str)
def test_what_is_shown_of_a_token_is_true(tokens, kind):
    """Its type, its call and its instants, under the names that the document has for them."""
    if kind is TokenType.QUOTA:
        operation = tokens.with_("quota")
        with tokens.honest_step("the operation with a quota did not pause"):
            issued = tokens.driver.paused(operation.name, operation.params)
    else:
        issued = tokens.issue()
    now, shown = tokens.target.clock.now(), _payload(tokens, issued)
    checks = {
        "type": lambda value: value == kind,
        "operation": lambda value: value == issued.operation,
        "adapter_name": lambda value: isinstance(value, str) and bool(value.strip()),
        "issued_at": lambda value: _is_instant(tokens, value, now, tokens.slack),
        "expires_at": lambda value: _is_instant(tokens, value, issued.expires_at, 1),
        "consumed": lambda value: value is False,
    }
    if not shown.keys() & checks.keys():
        raise NotVerified("introspection shows nothing of the payload", minor=True)
    for name in checks.keys() & shown.keys():
        tokens.expect(
            checks[name](shown[name]),
            sent=f"introspection of a fresh token ({kind})",
            expected=f"{name} that is true of it",
            got=f"{name} {show_json(shown[name])}",
        )


@requirement("confirmation_tokens/2.3-payload")
def test_a_use_changes_the_use_alone(tokens):
    """Consumed becomes true; what the token was issued for stays as it was."""
    issued = tokens.issue()
    before = _payload(tokens, issued)
    tokens.need_served(tokens.redeem(issued))
    after = _payload(tokens, issued)
    if "consumed" in before and "consumed" in after:
        tokens.expect(
            after["consumed"] is True,
            sent="introspection of a token that was used",
            expected="consumed true",
            got=f"consumed {show_json(after['consumed'])}",
        )
    for name in ("type", "operation", "params_hash", "adapter_name", "issued_at", "expires_at"):
        if name in before and name in after:
            tokens.expect(
                before[name] == after[name],
                sent="introspection of a token, before and after its use",
                expected=f"the same {name}",
                got=f"{show_json(before[name])}, then {show_json(after[name])}",
            )
