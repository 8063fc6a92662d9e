"""Confirmation tokens, section 4.1: every check is made for every kind of token.

For each level, for quota pauses, for sessions, and for tokens that carry their payload.
"""

import contextlib
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
    # If a token carries its times, the last says a date that no calendar has.
    length = len(issued.token) - len(prefix)
    return [issued.with_token(prefix + one) for one in (secrets.token_hex(24), "_" * length)]


def _half_of_another(kind):
    one, other = kind.issue(), kind.issue()
    half = len(one.token) // 2
    made = one.token[:half] + other.token[half:]
    # Tokens that begin alike for long: it is one of the two.
    return [one.with_token(made)] if made not in (one.token, other.token) else None


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


@requirement(
    "confirmation_tokens/4.1-every-check", "confirmation_tokens/4.1-not-expired", needs=["clock"]
)
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_token_ends_when_it_says(tokens, name):
    """Of tokens of one instant: good just before the last one, and expired just after it."""
    with tokens_of_kind(tokens, name) as kind:
        one, faulty, other = (kind.issue() for _ in range(3))
        if one.token == other.token:
            raise NotApplicable("asking again returns the same token until it is used")
        near = tokens.move_inside(one, limit_of(tokens, one))
        if kind.operation.other_params:
            tokens.expect_not_run(
                kind.attempt(faulty.with_params(kind.changed())),
                sent=f"a {name} token for other parameters, {near} before its last instant",
            )
        tokens.expect_run(kind.redeem(one), sent=f"a {name} token {near} before its last instant")
        near = tokens.move_beyond(other)
        tokens.expect_expired(
            kind.attempt(other), sent=f"a {name} token {near} after its last instant"
        )


def limit_of(tokens, issued):
    """Until when it certainly serves."""
    return tokens.last_instant(issued) if tokens.tolerance is not None else issued.expires_at


@requirement("confirmation_tokens/4.1-every-check")
def test_every_check_is_made_for_signed_tokens(tokens):
    """Tokens that carry their payload are used up, bound and ended like all others."""
    with (
        tokens.variant("signed", True) as other,
        tokens_of_kind(other, other.operation.danger.word) as kind,
        other.several() as several,
    ):
        _every_check(other, kind, several)
        tool = other.table.other_adapter.get("tool")
        if tool is not None:
            with several.one("another adapter"):
                other.expect_not_run(
                    kind.redeem(kind.issue(), tool=tool), sent="a signed token of another adapter"
                )
        if other.table.introspection:
            issued = kind.issue()
            if other.driver.revoke(issued.token).succeeded:
                with several.one("revoked"):
                    other.expect_not_run(
                        kind.attempt(issued), sent="a signed token that was revoked"
                    )
        if other.target.clock.movable:
            early, issued = kind.issue(), kind.issue()
            near = other.move_inside(early, limit_of(other, early))
            sent = f"a signed token {near} before its last instant"
            with several.one(sent):
                other.expect_run(kind.redeem(early), sent=sent)
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


@requirement("confirmation_tokens/4.1-every-check")
def test_every_check_is_made_at_every_adapter(tokens):
    """The second adapter with tokens of its own: other parameters, another operation, used."""
    tool = tokens.table.other_adapter.get("tool")
    if tool is None:
        raise NotApplicable("the other adapter is no tool of the same server (other-adapter.tool)")
    tokens.honest(tool=tool)
    used = tokens.issue(tool=tool)
    tokens.need_served(tokens.redeem(used, tool=tool))
    attempts = {"that was used": (used, TokenCode.ALREADY_USED)}
    with contextlib.suppress(NotApplicable, NotVerified):
        issued = tokens.issue(tool=tool).with_params(tokens.changed())
        attempts["for other parameters"] = (issued, TokenCode.SCOPE_MISMATCH)
    with contextlib.suppress(NotApplicable):
        other = tokens.second_operation()
        issued = tokens.issue(tool=tool).with_operation(other.name).with_params(other.params)
        attempts["for another operation"] = (issued, TokenCode.SCOPE_MISMATCH)
    with tokens.several() as several:
        for name, (issued, code) in attempts.items():
            sent = f"a token of another adapter, there, {name}"
            with several.one(sent):
                tokens.expect_refusal(tokens.redeem(issued, tool=tool), code, sent=sent)
    tokens.honest(tool=tool)
