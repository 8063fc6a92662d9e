"""Binding: an approval is for the very question and the very arguments that were asked about.

What binds is the state that the client sends back; in the handshake era the question is pending in
the call.
"""

from functools import partial

from pytest_mcp_approval.catalogue import Grade, NotApplicable, requirement
from pytest_mcp_approval.families.base.scenario import finding_of
from pytest_mcp_approval.families.elicitation.form_answers import LEFT_OUT
from pytest_mcp_approval.families.elicitation.other_arguments import (
    near_changes,
    plain_changes,
    reordered,
    written,
)
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion
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


@requirement("elicitation/first-shot")
def test_answers_in_the_call_itself_count_for_none(questions):
    """Handshake: a call that brings responses, as calls of later revisions do. There is no question
    yet that they could answer."""
    questions.need_handshake()
    with questions.several() as several:
        for tool in questions.asking_tools():
            before = questions.ask(tool)
            accept = questions.response(before)
            questions.driver.leave(before)
            answers = dict.fromkeys(("approval", "confirm", tool.name, "0"), accept)
            for name, more in {
                "without a state": {"inputResponses": answers},
                "with an invented state": {"inputResponses": answers, "requestState": "approved"},
            }.items():
                with several.one(f"{tool.name}, {name}"):
                    sent = f"{tool.name}, accepts in the call itself, {name}"
                    came = questions.driver.ask(tool, more=more)
                    if isinstance(came, AskedQuestion):
                        came = came.decline()
                    questions.expect_not_run(came, sent=sent)
            with several.one(f"{tool.name}, honestly"):
                questions.honest(tool)


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
    ran = {written(one) for one in _effective(watched) or ()}
    second_as_it_stands = written(change.called) in ran and written(change.asked) not in ran
    if outcome.executed and second_as_it_stands:
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
def test_each_state_is_for_its_own_arguments(questions):
    """Two questions about one tool are open: the state of one with the arguments of the other."""
    questions.need_sessionless()
    with questions.several() as several:
        for tool in questions.asking_tools():
            change = next((one for one in plain_changes(tool) if not one.alike), None)
            if change is None:
                continue
            for first, second in ((change.asked, change.called), (change.called, change.asked)):
                asked = questions.driver.ask(tool, first)
                other = questions.driver.ask(tool, second)
                if not isinstance(asked, AskedQuestion) or not isinstance(other, AskedQuestion):
                    continue
                if asked.url:
                    questions.driver.person.approve(asked)
                with several.one(tool.name):
                    outcome = questions.driver.answer(
                        asked, questions.response(asked), arguments=second
                    )
                    sent = f"{tool.name}, asked about two calls: the state of one for the other"
                    questions.expect_not_run(outcome, sent=sent)
            questions.honest(tool)


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
