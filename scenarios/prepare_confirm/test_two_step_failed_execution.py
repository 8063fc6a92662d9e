"""The back end fails: the caller is told the truth, and nothing runs twice."""

from collections import Counter

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason
from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import Outcome


def _expect_told(two_step, outcome, sent, *, answer_lost=False):
    """No success is claimed, there is a message, and the count is the real one.

    Reading: if the back end did not say whether it did something, the answer may leave that open;
    then it counts no more than was done.
    """
    two_step.expect(
        not outcome.succeeded and outcome.answer.answered and bool(outcome.message.strip()),
        sent=sent,
        expected="success false, and a message",
        got=outcome.describe(),
    )
    two_step.expect_clear(outcome, sent=sent)
    two_step.expect(
        not outcome.contradicts_itself,
        sent=sent,
        expected="success false in all parts of the answer",
        got=f"another part says success: {outcome.describe()}",
    )
    claimed = outcome.claimed_count
    if claimed is None or outcome.runs is None:
        return
    two_step.expect(
        claimed <= outcome.runs if answer_lost else claimed == outcome.runs,
        sent=sent,
        expected="the answer counts what was really done",
        got=outcome.describe(),
    )


def _done(two_step):
    """Everything that was done so far, as texts that can be counted."""
    two_step.driver.forget()
    seen = two_step.driver.effects.look().entries
    if seen is None:
        return Counter()
    return Counter(
        str({name: value for name, value in one.items() if name != "number"})
        if isinstance(one, dict)
        else str(one)
        for one in seen
    )


def _expect_nothing_twice(two_step, sent):
    twice = [what for what, times in _done(two_step).items() if times > 1]
    two_step.expect(
        not twice, sent=sent, expected="nothing done twice", got=f"twice: {'; '.join(twice[:3])}"
    )


@requirement("prepare_confirm/failed-execution")
def test_a_failure_is_told(two_step):
    """Nothing was done, and the answer says so; the same token again does it at most once."""
    two_step.honest()
    with two_step.several() as several:
        for other, pair, arguments in _failing(two_step):
            with several.one(pair.confirm):
                _expect_failure_told(two_step, other, other.preview(pair, arguments))


def _expect_failure_told(two_step, other, preview):
    outcome = other.confirm(preview)
    sent = f"{preview.pair.confirm}, and the back end fails"
    _expect_told(other, outcome, sent)
    two_step.expect(
        not (outcome.probed and outcome.executed),
        sent=sent,
        expected="nothing done",
        got=outcome.describe(),
    )
    again = other.confirm(preview)
    # Reading: the token may be used up or not. Nothing was done so far, so a second try that does
    # it does nothing twice; what it claims has to be true.
    two_step.expect(
        not again.probed or again.executed is again.succeeded,
        sent=f"{sent}; the same token again",
        expected="no success and nothing done, or a second try that does it",
        got=again.describe(),
    )


def _failing(two_step):
    """A back end that fails, or things that it fails to do; for every pair."""
    named = [(two_step, pair, pair.failing) for pair in two_step.pairs() if pair.failing]
    if named:
        return named
    if not two_step.table.back_end:
        raise NotVerified(
            "needs failing = { ... }, arguments that the back end fails on, in pairs.NAME"
        )
    # Each pair has a server of its own: a back end may fail once and then do what it is asked.
    return [(two_step.with_back_end("fails"), pair, pair.arguments) for pair in two_step.pairs()]


@requirement("prepare_confirm/failed-execution")
def test_half_a_success_is_told_as_such(two_step):
    """Of two things one is done, then the back end is gone: one effect at most, and it is told."""
    other = two_step.with_back_end("half")
    two_step.need_effects()
    two_step.honest()
    preview = other.preview()
    outcome = other.confirm(preview)
    sent = f"{preview.pair.confirm} on {len(preview.ids)} things, the back end fails at the second"
    _expect_told(other, outcome, sent)
    # One, or none where the server undoes what it cannot finish.
    two_step.expect(
        outcome.runs in (0, 1), sent=sent, expected="one thing done at most", got=outcome.describe()
    )
    other.confirm(preview)
    _expect_nothing_twice(other, f"{sent}; the same token again")


@requirement("prepare_confirm/failed-execution")
def test_an_answer_that_was_lost_is_not_tried_again(two_step):
    """The back end does it and then fails to say so: whether it was done is not known, and a
    second try would do it twice."""
    other = two_step.with_back_end("late")
    two_step.need_effects()
    two_step.honest()
    preview = other.preview()
    outcome = other.confirm(preview)
    sent = f"{preview.pair.confirm}, and the back end's answer is lost"
    _expect_told(other, outcome, sent, answer_lost=True)
    _expect_nothing_twice(other, sent)
    other.confirm(preview)
    _expect_nothing_twice(other, f"{sent}; the same token again")
    apart = other.pairs_apart()
    other.confirm(other.preview(next(one for one in apart if one.name != preview.pair.name)))
    _expect_nothing_twice(other, f"{sent}; then another token")


@requirement("prepare_confirm/failed-execution")
def test_a_slow_back_end_runs_once(two_step):
    """The answer may come before the work is done; the same token again does not do it again."""
    other = two_step.with_back_end("slow")
    two_step.need_effects()
    two_step.honest()
    preview = other.preview()
    first = other.confirm(preview)
    again = other.confirm(preview)
    sent = f"{preview.pair.confirm} twice with one token, and the back end is slow"
    apart = other.pairs_apart()
    other.confirm(other.preview(next(one for one in apart if one.name != preview.pair.name)))
    _expect_nothing_twice(other, sent)
    two_step.expect(
        not again.succeeded,
        sent=sent,
        expected="one success at most",
        got=f"first {first.describe()}; then {again.describe()}",
    )


@requirement("prepare_confirm/failed-execution")
def test_a_client_that_does_not_wait_does_no_harm(two_step):
    """The back end takes its time, the client gives up and calls again: it is done once."""
    other = two_step.with_back_end("slow")
    two_step.need_effects()
    two_step.honest()
    preview = other.preview()
    before = _done(other)
    params = other.driver.confirm_params(preview.pair, preview.token)
    first = other.session.call("tools/call", params, deadline=0.1)
    if first.outcome is not Outcome.NO_ANSWER:
        raise NotVerified(f"the back end was not slow: {first.describe()}")
    again = other.driver.seen(preview.pair, other.session.call("tools/call", params))
    sent = f"{preview.pair.confirm} again, while the first call is still under way"
    two_step.expect_refusal(again, TwoStepReason.USED, sent=sent)
    deadline = Deadline(10)
    while (done := _done(other) - before).total() < len(preview.ids) and not deadline.passed:
        continue
    two_step.expect(
        done.total() == len(preview.ids) and max(done.values()) == 1,
        sent=sent,
        expected=f"{len(preview.ids)} thing(s) done, each once",
        got=f"{done.total()} done",
    )
