"""SEP-2672 section 4.4.3: who gets a challenge, and what it consists of."""

import contextlib
import datetime
import email.utils
import re
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import parse_instant
from pytest_mcp_approval.families.sep2672.issuing import (
    EXTRA_MEMBER,
    action_hash_of,
    any_challenge,
    ask,
    expect_still_issues,
    halves,
    issued,
    issued_for_each,
    safe_arguments,
    tools_to_ask,
    variations,
)
from pytest_mcp_approval.families.sep2672.registrations import expect_some_error
from pytest_mcp_approval.families.sep2672.vocabulary import CHALLENGE_CREATE, Reason
from pytest_mcp_approval.wire import Outcome, RawJson

# ---- 4.4.3-only-gated-tools


@requirement("sep2672/4.4.3-only-gated-tools")
def test_an_ungated_tool_gets_no_challenge(ceremony):
    """A challenge for a tool that needs no approval would be a signature over nothing."""
    plain = [
        tool
        for tool in ceremony.approval.tools()
        if words.META_KEY not in (tool.listing.get("_meta") or {})
    ]
    if not plain:
        raise NotApplicable("this server lists no ungated tool")
    any_challenge(ceremony)
    with ceremony.several() as several:
        for tool in plain[:5]:
            with several.one():
                reply = ceremony.approval.request_challenge(tool.name, safe_arguments(tool))
                ceremony.expect_error(
                    reply,
                    Reason.TOOL_NOT_APPROVED_REQUIRED,
                    sent=f"approval/challenge/create for the ungated tool {tool.name}",
                )


UNKNOWN_NAMES = {
    "a name that nobody has": lambda _: "no-such-tool-7f3a",
    "upper case": str.upper,
    "a space behind": lambda name: f"{name} ",
    "cut short": lambda name: name[:-1],
    "a path": lambda name: f"./{name}",
    "a name of every object": lambda _: "__proto__",
    "a method of every object": lambda _: "toString",
}


@requirement("sep2672/4.4.3-only-gated-tools", needs=[])
@pytest.mark.parametrize("change", UNKNOWN_NAMES.values(), ids=UNKNOWN_NAMES)
def test_an_unknown_tool_gets_no_challenge(ceremony, change):
    """A name is a gated tool's name to the letter, or it is refused."""
    tool = tools_to_ask(ceremony)[0]
    _ = ceremony.passkey
    issued(ceremony, tool)
    name = change(tool.name)
    if not name or any(listed.name == name for listed in ceremony.approval.tools()):
        ceremony.not_applicable(f"{name!r} is a tool's name here")
    reply = ceremony.approval.request_challenge(name, safe_arguments(tool))
    ceremony.expect_error(
        reply,
        Reason.TOOL_NOT_APPROVED_REQUIRED,
        sent=f"approval/challenge/create, toolName {name!r}, which is not listed",
    )


BAD_TOOL_NAMES = {
    "missing": None,
    "null": lambda _: None,
    "empty": lambda _: "",
    "a number": lambda _: 7,
    "true": lambda _: True,
    # JavaScript makes "place_trade" of ["place_trade"] where text is asked for.
    "a list of the name": lambda name: [name],
    "an object around the name": lambda name: {"name": name},
    "the name and a zero byte": lambda name: f"{name}\x00",
    "a hundred thousand letters": lambda _: "a" * 100_000,
}


@requirement("sep2672/4.4.3-only-gated-tools", needs=[])
@pytest.mark.parametrize("make", BAD_TOOL_NAMES.values(), ids=BAD_TOOL_NAMES)
def test_a_tool_name_that_is_none_is_an_error(ceremony, make, request):
    """Reading: bad params get some error, -32602 or -32001; an internal error is a warning."""
    tool = tools_to_ask(ceremony)[0]
    _ = ceremony.passkey
    issued(ceremony, tool)
    params = {"arguments": safe_arguments(tool)}
    if make is not None:
        params["toolName"] = make(tool.name)
    reply = ceremony.session.call(CHALLENGE_CREATE, params)
    sent = f"approval/challenge/create, toolName {request.node.callspec.id}"
    expect_some_error(ceremony, reply, sent=sent)
    expect_still_issues(ceremony, after=sent)


