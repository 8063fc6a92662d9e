"""Two processes over one state, with one key: a token is good once for both."""

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.replicas import all_at_once

KEY = "a key for tests of replicas 7731"
EACH = 4


def _replicas(two_step):
    """Two of them, both of which serve honest calls."""
    one = two_step.with_key(KEY)
    one.honest()
    other = one.over(one.target.replica(), "a replica: another process over the same state")
    other.driver.listed()
    other.honest()
    one.disturbed()
    _forget(one, other)
    return one, other


def _forget(*several):
    """Replicas may show each other's runs, which must not count for later calls."""
    for one in several:
        one.driver.forget()


@requirement("prepare_confirm/one-time", needs=["restart"])
def test_what_one_replica_prepared_is_confirmed_once_at_all(two_step):
    """Reading: replicas need not take each other's tokens."""
    one, other = _replicas(two_step)
    preview = one.preview(one.pair)
    _forget(one, other)
    outcome = other.driver.confirm(preview)
    if outcome.refused and not outcome.executed:
        raise NotApplicable(f"the replicas do not share their tokens: {outcome.describe()}")
    sent = f"{one.pair.confirm} at the second replica, of what the first had prepared"
    one.disturbed()
    other.disturbed()
    for name, place in (("the first", one), ("the second", other)):
        _forget(one, other)
        again = place.driver.confirm(preview)
        two_step.expect_not_run(again, sent=f"{sent}, and then at {name}")


@requirement("prepare_confirm/concurrent", needs=["restart"])
def test_of_many_confirmations_at_both_replicas_one_counts(two_step):
    one, other = _replicas(two_step)
    preview = one.preview(one.pair)
    _forget(one, other)
    call = ("tools/call", one.driver.confirm_params(preview.pair, preview.token))
    calls = [(place.driver.session, call) for place in (one, other) for _ in range(EACH)]
    (replies, theirs, _), ours, _ = one.driver.watch(
        lambda: other.driver.watch(lambda: all_at_once(calls))
    )
    one.disturbed()
    other.disturbed()
    won = sum(one.driver.seen(preview.pair, reply).succeeded for reply in replies)
    most = max(1, len(preview.ids))
    if won == 0 and not ours and not theirs:
        raise NotVerified("none of many confirmations at once was served", minor=True)
    if won > 1 or (ours or 0) > most or (theirs or 0) > most:
        raise Finding(
            sent=f"{one.pair.confirm} {EACH} times at each of two replicas at once, with one token",
            expected=f"one success, {most} thing(s) done",
            got=f"{won} successes, {ours} done by the one and {theirs} by the other",
            grade=Grade.RAN,
        )
