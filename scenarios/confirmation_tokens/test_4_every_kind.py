"""Confirmation tokens, section 4.1: every check is made for every kind of token.

For each level, for quota pauses, for sessions, and for tokens that carry their payload.
"""

import secrets

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.confirmation_tokens.kinds import (
    KINDS,
    QUOTA,
    SESSION,
    tokens_of_kind,
)
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import TokenCode

# Each takes a kind of token and gives what to send, or None if there is nothing of the sort here.


def _other_parameters(kind):
    if not kind.operation.other_params:
        return None
    return [
        kind.issue().with_params({**kind.operation.params, **change})
        for change in kind.operation.other_params
    ]


def _other_operation(kind):
    """Not for quota tokens: another operation need not be paused, and then runs without any."""
    others = [one for one in kind.tokens.usual_operations() if one.name != kind.operation.name]
    if not others or kind.name == QUOTA:
        return None
    return [kind.issue().with_operation(others[0].name).with_params(others[0].params)]


def _unknown(kind):
    issued = kind.issue()
    prefix = issued.kind.prefix
    return [issued.with_token(prefix + secrets.token_hex(24))]


def _half_of_another(kind):
    one, other = kind.issue(), kind.issue()
    if one.token == other.token:
        return None
    half = len(one.token) // 2
    return [one.with_token(one.token[:half] + other.token[half:])]


def _in_another_case(kind):
    issued = kind.issue()
    prefix = issued.kind.prefix
    swapped = prefix + issued.token.removeprefix(prefix).swapcase()
    return [issued.with_token(swapped)] if swapped != issued.token else None


def _used(kind):
    return [kind.used()]


CHECKS = {
    "for other parameters": (_other_parameters, TokenCode.SCOPE_MISMATCH),
    "for another operation": (_other_operation, TokenCode.SCOPE_MISMATCH),
    "that was never issued": (_unknown, TokenCode.INVALID),
    "put together of two": (_half_of_another, TokenCode.INVALID),
    "in another case": (_in_another_case, TokenCode.INVALID),
    "used up": (_used, TokenCode.ALREADY_USED),
}


def _every_check(tokens, kind, several):
    kind.honest()
    for name, (fault, code) in CHECKS.items():
        for attempt in fault(kind) or ():
            sent = f"a {kind.name} token {name}"
            with several.one(sent):
                tokens.expect_refusal(kind.attempt(attempt), code, sent=sent)
    kind.honest()


@requirement("confirmation_tokens/4.1-every-check")
@pytest.mark.parametrize("name", KINDS)
def test_every_check_is_made_for_every_kind_of_token(tokens, name):
    """What is refused for one kind is refused for all, with the same code."""
    with tokens_of_kind(tokens, name) as kind, tokens.several() as several:
        _every_check(tokens, kind, several)


@requirement("confirmation_tokens/4.1-every-check", needs=["clock"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_token_ends_when_it_says(tokens, name):
    """Good just before its last instant, and expired just after it."""
    with tokens_of_kind(tokens, name) as kind:
        issued = kind.issue()
        limit = tokens.last_instant(issued) if tokens.tolerance is not None else issued.expires_at
        near = tokens.move_inside(issued, limit)
        tokens.expect_run(
            kind.redeem(issued), sent=f"a {name} token {near} before its last instant"
        )
        issued = kind.issue()
        near = tokens.move_beyond(issued)
        tokens.expect_expired(
            kind.attempt(issued), sent=f"a {name} token {near} after its last instant"
        )


@requirement("confirmation_tokens/4.1-every-check")
def test_every_check_is_made_for_signed_tokens(tokens):
    """Tokens that carry their payload are used up, bound and ended like all others."""
    with (
        tokens.variant("signed", True) as other,
        tokens_of_kind(other, other.operation.danger.word) as kind,
        other.several() as several,
    ):
        _every_check(other, kind, several)
        if other.target.clock.movable:
            issued = kind.issue()
            late = other.move_beyond(issued)
            sent = f"a signed token {late} after it expired"
            with several.one(sent):
                other.expect_expired(kind.attempt(issued), sent=sent)


@requirement("confirmation_tokens/4.1-adapter")
@pytest.mark.parametrize("name", [QUOTA, SESSION])
def test_a_token_of_any_kind_serves_at_its_own_adapter_only(tokens, name):
    """Another adapter over the same store knows the token, and refuses it."""
    tool = tokens.table.other_adapter.get("tool")
    if tool is None:
        raise NotApplicable("the other adapter is no tool of the same server (other-adapter.tool)")
    with tokens_of_kind(tokens, name) as kind:
        kind.honest()
        issued, operation = kind.issue(), kind.operation
        if name == QUOTA:
            try:
                there = tokens.driver.paused(operation.name, operation.params, tool=tool)
            except DriverError as error:
                raise NotVerified(f"the other adapter does not pause: {error}") from error
        else:
            there = tokens.issue(operation, session=kind.session, tool=tool)
        tokens.expect_refusal(
            kind.redeem(issued, tool=tool),
            TokenCode.SCOPE_MISMATCH,
            sent=f"a {name} token of one adapter at another",
        )
        tokens.expect_run(
            kind.redeem(there, tool=tool), sent=f"a {name} token at the adapter that issued it"
        )
