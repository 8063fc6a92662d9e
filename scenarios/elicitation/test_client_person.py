"""What a client owes its person: who asks what is shown, and nothing leaves before an answer."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.clients.person import ClientPrompt
from pytest_mcp_approval.families.base.client_scenario import shortly, shown_whole
from pytest_mcp_approval.families.elicitation.client_scenario import content_of
from pytest_mcp_approval.families.elicitation.vocabulary import (
    MESSAGE,
    MODE,
    SCHEMA,
    Action,
    Mode,
)
from pytest_mcp_approval.wire.eras import Era
from pytest_mcp_approval.wire.reply import show_json

MESSAGES = {
    "a sentence": "Close the account of Example Ltd, for good?",
    "longer than a screen": "".join(f"{n}. Close the account number {n}\n" for n in range(1, 201))
    + "END",
    "one long line": "Close " + "a very, very long list of accounts, " * 60 + "END",
    "markup and placeholders": "<b>Close</b> **it** %s %(a)s {0} {name} ${x} `y` \\n &amp; [l](u)",
    "beyond ASCII": "Schließe 東京 Ελλάδα cafe\u0301 \U0001f512 \U0001d4d0",
}


@requirement("elicitation/client-asks-a-person")
@pytest.mark.parametrize("kind", MESSAGES)
def test_the_message_is_shown_whole_before_anything_is_answered(asked, kind):
    """The person reads the server's own words, all of them, and only then decides."""
    message = MESSAGES[kind]
    asked.script.question[MESSAGE] = message
    sent = f"a question whose message is {kind} ({len(message)} characters)"
    asked.is_asked(sent=sent)
    asked.expect(
        shown_whole(message, asked.screen()),
        sent=sent,
        expected="the message on the screen as it is, before the person decides",
        got=f"a screen that ends {shortly(asked.screen())}",
    )
    named = any(one in asked.person.all_shown for one in asked.client.known_as)
    if (asked.description.once_per_call or asked.before_modes) and not named:
        # Whoever typed the command named the server in it; and before 2025-11-25 it is a SHOULD.
        asked.warn("the screen does not say which server asks")
    else:
        asked.expect(
            named,
            sent=sent,
            expected=f"the name of the server that asks: {asked.server.name}, or its address",
            got=f"a screen without it, that ends {shortly(asked.screen())}",
        )
    before = len(asked.answered)
    asked.agrees()
    asked.expect_answer(Action.ACCEPT, before, sent=f"{sent}; the person agrees")


@requirement("elicitation/client-asks-a-person")
@pytest.mark.parametrize("action", [Action.DECLINE, Action.CANCEL], ids=str)
def test_a_no_is_sent_as_such(asked, action):
    """Declining is one thing, leaving another; neither becomes an accept."""
    typed = asked.need_cancel() if action is Action.CANCEL else asked.description.decline
    asked.approves()
    before = len(asked.answered)
    asked.is_asked()
    asked.decides(typed)
    sent = f"a question; the person types {typed!r}, which means {action}"
    asked.expect_answer(action, before, sent=sent)
    for one in asked.answered[before:]:
        asked.expect(
            not one.content,
            sent=sent,
            expected=f"{action} without content",
            got=one.describe(),
        )


@requirement("elicitation/client-asks-a-person")
def test_nobody_answers_for_a_person_who_has_gone(asked):
    """The client is closed while the question is open: no accept is left behind."""
    asked.approves()
    before = len(asked.answered)
    asked.is_asked()
    asked.person.leaves()
    agreed = [one for one in asked.answered[before:] if one.action == Action.ACCEPT]
    asked.expect(
        not agreed,
        sent="a question; the person closes the client without an answer",
        expected="no accept",
        got="accept",
    )


@requirement("elicitation/client-asks-a-person")
def test_a_yes_is_for_one_question(asked):
    """The next question is a question again, however the person answered the last one."""
    asked.approves()
    asked.script.question[MESSAGE] = "Close another account?"
    asked.is_asked(sent="a second question, after the person agreed to the first")
    before = len(asked.answered)
    asked.decides(asked.description.decline)
    asked.expect_answer(
        Action.DECLINE, before, sent="a second question; the person agreed to the first only"
    )


# ---- modes


@requirement("elicitation/client-mode")
def test_a_question_without_a_mode_is_a_form(asked):
    """As it was before there were modes."""
    asked.need_mode(Mode.FORM)
    asked.approves()
    del asked.script.question[MODE]
    before = len(asked.answered)
    sent = "a question that names no mode"
    asked.calls_asking()
    seen = asked.person.sees(or_if=lambda: len(asked.answered) > before)
    asked.expect(
        seen.prompt is ClientPrompt.DECIDE,
        sent=sent,
        expected="a form for the person, as with mode form",
        got=", ".join(one.describe() for one in asked.answered[before:]) or shortly(seen.text),
    )
    answered = asked.agrees()
    asked.expect(
        answered.action == Action.ACCEPT and content_of(answered).get("confirm") is True,
        sent=f"{sent}; the person confirms",
        expected="accept with what the person filled in",
        got=answered.describe(),
    )


