"""Confirmation tokens, section 6.5: bursts are slowed, and honest use goes on afterwards."""

import secrets
import statistics

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.confirmation_tokens.outcome import is_limit
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CONFIRMATION_PREFIX,
    RATE_LIMITED,
)


def _issues(tokens):
    operation = tokens.operation
    return lambda: tokens.driver.ask(operation.name, operation.params)


def _failures(tokens):
    issued = tokens.issue()

    def fail():
        guess = issued.with_token(CONFIRMATION_PREFIX + secrets.token_hex(24))
        return tokens.driver.send(tokens.driver.redeem_params(guess))

    return fail


def _revocations(tokens):
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    query = tokens.table.introspection["revoke"]

    def revoke():
        guess = CONFIRMATION_PREFIX + secrets.token_hex(24)
        return tokens.driver.send(tokens.driver.binding.introspection_params(query, guess))

    return revoke


BURSTS = {"issues": _issues, "failed validations": _failures, "revocations": _revocations}


def _limited(tokens, send):
    """The reply that is a limit, and how many came before it; None if there was none."""
    seconds = []
    for number in range(1, tokens.table.burst + 1):
        reply = send()
        if is_limit(reply, tokens.driver.binding.read(reply)):
            return number, reply
        seconds.append(reply.seconds)
    first, last = statistics.median(seconds[:10]), statistics.median(seconds[-10:])
    return (len(seconds), None) if last > max(0.2, 5 * first) else None


@requirement("confirmation_tokens/6.5-rate-limit")
@pytest.mark.parametrize("kind", BURSTS)
def test_a_burst_is_slowed(tokens, kind):
    """As many as `burst` says; then, when the limit has passed, an honest call."""
    tokens.honest()
    send = BURSTS[kind](tokens)
    tokens.driver.meets_limits = False
    found = _limited(tokens, send)
    tokens.expect(
        found is not None,
        sent=f"{tokens.table.burst} {kind} in a row",
        expected=f"{RATE_LIMITED}, HTTP 429 or slower answers at some point",
        got="all answered as the first",
    )
    number, reply = found
    tokens.note(f"{kind} are limited from number {number} on")
    if reply is not None:
        try:
            tokens.driver.wait(tokens.driver.binding.read(reply))
        except DriverError:
            tokens.note("whether honest use goes on afterwards was not waited for")
            return
    tokens.driver.forget()
    outcome = tokens.redeem(tokens.issue())
    tokens.expect_run(outcome, sent=f"an honest call, after {number} {kind} and the limit's time")
