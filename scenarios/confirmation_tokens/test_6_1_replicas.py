"""Confirmation tokens at two replicas: what is used or revoked at one is so at the other.

Reading: replicas need not share their tokens (a load balancer may keep each client at one). If a
token of the one is good at the other, it is good once for both. Whose a quota is the document does
not say, so one that each replica counts for itself is information.
"""

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.replicas import all_at_once
from pytest_mcp_approval.families.confirmation_tokens.replicas import forget_runs, other_replica

EACH = 4


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_a_token_of_one_replica_is_good_once_for_both(tokens):
    with other_replica(tokens) as other:
        issued = tokens.issue()
        sent = "a token of the first replica, at the second"
        tokens.expect_run(other.redeem(issued), sent=sent)
        forget_runs(tokens, other)
        tokens.expect_not_run(tokens.redeem(issued), sent=f"{sent}, and then at the first")
        tokens.expect_not_run(other.redeem(issued), sent=f"{sent}, and again")


@requirement("confirmation_tokens/6.1-replay", needs=[])
def test_of_many_at_both_replicas_one_runs(tokens):
    with other_replica(tokens) as other:
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
    with other_replica(tokens) as other:
        issued = tokens.issue()
        if not tokens.driver.revoke(issued.token).succeeded:
            raise NotVerified("a token could not be revoked")
        tokens.expect_not_run(
            other.redeem(issued), sent="a token that was revoked at one replica, at the other"
        )


# ---- quota pauses


@requirement("confirmation_tokens/2.1-quota")
def test_a_quota_token_of_one_replica_is_good_once_for_both(tokens):
    """Each is paused before the token is used there: otherwise it could run without any."""
    operation = tokens.with_("quota")
    with other_replica(tokens) as other:
        issued = _paused(tokens, tokens.driver, operation)
        _paused(tokens, other, operation)
        forget_runs(tokens, other)
        if not other.redeem(issued).executed:
            raise NotApplicable("the replicas do not share their quota tokens")
        sent = f"{operation.name}, paused, with a quota token of the first replica at the second"
        for place, driver in {"at the first": tokens.driver, "there again": other}.items():
            _paused(tokens, driver, operation)
            forget_runs(tokens, other)
            tokens.expect_not_run(driver.redeem(issued), sent=f"{sent}, and then {place}")


@requirement("confirmation_tokens/2.1-quota")
def test_a_pause_at_one_replica_is_one_at_the_other(tokens):
    operation = tokens.with_("quota")
    with other_replica(tokens) as other:
        # Alone, the second replica has runs left after a pause; without any it pauses anyway.
        _resumed(tokens, other, operation)
        if not other.call(operation.name, operation.params).executed:
            raise NotApplicable(f"{operation.name} pauses after each run: no count to compare")
        _resumed(tokens, other, operation)
        _paused(tokens, tokens.driver, operation)
        forget_runs(tokens, other)
        if other.call(operation.name, operation.params).executed:
            tokens.left_open(
                f"while {operation.name} is paused at one replica it runs at another, since each "
                "counts its own quota",
                page="docs/at-most-once.md",
            )


def _paused(tokens, driver, operation):
    with tokens.honest_step("the operation with a quota did not pause"):
        return driver.paused(operation.name, operation.params)


def _resumed(tokens, driver, operation):
    """Paused, and resumed with the token of the pause: one run, and more may be left."""
    issued = _paused(tokens, driver, operation)
    forget_runs(tokens, driver)
    tokens.need_served(driver.redeem(issued), "a quota token did not end a pause")
