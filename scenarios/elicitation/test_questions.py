"""The question: its shape, its form, and what it tells the person."""

from pytest_mcp_approval.catalogue import Finding, NotApplicable, requirement
from pytest_mcp_approval.families.elicitation.other_arguments import plain_changes
from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion
from pytest_mcp_approval.families.elicitation.question_checks import (
    credentials_asked,
    cut_without_saying,
    leaves_of,
    links_in,
    rewriting_characters,
    tells,
    wrong_with_params,
    wrong_with_result,
    wrong_with_schema,
)
from pytest_mcp_approval.families.elicitation.vocabulary import Mode

LONG = 3000


def _expect_nothing_wrong(questions, tool, problems, what, expected):
    found = list(problems)
    questions.expect(
        not found, sent=f"{tool.name}: {what}", expected=expected, got="; ".join(found[:6])
    )


@requirement("elicitation/question-shape")
def test_a_question_has_the_shape_of_its_revision(questions):
    """All questions of all tools, to the end of each call."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            for asked in questions.rounds(tool):
                with several.one(tool.name):
                    whole = asked.reply is not None and not asked.by_error
                    problems = (
                        wrong_with_result(asked.reply.result)
                        if whole
                        else wrong_with_params(asked.params)
                    )
                    _expect_nothing_wrong(
                        questions, tool, problems, "its question", "the shape that MCP names"
                    )


METHODS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "ping")


@requirement("elicitation/question-shape")
def test_nothing_else_asks(questions):
    """Only tools/call, prompts/get and resources/read may answer with a question."""
    questions.honest()
    client = questions.driver.client
    with questions.several() as several:
        for method in METHODS:
            reply = client.session.call(method, client.completed({}))
            result = reply.result if isinstance(reply.result, dict) else {}
            with several.one(method):
                questions.expect(
                    result.get("resultType") != "input_required",
                    sent=method,
                    expected="no question",
                    got=reply.describe(),
                )
    questions.honest()


@requirement("elicitation/form-schema")
def test_a_form_is_flat(questions):
    """An object of primitive members, of the types, formats and choices that forms have."""
    lists = questions.driver.client.session.revision >= "2025-11-25"
    with questions.several() as several:
        for tool in questions.form_tools():
            for asked in questions.rounds(tool):
                if asked.mode is not Mode.FORM:
                    continue
                with several.one(tool.name):
                    _expect_nothing_wrong(
                        questions,
                        tool,
                        wrong_with_schema(asked.schema, lists=lists),
                        "the schema of its form",
                        "a flat object of primitive members",
                    )


# ---- what it tells


@requirement("elicitation/question-tells")
def test_a_question_names_every_value(questions):
    """Every argument that is bound stands in the message."""
    with questions.several() as several:
        for tool in questions.asking_tools():
            for arguments in filter(None, (tool.arguments, tool.other_arguments)):
                asked = questions.ask(tool, arguments)
                questions.driver.leave(asked)
                bound = {name: one for name, one in arguments.items() if name not in tool.exempt}
                missing = [
                    place for place, value in leaves_of(bound) if not tells(asked.message, value)
                ]
                with several.one(tool.name):
                    questions.expect(
                        not missing,
                        sent=f"{tool.name} with {arguments}",
                        expected="a message with every value that is bound",
                        got=f"without {', '.join(missing)}: {asked.message[:200]}",
                    )
    questions.honest()


@requirement("elicitation/question-tells")
def test_calls_that_differ_are_asked_about_differently(questions):
    """In any one member that is bound, in the tool, or in what stands at the end of a long text."""
    with questions.several() as several:
        seen: dict[str | None, str] = {}
        for tool in questions.asking_tools():
            for change in plain_changes(tool):
                if change.alike:
                    continue
                first = _message(questions, tool, change.asked)
                second = _message(questions, tool, change.called)
                if first is None or second is None:
                    continue
                with several.one(f"{tool.name}, {change.name}"):
                    questions.expect(
                        first != second,
                        sent=f"{tool.name}, twice: {change.name}",
                        expected="two messages that differ",
                        got=f"twice {first[:160]}",
                    )
            usual = _message(questions, tool, tool.arguments)
            with several.one(tool.name):
                questions.expect(
                    usual not in seen,
                    sent=f"{tool.name} and {seen.get(usual)}",
                    expected="a message that says what will happen",
                    got=f"both ask {str(usual)[:160]}",
                )
            seen[usual] = tool.name
    questions.honest()


def _message(questions, tool, arguments):
    """What is asked about this call; None if it is refused."""
    asked = questions.driver.ask(tool, arguments, watch=False)
    if not isinstance(asked, AskedQuestion):
        return None
    questions.driver.leave(asked)
    return asked.message


def _texts(tool):
    return {
        name: value
        for name, value in tool.arguments.items()
        if isinstance(value, str) and name not in tool.exempt
    }


@requirement("elicitation/question-tells")
def test_a_long_value_is_not_cut_in_silence(questions):
    """The end of a long text is shown, or the message says that something is left out."""
    tried = 0
    with questions.several() as several:
        for tool in questions.asking_tools():
            for name, value in _texts(tool).items():
                long = f"{value}{'a' * LONG}-the-end"
                message = _message(questions, tool, {**tool.arguments, name: long})
                if message is None:
                    continue
                tried += 1
                with several.one(f"{tool.name}, {name}"):
                    questions.expect(
                        not cut_without_saying(message, long),
                        sent=f"{tool.name}, {name} has {len(long)} characters",
                        expected="all of it, or that it is cut",
                        got=f"{len(message)} characters: ... {message[-80:]}",
                    )
    questions.honest()
    if not tried:
        raise NotApplicable("no tool takes a long text")


REWRITING = {
    "a line end and a sentence": "\r\nThis was approved by an administrator.",
    "an escape sequence": "\x1b[2K\x1b[1A",
    "a backspace": "\b\b\b\b",
    "a direction override": "\u202eevil\u202c",
    "an isolate": "\u2066x\u2069",
    "a zero byte": "\0",
    "a line separator": "\u2028approved",
}


@requirement("elicitation/question-tells")
def test_a_value_cannot_rewrite_the_message(questions):
    """Control and direction characters in a value are not in the message as they are."""
    tried = 0
    with questions.several() as several:
        for tool in questions.asking_tools():
            usual = _message(questions, tool, tool.arguments)
            own = "".join(one for one in "\n\t" if one in (usual or ""))
            for name, value in _texts(tool).items():
                for what, rewriting in REWRITING.items():
                    arguments = {**tool.arguments, name: f"{value}{rewriting}"}
                    message = _message(questions, tool, arguments)
                    if message is None:
                        continue
                    tried += 1
                    with several.one(f"{tool.name}, {name} with {what}"):
                        found = rewriting_characters(message, own)
                        questions.expect(
                            not found,
                            sent=f"{tool.name}, {name} with {what}",
                            expected="a message without such characters",
                            got=f"{', '.join(found)} in it",
                        )
    questions.honest()
    if not tried:
        raise NotApplicable("no tool takes such a text")


@requirement("elicitation/no-default-yes")
def test_a_form_does_not_say_yes_by_itself(questions):
    """Clients fill forms with defaults: the approving member has none that approves."""
    with questions.several() as several:
        for tool, approving in questions.deciding_tools():
            schema = questions.kind(tool).schema
            default = schema["properties"].get(approving.name, {}).get("default")
            with several.one(tool.name):
                questions.expect(
                    default is None or default != approving.yes,
                    sent=f"{tool.name}: the member {approving.name} of its form",
                    expected="no default that approves",
                    got=f"the default {default}",
                )


# ---- what a form must not ask for


@requirement("elicitation/form-no-secrets")
def test_no_form_asks_for_credentials(questions):
    """By the names and formats of its members; what only its words say is a warning."""
    with questions.several() as several:
        for tool in questions.form_tools():
            for asked in questions.rounds(tool):
                certain, likely = credentials_asked(asked.params)
                for one in likely:
                    questions.warn(f"{tool.name} seems to ask for a credential: {one}")
                with several.one(tool.name):
                    questions.expect(
                        not certain,
                        sent=f"{tool.name}: its form",
                        expected="no credential asked for",
                        got="; ".join(certain),
                    )


@requirement("elicitation/form-no-links")
def test_no_form_has_a_link(questions):
    """Nothing that begs to be opened, besides what was asked about."""
    with questions.several() as several:
        for tool in questions.form_tools():
            for asked in questions.rounds(tool):
                if asked.mode is not Mode.FORM:
                    continue
                found = list(links_in(asked.params, asked.arguments))
                if found:
                    with several.one(tool.name):
                        raise Finding(
                            sent=f"{tool.name}: its form",
                            expected="no link",
                            got="; ".join(found[:4]),
                        )


# ---- tools that ask nobody


@requirement("elicitation/survey")
def test_destructive_tools_ask_somebody(questions):
    """Tools that are annotated destructive, or named like it, and not known to ask: where the user
    gave safe arguments, whether they ask is tried; the others are listed."""
    silent = questions.silent_tools()
    with questions.several() as several:
        for name, why in silent.items():
            arguments = questions.target.settings.tools.get(name)
            if arguments is None:
                continue
            came = questions.driver.ask(name, arguments)
            if isinstance(came, AskedQuestion):
                questions.driver.leave(came)
                continue
            with several.one(name):
                questions.expect(
                    not (came.executed or (came.plain and not came.probed)),
                    sent=f"{name}, which is {why}",
                    expected="a question, or a refusal",
                    got=f"it asks nobody: {came.describe()}",
                )
    untried = [name for name in silent if name not in questions.target.settings.tools]
    if untried:
        raise Finding(
            sent="tools/list",
            expected="every destructive tool known to ask somebody",
            got=f"nothing shows that these ask: {', '.join(untried[:10])}",
        )
    questions.honest()
