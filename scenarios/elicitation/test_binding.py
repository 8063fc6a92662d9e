"""Binding: an approval is for the very question, arguments, tool and caller that were asked about.

Sessionless: what binds is the state that the client sends back. Handshake: the question is pending
in the call, and only the session that was asked can answer.
"""

from functools import partial

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, requirement
from pytest_mcp_approval.families.base.scenario import finding_of
from pytest_mcp_approval.families.elicitation.form_answers import LEFT_OUT
from pytest_mcp_approval.families.elicitation.other_arguments import (
    near_changes,
    plain_changes,
    reordered,
)
from pytest_mcp_approval.families.elicitation.question import AskedQuestion
from pytest_mcp_approval.families.elicitation.state_changes import (
    SAME_BYTES,
    changed_states,
    rewritings,
    same_bytes,
)
from pytest_mcp_approval.wire import RawJson

# ---- answers that come first


@requirement("elicitation/first-shot")
def test_a_first_call_that_brings_an_accept_runs_nothing(questions):
    """Without a state, with an empty one, and with an invented one."""
    questions.need_sessionless()
    with questions.several() as several:
        for tool in questions.asking_tools():
            asked = questions.ask(tool)
            answers = {asked.key: questions.response(asked)}
            for name, state in {
                "without a state": LEFT_OUT,
                "with null for a state": RawJson("null"),
                "with an empty state": "",
                "with an invented state": "eyJhcHByb3ZlZCI6dHJ1ZX0",
                "with true for a state": True,
            }.items():
                more = {"inputResponses": answers}
                if state is not LEFT_OUT:
                    more["requestState"] = state
                with several.one(f"{tool.name}, {name}"):
                    _expect_nothing_runs(
                        questions, tool, f"{tool.name}, an accept at once, {name}", more
                    )
            with several.one(f"{tool.name}, honestly"):
                questions.approve(asked)


def _expect_nothing_runs(questions, tool, sent, more, arguments=None):
    came = questions.driver.ask(tool, arguments, more=more)
    if isinstance(came, AskedQuestion):
        questions.expect_question(came, sent=sent)
    else:
        questions.expect_not_run(came, sent=sent)


@requirement("elicitation/first-shot")
def test_a_state_of_another_tool_opens_nothing_at_once(questions):
    """A first call of one tool, with an accept and the state of another tool's question."""
    questions.need_sessionless()
    tools = questions.asking_tools()
    if len(tools) < 2:
        raise NotApplicable("only one tool asks")
    with questions.several() as several:
        for one, other in zip(tools, tools[1:] + tools[:1], strict=True):
            asked, own = questions.ask(other), questions.ask(one)
            if not isinstance(asked.state, str):
                raise NotApplicable("the questions have no state")
            more = {
                "inputResponses": {
                    asked.key: questions.response(asked),
                    own.key: questions.response(own),
                },
                "requestState": asked.state,
            }
            with several.one(one.name):
                sent = f"{one.name}, an accept at once, with a state of {other.name}"
                _expect_nothing_runs(questions, one, sent, more)
            questions.approve(own)


GUESSES = 4


@requirement("elicitation/first-shot")
def test_an_answer_that_comes_before_the_question_counts_for_none(questions):
    """Handshake: accepts under the ids that the server will use next, before it asks."""
    questions.need_handshake()
    tool = questions.tool
    before = questions.ask(tool)
    last = before.pending.id
    if type(last) is not int:
        raise NotApplicable("the ids of questions cannot be guessed")
    for more in range(1, GUESSES):
        questions.driver.answer_under(before, last + more, questions.response(before))
    questions.expect_not_run(before.decline(), sent=f"{tool.name}, declined")
    asked = questions.driver.ask(tool)
    sent = f"{tool.name}, after accepts under ids that were still to come"
    questions.expect_question(asked, sent=sent)
    questions.expect_not_run(asked.decline(), sent=f"{sent}, declined")
    questions.honest(tool)


# ---- the state


@requirement("elicitation/state-integrity")
def test_a_state_that_was_changed_is_refused(questions):
    """Each character, its length, its spelling, its parts; a token's algorithm; what can be read
    of it, written anew."""
    questions.need_sessionless()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                _expect_changes_refused(questions, tool)


def _expect_changes_refused(questions, tool):
    if not isinstance(questions.ask(tool).state, str):
        raise NotApplicable(f"the question of {tool.name} has no state: see elicitation/first-shot")

    def attempt(name, asked):
        if asked.url:
            questions.driver.person.approve(asked)
        state = changed_states(asked.state).get(name, f"{asked.state}x")
        return questions.driver.answer(asked, questions.response(asked), state=state, watch=False)

    asked = questions.ask(tool)
    changes = changed_states(asked.state)
    questions.expect_none_runs(
        tool,
        {name: partial(attempt, name) for name in changes},
        what=f"{tool.name}, approved with a state that was changed",
        survives=not asked.url,
        only_warn={
            name: SAME_BYTES for name, state in changes.items() if same_bytes(asked.state, state)
        },
    )


