"""Confirmation tokens, section 4: every check, alone and together with another."""

import contextlib
import datetime
import itertools
import secrets

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    TokenCode,
)
from pytest_mcp_approval.wire.reply import show_json

UNISSUED = {
    "of the server's own shape": lambda issued: (
        CONFIRMATION_PREFIX
        + "".join(
            secrets.choice("0123456789abcdef") for _ in issued.token[len(CONFIRMATION_PREFIX) :]
        )
    ),
    "as short as can be": lambda _: f"{CONFIRMATION_PREFIX}abc",
    "as long as can be": lambda _: CONFIRMATION_PREFIX + secrets.token_hex(32),
    "cut short": lambda issued: issued.token[:-1],
    "made longer": lambda issued: f"{issued.token}0",
    "the document's example": lambda _: "conf_a1b2c3d4e5f6g7h8",
}


@requirement("confirmation_tokens/4.1-exists")
@pytest.mark.parametrize("shape", UNISSUED)
def test_a_token_that_was_never_issued_is_invalid(tokens, shape):
    """Well-formed, but nobody has issued it."""
    tokens.honest()
    issued = tokens.issue()
    tokens.expect_refusal(
        tokens.redeem(issued.with_token(UNISSUED[shape](issued))),
        TokenCode.INVALID,
        sent=f"a token that was never issued, {shape}",
    )


# ---- expiry


@requirement("confirmation_tokens/4.1-not-expired")
def test_a_token_serves_until_it_expires(tokens):
    """A second before expires_at it is good."""
    issued = tokens.issue()
    second = datetime.timedelta(seconds=1)
    if tokens.clock.stops:
        tokens.move_to(issued.expires_at - second, before=issued.expires_at)
    else:
        tokens.move_inside(issued, issued.expires_at)
    tokens.expect_run(tokens.redeem(issued), sent="a token a second before it expires")


@requirement("confirmation_tokens/4.1-not-expired")
def test_an_expired_token_is_refused(tokens):
    """Beyond expiry and tolerance it is TOKEN_EXPIRED, for this operation and every other."""
    tokens.honest()
    issued = tokens.issue()
    late = tokens.move_beyond(issued)
    tokens.expect_expired(tokens.redeem(issued), sent=f"a token {late} after it expired")
    tokens.honest()


@requirement("confirmation_tokens/4.1-not-expired")
@pytest.mark.parametrize("minutes", [6, 20, 59])
def test_an_expired_token_stays_expired(tokens, minutes):
    """Minutes later too. After a while a server may have forgotten it: then it is unknown."""
    tokens.honest()
    issued = tokens.issue()
    tokens.move_to(tokens.last_instant(issued) + datetime.timedelta(minutes=minutes))
    outcome = tokens.redeem(issued)
    # The document asks for a purge within the hour, so a server may forget it any time (5.5).
    codes = () if minutes < 10 else (TokenCode.INVALID,)
    tokens.expect_expired(outcome, *codes, sent=f"a token {minutes} minutes after it expired")
    tokens.honest()


@requirement("confirmation_tokens/4.1-not-expired")
@pytest.mark.parametrize("hours", [2, 5, 12, 14, 24])
def test_no_time_zone_makes_a_token_live_longer(tokens, hours):
    """Hours later, as far as time zones may be apart."""
    tokens.honest()
    issued = tokens.issue()
    tokens.move_to(tokens.last_instant(issued) + datetime.timedelta(hours=hours))
    tokens.expect_refusal(
        tokens.redeem(issued),
        TokenCode.EXPIRED,
        TokenCode.INVALID,
        sent=f"a token {hours} hours after it expired",
    )
    tokens.honest()


@requirement("confirmation_tokens/4.1-not-expired")
def test_the_refusal_tells_both_instants(tokens):
    """expired_at is what was promised at issue, current_time the time by the server's clock."""
    tokens.honest()
    issued = tokens.issue()
    tokens.move_beyond(issued)
    answer = tokens.redeem(issued).answer
    if not answer.means(TokenCode.EXPIRED):
        raise NotApplicable("expired tokens are not told as such")
    told = tokens.table.own_shape("4.2")
    if told:
        tokens.warn(f"not written as section 4.2 shows it: {', '.join(told)}")
    read = {}
    for name in ("expired_at", "current_time"):
        with contextlib.suppress(ValueError):
            read[name] = tokens.driver.binding.instant(answer.get(name)).at
        tokens.expect(
            name in read,
            sent="a token after it expired",
            expected=f"{name} as an instant",
            got=show_json(answer.get(name)) if name in answer.found else "none",
        )
    drift = abs((read["expired_at"] - issued.expires_at).total_seconds())
    tokens.expect(
        drift <= 1,
        sent="a token after it expired",
        expected=f"expired_at {issued.expires_at.isoformat()}, as at issue",
        got=read["expired_at"].isoformat(),
    )
    off = abs((read["current_time"] - tokens.target.clock.now()).total_seconds())
    tokens.expect(
        off <= tokens.slack,
        sent="a token after it expired",
        expected=f"current_time near {tokens.target.clock.now().isoformat()}",
        got=read["current_time"].isoformat(),
    )