BAD_PARAMS: dict[str, Any] = {
    "missing": None,
    "null": RawJson("null"),
    "a list": [],
    "a text": RawJson('"params"'),
    "a number": RawJson("7"),
    "empty": {},
}


@requirement("sep2672/4.4.3-only-gated-tools", needs=[])
@pytest.mark.parametrize("params", BAD_PARAMS.values(), ids=BAD_PARAMS)
def test_params_that_name_no_tool_are_an_error(ceremony, params, request):
    """Without params there is no tool to verify, so there is no challenge."""
    tool = tools_to_ask(ceremony)[0]
    _ = ceremony.passkey
    issued(ceremony, tool)
    reply = ceremony.session.call(CHALLENGE_CREATE, params)
    sent = f"approval/challenge/create, params {request.node.callspec.id}"
    expect_some_error(ceremony, reply, sent=sent)
    expect_still_issues(ceremony, after=sent)


# ---- 4.4.3-envelope-shape


def _is_text(value):
    return isinstance(value, str) and value != ""


def _is_base64url(value):
    with contextlib.suppress(ValueError):
        return bool(words.base64url_decode(value))
    return False


def _is_instant(value):
    """ISO 8601 with date and time; without a zone it is still ISO 8601, but ambiguous."""
    if not isinstance(value, str) or not re.match(r"\d{4}-?\d\d-?\d\d[T ]\d\d", value):
        return False
    with contextlib.suppress(ValueError):
        return bool(datetime.datetime.fromisoformat(value))
    return False


def _is_descriptors(value):
    return isinstance(value, list) and all(
        isinstance(entry, dict)
        and entry.get("type") == "public-key"
        and _is_base64url(entry.get("id"))
        and _is_names(entry.get("transports", []))
        for entry in value
    )


def _is_names(value):
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


ENVELOPE = {
    "challengeId": (_is_text, "text"),
    "displayText": (_is_text, "text"),
    "expiresAt": (_is_instant, "an ISO 8601 instant"),
    "requestOptions": (lambda value: isinstance(value, dict), "an object"),
    "requestOptions.challenge": (_is_base64url, "base64url without padding"),
    "requestOptions.rpId": (_is_text, "the RP ID"),
    "requestOptions.allowCredentials": (
        _is_descriptors,
        "a list of {type: 'public-key', id: base64url, transports: names}",
    ),
    "requestOptions.userVerification": (_is_text, "text"),
}


@requirement("sep2672/4.4.3-envelope-shape")
@pytest.mark.parametrize("member", ENVELOPE)
def test_the_envelope_has_its_members(ceremony, member):
    """Of every gated tool's envelope; further members are ignored.

    Readings: an expiresAt without a time zone, and an rpId that is left out (WebAuthn then takes
    the page's host), are legal where they come from, and a warning here.
    """
    _ = ceremony.passkey
    holds, expected = ENVELOPE[member]
    judged, dubious = False, None
    with ceremony.several() as several:
        for tool in tools_to_ask(ceremony):
            with several.one():
                reply = ceremony.approval.request_challenge(tool.name, safe_arguments(tool))
                if reply.outcome is not Outcome.RESULT:
                    continue
                judged = True
                value = reply.result
                for name in member.split("."):
                    value = value.get(name) if isinstance(value, dict) else None
                if member == "requestOptions.rpId" and value is None:
                    dubious = "requestOptions.rpId is left out: the page's host is taken for it"
                    continue
                ceremony.expect(
                    holds(value),
                    sent=f"approval/challenge/create for {tool.name}",
                    expected=f"{member}: {expected}",
                    got=f"{member}: {value!r}"[:200],
                )
                if member == "expiresAt" and not _has_zone(value):
                    dubious = (
                        f"expiresAt: {value!r} names no time zone, so no client can compare it"
                    )
    if dubious:
        ceremony.warn(dubious)
    if not judged:
        raise NotVerified("no gated tool got a challenge")


def _has_zone(value):
    with contextlib.suppress(ValueError):
        return bool(parse_instant(value))
    return False