@requirement("elicitation/state-integrity")
def test_a_state_that_can_be_read_cannot_be_rewritten(questions):
    """The values of the arguments inside it replaced by others, and the call made with those."""
    questions.need_sessionless()
    tried = 0
    with questions.several() as several:
        for tool in questions.asking_tools():
            for other in plain_changes(tool):
                replaced = {
                    str(value): str(other.called.get(name))
                    for name, value in other.asked.items()
                    if isinstance(value, str) and value != other.called.get(name)
                }
                asked = questions.ask(tool, watch=False) if replaced else None
                if asked is None or not isinstance(asked.state, str):
                    continue
                for name, state in rewritings(asked.state, replaced):
                    tried += 1
                    with several.one(f"{tool.name}, {name}"):
                        outcome = questions.driver.answer(
                            asked, questions.response(asked), state=state, arguments=other.called
                        )
                        sent = f"{tool.name}, {other.name}, with a state {name} for that"
                        questions.expect_not_run(outcome, sent=sent)
    questions.honest()
    if not tried:
        raise NotApplicable("nothing in the states can be read")


# ---- arguments


def _effective(watched):
    """With which arguments a tool ran meanwhile, as far as the effects show it."""
    before, after = watched
    if before.entries is None or after.entries is None:
        return None
    added = after.entries[len(before.entries) :]
    return [one.get("arguments") for one in added if isinstance(one, dict) and "arguments" in one]


def _expect_bound(questions, tool, changes):
    """All at once; if anything ran, one by one."""
    made = []

    def all_of_them():
        for change in changes:
            asked = questions.driver.ask(tool, change.asked, watch=False)
            if not isinstance(asked, AskedQuestion):
                continue  # a server may refuse odd arguments
            if asked.url:
                questions.driver.person.approve(asked)
            response = questions.response(asked)
            made.append(change)
            yield questions.driver.answer(asked, response, arguments=change.called, watch=False)

    outcomes, runs = questions.driver.runs_during(lambda: list(all_of_them()))
    clean = questions.driver.effects is not None and runs == 0
    if clean and not any(one.claims for one in outcomes):
        return
    with questions.several() as several:
        for change in made:
            with several.one(change.name):
                _expect_one_bound(questions, tool, change)


def _expect_one_bound(questions, tool, change):
    asked = questions.ask(tool, change.asked, watch=False)
    if asked.url:
        questions.driver.person.approve(asked)
    answer = partial(
        questions.driver.answer,
        asked,
        questions.response(asked),
        arguments=change.called,
        watch=False,
    )
    outcome, watched = questions.driver.seen_during(answer)
    if watched is None:
        if not change.alike:
            questions.expect_not_run(outcome, sent=f"{tool.name}, approved, then {change.name}")
        return
    runs = watched[1].runs_since(watched[0])
    outcome = questions.driver.with_runs(outcome, runs)
    sent = f"{tool.name}: approved with some arguments, called with others ({change.name})"
    if not change.alike:
        questions.expect_not_run(outcome, sent=sent)
        return
    ran = _effective(watched)
    if outcome.executed and ran and change.called in ran and change.asked not in ran:
        raise finding_of(
            outcome,
            sent=sent,
            expected="nothing run, or what was asked about",
            grade=Grade.RAN,
        )


@requirement("elicitation/state-arguments")
def test_an_approval_is_for_these_arguments(questions):
    """Each member changed, added, dropped, null, exchanged; also inside objects and lists."""
    questions.need_sessionless()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                _expect_bound(questions, tool, list(plain_changes(tool)))
            questions.honest(tool)


@requirement("elicitation/state-arguments")
def test_arguments_that_are_nearly_the_same_are_others(questions):
    """Other types with the same text, look-alikes, long texts, deep objects, special names."""
    questions.need_sessionless()
    tools = questions.asking_tools()
    richest = max(tools, key=lambda tool: len(str(tool.arguments)))
    with questions.several() as several:
        for tool in dict.fromkeys([questions.tool.name, richest.name]):
            own = questions.driver.tool(tool)
            with several.one(tool):
                _expect_bound(questions, own, list(near_changes(own)))
            questions.honest(own)


@requirement("elicitation/state-arguments")
def test_the_order_of_members_means_nothing(questions):
    """The same arguments with their members in another order are the same call: it runs."""
    questions.need_sessionless()
    tried = 0
    with questions.several() as several:
        for tool in questions.asking_tools():
            if len(tool.arguments) < 2:
                continue
            tried += 1
            asked = questions.ask(tool)
            if asked.url:
                questions.driver.person.approve(asked)
            outcome = questions.driver.answer(
                asked, questions.response(asked), arguments=reordered(tool.arguments), honest=True
            )
            with several.one(tool.name):
                questions.expect_ran_once(
                    questions.to_the_end(outcome),
                    sent=f"{tool.name}, approved, its arguments in another order",
                )
    if not tried:
        raise NotApplicable("no tool takes two arguments")


