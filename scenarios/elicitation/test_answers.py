"""Answers: decline, cancel, accept without a yes, unknown actions, broken schemas, other keys."""

from functools import partial

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, requirement
from pytest_mcp_approval.families.base.hostile_values import SPECIAL_NAMES
from pytest_mcp_approval.families.elicitation.driver import PASSED_OVER
from pytest_mcp_approval.families.elicitation.form_answers import (
    LEFT_OUT,
    honest_content,
    whole_content,
    without_yes,
)
from pytest_mcp_approval.families.elicitation.hostile_answers import (
    UNKNOWN_ACTIONS,
    contents_of_refusals,
    malformed_answers,
    malformed_responses,
    malformed_states,
    of_other_types,
    other_ids,
    other_keys,
)
from pytest_mcp_approval.families.elicitation.outcome import HONEST
from pytest_mcp_approval.families.elicitation.schema_breaks import breaking
from pytest_mcp_approval.families.elicitation.vocabulary import Action
from pytest_mcp_approval.wire import Outcome

SPELLED = "a yes in another spelling: the schema is not checked"


def _response(asked, action, content):
    return asked.response(action, content)


def _answers(questions, action, contents):
    """Attempts that answer with each of these contents, by their names."""
    return {
        name: partial(_answer, questions, partial(_response, action=action, content=content))
        for name, content in contents.items()
    }


def _answer(questions, response_for, asked):
    return questions.driver.answer(asked, response_for(asked), watch=False)


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Action.DECLINE, marks=requirement("elicitation/decline"), id="decline"),
        pytest.param(Action.CANCEL, marks=requirement("elicitation/cancel"), id="cancel"),
    ],
)
def test_a_person_who_says_no_is_heard(questions, action):
    """Decline and cancel, alone and with every content that would approve; in every mode."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                questions.expect_none_runs(
                    tool,
                    _answers(questions, action, contents_of_refusals(questions.kind(tool))),
                    what=f"{tool.name}, answered with {action.value}",
                )


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Action.DECLINE, marks=requirement("elicitation/decline"), id="decline"),
        pytest.param(Action.CANCEL, marks=requirement("elicitation/cancel"), id="cancel"),
    ],
)
def test_no_is_told_as_no(questions, action):
    """The answer does not claim that anything was done, and is an answer."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            questions.honest(tool)
            with several.one(tool.name):
                outcome = questions.ask(tool).answer(action)
                sent = f"{tool.name}, answered with {action.value}"
                questions.expect_not_run(outcome, sent=sent)
                questions.expect_proper(outcome, sent=sent)


@requirement("elicitation/decline", "elicitation/cancel")
def test_a_question_that_got_a_no_is_over(questions):
    """An accept for the same question later: refused, or a warning, since the client could have
    accepted at once."""
    taken = []
    for tool in questions.asking_tools():
        for action in (Action.DECLINE, Action.CANCEL):
            asked = questions.ask(tool)
            asked.answer(action)
            again = questions.driver.answer(asked, questions.response(asked))
            if again.executed or again.claims:
                taken.append(f"{tool.name} after {action.value}")
        questions.honest(tool)
    if taken:
        questions.warn(f"an accept for a question that got a no runs the call: {', '.join(taken)}")


@requirement("elicitation/accept-without-yes")
def test_an_accept_that_does_not_say_yes_runs_nothing(questions):
    """The approving member false, missing, of another type; the content missing, or no object."""
    with questions.several() as several:
        for tool, _ in questions.deciding_tools():
            contents = list(without_yes(questions.kind(tool).schema, tool))
            by_name = {one.name: one.content for one in contents}
            with several.one(tool.name):
                questions.expect_none_runs(
                    tool,
                    _answers(questions, Action.ACCEPT, by_name),
                    what=f"{tool.name}, accepted without a yes",
                    only_warn={one.name: SPELLED for one in contents if one.spelled},
                )


@requirement("elicitation/accept-without-yes")
def test_a_yes_in_a_strange_member_is_none(questions):
    """Under names that mean something to a language or a database."""
    for tool, approving in questions.deciding_tools():
        yes = {approving.name: approving.yes}
        contents = {f"in a member {name!r}": {name: yes} for name in SPECIAL_NAMES}
        questions.expect_none_runs(
            tool,
            _answers(questions, Action.ACCEPT, contents),
            what=f"{tool.name}, accepted with the yes",
        )