# ---- use


@requirement("confirmation_tokens/4.1-not-consumed")
def test_a_token_serves_once(tokens):
    """The second time and every later one it is TOKEN_ALREADY_USED."""
    issued = tokens.used()
    with tokens.several() as several:
        for number in range(2, 6):
            with several.one(f"for time {number}"):
                tokens.expect_refusal(
                    tokens.redeem(issued), TokenCode.ALREADY_USED, sent=f"a token for time {number}"
                )
    tokens.honest()


@requirement("confirmation_tokens/4.1-not-consumed")
def test_other_tokens_are_not_used_up_with_it(tokens):
    """Two tokens for the same call are two confirmations."""
    first, second = tokens.two()
    tokens.expect_run(tokens.redeem(first), sent="the first of two tokens for one call")
    tokens.expect_run(tokens.redeem(second), sent="the second of two tokens for one call")
    tokens.expect_refusal(
        tokens.redeem(first), TokenCode.ALREADY_USED, sent="the first of them once more"
    )


@requirement("confirmation_tokens/4.1-not-consumed", needs=["clock"])
def test_a_used_token_is_refused_for_its_whole_life(tokens):
    """Right up to its expiry."""
    issued = tokens.used()
    tokens.move_inside(issued, issued.expires_at)
    tokens.expect_refusal(
        tokens.redeem(issued), TokenCode.ALREADY_USED, sent="a used token, just before it expires"
    )


# ---- adapter


@requirement("confirmation_tokens/4.1-adapter")
def test_a_token_serves_at_its_own_adapter_only(tokens):
    """Another adapter over the same store knows the token, and refuses it."""
    tokens.honest()
    with tokens.other_adapter() as redeem_there:
        tokens.expect_refusal(
            redeem_there(tokens.issue()),
            TokenCode.SCOPE_MISMATCH,
            sent=f"{tokens.operation.name} at another adapter, with a token of this one",
        )


# ---- two faults at once

FAULTS = {
    "used": TokenCode.ALREADY_USED,
    "expired": TokenCode.EXPIRED,
    "other operation": TokenCode.SCOPE_MISMATCH,
    "other parameters": TokenCode.SCOPE_MISMATCH,
    "other adapter": TokenCode.SCOPE_MISMATCH,
}
PAIRS = list(itertools.combinations(FAULTS, 2))


def _with_faults(tokens, faults, stack):
    """The outcome of a call with all of these faults; what has to come first is done first."""
    issued = tokens.used() if "used" in faults else tokens.issue()
    redeem = tokens.redeem
    if "other adapter" in faults:
        if not tokens.table.other_adapter:
            raise NotApplicable("no second adapter over the same store is named (other-adapter)")
        redeem = stack.enter_context(tokens.other_adapter())
    if "expired" in faults:
        tokens.move_beyond(issued)
    operation = tokens.operation
    if "other operation" in faults:
        operation = tokens.second_operation()
        issued = issued.with_operation(operation.name).with_params(operation.params)
    if "other parameters" in faults:
        issued = issued.with_params(tokens.changed(operation))
    return redeem(issued)


@requirement("confirmation_tokens/4.1-every-check")
@pytest.mark.parametrize("faults", PAIRS, ids=" and ".join)
def test_two_faults_are_refused_for_one_of_them(tokens, faults):
    """Which one is reported is the server's choice."""
    tokens.honest()
    with contextlib.ExitStack() as stack:
        outcome = _with_faults(tokens, faults, stack)
        codes = dict.fromkeys(FAULTS[fault] for fault in faults)
        expect = tokens.expect_expired if "expired" in faults else tokens.expect_refusal
        expect(outcome, *codes, sent=f"a token with two faults: {' and '.join(faults)}")
    tokens.honest()


@requirement("confirmation_tokens/4.1-every-check")
@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault_is_refused_for_itself(tokens, fault):
    """The controls of the pairs: each fault alone has its exact code."""
    tokens.honest()
    with contextlib.ExitStack() as stack:
        outcome = _with_faults(tokens, (fault,), stack)
        expect = tokens.expect_expired if fault == "expired" else tokens.expect_refusal
        expect(outcome, FAULTS[fault], sent=f"a token with {fault}")
    tokens.honest()