@requirement("elicitation/state-arguments")
def test_an_exempt_argument_may_differ(questions):
    """What the table exempts is not bound; everything else still is."""
    questions.need_sessionless()
    tools = [tool for tool in questions.asking_tools() if tool.exempt]
    if not tools:
        raise NotApplicable("no tool has exempt arguments in its table")
    for tool in tools:
        _expect_bound(questions, tool, list(plain_changes(tool)))
        questions.honest(tool)


# ---- tool and caller


@requirement("elicitation/state-tool")
def test_an_approval_is_for_this_tool(questions):
    """Approved for one tool, retried at another that takes the same arguments."""
    questions.need_sessionless()
    one, other = questions.twins()
    with questions.several() as several:
        for first, second in ((one, other), (other, one)):
            asked, own = questions.ask(first), questions.ask(second)
            responses = {
                own.key: questions.response(own),
                asked.key: questions.response(asked),
            }
            with several.one(first.name):
                sent = f"approved for {first.name}, called {second.name} with the same arguments"
                questions.expect_not_run(
                    questions.driver.answer(asked, tool=second, responses=responses), sent=sent
                )
            questions.honest(first)


@requirement("elicitation/state-tool")
def test_no_state_opens_any_other_tool(questions):
    """Every tool's state at every other, each with its own arguments."""
    questions.need_sessionless()
    tools = questions.asking_tools()
    if len(tools) < 2:
        raise NotApplicable("only one tool asks")
    with questions.several() as several:
        for first in tools:
            for second in (tool for tool in tools if tool is not first):
                asked, own = questions.ask(first), questions.ask(second)
                if asked.url:
                    questions.driver.person.approve(asked)
                responses = {
                    asked.key: questions.response(asked),
                    own.key: questions.response(own),
                }
                sent = f"{second.name}, approved, with the state of {first.name}"
                with several.one(sent):
                    outcome = questions.driver.answer(
                        asked, tool=second, arguments=second.arguments, responses=responses
                    )
                    questions.expect_not_run(outcome, sent=sent)
    questions.honest()


@requirement("elicitation/state-principal", needs=[])
def test_an_approval_is_for_this_caller(questions):
    """Approved by one caller, retried by another: refused; and the first one's round still works.
    In both directions, and the second caller is served for themselves."""
    questions.need_sessionless()
    second = questions.second_user()
    first = questions.driver.client
    with questions.several() as several:
        for tool in questions.asking_tools():
            for asker, thief in ((first, second), (second, first)):
                if asker is second and questions.kind(tool).mode == "url":
                    continue  # nobody is at the second user's page
                asked = questions.ask(tool, client=asker)
                if asked.url:
                    questions.driver.person.approve(asked)
                with several.one(tool.name):
                    sent = f"{tool.name}: one caller was asked, another one answers"
                    outcome = questions.driver.answer(
                        asked, questions.response(asked), client=thief
                    )
                    questions.expect_not_run(outcome, sent=sent)
                    outcome = questions.driver.answer(asked, questions.response(asked), honest=True)
                    questions.expect_ran_once(
                        questions.to_the_end(outcome), sent=f"{sent}; then the one who was asked"
                    )


# ---- the session (handshake)


@requirement("elicitation/state-session")
def test_only_the_session_that_was_asked_can_answer(questions):
    """Another session of the same user sends the accept, under the right id and under guessed ones:
    it is not taken, and the one that was asked can still answer."""
    questions.need_handshake()
    other = questions.second_client()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                _expect_not_answered_by(questions, tool, other, "another session")


@requirement("elicitation/state-session")
def test_no_other_user_can_answer(questions):
    """The same by a session of a second user."""
    questions.need_handshake()
    other = questions.second_user()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                _expect_not_answered_by(questions, tool, other, "a session of another user")


def _expect_not_answered_by(questions, tool, other, who):
    asked = questions.ask(tool)
    if asked.url:
        questions.driver.person.approve(asked)
    sent = f"{tool.name}: one session was asked, {who} accepts"
    response = questions.response(asked)
    outcome = questions.driver.answer(asked, response, session=other.session, seconds=0)
    questions.expect_not_run(outcome, sent=sent)
    questions.expect(
        not asked.pending.over,
        sent=sent,
        expected="the call stays open for the session that was asked",
        got="the call has ended",
    )
    outcome = questions.driver.answer(asked, response, honest=True)
    if not outcome.served_once:
        grade = Grade.RAN if (outcome.runs or 0) > 1 else Grade.BROKEN
        raise Finding(
            sent=f"{sent}; then the one that was asked",
            expected="the tool run once",
            got=outcome.describe(),
            grade=grade,
        )
    questions.driver.served()