@requirement("elicitation/unknown-action")
def test_nothing_but_accept_approves(questions):
    """Other words, other cases, other types, and no action at all, with a content that approves."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            attempts = {
                name: partial(_answer, questions, partial(_with_action, action=action))
                for name, action in UNKNOWN_ACTIONS.items()
            }
            with several.one(tool.name):
                questions.expect_none_runs(
                    tool, attempts, what=f"{tool.name}, answered with an unknown action"
                )


def _with_action(asked, action):
    return asked.response(action, HONEST)


@requirement("elicitation/response-schema")
def test_an_answer_that_breaks_the_schema_is_not_taken(questions):
    """It approves, and one member is of another type, too long, out of range, not offered, or
    missing."""
    tried = 0
    with questions.several() as several:
        for tool in questions.form_tools():
            kind = questions.kind(tool)
            honest = honest_content(kind.schema, tool)
            contents = dict(breaking(kind.schema, honest, kind.approving))
            tried += len(contents)
            with several.one(tool.name):
                if contents:
                    questions.expect_none_runs(
                        tool,
                        _answers(questions, Action.ACCEPT, contents),
                        what=f"{tool.name}, accepted with a content that breaks the schema",
                    )
    if not tried:
        raise NotApplicable("no form has anything that an approving answer could break")


@requirement("elicitation/accept-runs-once")
def test_what_need_not_be_filled_in_may_be(questions):
    """A yes with every free text that the form offers runs the call, once. A server may want more
    of a text than its schema says: a refusal is a warning."""
    tried = 0
    with questions.several() as several:
        for tool in questions.form_tools():
            kind = questions.kind(tool)
            with questions.honest_step():
                content = whole_content(kind.schema, tool)
            if content == honest_content(kind.schema, tool):
                continue
            tried += 1
            asked = questions.last_question(tool)
            outcome = questions.driver.answer(
                asked, asked.response(Action.ACCEPT, content), honest=True
            )
            sent = f"{tool.name}, accepted with {', '.join(content)} filled in"
            if outcome.nothing_ran:
                questions.warn(f"{sent}: {outcome.describe()}")
                continue
            with several.one(tool.name):
                questions.expect_ran_once(outcome, sent=sent)
    if not tried:
        raise NotApplicable("no form offers a text that need not be filled in")


# ---- answers to something else


@requirement("elicitation/unasked-answers")
def test_an_answer_to_another_question_approves_nothing(questions):
    """Sessionless: under another key. Handshake: under another id. The real answer then counts."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                if questions.sessionless:
                    _under_other_keys(questions, tool)
                else:
                    _under_other_ids(questions, tool)


def _under_other_keys(questions, tool):
    def attempt(keyed):
        def make(asked):
            responses = keyed(asked.key, questions.response(asked))
            return questions.driver.answer(asked, responses=responses, watch=False)

        return make

    questions.expect_none_runs(
        tool,
        {name: attempt(keyed) for name, keyed in other_keys().items()},
        what=f"{tool.name}, an accept under a key that was not asked",
        survives=True,
    )


def _under_other_ids(questions, tool):
    """Nothing may come of it; then the real answer is taken."""
    for name, other in other_ids().items():
        asked = questions.ask(tool)
        wrong = other(asked.pending.id)
        if wrong is None:
            questions.driver.leave(asked)
            continue
        sent = f"{tool.name}, an accept under {name}"
        questions.expect_not_run(
            questions.driver.answer_under(asked, wrong, questions.response(asked)), sent=sent
        )
        if not asked.pending.over:  # a server may also end the call
            sent = f"{sent}, then under the right one"
            questions.expect_ran_once(questions.try_to_approve(asked), sent=sent)


@requirement("elicitation/unasked-answers")
def test_more_answers_than_were_asked_for_do_no_harm(questions):
    """Responses under further keys are ignored, before and behind the right one: that one counts,
    whether yes or no."""
    questions.need_sessionless()
    tool = questions.tool
    with questions.several() as several:
        for place in ("before it", "behind it"):
            asked = questions.ask(tool)
            accept, decline = questions.response(asked), asked.response(Action.DECLINE, LEFT_OUT)
            responses = _in_a_crowd(asked.key, decline, accept, place)
            with several.one(f"a no, others {place}"):
                questions.expect_not_run(
                    questions.driver.answer(asked, responses=responses),
                    sent=f"{tool.name}, declined; {place} accepts under keys that were not asked",
                )
            asked = questions.ask(tool)
            responses = _in_a_crowd(asked.key, accept, decline, place)
            with several.one(f"a yes, others {place}"):
                outcome = questions.driver.answer(asked, responses=responses, honest=True)
                questions.expect_ran_once(
                    questions.to_the_end(outcome),
                    sent=f"{tool.name}, accepted; {place} declines under keys that were not asked",
                )


def _in_a_crowd(key, answer, others, place):
    crowd = {f"extra-{number}": others for number in range(3)}
    return {**crowd, key: answer} if place == "before it" else {key: answer, **crowd}


