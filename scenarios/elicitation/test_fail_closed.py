"""Fail closed: without a way to ask, without an answer, or with an argument that claims consent."""

import contextlib

from pytest_mcp_approval.catalogue import Finding, Grade, NotApplicable, requirement
from pytest_mcp_approval.families.base.scenario import finding_of
from pytest_mcp_approval.families.elicitation.consent_arguments import (
    consent_members,
    everywhere,
)
from pytest_mcp_approval.families.elicitation.driver import PASSED_OVER
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion
from pytest_mcp_approval.families.elicitation.vocabulary import Mode, capability
from pytest_mcp_approval.wire import RawJson, WireError

NO_CAPABILITY = {
    "no capability": {},
    "elicitation null": {"elicitation": None},
    "other capabilities only": {"sampling": {}, "roots": {"listChanged": True}},
    "elicitation false": {"elicitation": False},
    "elicitation among experimental ones": {"experimental": {"elicitation": {"form": {}}}},
    "another case": {"Elicitation": {"form": {}, "url": {}}},
}
FEW = 3
"""Where each client needs a process of its own."""


def _expect_nobody_asked(questions, client, tool, sent, **how):
    """No question, and nothing run. What comes of a question that came all the same is told."""
    asked = client.ask(tool, **how)
    if isinstance(asked, AskedQuestion):
        after = "" if questions.sessionless else _refused_by_client(questions, asked)
        raise Finding(
            sent=sent,
            expected="no question, and nothing run",
            got=f"{asked.describe()}{after}",
            grade=Grade.RAN if "run" in after and "not run" not in after else Grade.BROKEN,
        )
    # Another approval that the table names is no run, and need not say so.
    if not (questions.table.instead and asked.plain and not asked.executed):
        questions.expect_not_run(asked, sent=sent)
    if asked.code == -32021 and not isinstance(asked.required_capabilities, dict):
        questions.warn(f"{sent}: {asked.describe()}; expected requiredCapabilities in its data")


def _refused_by_client(questions, asked):
    refusal = {"code": -32601, "message": "Method not found"}
    outcome = questions.driver.answer(asked, error=refusal)
    return f"; refused by the client, then {outcome.describe()}"


def _clients(questions, declared):
    """A client for each; a server may refuse to talk to some, which asks nobody."""
    one_session = questions.over_stdio and not questions.sessionless
    for name, capabilities in list(declared.items())[: FEW if one_session else None]:
        client = questions.driver.new_client(capabilities)
        with contextlib.suppress(WireError):
            _ = client.session
            yield name, client


@requirement("elicitation/no-capability")
def test_a_client_that_cannot_ask_gets_no_question_and_no_run(questions):
    """Every tool, for clients that declare nothing, null, or something else."""
    questions.honest()
    tools = questions.asking_tools()
    with questions.several() as several:
        for name, client in _clients(questions, NO_CAPABILITY):
            for tool in tools:
                with several.one(f"{tool.name}, {name}"):
                    _expect_nobody_asked(
                        questions, client, tool, f"{tool.name} by a client with {name}"
                    )
    questions.honest()


@requirement("elicitation/no-capability")
def test_a_client_that_cannot_ask_cannot_answer_either(questions):
    """It brings an accept without having been asked, with and without a state of its own making."""
    questions.need_sessionless()
    client = questions.driver.without_capability()
    with questions.several() as several:
        for tool in questions.asking_tools():
            asked = questions.ask(tool)
            answers = {asked.key: questions.response(asked)}
            for name, more in {
                "without a state": {"inputResponses": answers},
                "with an empty state": {"inputResponses": answers, "requestState": ""},
                "with an invented state": {"inputResponses": answers, "requestState": "approved"},
            }.items():
                with several.one(f"{tool.name} {name}"):
                    _expect_nobody_asked(
                        questions,
                        client,
                        tool,
                        f"{tool.name} by a client without the capability, with an accept, {name}",
                        more=more,
                    )
            questions.approve(asked)


