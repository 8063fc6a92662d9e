"""Binding: an approval is for the tool, the caller and the session that were asked about.

Sessionless: what binds is the state that the client sends back. Handshake: the question is pending
in the call, and only the session that was asked can answer.
"""

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, requirement


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
