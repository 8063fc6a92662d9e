"""SEP-2672 sections 4.6 and 4.8, step 12: values that implementations confuse, at every depth.

What RFC 8785 keeps apart are two actions, however deep the difference is and however much stands
before it; what it writes alike is one. The scenarios of test_4_6_canonical_arguments.py ask this of
one value at a time. Here the same is asked wherever a value can stand, at the challenge and at the
call.
"""

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672.hostile_values import (
    A_FEW,
    NAMES,
    PLACES,
    coerced,
    values,
)
from pytest_mcp_approval.families.sep2672.issuing import (
    EXTRA_MEMBER,
    action_hash_of,
    ask,
    ask_all,
    expect_still_issues,
    safe_arguments,
    schema_refused,
    shown,
    tools_to_ask,
)
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.support.secrets import beginning
from pytest_mcp_approval.wire import RawJson

WITH_ALL = "itself"
"""Where every value is tried; at the other places a few show whether they are looked at."""


def _hashes(ceremony, place, texts):
    """The action hash of each value that gets a challenge there. A server may refuse odd ones."""
    found = {}
    for name, text in texts.items():
        challenge, _ = ask(ceremony, place.tool, place.arguments(text))
        if challenge is not None:
            found[name] = action_hash_of(challenge)
    return found


@requirement("sep2672/4.6-jcs", "sep2672/4.6-no-schema-defaults")
@pytest.mark.parametrize("where", PLACES)
def test_no_two_values_hash_alike_wherever_they_stand(ceremony, where):
    """Numbers, texts, lists, objects and member names that some language takes for equal."""
    place, _ = ask_all(ceremony, [PLACES[where]("1"), PLACES[where]('"a"')])
    chosen = values() if where == WITH_ALL else A_FEW
    hashes = _hashes(ceremony, place, {text: PLACES[where](text) for text in chosen})
    first: dict[bytes, str] = {}
    with ceremony.several() as several:
        for text, action_hash in hashes.items():
            other = first.setdefault(action_hash, text)
            with several.one(f"{text!a} and {other!a}"):
                ceremony.expect(
                    other == text,
                    sent=f"challenges for {place.tool.name} with {other!a} and with {text!a}, "
                    f"{where}",
                    expected="two action hashes: RFC 8785 writes them differently",
                    got=f"the same second half for {other!a} and {text!a}",
                )
    expect_still_issues(ceremony, after=f"odd values {where}")


ALIKE = {
    "1": ("1.0", "1e0", "10e-1", "0.1E+1"),
    "0": ("-0", "-0.0", "0e5"),
    "0.000001": ("1e-6", "0.0000010"),
    "1e-7": ("0.0000001",),
    "1e+30": ("1E30", "10e29"),
    '"A"': (r'"\u0041"',),
    '"/"': (r'"\/"',),
    r'"\n"': (r'"\u000a"', r'"\u000A"'),
    '"\x7f\u20ac\u2028"': (r'"\u007f\u20AC\u2028"',),
    '"\U0001f600"': (r'"\uD83D\ude00"',),
    '{"a":1,"b":[{"c":1,"d":2}]}': (
        '{"b":[{"d":2,"c":1}],"a":1}',
        '{ "b" : [ { "d" : 2.0, "c" : 1 } ] , "a" : 1e0 }',
        r'{"\u0062":[{"\u0064":2,"c":1}],"a":1}',
    ),
    '{"":0,"10":1,"9":2,"B":3,"a":4}': ('{"a":4,"B":3,"9":2,"10":1,"":0}',),
    '{"__proto__":1,"a":2}': ('{"a":2,"__proto__":1}',),
}


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize("where", [*PLACES][3:])
def test_spellings_of_one_value_hash_alike_wherever_they_stand(ceremony, where):
    """What RFC 8785 writes alike is one action at any depth, however long the arguments are."""
    place, _ = ask_all(ceremony, [PLACES[where]("1"), PLACES[where]('"a"')])
    with ceremony.several() as several:
        for canonical, spellings in ALIKE.items():
            texts = {one: PLACES[where](one) for one in (canonical, *spellings)}
            hashes = _hashes(ceremony, place, texts)
            for spelling in spellings:
                with several.one(f"{spelling!a}"):
                    ceremony.expect(
                        hashes.get(spelling, b"") in (b"", hashes.get(canonical)),
                        sent=f"challenges for {place.tool.name} with {canonical!a} and with "
                        f"{spelling!a}, {where}",
                        expected="one action hash: RFC 8785 writes both alike",
                        got=f"two different second halves for {canonical!a} and {spelling!a}",
                    )


