"""The first call asks: it tells everything, runs nothing, and no app is left out."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_ID,
    APP_NAME,
    CONSENT_URL,
    TOOL,
    TOOL_DESCRIPTION,
    TOOL_PARAMETERS,
    Choice,
    Kind,
    Refusal,
    tool_name,
)
from pytest_mcp_approval.wire.reply import show_json

# ---- consent-required


@requirement("gateway_consent/consent-required")
def test_the_first_call_asks_and_runs_nothing(consents):
    """For every tool that may be run here, by an unknown client."""
    client = consents.client()
    with consents.several() as several:
        for tool in consents.tools() or [consents.tool]:
            with several.one(tool.name):
                consents.expect_asked(client.call(tool), sent=f"a first call of {tool.name}")
    consents.allowed(client, consents.tool)


@requirement("gateway_consent/consent-required")
def test_asking_again_opens_nothing(consents):
    """A question that nobody answered is still a question, however often it is asked."""
    client = consents.client()
    with consents.several() as several:
        for time in ("first", "second", "third"):
            with several.one(f"the {time} time"):
                consents.expect_asked(
                    client.call(consents.tool),
                    sent=f"{consents.tool.name}, the {time} time, undecided",
                )
    consents.allowed(client, consents.tool)


def _text(value):
    return isinstance(value, str) and bool(value.strip())


def _parameters(value):
    """By name, as in the document; or in a JSON Schema, which a reading allows."""
    properties = value.get("properties") if isinstance(value, dict) else None
    return properties if isinstance(properties, dict) else value


@requirement("gateway_consent/consent-required")
def test_the_question_says_what_it_is_about(consents):
    """Each member is there. What a tool does and takes need not be in the words of tools/list,
    which the document does not mention: other words are a warning."""
    consents.need_answer()
    client = consents.client()
    right = {
        APP_ID: ("the app's id", lambda value, tool: value == tool.app),
        TOOL: ("the tool's name", lambda value, tool: value == tool.tool),
        APP_NAME: ("the app's name", lambda value, _: _text(value)),
        TOOL_DESCRIPTION: ("the description", lambda value, _: isinstance(value, str)),
        TOOL_PARAMETERS: ("the parameters", lambda value, _: isinstance(value, dict)),
        CONSENT_URL: ("where to consent", lambda value, _: _address(value)),
    }
    with consents.several() as several:
        for tool in consents.tools() or [consents.tool]:
            asked = consents.asked(client, tool)
            for member, (expected, holds) in right.items():
                value = asked.members.get(member)
                if member == CONSENT_URL and value is None and consents.driver.table.person_is_told:
                    consents.warn(f"a first call of {tool.name}: no consentUrl; a dialog is shown")
                    continue
                with several.one(f"{tool.name}, {member}"):
                    consents.expect(
                        bool(holds(value, tool)),
                        sent=f"a first call of {tool.name}",
                        expected=f"{member}: {expected}",
                        got=f"{member} {show_json(value)}",
                    )
                    _warn_of_other_words(consents, tool, member, value)


def _address(value):
    """A whole address: a scheme, and what it leads to; no blank in it."""
    if not _text(value) or any(one.isspace() for one in value):
        return False
    parts = urlsplit(value)
    return bool(parts.scheme) and bool(parts.netloc or parts.path)


def _warn_of_other_words(consents, tool, member, value):
    described = consents.driver.described(tool)
    if described is None or member not in (TOOL_DESCRIPTION, TOOL_PARAMETERS):
        return
    description, parameters = described
    alike = (
        value == description
        if member == TOOL_DESCRIPTION
        else set(_parameters(value)) == set(parameters)
    )
    if not alike:
        consents.warn(f"{tool.name}: {member} is not what the tool's listing says")


def _texts(schema):
    """What it says, at any depth: descriptions, and the values to choose from."""
    if isinstance(schema, dict):
        own = [schema["description"]] if isinstance(schema.get("description"), str) else []
        return own + schema.get("enum", []) + [x for one in schema.values() for x in _texts(one)]
    return []


WORDS = "Deletes all files of the person's home directory."
PARAMETERS: dict[str, Any] = {
    "path": {"type": "string", "description": "Where to begin."},
    "force": {"type": "boolean", "description": "Also what is protected."},
    "more": {
        "type": "array",
        "items": {"type": "string", "description": "One path more."},
        "description": "Further paths.",
    },
    "how": {
        "type": "object",
        "properties": {"mode": {"enum": ["trash", "shred"], "description": "Where to."}},
        "description": "How to do it.",
    },
}
SAID: dict[str, tuple[str, dict[str, Any]]] = {
    "wipe": (WORDS, PARAMETERS),
    "long": (f"{'Reads and writes. ' * 400}{WORDS}", {
        f"parameter{number}": {"type": "string", "description": f"Number {number}."}
        for number in range(40)
    }),
    "odd": (f"First line.\n\n\tSecond line. <b>{WORDS}</b> {{{{0}}}} %s \u202e", {
        name: {"type": "string", "description": f"What {number} is for."}
        for number, name in enumerate(
            ("__proto__", "constructor", "hasOwnProperty", "toString", "__class__", "$type", "a[b]",
             "'; --", "_hidden", "_meta", "code", "granted", "type", "0", "caf\u00e9", " ", "a.b")
        )
    }),
}  # fmt: skip
"""Tools of an app of the suite: what it says of each, and what each takes."""


@requirement("gateway_consent/consent-required", needs=["apps"])
def test_the_question_tells_what_the_app_says_of_its_tool(consents):
    """With an app of the suite: nothing is left out of what it says its tool does and takes,
    however long it is and whatever a parameter is called."""
    consents.need_answer()
    app = {
        "id": "suite.tells",
        "name": "Suite tells",
        "type": "desktop",
        "platforms": ["linux"],
        "tools": [
            {
                "name": name,
                "description": words,
                "parameters": parameters,
                "execution": {"event": "look"},
            }
            for name, (words, parameters) in SAID.items()
        ],
    }
    # An app with a tool of the same name comes first, and says something else of it.
    harmless = {"name": "wipe", "description": "Wipes a lens.", "parameters": {}}
    twin = {**app, "id": "suite.says", "name": "Suite says", "tools": [harmless]}
    other = consents.with_descriptors([twin, app])
    client = other.client()
    namesake = tool_name("suite.says", "wipe")
    client.call(SafeTool(namesake, "suite.says", "wipe", {}, Kind.DESKTOP))
    with other.several() as several:
        for name, (words, parameters) in SAID.items():
            tool = SafeTool(tool_name("suite.tells", name), "suite.tells", name, {}, Kind.DESKTOP)
            if name != "wipe" and not other.offers(tool):
                continue  # a gateway may refuse a tool of so odd a description
            asked = other.asked(client, tool)
            sent = f"a first call of {tool.name}"
            with several.one(f"{name}, {TOOL_DESCRIPTION}"):
                told = asked.text(TOOL_DESCRIPTION)
                # Where lines end and what marks a direction is for the eye.
                plain = " ".join(words.replace("\u202e", "").split())
                other.expect(
                    plain in " ".join(told.replace("\u202e", "").split()),
                    sent=sent,
                    expected=f"{TOOL_DESCRIPTION}: what the app says: {shown(words[-60:])}",
                    got=f"{TOOL_DESCRIPTION} {show_json(told)}",
                )
            with several.one(f"{name}, {TOOL_PARAMETERS}"):
                told = asked.members.get(TOOL_PARAMETERS)
                own = _parameters(told) if isinstance(told, dict) else {}
                missing = [
                    one
                    for one, schema in parameters.items()
                    if not all(text in str(own.get(one)) for text in _texts(schema))
                ]
                other.expect(
                    not missing,
                    sent=sent,
                    expected=f"{TOOL_PARAMETERS}: all that the app names, with their descriptions",
                    got=f"without {', '.join(map(ascii, missing[:5]))}: "
                    f"{TOOL_PARAMETERS} {show_json(told)}",
                )


@requirement("gateway_consent/consent-required")
def test_the_question_has_the_documents_form(consents):
    """Another form than in the document: a warning, here and nowhere else."""
    tool = consents.tool
    asked = consents.asked(consents.client(), tool)
    sent = f"a first call of {tool.name}"
    if consents.driver.asks_in_dialogs:
        consents.warn(
            f"{sent}: the person is asked while the call waits; the document answers "
            f"{Refusal.CONSENT_REQUIRED}, so that the agent can tell the person"
        )
        return
    if asked.sent_code is not None:
        consents.warn(
            f"{sent}: {shown(str(asked.sent_code))} at {asked.told_in}; the document's code is "
            f"{Refusal.CONSENT_REQUIRED}"
        )
    if asked.told_in in ("a tool error", "a result"):
        consents.warn(f"{sent}: told as {asked.told_in}; expected a JSON-RPC error")
    if asked.snake:
        consents.warn(f"{sent}: {', '.join(asked.snake)}; the document writes camelCase")
    renamed = consents.driver.table.wording.fields
    if renamed:
        listed = ", ".join(f"{own} for {name}" for name, own in renamed.items())
        consents.warn(f"{sent}: {shown(listed, 200)}: members of other names")
    told = asked.members.get(TOOL_PARAMETERS)
    if _parameters(told) is not told:
        consents.warn(f"{sent}: toolParameters is a JSON Schema; the document has them by name")


@requirement("gateway_consent/consent-required")
def test_many_first_calls_at_once_run_nothing(consents):
    """Eight at once: a gateway that checks and records in two steps lets some through."""
    tool, client = consents.tool, consents.client()
    answers, _ = client.at_once(tool, 8)
    with consents.several() as several:
        for number, answer in enumerate(answers):
            with several.one(f"the {number + 1}. call"):
                consents.expect_asked(
                    answer, sent=f"one of eight first calls of {tool.name} at once"
                )
    consents.allowed(client, tool)


@requirement("gateway_consent/consent-required")
def test_a_question_about_one_tool_opens_no_other(consents):
    """An answer belongs to its own question: the other question stays open."""
    first = consents.tool
    second = consents.second_tool(first)
    client = consents.client()
    question = consents.asked(client, first)
    consents.asked(client, second)
    consents.decide(question, Choice.TOOL)
    consents.expect_served(client.call(first), first, sent=f"{first.name}, as decided")
    consents.expect_asked(
        client.call(second), sent=f"{second.name}, after the question about {first.name} was met"
    )


# ---- all-platforms


@requirement("gateway_consent/all-platforms")
@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_every_kind_of_app_asks_first(consents, kind):
    tool = consents.tool_of(kind)
    client = consents.client()
    answer = client.call(tool)
    consents.expect_asked(answer, sent=f"a first call of {tool.name}, of a {kind} app")
    consents.decide(answer)
    consents.expect_served(
        client.call(tool), tool, sent=f"{tool.name}, of a {kind} app, after consent"
    )


# ---- two-layers
