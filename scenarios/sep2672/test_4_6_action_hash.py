"""SEP-2672 section 4.6: how the action hash is made, and from what."""

import hashlib
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.issuing import (
    EXTRA_MEMBER,
    action_hash_of,
    ask,
    canonical_text,
    expected_hash,
    issued_for_each,
    safe_arguments,
    schema_refused,
    server_id_of,
)
from pytest_mcp_approval.families.sep2672.vocabulary import Reason

# ---- 4.6-hash-construction


def _wrong_constructions(tool, canonical, server_id):
    """Usual misreadings, so that a failure can say which one it looks like."""
    joined = {"\\n": b"\n", ":": b":", "|": b"|", "no separator": b""}
    for name, separator in joined.items():
        yield f"{name} instead of 00", expected_hash(tool, canonical, server_id, separator)
    yield "serverId first", expected_hash(server_id, tool, canonical)
    yield "arguments first", expected_hash(canonical, tool, server_id)
    yield "without the serverId", expected_hash(tool, canonical, "")
    plain = b"\0".join((tool.encode(), canonical.encode(), server_id.encode()))
    yield "a 00 at the end", hashlib.sha256(plain + b"\0").digest()
    yield "SHA-512, cut", hashlib.sha512(plain).digest()[:32]
    yield "SHA3-256", hashlib.sha3_256(plain).digest()
    yield "SHA-256 twice", hashlib.sha256(hashlib.sha256(plain).digest()).digest()
    inner = hashlib.sha256(canonical.encode()).hexdigest()
    yield "the arguments hashed first", expected_hash(tool, inner, server_id)


@requirement("sep2672/4.6-hash-construction")
def test_the_action_hash_is_constructed_as_written(ceremony):
    """SHA-256(toolName 00 canonical arguments 00 serverId), for every gated tool."""
    server_id = server_id_of(ceremony)
    for tool, challenge in issued_for_each(ceremony):
        canonical = words.canonical_arguments(safe_arguments(tool)).decode()
        found = action_hash_of(challenge)
        looks_like = [
            name
            for name, wrong in _wrong_constructions(tool.name, canonical, server_id)
            if wrong == found
        ]
        ceremony.expect(
            found == expected_hash(tool.name, canonical, server_id),
            sent=f"a challenge for {tool.name} with {canonical}",
            expected=f"SHA-256({tool.name} 00 {canonical} 00 {server_id})",
            got="another second half: "
            + (looks_like[0] if looks_like else "is the serverId the one that was told?"),
        )


# ---- 4.6-no-schema-defaults


_EMPTY: dict[str, list[Any]] = {
    "boolean": [False],
    "integer": [0, 1],
    "number": [0],
    "string": [""],
    "array": [[]],
}
"""What servers take for a member of some type that is not there."""


def _may_be_left_out(ceremony):
    """Gated tools with a member that need not be there, and values that it may be taken to have:
    its default, its safe value, or what is nothing in its type. Those with a default first."""
    found = []
    for tool in ceremony.gated_tools():
        schema = tool.listing.get("inputSchema")
        required = schema.get("required") if isinstance(schema, dict) else None
        for name, described in tool.properties.items():
            if not isinstance(described, dict) or name in (required or ()):
                continue
            safe = safe_arguments(tool)
            # Only what is safe, or nothing, may ever run: not just any choice of an enumeration.
            values = [described["default"]] if "default" in described else []
            values += [safe[name]] if name in safe else []
            values += [*_EMPTY.get(str(described.get("type")), []), None]
            left_out = {key: value for key, value in safe.items() if key != name}
            spelled = [{**left_out, name: value} for value in values]
            found.append(("default" not in described, tool, left_out, spelled[:AT_MOST]))
    return [one[1:] for one in sorted(found, key=lambda one: one[0])][:AT_MOST]


AT_MOST = 3


def _text_of_a_number(safe):
    for name, value in safe.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            return {**safe, name: canonical_text(value)}
    return None


def _text_of_a_truth(safe):
    for name, value in safe.items():
        if isinstance(value, bool):
            return {**safe, name: canonical_text(value)}
    return None


