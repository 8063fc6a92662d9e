"""Confirmation tokens, section 6.5: bursts are slowed, and honest use goes on afterwards.

Reading: the document does not say what is counted together, so a limit that each replica counts for
itself is information.
"""

import secrets
import statistics

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, may_poison, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.confirmation_tokens.driver import TOGETHER
from pytest_mcp_approval.families.confirmation_tokens.outcome import is_limit
from pytest_mcp_approval.families.confirmation_tokens.replicas import other_replica
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    RATE_LIMITED,
)
from pytest_mcp_approval.support.deadline import Deadline

_SECONDS = 20.0
"""For one burst: a server that is slow, or far away, must not take minutes."""
_FEWEST = 8
"""A limit that comes earlier says nothing at another replica, where a few honest calls were made.
"""


def _issues(tokens):
    operation = tokens.operation
    return lambda: tokens.driver.binding.call_params(operation.name, operation.params)


def _failures(tokens):
    issued = tokens.issue()

    def fail():
        guess = issued.with_token(CONFIRMATION_PREFIX + secrets.token_hex(24))
        return tokens.driver.redeem_params(guess)

    return fail


def _revocations(tokens):
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    query = tokens.table.introspection["revoke"]

    def revoke():
        guess = CONFIRMATION_PREFIX + secrets.token_hex(24)
        return tokens.driver.binding.introspection_params(query, guess)

    return revoke


BURSTS = {"issues": _issues, "failed validations": _failures, "revocations": _revocations}


def _limited(tokens, kind, make_call):
    """How many came before a limit, and what it says; None if the whole burst met none."""
    driver, burst, deadline = tokens.driver, tokens.table.burst, Deadline(_SECONDS)
    seconds: list[float] = []
    while len(seconds) < burst and not deadline.passed:
        calls = [make_call() for _ in range(min(TOGETHER, burst - len(seconds)))]
        replies = [(reply, driver.binding.read(reply)) for reply in driver.send_together(calls)]
        limits = [number for number, one in enumerate(replies) if is_limit(*one)]
        if limits:
            # The last one: a server may ask those who go on for more time.
            return len(seconds) + limits[0] + 1, replies[limits[-1]][1]
        seconds += [reply.seconds for reply, _ in replies]
    first, last = statistics.median(seconds[:TOGETHER]), statistics.median(seconds[-TOGETHER:])
    if last > max(0.2, 5 * first):
        return len(seconds), None
    if len(seconds) < burst:
        raise NotVerified(
            f"{len(seconds)} {kind} in {_SECONDS:.0f} s met no limit, and the other "
            f"{burst - len(seconds)} were not tried"
        )
    return None


@may_poison
@requirement("confirmation_tokens/6.5-rate-limit")
@pytest.mark.parametrize("kind", BURSTS)
def test_a_burst_is_slowed(tokens, kind):
    """As many as `burst` says; then, when the limit has passed, an honest call."""
    with tokens.spending_limits():
        _slowed(tokens, kind)


def _slowed(tokens, kind):
    tokens.honest()
    make_call = BURSTS[kind](tokens)
    tokens.driver.meets_limits = False
    found = _limited(tokens, kind, make_call)
    tokens.expect(
        found is not None,
        sent=f"{tokens.table.burst} {kind} in a row",
        expected=f"{RATE_LIMITED}, HTTP 429 or slower answers at some point",
        got="all answered as the first",
    )
    number, limit = found
    tokens.note(f"{kind} are limited from number {number} on")
    if limit is not None:
        try:
            tokens.driver.wait(limit)
        except DriverError:
            tokens.note("whether honest use goes on afterwards was not waited for")
            return
    tokens.driver.forget()
    outcome = tokens.redeem(tokens.issue())
    tokens.expect_run(outcome, sent=f"an honest call, after {number} {kind} and the limit's time")


@may_poison
@requirement("confirmation_tokens/6.5-rate-limit")
@pytest.mark.parametrize("kind", BURSTS)
def test_a_limit_at_one_replica_is_one_at_the_other(tokens, kind):
    """A burst up to the limit at one; then half as many at the other, which alone would take them
    all."""
    with tokens.spending_limits(), other_replica(tokens) as other:
        make_call = BURSTS[kind](tokens)
        tokens.driver.meets_limits = other.meets_limits = False
        found = _limited(tokens, kind, make_call)
        if found is None or found[1] is None:
            raise NotApplicable(f"{kind} are not refused after a burst, so nothing can be compared")
        number, _ = found
        if number < _FEWEST:
            raise NotVerified(f"{kind} are limited from number {number} on: too early", minor=True)
        few = min(TOGETHER, number // 2)
        replies = other.send_together([make_call() for _ in range(few)])
        # Some may be served: a limit that is counted for both gives way as time passes.
        if not any(is_limit(reply, other.binding.read(reply)) for reply in replies):
            tokens.left_open(
                f"{kind} are limited at one replica, and {few} more are served at another",
                page="docs/at-most-once.md",
            )
