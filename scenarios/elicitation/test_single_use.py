"""Single use: one approval runs one call once: again, at once, after a restart, at a replica."""

import contextlib
from functools import partial

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.base.scenario import finding_of
from pytest_mcp_approval.families.elicitation.outcome import SAME, AskedQuestion

TIMES, RUNNERS, HEATS, MANY = 3, 8, 3, 10
LATER = (61, 240, 540)
"""Seconds, one after the other: within most lifetimes, and beyond the shortest memories."""


def _expect_spent(questions, tool, outcome, sent):
    """Not run again; where the server says that running again changes nothing, a warning."""
    if questions.annotations(tool).get("idempotentHint") is True:
        if outcome.executed or outcome.claims:
            questions.warn(f"{sent}: {outcome.describe()}; the tool is annotated idempotent")
        return
    questions.expect_not_run(outcome, sent=sent)


def _used(questions, tool):
    """The last question of a call that was approved and has run."""
    asked = questions.last_question(tool)
    outcome = questions.driver.answer(asked, questions.response(asked), honest=True)
    questions.need_served(outcome, f"{tool.name} was approved and did not run")
    return asked


@requirement("elicitation/single-use")
def test_an_approval_that_was_used_runs_nothing_more(questions):
    """The same answer again, several times; and an honest new one is served."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                asked = _used(questions, tool)
                for _ in range(TIMES):
                    again = questions.driver.answer(asked, questions.response(asked))
                    _expect_spent(
                        questions, tool, again, f"{tool.name}, the same approval once more"
                    )
                questions.honest(tool)


@requirement("elicitation/single-use")
def test_an_approval_that_was_used_serves_no_other_session(questions):
    """Another conversation of the same user sends the same answer."""
    other = questions.second_client()
    for tool in questions.asking_tools():
        asked = _used(questions, tool)
        how = {"client": other} if questions.sessionless else {"session": other.session}
        again = questions.driver.answer(asked, questions.response(asked), **how)
        sent = f"{tool.name}, the same approval once more, from another session"
        _expect_spent(questions, tool, again, sent)
        questions.honest(tool)


@requirement("elicitation/single-use")
def test_an_approval_stays_used_after_many_others(questions):
    """Many other questions and approvals later the same answers come again."""
    tools = questions.asking_tools()
    used = [_used(questions, tools[at % len(tools)]) for at in range(max(MANY, 2 * len(tools)))]
    questions.driver.leave(questions.ask(questions.tool))
    with questions.several() as several:
        for asked in used:
            with several.one(asked.tool.name):
                again = questions.driver.answer(asked, questions.response(asked))
                sent = f"{asked.tool.name}, an approval once more, after {len(used)} others"
                _expect_spent(questions, asked.tool, again, sent)
    questions.honest()


@requirement("elicitation/single-use")
def test_an_approval_stays_used_as_long_as_it_lives(questions):
    """The same answer again, minutes later."""
    questions.need_sessionless()
    questions.need_long_times(minor=True)
    tool = questions.tool
    asked = _used(questions, tool)
    for seconds in LATER:
        questions.clock.advance(seconds)
        again = questions.driver.answer(asked, questions.response(asked))
        _expect_spent(questions, tool, again, f"{tool.name}, the same approval {seconds} s later")
        questions.honest(tool)


@requirement("elicitation/single-use")
def test_an_approval_is_used_up_even_if_the_tool_fails(questions):
    """The tool itself fails after the approval: the same answer again does not run it again."""
    tools = [one for one in questions.asking_tools() if one.failing_arguments is not None]
    if not tools:
        raise NotVerified(
            "needs arguments with which an approved call fails: failing-arguments = { ... } in "
            "[elicitation.tools.NAME]",
            minor=True,
        )
    for tool in tools:
        questions.honest(tool)
        asked = questions.ask(tool, tool.failing_arguments)
        for _ in range(questions.driver.seen.rounds_of(tool) - 1):
            asked = questions.driver.approve(asked).question or asked
        first = questions.driver.approve(asked).runs
        again = questions.driver.answer(asked, questions.response(asked))
        sent = f"{tool.name}, approved, and the tool failed; the same approval once more"
        runs = (first or 0) + (again.runs or 0)
        if again.probed and runs > 1:
            raise Finding(sent=sent, expected="one run", got=f"{runs} runs", grade=Grade.RAN)
        _expect_spent(questions, tool, again, sent)
        questions.honest(tool)


@requirement("elicitation/single-use")
def test_one_approval_is_not_spent_by_another(questions):
    """Several questions about the same call: each yes runs it once, in any order."""
    tool = questions.tool
    open_ones = [questions.ask(tool) for _ in range(TIMES)]
    for asked in reversed(open_ones):
        sent = f"{tool.name}, asked {TIMES} times, approved in another order"
        outcome, runs = questions.driver.runs_during(partial(questions.try_to_approve, asked))
        questions.expect_ran_once(questions.driver.with_runs(outcome, runs), sent=sent)
    for asked in open_ones:
        again = questions.driver.answer(asked, questions.response(asked))
        _expect_spent(questions, tool, again, f"{tool.name}, one of {TIMES} approvals once more")
    questions.honest(tool)


# ---- at once


def _won(questions, replies, asked, runs):
    """How many were served, by their words and by the effects."""
    read = [questions.driver.read(reply, asked) for reply in replies]
    return sum(one.plain and one.claims for one in read), runs


@requirement("elicitation/single-use-race")
@pytest.mark.parametrize("heat", range(HEATS))
def test_of_many_at_once_one_runs(questions, heat):
    """The same answer many times at the same moment."""
    tools = questions.asking_tools()
    tool = tools[heat % len(tools)]
    asked = questions.last_question(tool)
    replies, runs = questions.driver.runs_during(
        partial(questions.driver.race, asked, questions.response(asked), RUNNERS)
    )
    won, runs = _won(questions, replies, asked, runs)
    _expect_one(questions, tool, won, runs, f"{tool.name}, the same yes {RUNNERS} times at once")
    questions.honest(tool)


def _expect_one(questions, tool, won, runs, sent):
    got = f"{won} successes, run {'?' if runs is None else runs} times"
    twice = won > 1 or (runs or 0) > 1
    if twice and questions.annotations(tool).get("idempotentHint") is True:
        questions.warn(f"{sent}: {got}; the tool is annotated idempotent")
        return
    if twice or (questions.driver.effects is not None and runs == 0):
        grade = Grade.RAN if twice else Grade.BROKEN
        raise Finding(sent=sent, expected="one run", got=got, grade=grade)


@requirement("elicitation/single-use-race")
def test_of_many_at_two_replicas_one_runs(questions):
    """The same answer at the same moment, at two servers over one store."""
    questions.need_sessionless()
    tool, other = questions.tool, questions.replica(minor=True)
    asked = questions.last_question(tool)
    clients = [questions.driver.client, other.driver.client]
    race = partial(questions.driver.race_over, clients, asked, questions.response(asked), RUNNERS)
    try:
        (replies, theirs), ours = questions.driver.runs_during(
            partial(other.driver.runs_during, race)
        )
    except ValueError:
        raise NotApplicable("replicas are raced over HTTP only") from None
    # Each replica may show its own runs, or both may show those of all.
    seen = [runs for runs in (ours, theirs) if runs is not None]
    won, runs = _won(questions, replies, asked, max(seen, default=None))
    _expect_one(questions, tool, won, runs, f"{tool.name}, the same yes at two replicas at once")
    questions.honest(tool)


# ---- restarts and replicas


@requirement("elicitation/single-use-restart", needs=[])
@pytest.mark.parametrize("how", ["restarted", "killed"])
def test_what_was_used_stays_used(questions, how):
    """After the server was restarted, and after it was killed."""
    questions.need_sessionless()
    questions.need_restart()
    for tool in questions.asking_tools():
        asked = _used(questions, tool)
        if how == "killed" and not questions.target.kill():
            raise NotApplicable("the server has no process of its own")
        questions.target.restart()
        questions.driver.forget()
        again = questions.driver.answer(asked, questions.response(asked))
        _expect_spent(questions, tool, again, f"{tool.name}, used, then the server was {how}")
        questions.still_serves(tool, after="a restart")


@requirement("elicitation/single-use-restart", needs=[])
def test_what_was_used_while_the_server_died_runs_once(questions):
    """The answer is sent, and the server killed at once: after its restart the same answer runs
    nothing that has already run."""
    questions.need_sessionless()
    questions.need_restart()
    questions.need_effects()
    tool = questions.tool
    for _ in range(TIMES):
        asked = questions.last_question(tool)
        before = questions.driver.client.effects()
        if before.entries is None and before.count is None:
            raise NotVerified("the effects do not tell how often a tool ran", minor=True)
        with contextlib.suppress(DriverError):
            questions.driver.answer_and_leave(asked, questions.response(asked))
        if not questions.target.kill():
            raise NotApplicable("the server has no process of its own")
        questions.target.restart()
        questions.driver.forget()
        after = questions.driver.client.effects()
        if (after.count or 0) < (before.count or 0):
            raise NotApplicable("what ran is not kept over a restart, so nothing can be counted")
        questions.driver.answer(asked, questions.response(asked), watch=False)
        questions.driver.forget()
        runs = questions.driver.client.effects().runs_since(before)
        _expect_one_at_most(questions, runs, f"{tool.name}, approved while the server was killed")
    questions.honest(tool)


def _expect_one_at_most(questions, runs, sent):
    questions.expect(
        runs in (0, 1), sent=f"{sent}, and once more", expected="one run", got=f"{runs} runs"
    )


@requirement("elicitation/replicas")
def test_another_replica_takes_the_answer(questions):
    """Asked by one, answered at another: it runs there, once for both."""
    questions.need_sessionless()
    other = questions.replica()
    with questions.several() as several:
        for tool in questions.asking_tools():
            for here, there in ((questions, other), (other, questions)):
                with several.one(tool.name):
                    asked = here.ask(tool)
                    if asked.url:
                        here.driver.person.approve(asked)
                    sent = f"{tool.name}, asked by one replica, answered at another"
                    outcome = here.driver.answer(
                        asked,
                        questions.response(asked),
                        client=there.driver.client,
                        honest=True,
                    )
                    questions.expect_ran_once(here.to_the_end(outcome), sent=sent)
                    for place in (here, there):
                        again = here.driver.answer(
                            asked, questions.response(asked), client=place.driver.client
                        )
                        _expect_spent(questions, tool, again, f"{sent}; then once more")


@requirement("elicitation/replicas")
def test_another_replica_keeps_the_rules(questions):
    """Asked by one; at the other: other arguments, a changed state, a no. Nothing runs."""
    questions.need_sessionless()
    other = questions.replica()
    tool = questions.tool
    there = other.driver.client
    with questions.several() as several:
        for name in ("with other arguments", "with a state that was changed", "with a no"):
            asked = questions.ask(tool)
            response = asked.response("decline") if name == "with a no" else SAME
            how = {
                "with other arguments": {"arguments": _others(tool)},
                "with a state that was changed": {"state": f"{asked.state}"[:-4] + "AAAA"},
            }.get(name, {})
            with several.one(name):
                outcome = questions.driver.answer(asked, response, client=there, **how)
                sent = f"{tool.name}, asked by one replica, answered at another {name}"
                questions.expect_not_run(outcome, sent=sent)
    questions.honest(tool)


def _others(tool):
    if tool.other_arguments is not None:
        return dict(tool.other_arguments)
    return {**tool.arguments, "further": "value"}


# ---- several questions at once


@requirement("elicitation/pending-not-shared")
def test_two_open_questions_are_told_apart(questions):
    """Two calls are open; one is declined and the other approved, in both orders: the approved one
    runs, with its own arguments."""
    questions.need_effects()
    tools = questions.asking_tools()
    pairs = [(tool, tools[(at + 1) % len(tools)]) for at, tool in enumerate(tools)]
    with questions.several() as several:
        for one, other in pairs:
            for yes_first in (True, False):
                with several.one(f"{one.name} and {other.name}"):
                    _expect_apart(questions, one, other, yes_first=yes_first)


def _expect_apart(questions, one, other, *, yes_first):
    wanted = questions.ask(one)
    unwanted = questions.ask(other, other.other_arguments)
    sent = f"{one.name} approved and {other.name} declined, both open at once"

    def answer():
        if not yes_first:
            unwanted.decline(watch=False)
        questions.try_to_approve(wanted)
        if yes_first:
            unwanted.decline(watch=False)

    _, watched = questions.driver.seen_during(answer)
    runs = watched[1].runs_since(watched[0])
    if runs is None:
        raise NotVerified("the effects do not tell how often a tool ran", minor=True)
    questions.expect(runs == 1, sent=sent, expected="one run", got=f"{runs} runs")
    entries = (watched[1].entries or ())[len(watched[0].entries or ()) :]
    for entry in entries:
        if isinstance(entry, dict) and "arguments" in entry:
            questions.expect(
                entry["arguments"] == one.arguments,
                sent=sent,
                expected=f"run with {one.arguments}",
                got=f"run with {entry['arguments']}",
            )
    questions.driver.served()


@requirement("elicitation/pending-not-shared")
def test_questions_of_two_callers_are_told_apart(questions):
    """Two sessions are asked about the same call; one says no, the other yes: one run."""
    questions.need_effects()
    other = questions.second_client()
    tool = questions.tool
    mine, theirs = questions.ask(tool), questions.ask(tool, client=other)
    _, runs = questions.driver.runs_during(partial(theirs.decline, watch=False))
    sent = f"{tool.name}, asked of two sessions"
    questions.expect(runs == 0, sent=f"{sent}, one declines", expected="no run", got="a run")
    outcome, runs = questions.driver.runs_during(partial(questions.try_to_approve, mine))
    questions.expect_ran_once(
        questions.driver.with_runs(outcome, runs), sent=f"{sent}, the other approves"
    )


@requirement("elicitation/pending-not-shared")
def test_others_are_served_while_a_question_is_open(questions):
    """A list of tools, and a whole honest round of another call; then the answer is taken."""
    tools = questions.asking_tools()
    for tool, other in zip(tools, tools[1:] + tools[:1], strict=True):
        asked = questions.ask(tool)
        reply = questions.driver.session.call("tools/list")
        sent = f"tools/list, while {tool.name} waits for an answer"
        questions.expect(reply.answered, sent=sent, expected="an answer", got=reply.describe())
        second = questions.driver.ask(other)
        sent = f"{other.name}, while {tool.name} waits for an answer"
        if not isinstance(second, AskedQuestion):
            raise finding_of(second, sent=sent, expected="a question of its own")
        questions.expect_ran_once(questions.try_to_approve(second), sent=sent)
        questions.driver.forget()
        outcome, runs = questions.driver.runs_during(partial(questions.try_to_approve, asked))
        questions.expect_ran_once(
            questions.driver.with_runs(outcome, runs),
            sent=f"{tool.name}, approved after others were served",
        )