# ---- step 12: at the call


def _expect_refused_call(ceremony, several, tool, approved, called, how, *, warned=False):
    """Approved is one thing and called another. Returns whether the server gave a challenge. With
    `warned`, a run is reported and not failed."""
    challenge, _ = ask(ceremony, tool, approved)
    if challenge is None:
        return False
    with several.one(how):
        outcome = ceremony.call(challenge.with_arguments(called), ceremony.evidence(challenge))
        if schema_refused(ceremony, outcome, tool.name, called):
            return False
        sent = (
            f"tools/call {tool.name} {shown(called)}, approved was "
            f"{beginning(shown(approved), 200)} ({how})"
        )
        if warned and outcome.executed:
            ceremony.warn(f"{sent}: {outcome.describe()}")
        else:
            ceremony.expect_refusal(outcome, Reason.ARGUMENT_HASH_MISMATCH, sent=sent)
    return True


KINDS: dict[str, Any] = {"text": str, "truth value": bool, "number": (int, float)}
AT_MOST = 2
"""Arguments of each kind that are tried in every way."""


def _arguments_of(ceremony, kind):
    """Tools and the names of safe arguments of this kind; to Python True is a number too."""
    return [
        (tool, name)
        for tool in ceremony.gated_tools()
        for name, value in safe_arguments(tool).items()
        if isinstance(value, KINDS[kind]) and (kind == "truth value") == isinstance(value, bool)
    ]


@requirement("sep2672/4.8-12-argument-hash")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_only_like_the_arguments_serves_them(ceremony, kind):
    """The approved value is another one, which a loose comparison takes for the one that is called.
    The safe arguments are called, so that no harm is done should it run."""
    made = 0
    with ceremony.several() as several:
        for tool, name in _arguments_of(ceremony, kind)[:AT_MOST]:
            safe = safe_arguments(tool)
            ceremony.honest(tool)
            for how, other in coerced(safe[name]):
                changed = {**safe, name: other}
                made += _expect_refused_call(
                    ceremony, several, tool, changed, safe, f"{name} {how}"
                )
            ceremony.honest(tool)
    if not made:
        ceremony.not_applicable(f"no gated tool that takes other values has a {kind}")


@requirement("sep2672/4.8-12-argument-hash")
@pytest.mark.parametrize("way", ["approved and not called", "called and not approved"])
def test_no_member_is_overlooked_at_the_call(ceremony, way):
    """A member more or less, under names that some language does not count among the members.

    Reading: parsers of JavaScript drop `__proto__` from the arguments before any handler sees them,
    so that it can do nothing: overlooking that one is a warning."""
    tool = tools_to_ask(ceremony)[0]
    if tool.arguments is None:
        tool = ceremony.tool
    safe, made = safe_arguments(tool), 0
    ceremony.honest(tool)
    with ceremony.several() as several:
        for name in NAMES:
            if name in safe:
                continue
            for value in (None, 1) if name in ("__proto__", "a\u0000") else (1,):
                more = {**safe, name: value}
                pair = (more, safe) if way.startswith("approved") else (safe, more)
                made += _expect_refused_call(
                    ceremony,
                    several,
                    tool,
                    *pair,
                    f"the member {name!r}: {value!r} {way}",
                    warned=name == "__proto__",
                )
    ceremony.honest(tool)
    if not made:
        ceremony.not_applicable("members that the tool does not know are refused here")


@requirement("sep2672/4.8-12-argument-hash")
@pytest.mark.parametrize("where", [where for where in PLACES if where != "itself"])
def test_a_difference_deep_in_the_arguments_is_seen_at_the_call(ceremony, where):
    """However much is alike before the difference: what was signed is not what is called."""
    tool = ceremony.tool
    safe, made = safe_arguments(tool), 0
    ceremony.honest(tool)
    with ceremony.several() as several:
        long = {size: f'"{"x" * size}{{}}"' for size in (60, 300, 5000)}
        pairs = [("1", "2"), ('"a"', '"A"'), ("[]", "{}"), ('{"a":1}', "{}")]
        for one, other in (
            *pairs,
            *((text.format("a"), text.format("b")) for text in long.values()),
        ):
            approved, called = (
                {**safe, EXTRA_MEMBER: RawJson(PLACES[where](text))} for text in (one, other)
            )
            made += _expect_refused_call(
                ceremony,
                several,
                tool,
                approved,
                called,
                f"{one[-8:]} approved, {other[-8:]} {where}",
            )
    ceremony.honest(tool)
    if not made:
        ceremony.not_applicable("members that the tool does not know are refused here")