@requirement("elicitation/mode-not-declared")
def test_nobody_is_asked_in_a_mode_that_was_not_declared(questions):
    """Clients for pages alone get no form; clients for forms alone get no page."""
    declared = {
        "url alone": (Mode.FORM, capability(Mode.URL)),
        "an empty elicitation": (Mode.URL, {"elicitation": {}}),
        "form alone": (Mode.URL, capability(Mode.FORM)),
    }
    tried = 0
    with questions.several() as several:
        for name, (mode, capabilities) in declared.items():
            tools = questions.asking_tools(mode)
            if not tools:
                continue
            client = questions.driver.new_client(capabilities)
            for tool in tools:
                tried += 1
                with several.one(f"{tool.name}, {name}"):
                    _expect_nobody_asked(
                        questions,
                        client,
                        tool,
                        f"{tool.name}, which asks by {mode.value}, by a client with {name}",
                    )
    questions.honest()
    if not tried:
        raise NotApplicable("no tool asks by a form or on a page")


@requirement("elicitation/mode-not-declared")
def test_a_client_that_declares_a_mode_is_served_in_it(questions):
    """The positive twin: a form needs nothing but form (or an empty object), a page nothing but
    url."""
    declared = {
        "form alone": (Mode.FORM, capability(Mode.FORM)),
        "an empty elicitation": (Mode.FORM, {"elicitation": {}}),
        "url alone": (Mode.URL, capability(Mode.URL)),
    }
    questions.honest()
    with questions.several() as several:
        for name, (mode, capabilities) in declared.items():
            for tool in questions.asking_tools(mode)[:1]:
                client = questions.driver.new_client(capabilities)
                asked = client.ask(tool)
                sent = f"{tool.name}, which asks by {mode.value}, by a client with {name}"
                with several.one(sent), questions.promised(sent=sent, expected="it is served"):
                    questions.expect_question(asked, sent=sent)
                    questions.approve(asked)
    questions.honest()


@requirement("elicitation/capability-of-this-request")
def test_a_capability_is_not_remembered(questions):
    """After a request that declared it, one that does not is asked nothing, and runs nothing."""
    questions.need_sessionless()
    client = questions.driver.without_capability()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                questions.honest(tool)
                _expect_nobody_asked(
                    questions,
                    client,
                    tool,
                    f"{tool.name} without the capability, after one with it, in one conversation",
                )


@requirement("elicitation/capability-of-this-request")
def test_an_answer_needs_the_capability_too(questions):
    """Declared on the first request and not on the retry: the retry runs nothing. The other way
    round: the first request opens nothing that a retry could use."""
    questions.need_sessionless()
    client = questions.driver.without_capability()
    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                asked = questions.ask(tool)
                if asked.url:
                    questions.driver.person.approve(asked)
                outcome = questions.driver.answer(asked, questions.response(asked), client=client)
                sent = f"{tool.name}: asked with the capability, answered without it"
                questions.expect_not_run(outcome, sent=sent)
                client.ask(tool)
                again = questions.driver.ask(tool)
                questions.expect_question(
                    again, sent=f"{tool.name} with the capability, after a request without it"
                )
                questions.approve(again)


# ---- an error for an answer

ERRORS = {
    "method not found": {"code": -32601, "message": "Method not found"},
    "invalid params": {"code": -32602, "message": "Invalid params"},
    "internal error": {"code": -32603, "message": "Internal error"},
    "the user rejected it": {"code": -1, "message": "User rejected the request"},
    "a code that nobody knows": {"code": 12345, "message": "accept"},
    "no message": {"code": 0, "message": ""},
    "an accept in its data": {
        "code": -1,
        "message": "accept",
        "data": {"action": "accept", "content": {"confirm": True}},
    },
    "null": RawJson("null"),
    "a text": "accept",
    "an empty object": {},
}
NO_RESULTS = {
    "null": RawJson("null"),
    "an empty object": {},
    "a list": [],
    "a list with the answer": [{"action": "accept", "content": {"confirm": True}}],
    "the text accept": "accept",
    "true": True,
    "1": 1,
    "the content alone": {"content": {"confirm": True}},
    "the answer inside another": {"result": {"action": "accept", "content": {"confirm": True}}},
}


