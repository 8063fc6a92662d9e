"""SEP-2672 section 4.8, step 12: the arguments of the call are those that were signed."""

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.faulty_calls import other_arguments
from pytest_mcp_approval.families.sep2672.issuing import schema_refused
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import RawJson


def _changes(safe):
    """What might differ between what was approved and what is called, by name."""
    name, value = next(iter(safe.items()), ("", None))
    rest = {key: kept for key, kept in safe.items() if key != name}
    changed = {
        "a member added": {**safe, "added": "x"},
        "a null member added": {**safe, "added": None},
        "a false member added": {**safe, "added": False},
        "an empty object added": {**safe, "added": {}},
        "an empty member name added": {**safe, "": 1},
        "a member deep inside": {**safe, "added": {"a": [{"b": 1}]}},
    }
    if name:
        changed |= {
            "a member removed": rest,
            "a member renamed": {**rest, f"{name}_": value},
            "a member's name in capitals": {**rest, name.upper(): value},
            "a value in a list": {**rest, name: [value]},
            "a value null": {**rest, name: None},
            "a space behind a text": {
                key: f"{kept} " if isinstance(kept, str) else kept for key, kept in safe.items()
            },
            "numbers as text": {
                key: str(kept) if type(kept) is int else kept for key, kept in safe.items()
            },
            "numbers larger by one": {
                key: kept + 1 if type(kept) is int else kept for key, kept in safe.items()
            },
            "letters in the other case": {
                key: kept.swapcase() if isinstance(kept, str) else kept
                for key, kept in safe.items()
            },
        }
    return {how: arguments for how, arguments in changed.items() if arguments != safe}


@requirement("sep2672/4.8-12-argument-hash")
@pytest.mark.parametrize("how", _changes({"text": "a", "number": 1}))
def test_other_arguments_than_the_approved_ones_are_refused(ceremony, how):
    """The approved call differs a little from the one that is made.

    The approval is asked for with the changed arguments, which runs nothing, and the call has the
    safe ones: should it run, no harm is done, and no schema can be what refuses it. Only where the
    server gives no challenge for the changed arguments is it the other way round."""
    ceremony.honest()
    safe = ceremony.tool.arguments
    changed = _changes(safe).get(how)
    if changed is None:
        ceremony.not_applicable(f"the tool's arguments {safe} cannot be changed in this way")
    called, approved = safe, changed
    try:
        challenge = ceremony.challenge(arguments=approved)
    except NotVerified:
        called, approved = changed, safe
        challenge = ceremony.challenge()
    outcome = ceremony.call(challenge.with_arguments(called), ceremony.evidence(challenge))
    if called is changed and schema_refused(ceremony, outcome, ceremony.tool.name, called):
        return
    ceremony.expect_refusal(
        outcome,
        Reason.ARGUMENT_HASH_MISMATCH,
        sent=f"tools/call {called}, approved was {approved} ({how})",
    )


@requirement("sep2672/4.8-12-argument-hash")
def test_approved_arguments_cannot_be_swapped(ceremony):
    """The attack itself: the safe call is approved, another one is made."""
    ceremony.honest()
    challenge = ceremony.challenge()
    swapped = other_arguments(ceremony.tool)
    outcome = ceremony.call(challenge.with_arguments(swapped), ceremony.evidence(challenge))
    if schema_refused(ceremony, outcome, ceremony.tool.name, swapped):
        raise NotVerified(f"the server refused {swapped} before it looked at the approval")
    ceremony.expect_refusal(
        outcome,
        Reason.ARGUMENT_HASH_MISMATCH,
        sent=f"tools/call {swapped}, with an approval for {ceremony.tool.arguments}",
    )


@requirement("sep2672/4.8-12-argument-hash")
def test_an_approval_for_some_arguments_is_none_for_no_arguments(ceremony):
    """Some arguments are approved, and the call has none: `arguments` missing, null or empty.

    Reading: what an absent member means for the hash is open, so the reason does not matter."""
    ceremony.honest()
    challenge = ceremony.challenge(arguments=ceremony.tool.arguments or {"added": 1})
    empty: list[dict[str, Any]] = [{}, {"arguments": None}, {"arguments": {}}]
    for left in empty:
        meta = {words.META_KEY: ceremony.evidence(challenge)}
        params = {"name": challenge.tool, "_meta": meta, **left}
        outcome = ceremony.approval.observe(
            lambda params=params: ceremony.session.call("tools/call", params)
        )
        ceremony.expect(
            not outcome.executed,
            sent=f"tools/call with {left or 'no arguments'}, approved with others",
            expected="tool not run",
            got=outcome.describe(),
        )


def _spellings(safe):
    """The same JSON value, spelled in ways that RFC 8785 makes equal."""
    pairs = [(words.canonical_arguments(key).decode(), value) for key, value in safe.items()]
    plain = [(key, words.canonical_arguments(value).decode()) for key, value in pairs]

    def written(members, comma=",", colon=":"):
        return "{" + comma.join(f"{key}{colon}{value}" for key, value in members) + "}"

    def escaped(text):
        inner = "".join(f"\\u{ord(letter):04x}" for letter in text[1:-1])
        return f'"{inner}"' if text[:1] == '"' and text.isascii() and "\\" not in text else text

    def pointed(value, text):
        return f"{text}.0" if type(value) is int else text

    def powered(value, text):
        return f"{text}e0" if type(value) is int else text

    members = list(zip(pairs, plain, strict=True))
    return {
        "members in the opposite order": written(plain[::-1]),
        "white space": written(plain, " ,\t ", " : "),  # no new lines: stdio ends a message there
        "letters as escapes": written([(escaped(key), escaped(text)) for key, text in plain]),
        "1 as 1.0": written([(k, pointed(v, t)) for (k, v), (_, t) in members]),
        "1 as 1e0": written([(k, powered(v, t)) for (k, v), (_, t) in members]),
    }


@requirement("sep2672/4.8-12-argument-hash")
@pytest.mark.parametrize("how", _spellings({"text": "a", "number": 1}))
def test_the_same_arguments_in_other_letters_are_the_same(ceremony, how):
    """RFC 8785 makes these spellings equal, so an approval for one serves the other.

    Reading: a tool may still refuse its own arguments (-32602), say 1.0 where it wants 1."""
    ceremony.honest()
    challenge = ceremony.challenge()
    spelled = RawJson(_spellings(ceremony.tool.arguments)[how])
    outcome = ceremony.call(challenge.with_arguments(spelled), ceremony.evidence(challenge))
    if how.startswith("1 as") and schema_refused(ceremony, outcome, ceremony.tool.name, spelled):
        return
    ceremony.expect_run(outcome, sent=f"tools/call, the approved arguments with {how}")
