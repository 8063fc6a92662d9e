"""SEP-2672 section 4.4.3: approval/challenge/create, the question that a user's passkey answers."""

import contextlib
import datetime
import email.utils
import itertools
import re
import unicodedata

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import Approval, parse_instant
from pytest_mcp_approval.families.sep2672.issuing import (
    EXTRA_MEMBER,
    action_hash_of,
    any_challenge,
    ask,
    cross_platform_tool,
    expect_some_error,
    expect_still_issues,
    halves,
    issued,
    issued_for_each,
    offered,
    safe_arguments,
    tools_to_ask,
    variations,
)
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
        raise NotVerified("needs an ungated tool in tools/list")
    any_challenge(ceremony)
    for tool in plain[:5]:
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


BAD_PARAMS = {
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
    """ISO 8601 with date and time; without a zone it is still ISO 8601, if only a riddle."""
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
    """Of every gated tool's envelope; further members are nobody's concern.

    Readings: an expiresAt without a time zone, and an rpId that is left out (WebAuthn then takes
    the page's host), are legal where they come from, and a warning here.
    """
    _ = ceremony.passkey
    holds, expected = ENVELOPE[member]
    judged, dubious = False, None
    for tool in tools_to_ask(ceremony):
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
            dubious = f"expiresAt: {value!r} names no time zone, so no client can compare it"
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
        both = [ask(ceremony, tool, arguments)[0] for tool in (first, second)]
        if None in both:
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
    params = {"toolName": tool.name}
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


# ---- 4.4.3-nonce-unpredictable

_NONCES = 32


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_nonces_look_random(ceremony):
    """What a few dozen can show: no repeats, no counter, no clock, no constant part.

    The bounds are such that honest randomness fails less than once in a million runs.
    """
    nonces = [halves(any_challenge(ceremony))[0] for _ in range(_NONCES)]
    sent = f"approval/challenge/create, {_NONCES} times for the same call"
    ceremony.expect(
        len(set(nonces)) == _NONCES,
        sent=sent,
        expected=f"{_NONCES} different nonces",
        got=f"{len(set(nonces))} different ones",
    )
    numbers = [int.from_bytes(nonce) for nonce in nonces]
    steps = {(after - before) % 2**256 for before, after in itertools.pairwise(numbers)}
    ceremony.expect(
        len(steps) > 1,
        sent=sent,
        expected="nonces without a pattern",
        got=f"each nonce is the one before plus {min(steps):#x}",
    )
    both = 0
    for number in numbers:
        both |= number ^ numbers[0]
    steady = [256 - bit for bit in range(256, 0, -1) if not both >> (bit - 1) & 1]
    ceremony.expect(
        not steady,
        sent=sent,
        expected="every bit of the nonce changes now and then",
        got=f"{len(steady)} of 256 bits never did (the first at {steady[:1]}): "
        "a counter, a clock, or a constant part",
    )
    ones = sum(number.bit_count() for number in numbers)
    ceremony.expect(
        abs(ones - _NONCES * 128) < 300,  # 6.6 standard deviations
        sent=sent,
        expected="about as many ones as zeros",
        got=f"{ones} ones in {_NONCES * 256} bits",
    )


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_nonces_are_the_servers_over_all_tools(ceremony):
    """Unique across all challenges of the server, whatever they are for."""
    nonces = [halves(challenge)[0] for _ in range(4) for _, challenge in issued_for_each(ceremony)]
    ceremony.expect(
        len(set(nonces)) == len(nonces),
        sent=f"{len(nonces)} challenges for all gated tools in turn",
        expected="as many different nonces",
        got=f"{len(set(nonces))} different ones",
    )


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_a_restart_does_not_bring_nonces_back(ceremony):
    """A generator that starts from the same seed gives the same nonces after each start."""
    if not ceremony.target.can_restart:
        ceremony.not_applicable("the suite cannot restart this server")
    tool = tools_to_ask(ceremony)[0]
    any_challenge(ceremony)
    starts = []
    for _ in range(2):
        ceremony.target.restart()
        ceremony.approval.forget()
        ceremony.enrol()  # the server may have forgotten the others
        starts.append({halves(issued(ceremony, tool))[0] for _ in range(8)})
    ceremony.expect(
        not starts[0] & starts[1],
        sent="8 challenges after a restart, and 8 after another one",
        expected="16 different nonces",
        got=f"{len(starts[0] & starts[1])} of them twice",
    )


@requirement("sep2672/4.4.3-nonce-unpredictable")
def test_two_instances_do_not_share_nonces(ceremony):
    """Two servers that were started alike do not count alike."""
    tool = tools_to_ask(ceremony)[0]
    any_challenge(ceremony)
    instances = []
    for _ in range(2):
        target = ceremony.target.twin()
        if target is None:
            ceremony.not_applicable("the suite cannot start another instance of this server")
        with contextlib.closing(target):
            other = Approval(target)
            other.enrol()
            instances.append({halves(issued(ceremony, tool, approval=other))[0] for _ in range(8)})
    ceremony.expect(
        not instances[0] & instances[1],
        sent="8 challenges from each of two fresh instances",
        expected="16 different nonces",
        got=f"{len(instances[0] & instances[1])} of them twice",
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


# ---- 4.4.3-allow-credentials

INTERNAL = {"transports": ["internal"]}
POOL = {
    "a USB key": ("security-key", {}),
    "a synced passkey": ("icloud-keychain", {}),
    "a same-device passkey": ("touch-id", INTERNAL),
}
CROSS = ["a USB key", "a synced passkey"]


@requirement("sep2672/4.4.3-allow-credentials")
@pytest.mark.parametrize(
    ("find", "eligible"),
    [
        (lambda ceremony: cross_platform_tool(ceremony, named=True), CROSS),
        (lambda ceremony: cross_platform_tool(ceremony, named=False), CROSS),
        (lambda ceremony: ceremony.tool_of_class(words.AuthenticatorClass.PLATFORM), list(POOL)),
    ],
    ids=["cross-platform", "class left out", "platform"],
)
def test_exactly_the_eligible_credentials_are_offered(ceremony, find, eligible):
    """Of what is enrolled, each challenge offers what the tool's class lets pass, and no more."""
    tool = find(ceremony)
    before = set(offered(ask(ceremony, tool, safe_arguments(tool))[0]))
    enrolled = {name: ceremony.enrol(shape, **more) for name, (shape, more) in POOL.items()}
    after = set(offered(issued(ceremony, tool)))
    names = {passkey.id: name for name, passkey in enrolled.items()}
    found = [names.get(one, "a credential that was not enrolled") for one in after - before]
    ceremony.expect(
        sorted(found) == sorted(eligible) and before <= after,
        sent=f"a challenge for {tool.name} after enrolling {', '.join(POOL)}",
        expected=f"allowCredentials with {', '.join(eligible)}",
        got=", ".join(sorted(found)) or "none of them",
    )


@requirement("sep2672/4.4.3-allow-credentials")
@pytest.mark.parametrize("shape", ["security-key-nfc", "icloud-keychain", "phone-hybrid"])
def test_credentials_are_offered_with_their_transports(ceremony, shape):
    """As enrolled, so that the browser looks for them in the right place; once each.

    Reading: descriptors without the member (WebAuthn lets it be left out) are a warning.
    """
    passkey = ceremony.enrol(shape)
    enrolled = passkey.registration["response"]["transports"]
    challenge = any_challenge(ceremony)
    listed = [
        entry
        for entry in challenge.options.get("allowCredentials") or []
        if isinstance(entry, dict) and entry.get("id") == passkey.id
    ]
    sent = f"a challenge after enrolling a credential with transports {enrolled}"
    ceremony.expect(
        len(listed) == 1,
        sent=sent,
        expected="the credential once in allowCredentials",
        got=f"{len(listed)} times",
    )
    if "transports" not in listed[0]:
        ceremony.warn(f"{sent}: it is offered without transports")
        return
    got = listed[0]["transports"]
    ceremony.expect(
        isinstance(got, list) and sorted(map(str, got)) == sorted(enrolled),
        sent=sent,
        expected=f"its descriptor with transports {enrolled}",
        got=f"transports {got!r}",
    )


@requirement("sep2672/4.4.3-allow-credentials")
def test_what_was_never_enrolled_is_not_offered(ceremony):
    """Neither an enrolment that was only begun, nor one that was refused."""
    any_challenge(ceremony)
    _, _, unfinished = ceremony.approval.register()
    _, _, refused = ceremony.approval.register()
    reply = ceremony.approval.finish({**refused, "type": "no-key"})
    accepted = reply.outcome is Outcome.RESULT
    ids = offered(any_challenge(ceremony))
    for what, response in (("begun and not finished", unfinished), ("refused", refused)):
        if accepted and response is refused:
            continue  # a lenient server; what it accepts is the matter of section 4.4.2
        ceremony.expect(
            response["id"] not in ids,
            sent=f"a challenge after an enrolment that was {what}",
            expected="its credential not in allowCredentials",
            got="it is offered",
        )


# ---- 4.4.3-no-eligible-credential


@contextlib.contextmanager
def _fresh(ceremony):
    """The target with nothing enrolled: as it was reset, or another instance of it."""
    if ceremony.target.can_reset or ceremony.target.settings.reset:
        yield ceremony.approval
        return
    other = ceremony.target.twin()
    if other is None:
        # Perhaps nobody has enrolled here yet; if somebody has, the challenge will show it.
        yield ceremony.approval
        return
    with contextlib.closing(other):
        yield Approval(other)


def _expect_none_eligible(ceremony, approval, tool, *, sent):
    reply = approval.request_challenge(tool.name, safe_arguments(tool))
    options = reply.result.get("requestOptions") if isinstance(reply.result, dict) else None
    held = options.get("allowCredentials") if isinstance(options, dict) else None
    if held and not ceremony.target.can_reset and not ceremony.target.settings.reset:
        raise NotVerified("needs a server without enrolled credentials: --mcp-approval-reset HOW")
    ceremony.expect_error(reply, Reason.NO_ELIGIBLE_CREDENTIAL, sent=sent)


def _expect_eligible_now(approval, tool):
    """The positive twin: with a security key there is a challenge."""
    approval.enrol()
    approval.challenge(tool.name, safe_arguments(tool))


@requirement("sep2672/4.4.3-no-eligible-credential")
def test_nothing_enrolled_gets_no_challenge(ceremony):
    """An empty allowCredentials would let any credential of the page answer."""
    with _fresh(ceremony) as approval:
        tools = [tool for tool in tools_to_ask(ceremony) if tool.arguments is not None][:4]
        for tool in tools or tools_to_ask(ceremony)[:1]:
            _expect_none_eligible(
                ceremony,
                approval,
                tool,
                sent=f"approval/challenge/create for {tool.name}, nothing enrolled",
            )
        _expect_eligible_now(approval, tool)


@requirement("sep2672/4.4.3-no-eligible-credential")
@pytest.mark.parametrize("named", [True, False], ids=["cross-platform", "class left out"])
def test_only_same_device_credentials_get_no_challenge(ceremony, named):
    """For a cross-platform tool a same-device passkey is as good as none."""
    tool = cross_platform_tool(ceremony, named=named)
    with _fresh(ceremony) as approval:
        approval.enrol("touch-id", **INTERNAL)
        _expect_none_eligible(
            ceremony,
            approval,
            tool,
            sent=f"approval/challenge/create for {tool.name}, "
            "only an ['internal'] credential enrolled",
        )
        _expect_eligible_now(approval, tool)


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
        raise NotVerified("needs a gated tool with arguments: --mcp-approval-tool NAME=JSON")


def _shown_text_argument(ceremony):
    """A gated tool, and a text argument of it that its displayText shows."""
    for tool in tools_to_ask(ceremony):
        safe = safe_arguments(tool)
        for name, value in safe.items():
            if not isinstance(value, str):
                continue
            texts = [ask(ceremony, tool, {**safe, name: f"{value}{end}"})[0] for end in ("", "x")]
            if None not in texts and texts[0].display_text != texts[1].display_text:
                return tool, name
    raise NotVerified(
        "needs a gated tool whose displayText shows a text argument: --mcp-approval-tool NAME=JSON"
    )


SMUGGLED = {
    "null": "\x00",
    "backspace": "\x08",
    "carriage return": "\r",
    "escape": "\x1b[2J",
    "delete": "\x7f",
    "next line (C1)": "\x85",
    "control sequence introducer (C1)": "\x9b2J",
    "left-to-right embedding": "\u202a",
    "right-to-left embedding": "\u202b",
    "left-to-right override": "\u202d",
    "right-to-left override": "\u202e",
    "left-to-right isolate": "\u2066",
    "right-to-left isolate": "\u2067",
    "first strong isolate": "\u2068",
}
"""Each hides or rearranges what stands beside it. A failure if it arrives as it is."""

DUBIOUS = {
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
    """Reading: beyond control and bidi-override characters the document asks for nothing."""

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