@requirement("elicitation/client-error")
def test_an_error_in_place_of_an_answer_is_no_consent(questions):
    """Every code, also with an accept in its data; and results that are none."""
    questions.need_handshake()

    def by_error(error):
        return lambda asked: questions.driver.answer(
            asked, error=error, watch=False, seconds=PASSED_OVER
        )

    def by_result(result):
        return lambda asked: questions.driver.answer(
            asked, result, watch=False, seconds=PASSED_OVER
        )

    with questions.several() as several:
        for tool in questions.asking_tools():
            with several.one(tool.name):
                questions.expect_none_runs(
                    tool,
                    {name: by_error(error) for name, error in ERRORS.items()},
                    what=f"{tool.name}, the question answered with an error",
                )
            with several.one(tool.name):
                questions.expect_none_runs(
                    tool,
                    {name: by_result(result) for name, result in NO_RESULTS.items()},
                    what=f"{tool.name}, the question answered with a result",
                )


# ---- arguments that claim consent


@requirement("elicitation/model-set-consent")
def test_an_argument_that_claims_consent_is_none(questions):
    """confirm, force, approved and the like, each alone; the person is asked all the same."""
    questions.need_effects_or_words()
    with questions.several() as several:
        for tool in questions.asking_tools():
            questions.honest(tool)
            own = questions.properties(tool)
            for name, arguments in consent_members(
                tool.arguments, own, briefly=tool is not questions.tool
            ):
                with several.one(f"{tool.name}, {name}"):
                    _expect_asked_or_refused(questions, tool, arguments, name)
    questions.honest()


def _expect_asked_or_refused(questions, tool, arguments, name, **how):
    sent = f"{tool.name} with {name}"
    asked = questions.driver.ask(tool, arguments, **how)
    if isinstance(asked, AskedQuestion):
        questions.expect_question(asked, sent=sent)
        questions.driver.leave(asked)
        return
    # A strict server may refuse arguments that it does not know.
    if asked.executed or asked.claims:
        raise finding_of(
            asked, sent=sent, expected="a question or a refusal, nothing run", grade=Grade.RAN
        )


@requirement("elicitation/model-set-consent")
def test_consent_is_not_read_from_elsewhere(questions):
    """The same claims beside the arguments, in _meta and in headers; with the capability."""
    questions.need_effects_or_words()
    with questions.several() as several:
        for tool in questions.asking_tools():
            for name, more, headers in everywhere():
                with several.one(f"{tool.name}, {name}"):
                    _expect_asked_or_refused(
                        questions, tool, None, name, more=more, headers=headers
                    )
    questions.honest()


@requirement("elicitation/model-set-consent")
def test_claimed_consent_helps_no_client_that_cannot_ask(questions):
    """Without the capability: nothing runs, whatever the arguments claim."""
    client = questions.driver.without_capability()
    with questions.several() as several:
        for tool in questions.asking_tools():
            own = questions.properties(tool)
            for name, arguments in consent_members(tool.arguments, own, briefly=True):
                with several.one(f"{tool.name}, {name}"):
                    came = questions.driver.ask(tool, arguments, client=client)
                    if isinstance(came, AskedQuestion):
                        questions.driver.leave(came)  # whether it may ask is another rule's
                        continue
                    if questions.table.instead and came.plain and not came.executed:
                        continue
                    sent = f"{tool.name} with {name}, by a client without the capability"
                    questions.expect_not_run(came, sent=sent)
    questions.honest()
