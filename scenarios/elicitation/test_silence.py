"""Silence: a question that nobody answers, a call that was cut, cancelled, or lost its session."""

import pytest

from pytest_mcp_approval.catalogue import Finding, NotApplicable, NotVerified, requirement
from pytest_mcp_approval.wire import StdioTransport


def _runs(questions, before):
    """How often something ran since then; None if that cannot be told."""
    questions.driver.forget()
    return questions.driver.client.effects().runs_since(before)


def _expect_only_the_honest(questions, before, tool, sent, also=0):
    """After an honest call, which gives the server time: it ran, and nothing else did."""
    questions.still_serves(tool, after=sent)
    runs = _runs(questions, before)
    if runs is None:
        raise NotVerified("the effects do not tell how often a tool ran", minor=True)
    questions.expect(
        1 <= runs <= 1 + also,
        sent=f"{sent}; then an honest call",
        expected="one run",
        got=f"{runs} runs",
    )


@requirement("elicitation/client-silent", needs=[])
def test_a_question_that_nobody_answers_runs_nothing(questions):
    """Asked, and left alone; others are served meanwhile, and afterwards."""
    questions.need_effects()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                before = questions.driver.client.effects()
                asked = questions.ask(tool)
                sent = f"{tool.name}, asked and never answered"
                questions.expect(
                    _runs(questions, before) == 0,
                    sent=sent,
                    expected="nothing run",
                    got="something ran",
                )
                if asked.pending is not None:
                    asked.pending.call.cancel("nobody is there")
                _expect_only_the_honest(questions, before, tool, sent)


ENDINGS = ["the call is cancelled", "the connection is cut", "the session is deleted"]


@requirement("elicitation/client-silent", needs=[])
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_answer_that_comes_after_the_end_runs_nothing(questions, ending):
    """The call is cancelled, its connection cut, or its session deleted; then the accept comes."""
    questions.need_handshake()
    questions.need_effects()
    for tool in questions.asking_tools():
        before = questions.driver.client.effects()
        client = questions.driver.client if questions.over_stdio else questions.second_client()
        asked = questions.ask(tool, client=client)
        response = questions.response(asked)
        if asked.url:
            questions.driver.person.approve(asked)
        _end(asked, client, ending)
        sent = f"{tool.name}: asked, {ending}, and then the accept comes"
        questions.driver.send(asked, response)
        # A lost connection is no cancellation (basic/transports): the call goes on, and a yes that
        # comes from the session that was asked may run it.
        also = 1 if ending == "the connection is cut" else 0
        _expect_only_the_honest(questions, before, tool, sent, also=also)


def _end(asked, client, ending):
    call = asked.pending.call
    if ending == "the call is cancelled":
        call.cancel("the person has left")
    elif ending == "the connection is cut":
        if not call.hang_up():
            raise NotApplicable("over stdio a call has no connection of its own")
    else:
        if isinstance(client.place.transport, StdioTransport) or client.session.session_id is None:
            raise NotApplicable("there is no session that could be deleted")
        reply = client.session.delete()
        if reply.status == 405:
            raise NotApplicable("the server lets no client delete its session")
        call.expect_nothing()


@requirement("elicitation/client-silent", needs=[])
@pytest.mark.parametrize("ending", ENDINGS)
def test_an_end_without_an_answer_runs_nothing(questions, ending):
    """The same without any answer: an end is no consent."""
    questions.need_handshake()
    questions.need_effects()
    for tool in questions.asking_tools():
        before = questions.driver.client.effects()
        client = questions.driver.client if questions.over_stdio else questions.second_client()
        _end(questions.ask(tool, client=client), client, ending)
        _expect_only_the_honest(questions, before, tool, f"{tool.name}: asked, and {ending}")


@requirement("elicitation/client-silent", needs=[])
def test_the_server_gives_up(questions):
    """After the time that the table states, the call ends and nothing has run."""
    questions.need_handshake()
    questions.need_effects()
    clock, patience = questions.clock, questions.table.patience
    for tool in questions.asking_tools():
        before = questions.driver.client.effects()
        asked = questions.ask(tool)
        clock.advance(patience + 1)
        # That no answer comes says nothing about the server's health: it is what is looked for.
        reply = asked.pending.call.wait(questions.driver.timeout, due=False)
        sent = f"{tool.name}, asked and not answered for {patience:g} s"
        if not reply.answered:
            asked.pending.call.cancel("nobody is there")
            if not questions.timers_follow:
                raise NotVerified(
                    f"{sent}: the call stays open, but the server's timers may not follow the "
                    f"clock ({clock.kind}): a shorter time, and {questions.real_clock_option}",
                    minor=True,
                )
            questions.honest(tool)  # it is alive
            raise Finding(
                sent=sent, expected="the call ends, nothing run", got="the call is still open"
            )
        questions.expect(
            _runs(questions, before) == 0, sent=sent, expected="nothing run", got=reply.describe()
        )
        late = questions.driver.answer(asked, questions.response(asked))
        questions.expect_not_run(late, sent=f"{sent}; then the accept comes")
        questions.honest(tool)
