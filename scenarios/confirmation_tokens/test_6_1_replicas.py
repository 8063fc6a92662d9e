"""Confirmation tokens at two replicas: what is used or revoked at one is so at the other.

Reading: replicas need not share their tokens (a load balancer may keep each client at one). If a
token of the one is good at the other, it is good once for both.
"""

import contextlib

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.replicas import all_at_once
from pytest_mcp_approval.families.confirmation_tokens.driver import ConfirmationTokens

EACH = 4


@contextlib.contextmanager
def _replica(tokens):
    """The other one, which serves honest calls and takes tokens of the first."""
    target = tokens.target.replica()
    if target is None:
        raise NotApplicable("no second replica of the target is named (another target)")
    try:
        other = ConfirmationTokens(target)
        with tokens.honest_step("the replica refuses honest calls"):
            fresh = other.issue(tokens.operation.name, tokens.operation.params)
        if not other.redeem(fresh).succeeded:
            raise NotVerified("the replica refuses honest calls")
        tokens.honest()
        if not other.redeem(tokens.issue()).succeeded:
            raise NotApplicable("the replicas do not share their tokens")
        _forget(tokens, other)
        yield other
    finally:
        target.close()


def _forget(tokens, other):
    """Replicas may show each other's runs, which must not count for later calls."""
    tokens.driver.forget()
    other.forget()


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_a_token_of_one_replica_is_good_once_for_both(tokens):
    with _replica(tokens) as other:
        issued = tokens.issue()
        sent = "a token of the first replica, at the second"
        tokens.expect_run(other.redeem(issued), sent=sent)
        _forget(tokens, other)
        tokens.expect_not_run(tokens.redeem(issued), sent=f"{sent}, and then at the first")
        tokens.expect_not_run(other.redeem(issued), sent=f"{sent}, and again")


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_of_many_at_both_replicas_one_runs(tokens):
    with _replica(tokens) as other:
        issued = tokens.issue()
        call = ("tools/call", tokens.driver.redeem_params(issued))
        calls = [(one.session, call) for one in (tokens.driver, other) for _ in range(EACH)]
        (replies, theirs), ours = tokens.driver.runs_during(
            lambda: other.runs_during(lambda: all_at_once(calls))
        )
        won = sum(tokens.driver.seen(reply).succeeded for reply in replies)
        tokens.expect(
            won <= 1 and (ours or 0) <= 1 and (theirs or 0) <= 1,
            sent=f"one token {EACH} times to each of two replicas, at once",
            expected="one success at most, operation run once at most",
            got=f"{won} successes, {ours} runs by the one and {theirs} by the other",
        )
        if not won:
            raise NotVerified("none of many calls at once was served", minor=True)


@requirement("confirmation_tokens/5.3-revoked", needs=[])
def test_what_is_revoked_at_one_replica_is_revoked_at_the_other(tokens):
    if not tokens.table.introspection:
        raise NotApplicable("tokens cannot be revoked, as far as the table says (introspection)")
    with _replica(tokens) as other:
        issued = tokens.issue()
        if not tokens.driver.revoke(issued.token).succeeded:
            raise NotVerified("a token could not be revoked")
        tokens.expect_not_run(
            other.redeem(issued), sent="a token that was revoked at one replica, at the other"
        )