def _spaces_around_a_text(safe):
    for name, value in safe.items():
        if isinstance(value, str):
            return {**safe, name: f" {value} "}
    return None


def _list_around_a_value(safe):
    return next(({**safe, name: [value]} for name, value in safe.items()), None)


TRANSFORMED = {
    "a number as text": _text_of_a_number,
    "true or false as text": _text_of_a_truth,
    "spaces around a text": _spaces_around_a_text,
    "a list around a value": _list_around_a_value,
    "an unknown member": lambda safe: {**safe, EXTRA_MEMBER: "x"},
    "an unknown member that is null": lambda safe: {**safe, EXTRA_MEMBER: None},
}


def _refuses_the_other_form(ceremony, tool, approved, called, what):
    """Approval of one form does not approve the other, in the hash and at the call."""
    ceremony.honest(tool)
    challenge, reply = ask(ceremony, tool, approved)
    if challenge is None:
        raise NotVerified(f"no challenge for {tool.name}: {reply.describe()}")
    other, _ = ask(ceremony, tool, called)
    sent = f"{tool.name} approved with {canonical_text(approved)}, {what}: {canonical_text(called)}"
    if other is not None:
        ceremony.expect(
            action_hash_of(other) != action_hash_of(challenge),
            sent=f"challenges for {sent}",
            expected="two action hashes: arguments are hashed as they were received",
            got="the same second half in both",
        )
    outcome = ceremony.call(challenge.with_arguments(called), ceremony.evidence(challenge))
    if not schema_refused(ceremony, outcome, tool.name, called):
        ceremony.expect_refusal(outcome, Reason.ARGUMENT_HASH_MISMATCH, sent=sent)
    return challenge


@requirement("sep2672/4.6-no-schema-defaults")
@pytest.mark.parametrize("change", TRANSFORMED.values(), ids=TRANSFORMED)
def test_arguments_are_hashed_as_they_came(ceremony, change, request):
    """Nothing that a schema would convert, trim or drop is converted, trimmed or dropped first."""
    for tool in ceremony.gated_tools():
        called = change(safe_arguments(tool))
        if called is not None:
            break
    else:
        ceremony.not_applicable("no gated tool has an argument of that type")
    what = f"called with {request.node.callspec.id}"
    challenge = _refuses_the_other_form(ceremony, tool, safe_arguments(tool), called, what)
    ceremony.still_serves(challenge)


@requirement("sep2672/4.6-no-schema-defaults")
@pytest.mark.parametrize("spelled_out_at", ["the call", "the challenge"])
def test_a_default_is_not_filled_in(ceremony, spelled_out_at):
    """A member that may be left out is signed as it was sent: there, or not there. It may have a
    default in the schema, or in the server alone."""
    found = _may_be_left_out(ceremony)
    if not found:
        ceremony.not_applicable("no gated tool has an argument that may be left out")
    ceremony.honest()
    made = 0
    with ceremony.several() as several:
        for tool, left_out, spelled in found:
            for whole in spelled:
                approved, called = left_out, whole
                if spelled_out_at == "the challenge":
                    approved, called = whole, left_out
                what = f"its default spelled out only at {spelled_out_at}"
                with several.one(canonical_text(whole)):
                    if ask(ceremony, tool, approved)[0] is None:
                        continue  # a value that the schema does not allow
                    made += 1
                    _refuses_the_other_form(ceremony, tool, approved, called, what)
    if not made:
        raise NotVerified("no challenge for arguments with and without a member", minor=True)


@requirement("sep2672/4.6-no-schema-defaults")
def test_a_member_that_was_approved_is_not_dropped(ceremony):
    """The other way round: more was approved than is called."""
    tool = ceremony.tool
    safe = safe_arguments(tool)
    _ = ceremony.passkey
    if ask(ceremony, tool, {**safe, EXTRA_MEMBER: "x"})[0] is None:
        ceremony.not_applicable("members that the tool does not know get no challenge here")
    _refuses_the_other_form(
        ceremony, tool, {**safe, EXTRA_MEMBER: "x"}, safe, "called without the last member"
    )
