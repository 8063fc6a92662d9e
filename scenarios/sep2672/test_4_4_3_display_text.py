"""SEP-2672 section 4.4.3: what the user will read."""

import unicodedata

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672.issuing import (
    ask,
    issued,
    issued_for_each,
    nothing_with_arguments,
    safe_arguments,
    tools_to_ask,
    variations,
)
from pytest_mcp_approval.families.sep2672.registrations import expect_some_error

# ---- 4.4.3-display-text


@requirement("sep2672/4.4.3-display-text")
def test_the_display_text_says_something(ceremony):
    """Of every gated tool: there are letters in it, for a person to read."""
    for tool, challenge in issued_for_each(ceremony):
        text = challenge.envelope.get("displayText")
        ceremony.expect(
            isinstance(text, str) and any(character.isalpha() for character in text),
            sent=f"approval/challenge/create for {tool.name}",
            expected="a displayText that a person can read",
            got=f"{text!r}",
        )


@requirement("sep2672/4.4.3-display-text")
def test_the_display_text_follows_the_arguments(ceremony):
    """It is made from the arguments: another call, another text; the same call, the same text.

    Reading: a text that leaves out one argument of several may still describe the action, so that
    is a warning; one that no argument changes is a failure.
    """
    judged = False
    for tool, safe in issued_for_each(ceremony):
        changed = {}
        for name, arguments in variations(tool):
            challenge, _ = ask(ceremony, tool, arguments)
            if challenge is not None:
                changed[name] = challenge
        again = issued(ceremony, tool)
        ceremony.expect(
            again.display_text == safe.display_text,
            sent=f"approval/challenge/create for {tool.name} twice, others in between",
            expected="the same displayText for the same call",
            got=f"{safe.display_text!r} and {again.display_text!r}"[:300],
        )
        silent = [n for n, one in changed.items() if one.display_text == safe.display_text]
        if changed:
            judged = True
            ceremony.expect(
                len(silent) < len(changed),
                sent=f"challenges for {tool.name} that differ in {', '.join(changed)}",
                expected="another displayText for other arguments",
                got=f"always {safe.display_text!r}"[:200],
            )
        for name in silent:
            ceremony.warn(
                f"the displayText of {tool.name} does not show the argument {name!r}, "
                "which the user signs all the same"
            )
    if not judged:
        nothing_with_arguments(ceremony)


def _shown_text_argument(ceremony):
    """A gated tool, and a text argument of it that its displayText shows."""
    for tool in tools_to_ask(ceremony):
        safe = safe_arguments(tool)
        for name, value in safe.items():
            if not isinstance(value, str):
                continue
            one, other = (ask(ceremony, tool, {**safe, name: value + end})[0] for end in ("", "x"))
            if one and other and one.display_text != other.display_text:
                return tool, name
    if not any(tool.arguments for tool in tools_to_ask(ceremony)):
        nothing_with_arguments(ceremony)
    raise NotVerified(
        "needs a gated tool whose displayText shows a text argument: --mcp-approval-tool NAME=JSON"
    )


SMUGGLED = {
    "backspace": "\x08",
    "carriage return": "\r",
    "escape": "\x1b[2J",
    "control sequence introducer (C1)": "\x9b2J",
    "right-to-left embedding": "\u202b",
    "left-to-right override": "\u202d",
    "right-to-left override": "\u202e",
    "right-to-left isolate": "\u2067",
}
"""Each erases or rearranges its neighbours, so that the text reads like another action. A failure
if it arrives as it is."""

DUBIOUS = {
    "null": "\x00",
    "bell": "\x07",
    "delete": "\x7f",
    "next line (C1)": "\x85",
    "left-to-right embedding": "\u202a",
    "left-to-right isolate": "\u2066",
    "first strong isolate": "\u2068",
    "line feed": "\n",
    "tab": "\t",
    "line separator": "\u2028",
    "paragraph separator": "\u2029",
    "left-to-right mark": "\u200e",
    "right-to-left mark": "\u200f",
    "Arabic letter mark": "\u061c",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\xad",
    "tag letter": "\U000e0041",
    "Hangul filler": "\u3164",
}
"""Invisible, or able to look like another line; also of honest use. A warning."""


@requirement("sep2672/4.4.3-display-text")
@pytest.mark.parametrize("smuggled", SMUGGLED.values(), ids=SMUGGLED)
def test_no_control_character_reaches_the_display(ceremony, smuggled):
    """What an argument brings along must not change how the text around it is seen."""
    _smuggle(ceremony, smuggled, ceremony.expect)


@requirement("sep2672/4.4.3-display-text")
@pytest.mark.parametrize("smuggled", DUBIOUS.values(), ids=DUBIOUS)
def test_invisible_characters_are_made_visible(ceremony, smuggled):
    """Reading: the document asks for a text that describes the action accurately; what is merely
    not seen hides and rearranges nothing."""

    def report(holds, *, sent, expected, got):
        if not holds:
            ceremony.warn(f"{sent}: expected {expected}, got {got}")

    _smuggle(ceremony, smuggled, report)


def _smuggle(ceremony, smuggled, expect):
    _ = ceremony.passkey
    tool, name = _shown_text_argument(ceremony)
    safe = safe_arguments(tool)
    character = smuggled[0]
    what = f"U+{ord(character):04X} {unicodedata.name(character, 'a control character')}"
    sent = f"a challenge for {tool.name} with {what} in the argument {name!r}"
    plain = issued(ceremony, tool).display_text
    challenge, reply = ask(ceremony, tool, {**safe, name: f"{safe[name]}{smuggled}x"})
    if challenge is None:
        # Refused at the door: nothing is shown to anybody.
        expect_some_error(ceremony, reply, sent=sent)
        return
    text = challenge.display_text
    expect(
        text.count(character) <= plain.count(character),
        sent=sent,
        expected="a displayText without it (escaped, replaced, or the arguments refused)",
        got=f"it stands there raw: {text!a}"[:200],
    )


@requirement("sep2672/4.4.3-display-text")
@pytest.mark.parametrize("character", ["\u202e", "\x1b"], ids=["override", "escape"])
def test_no_control_character_comes_by_a_members_name(ceremony, character):
    """Members that the tool does not know are signed too, and may be shown."""
    _ = ceremony.passkey
    tool = tools_to_ask(ceremony)[0]
    plain = issued(ceremony, tool).display_text
    arguments = {**safe_arguments(tool), f"note{character}eton": "x"}
    challenge, _ = ask(ceremony, tool, arguments)
    ceremony.expect(
        challenge is None or challenge.display_text.count(character) <= plain.count(character),
        sent=f"a challenge for {tool.name} with U+{ord(character):04X} in a member's name",
        expected="a displayText without it, or an error",
        got=f"it stands there raw: {challenge and challenge.display_text!a}"[:200],
    )