@requirement("elicitation/missing-answers")
def test_the_state_alone_approves_nothing(questions):
    """A retry with the state and without the answer: it asks again; refusing is a warning."""
    questions.need_sessionless()
    with questions.several() as several:
        for tool in questions.asking_tools():
            for name, responses in {
                "without responses": LEFT_OUT,
                "with empty responses": {},
            }.items():
                with several.one(f"{tool.name} {name}"):
                    asked = questions.ask(tool)
                    sent = f"{tool.name}, again with its state, {name}"
                    outcome = questions.driver.answer(asked, responses=responses)
                    questions.expect_not_run(outcome, sent=sent)
                    if not outcome.asks_again:
                        questions.warn(f"{sent}: {outcome.describe()}; expected to be asked again")
                        continue
                    with questions.promised(sent=f"{sent}; then answered", expected="it runs"):
                        questions.approve(outcome.question)


# ---- answers that are none


@requirement("elicitation/malformed-answers")
def test_malformed_answers_get_a_proper_error(questions):
    """Of other types, deep and huge; nothing runs, nothing breaks, and honest people are served."""
    tool = questions.tool
    questions.honest(tool)
    with questions.several() as several:
        for name, malformed in malformed_responses().items():
            with several.one(name):
                asked = questions.ask(tool, watch=False)
                if questions.sessionless:
                    outcome = questions.driver.answer(asked, responses=malformed)
                else:
                    outcome = questions.driver.answer(asked, malformed, seconds=PASSED_OVER)
                sent = f"{tool.name}, the answer is {name}"
                questions.expect_not_run(outcome, sent=sent)
                _expect_proper_or_waiting(questions, outcome, sent)
        with several.one("afterwards"):
            questions.still_serves(tool, after="malformed answers")


def _expect_proper_or_waiting(questions, outcome, sent):
    """A result that is no object is no response of JSON-RPC's. In an open call it may be passed
    over, as the official SDKs do: the question then waits for another."""
    waits = outcome.reply.outcome is Outcome.NO_ANSWER and not questions.sessionless
    if not waits:
        questions.expect_proper(outcome, sent=sent)


@requirement("elicitation/malformed-answers")
def test_answers_of_other_types_get_a_proper_error(questions):
    """The action, the content, or a member of it is of another type, or breaks the form's schema.
    Whether such a yes is taken is another rule's business; here the server must not fail."""
    with questions.several() as several:
        for tool, approving in questions.deciding_tools():
            schema = questions.kind(tool).schema
            honest = honest_content(schema, tool)
            broken = dict(breaking(schema, honest, approving))
            answers = of_other_types(honest) | {
                name: {"action": "accept", "content": content} for name, content in broken.items()
            }
            for name, answer in answers.items():
                with several.one(f"{tool.name}, {name}"):
                    asked = questions.ask(tool, watch=False)
                    outcome = questions.driver.answer(
                        asked, answer, watch=False, seconds=PASSED_OVER
                    )
                    sent = f"{tool.name}, an answer in which {name}"
                    _expect_proper_or_waiting(questions, outcome, sent)
            with several.one(f"{tool.name}, afterwards"):
                questions.still_serves(tool, after="answers of other types")


@requirement("elicitation/malformed-answers")
def test_malformed_answers_to_the_question_get_a_proper_error(questions):
    """The same under the key that was asked: nothing runs, and honest people are served."""
    questions.need_sessionless()
    tool = questions.tool
    questions.honest(tool)
    with questions.several() as several:
        for name, malformed in malformed_answers().items():
            with several.one(name):
                asked = questions.ask(tool, watch=False)
                outcome = questions.driver.answer(asked, responses={asked.key: malformed})
                sent = f"{tool.name}, the answer to its question is {name}"
                questions.expect_not_run(outcome, sent=sent)
                questions.expect_proper(outcome, sent=sent)
        with several.one("afterwards"):
            questions.still_serves(tool, after="malformed answers to its question")


@requirement("elicitation/malformed-answers")
def test_malformed_states_get_a_proper_error(questions):
    """A number, an object, a list, empty, a megabyte, and the server's own with a character that no
    encoding has; with an answer that approves."""
    questions.need_sessionless()
    tool = questions.tool
    questions.honest(tool)
    asked = questions.ask(tool)
    with questions.several() as several:
        for name, malformed in malformed_states(asked.state).items():
            with several.one(name):
                outcome = questions.driver.answer(asked, questions.response(asked), state=malformed)
                sent = f"{tool.name}, the state is {name}"
                questions.expect_not_run(outcome, sent=sent)
                questions.expect_proper(outcome, sent=sent)
        with several.one("afterwards"):
            questions.still_serves(tool, after="malformed states")