@requirement("sep2672/4.4.3-envelope-shape")
def test_no_two_challenges_share_an_id(ceremony):
    """The id is how the server finds the one challenge that a call answers."""
    ids = [any_challenge(ceremony).envelope.get("challengeId") for _ in range(8)]
    ceremony.expect(
        len(set(map(str, ids))) == len(ids),
        sent="approval/challenge/create, 8 times",
        expected="8 different challengeIds",
        got=f"{len(set(map(str, ids)))} different: {ids[0]!r}, {ids[1]!r}, ...",
    )


# ---- 4.4.3-wire-challenge


@requirement("sep2672/4.4.3-wire-challenge")
def test_the_challenge_is_nonce_and_then_hash(ceremony):
    """64 bytes: a first half that never repeats, a second one that does for the same call."""
    ceremony.honest()
    challenges = [ceremony.challenge() for _ in range(4)]
    for challenge in challenges:
        length = _wire_length(challenge)
        ceremony.expect(
            length == 64,
            sent="approval/challenge/create",
            expected="requestOptions.challenge of 64 bytes: 32 of nonce, 32 of action hash",
            got=f"{length} bytes" if length else "no base64url",
        )
    first, second = zip(*map(halves, challenges), strict=True)
    got = f"{len(set(first))} different first halves, {len(set(second))} different second halves"
    if len(set(first)) == 1 and len(set(second)) == len(second):
        got += " (the hash stands first, the nonce second)"
    ceremony.expect(
        len(set(first)) == len(first) and len(set(second)) == 1,
        sent="approval/challenge/create, 4 times for the same call",
        expected="4 different first halves (nonce), 1 second half (action hash)",
        got=got,
    )


def _wire_length(challenge):
    with contextlib.suppress(KeyError, ValueError):
        return len(challenge.wire_challenge)
    return 0


@requirement("sep2672/4.4.3-wire-challenge")
def test_the_hash_changes_with_each_argument(ceremony):
    """Whatever of the arguments changes, the second half does, or a call could be swapped."""
    judged = False
    for tool, challenge in issued_for_each(ceremony):
        before = action_hash_of(challenge)
        extra = {**safe_arguments(tool), EXTRA_MEMBER: "x"}
        for name, arguments in [*variations(tool), ("one more", extra)]:
            changed, _ = ask(ceremony, tool, arguments)
            if changed is None:
                continue  # arguments that this server does not take
            judged = True
            ceremony.expect(
                action_hash_of(changed) != before,
                sent=f"two challenges for {tool.name} that differ in the argument {name!r}",
                expected="two action hashes",
                got="the same second half in both",
            )
    if not judged:
        raise NotVerified("no gated tool takes two different arguments")


@requirement("sep2672/4.4.3-wire-challenge")
def test_the_hash_changes_with_the_tool(ceremony):
    """The same arguments for another tool are another action."""
    if len(ceremony.gated_tools()) < 2:
        ceremony.not_applicable("there is one gated tool only")
    first, second = ceremony.tool, ceremony.second_tool()
    _ = ceremony.passkey
    for arguments in (safe_arguments(first), safe_arguments(second), {}):
        asked = [ask(ceremony, tool, arguments)[0] for tool in (first, second)]
        both = [challenge for challenge in asked if challenge is not None]
        if len(both) < 2:
            continue
        hashes = {action_hash_of(challenge) for challenge in both}
        ceremony.expect(
            len(hashes) == 2,
            sent=f"challenges for {first.name} and {second.name} with the same arguments",
            expected="two action hashes",
            got="the same second half in both",
        )
        return
    ceremony.not_applicable("no two gated tools take the same arguments")


BAD_ARGUMENTS = {
    "a text": '"{}"',
    "a list": '["x"]',
    "a number": "7",
    "true": "true",
}
LENIENT_ARGUMENTS = {"missing": None, "null": "null", "an empty list": "[]"}


