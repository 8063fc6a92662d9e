"""SEP-2672 section 4.4.3: which credentials a challenge offers."""

import contextlib

import pytest

from pytest_mcp_approval.catalogue import NotVerified, may_poison, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.families.sep2672.issuing import (
    any_challenge,
    ask,
    cross_platform_tool,
    issued,
    safe_arguments,
    tools_to_ask,
)
from pytest_mcp_approval.families.sep2672.registrations import answer
from pytest_mcp_approval.families.sep2672.shapes import is_descriptor
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import Outcome

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
    """Of what is enrolled, each challenge offers what the tool's class allows, and no more."""
    tool = find(ceremony)
    first, _ = ask(ceremony, tool, safe_arguments(tool))
    before = set(first.offered if first is not None else ())
    enrolled = {name: ceremony.enrol(shape, **more) for name, (shape, more) in POOL.items()}
    after = set(issued(ceremony, tool).offered)
    names = {passkey.id: name for name, passkey in enrolled.items()}
    found = [names.get(one, "a credential that was not enrolled") for one in after - before]
    ceremony.expect(
        sorted(found) == sorted(eligible) and before <= after,
        sent=f"a challenge for {tool.name} after enrolling {', '.join(POOL)}",
        expected=f"allowCredentials with {', '.join(eligible)}",
        got=", ".join(sorted(found)) or "none of them",
    )


ODD_TRANSPORTS = {
    "null": None,
    "a number": 7,
    "text": "internal",
    "an object": {"0": "usb"},
    "names and others": ["usb", 7, None],
    "internal twice": ["internal", "internal"],
    "a name nobody knows": ["internal", "telepathy"],
}


@requirement("sep2672/4.4.3-allow-credentials")
@may_poison
@pytest.mark.parametrize("transports", ODD_TRANSPORTS.values(), ids=ODD_TRANSPORTS)
def test_all_that_is_offered_can_be_used(ceremony, transports):
    """Whatever was enrolled before, here or by other checks: every entry is one that a browser
    takes, and none of a cross-platform tool is of a same-device authenticator.

    Other rules check whether an odd registration is accepted.
    """
    _ = ceremony.passkey
    _, response = answer(ceremony)
    response["response"]["transports"] = transports
    ceremony.session.call(words.ENROLL_FINISH, {"response": response})
    with ceremony.several() as several:
        for tool in tools_to_ask(ceremony):
            with several.one():
                challenge = issued(ceremony, tool)
                sent = (
                    f"a challenge for {tool.name} after {words.ENROLL_FINISH} "
                    f"with transports {transports!r}"
                )
                listed = challenge.options.get("allowCredentials") or []
                odd = [one for one in listed if not is_descriptor(one)]
                ceremony.expect(
                    not odd,
                    sent=sent,
                    expected="allowCredentials: {type: 'public-key', id, transports: names} each",
                    got=_told(odd),
                )
                if not _is_cross_platform(tool):
                    continue
                here = [one for one in listed if set(one.get("transports") or ()) == {"internal"}]
                ceremony.expect(
                    not here,
                    sent=sent,
                    expected="no credential whose transports are internal alone (section 4.7)",
                    got=_told(here),
                )


def _told(entries):
    """What is wrong with the first of them is nearly always its transports."""
    first = entries[0] if entries else {}
    if not isinstance(first, dict):
        return f"an entry {first!r:.80}"
    return f"an entry with transports {first.get('transports')!r:.80}"


def _is_cross_platform(tool):
    wanted = tool.annotation.authenticator_class if tool.annotation else None
    return wanted is not words.AuthenticatorClass.PLATFORM


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
    ids = any_challenge(ceremony).offered
    for what, response in (("begun and not finished", unfinished), ("refused", refused)):
        if accepted and response is refused:
            continue  # a lenient server; section 4.4.2 is about what it accepts
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
def test_a_tool_has_challenges_as_soon_as_something_is_eligible(ceremony):
    """Each gated tool is refused a challenge while nothing is enrolled, and has one afterwards."""
    tools = ceremony.gated_tools()
    with _fresh(ceremony) as approval, ceremony.several() as several:
        for tool in (*tools, *tools):
            sent = f"a challenge for {tool.name}, nothing enrolled"
            _expect_none_eligible(ceremony, approval, tool, sent=sent)
        approval.enrol()
        for tool in tools:
            with several.one(tool.name):
                reply = approval.request_challenge(tool.name, safe_arguments(tool))
                ceremony.expect(
                    reply.error is None and reply.answered,
                    sent=f"a challenge for {tool.name}, refused before a security key was enrolled",
                    expected="a challenge",
                    got=reply.describe(),
                )


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