@requirement("elicitation/client-mode")
@pytest.mark.parametrize("mode", ["voice", "URL", Mode.FORM.value, Mode.URL.value])
def test_a_mode_that_was_not_declared_is_refused(asked, mode):
    """The person is not asked in a way that the client does not know."""
    asked.approves_if_form()
    if asked.before_modes:
        raise NotApplicable(f"there are no modes in {asked.server.revision}")
    if mode in {str(one) for one in asked.script.modes}:
        raise NotApplicable(f"the client declares {mode}")
    asked.script.question |= {MODE: mode, "url": f"{asked.client.page_url}/x", "elicitationId": "1"}
    before = len(asked.answered)
    asked.calls_asking()
    asked.finishes(asked.person.answers(asked.description.agree, {"confirm": ["true"]}))
    came = asked.answered[before:]
    sent = f"a question of mode {mode!r}; the client declares {asked.script.declared_in_words}"
    if asked.server.era is Era.SESSIONLESS:
        # No error can be sent here: what counts is that nothing was agreed to.
        asked.expect(
            not any(one.action == Action.ACCEPT for one in came),
            sent=sent,
            expected="no accept",
            got="accept",
        )
        return
    codes = [one.error.get("code") for one in came]
    told = ", ".join(one.describe() for one in came) or "no answer"
    asked.expect(codes == [-32602], sent=sent, expected="error -32602", got=told)


# ---- forms

WITH_DEFAULTS = {
    "type": "object",
    "properties": {
        "confirm": {"type": "boolean"},
        "note": {"type": "string", "default": "as agreed"},
        "copies": {"type": "integer", "default": 2},
        "speed": {"type": "string", "enum": ["slow", "fast"], "default": "slow"},
    },
    "required": ["confirm"],
}
USUAL = {"note": "as agreed", "copies": 2, "speed": "slow"}


@requirement("elicitation/client-schema")
def test_defaults_fill_the_form(asked):
    """Whoever changes nothing sends what the form proposed."""
    asked.need_mode(Mode.FORM)
    asked.script.question[SCHEMA] = WITH_DEFAULTS
    asked.is_asked()
    before = len(asked.answered)
    fields = {"confirm": ["true"], "note": [""], "copies": [""], "speed": [""]}
    asked.decides(asked.description.agree, fields)
    asked.need(len(asked.answered) > before, "the person agreed, and no answer came")
    content = content_of(asked.answered[-1])
    asked.expect(
        {name: content.get(name) for name in USUAL} == USUAL,
        sent=f"a form with defaults {show_json(USUAL)}; the person changes none of them",
        expected="an accept with the defaults",
        got=asked.answered[-1].describe(),
    )


WRONG = {
    "a number that is too large": ({"type": "integer", "maximum": 10}, "11", "7", 7),
    "text for a number": ({"type": "number"}, "many", "1.5", 1.5),
    "none of the choices": ({"type": "string", "enum": ["red", "blue"]}, "green", "red", "red"),
    "text that is too short": ({"type": "string", "minLength": 4}, "abc", "abcd", "abcd"),
    "no address": ({"type": "string", "format": "email"}, "nobody", "a@b.example", "a@b.example"),
    "no date": ({"type": "string", "format": "date"}, "tomorrow", "2030-01-02", "2030-01-02"),
    "neither true nor false": ({"type": "boolean"}, "perhaps", "true", True),
    "nothing, where something is required": ({"type": "string", "minLength": 1}, "", "x", "x"),
}


@requirement("elicitation/client-schema")
@pytest.mark.parametrize("kind", WRONG)
def test_what_breaks_the_schema_is_not_sent(asked, kind):
    """The person mistypes, and then types it right: the server gets only the latter, or nothing."""
    asked.need_mode(Mode.FORM)
    asked.approves()
    member, wrong, right, value = WRONG[kind]
    schema = {"type": "object", "properties": {"value": member}, "required": ["value"]}
    asked.script.question[SCHEMA] = schema
    before = len(asked.answered)
    asked.is_asked()
    asked.decides(asked.description.agree, {"value": [wrong, right]})
    came = [one for one in asked.answered[before:] if one.action == Action.ACCEPT]
    for one in came:
        asked.expect(
            content_of(one) == {"value": value},
            sent=f"a form; the person types {wrong!r}: {kind}",
            expected=f"nothing until the person types {right!r}, and then {show_json(value)}",
            got=one.describe(),
        )
    if not came and not asked.answered[before:] and asked.server.era is Era.HANDSHAKE:
        raise NotVerified("the client sent no answer")