@requirement("sep2672/4.4.3-wire-challenge")
@pytest.mark.parametrize("spelled", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_arguments_that_are_no_object_are_an_error(ceremony, spelled):
    """Reading: bad params get some error. There is no call that such a challenge could serve."""
    tool = tools_to_ask(ceremony)[0]
    _ = ceremony.passkey
    issued(ceremony, tool)
    reply = ceremony.approval.request_challenge(tool.name, RawJson(spelled))
    sent = f"approval/challenge/create, arguments {spelled}"
    expect_some_error(ceremony, reply, sent=sent)
    expect_still_issues(ceremony, after=sent)


@requirement("sep2672/4.4.3-wire-challenge")
@pytest.mark.parametrize("spelled", LENIENT_ARGUMENTS.values(), ids=LENIENT_ARGUMENTS)
def test_arguments_that_are_hardly_an_object(ceremony, spelled, request):
    """Reading: what many languages take for {} is an error, or is reported."""
    tool = tools_to_ask(ceremony)[0]
    _ = ceremony.passkey
    issued(ceremony, tool)
    params: dict[str, Any] = {"toolName": tool.name}
    if spelled is not None:
        params["arguments"] = RawJson(spelled)
    reply = ceremony.session.call(CHALLENGE_CREATE, params)
    sent = f"approval/challenge/create, arguments {request.node.callspec.id}"
    if reply.outcome is Outcome.RESULT:
        ceremony.warn(f"{sent}: a challenge, although there is no arguments object to sign")
    else:
        expect_some_error(ceremony, reply, sent=sent)
    expect_still_issues(ceremony, after=sent)


@requirement("sep2672/4.4.3-wire-challenge")
@pytest.mark.parametrize(
    "extra",
    [{"serverId": "other"}, {"nonce": "AAAA"}, {"unknown": [1, {"deep": None}]}],
    ids=["serverId", "nonce", "unknown"],
)
def test_further_params_change_nothing(ceremony, extra):
    """Tool name and arguments make the hash; a server may also refuse params that it does not
    know."""
    tool = tools_to_ask(ceremony)[0]
    _ = ceremony.passkey
    before = action_hash_of(issued(ceremony, tool))
    params = {"toolName": tool.name, "arguments": safe_arguments(tool), **extra}
    reply = ceremony.session.call(CHALLENGE_CREATE, params)
    sent = f"approval/challenge/create with a further member {next(iter(extra))}"
    options = reply.result.get("requestOptions") if isinstance(reply.result, dict) else None
    if not isinstance(options, dict):
        expect_some_error(ceremony, reply, sent=sent)
        return
    nonce, action_hash = words.split_wire_challenge(words.base64url_decode(options["challenge"]))
    ceremony.expect(
        action_hash == before and not nonce.startswith(b"\0\0\0"),
        sent=sent,
        expected="the action hash of the call without it, and a nonce of the server's own",
        got=f"second half {'the same' if action_hash == before else 'another'}, "
        f"first half {nonce.hex()[:12]}...",
    )


# ---- 4.4.3-ttl


@requirement("sep2672/4.4.3-ttl")
def test_a_challenge_lives_for_a_minute_at_most(ceremony):
    """Reading: 60 seconds is the default; a server that states a longer TTL gets a warning."""
    slack = 2  # an HTTP date has whole seconds
    challenge = any_challenge(ceremony)
    now = _now_at(ceremony, challenge)
    try:
        ahead = (challenge.expires_at - now).total_seconds()
    except ValueError as error:
        raise NotVerified(f"expiresAt cannot be read: {error}") from None
    ceremony.expect(
        -slack < ahead <= 60 + slack,
        sent="approval/challenge/create",
        expected="expiresAt at most 60 s ahead, and not past",
        got=f"{ahead:.0f} s ahead: {challenge.envelope.get('expiresAt')}",
    )


def _now_at(ceremony, challenge):
    """The target's time: as the suite set it, as the answer's Date says, or this machine's."""
    date = challenge.reply.header("date")
    if not ceremony.target.clock.movable and date is not None:
        with contextlib.suppress(ValueError):
            return email.utils.parsedate_to_datetime(date)
    return ceremony.target.clock.now()


# ---- 4.4.3-uv-required


@requirement("sep2672/4.4.3-uv-required")
def test_user_verification_is_required(ceremony):
    """Of every gated tool: a touch alone is nobody's approval."""
    for tool, challenge in issued_for_each(ceremony):
        asked = challenge.options.get("userVerification")
        ceremony.expect(
            asked == "required",
            sent=f"approval/challenge/create for {tool.name}",
            expected="requestOptions.userVerification 'required'",
            got=f"{asked!r}",
        )
