"""SEP-2672 section 4.7: which enrolled credentials may approve which tool.

A tool of class cross-platform, named or by default, wants a credential that can be on another
device; one of class platform takes any. Its transports at enrolment say what a credential is.
"""

import copy

import pytest

from pytest_mcp_approval.catalogue import NotVerified, may_poison, requirement
from pytest_mcp_approval.families.sep2672.driver import Passkey
from pytest_mcp_approval.families.sep2672.issuing import (
    ask,
    cross_platform_tool,
    issued,
    issued_for_each,
    safe_arguments,
)
from pytest_mcp_approval.families.sep2672.registrations import begin, expect_some_error
from pytest_mcp_approval.families.sep2672.vocabulary import (
    CHALLENGE_CREATE,
    AuthenticatorClass,
    Reason,
)
from pytest_mcp_approval.wire import Outcome
from virtual_authenticator import Authenticator

CROSS, PLATFORM = AuthenticatorClass.CROSS_PLATFORM, AuthenticatorClass.PLATFORM
LEFT_OUT = object()

# What each kind of credential says about itself; the rest is typical of such devices.
ROAMING = {
    "usb": ("security-key", ["usb"]),
    "nfc": ("security-key", ["nfc"]),
    "ble": ("security-key", ["ble"]),
    "usb and nfc": ("security-key-nfc", ["nfc", "usb"]),
    "hybrid": ("phone-hybrid", ["hybrid"]),
    "hybrid and internal": ("icloud-keychain", ["hybrid", "internal"]),
    "usb and internal": ("security-key", ["internal", "usb"]),
    "usb and an unknown one": ("security-key", ["usb", "x-carrier-pigeon"]),
}
SAME_DEVICE = {
    "internal": ["internal"],
    "internal twice": ["internal", "internal"],
}
UNCLEAR = {
    "left out": LEFT_OUT,
    "none": [],
    "smart-card": ["smart-card"],
    "cable": ["cable"],
    "internal and smart-card": ["internal", "smart-card"],
    "an unknown one": ["x-carrier-pigeon"],
    "USB in capitals": ["USB"],
    "an empty name": [""],
}
WRONG_TYPES = {
    "null": None,
    "a text": "usb",
    "a number": 7,
    "an object": {"usb": True},
    "a list of numbers": [1],
    "a list with null": ["usb", None],
    "a list in a list": [["usb"]],
}


def enrol_with(ceremony, transports, shape="security-key", **members):
    """Enrol a credential whose registration says just these transports; None if it is refused.
    `members` replace further ones of the registration, such as authenticatorAttachment."""
    device, page, response = ceremony.approval.register(Authenticator(shape))
    edited = {**copy.deepcopy(response), **members}
    if transports is LEFT_OUT:
        del edited["response"]["transports"]
    else:
        edited["response"]["transports"] = transports
    reply = ceremony.approval.finish(edited)
    enrolled = isinstance(reply.result, dict) and reply.result.get("success") is True
    return (Passkey(device, page, edited) if enrolled else None), reply


def enrolled_with(ceremony, transports, shape="security-key", **members):
    passkey, reply = enrol_with(ceremony, transports, shape, **members)
    if passkey is None:
        raise NotVerified(f"an enrolment with transports {transports} failed: {reply.describe()}")
    return passkey


def sign_uninvited(ceremony, challenge, passkey):
    """Evidence of a credential that was not offered: what a browser would not do."""
    return ceremony.evidence(challenge, passkey, ignoring=["allow-credentials"])


# ---- 4.7-cross-platform-excludes-internal

BOTH_WAYS = pytest.mark.parametrize(
    "named", [True, False], ids=["cross-platform", "class left out"]
)


@requirement("sep2672/4.7-cross-platform-excludes-internal")
@BOTH_WAYS
@pytest.mark.parametrize(("shape", "transports"), ROAMING.values(), ids=ROAMING)
def test_a_roaming_credential_is_offered_and_accepted(ceremony, named, shape, transports):
    """One way to another device is enough, also beside internal."""
    tool = cross_platform_tool(ceremony, named=named)
    ceremony.honest(tool)
    passkey = enrolled_with(ceremony, transports, shape)
    challenge = issued(ceremony, tool)
    sent = f"{tool.name}, a credential enrolled with transports {transports}"
    ceremony.expect(
        passkey.id in challenge.offered,
        sent=f"a challenge for {sent}",
        expected="it is offered in allowCredentials",
        got="it is not",
    )
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
    ceremony.expect_run(outcome, sent=f"a call of {sent}")


@requirement("sep2672/4.7-cross-platform-excludes-internal")
@BOTH_WAYS
@pytest.mark.parametrize("transports", SAME_DEVICE.values(), ids=SAME_DEVICE)
def test_a_same_device_credential_is_not_offered(ceremony, named, transports):
    """Nor accepted, if it answers all the same (section 4.8, step 9)."""
    tool = cross_platform_tool(ceremony, named=named)
    ceremony.honest(tool)
    passkey = enrolled_with(ceremony, transports, "touch-id")
    challenge = issued(ceremony, tool)
    sent = f"{tool.name}, a credential enrolled with transports {transports}"
    ceremony.expect(
        passkey.id not in challenge.offered,
        sent=f"a challenge for {sent}",
        expected="it is not in allowCredentials",
        got="it is offered",
    )
    outcome = ceremony.call(challenge, sign_uninvited(ceremony, challenge, passkey))
    ceremony.expect_refusal(outcome, Reason.AUTHENTICATOR_CLASS_MISMATCH, sent=f"a call of {sent}")
    ceremony.still_serves(challenge)


@requirement("sep2672/4.7-cross-platform-excludes-internal")
def test_a_same_device_credential_beside_others(ceremony):
    """It is its own transports that count, not those of the user's other credentials; and that at
    every tool that is listed as cross-platform, or without a class."""
    ceremony.honest(ceremony.tool_of_class(CROSS))
    enrolled = {
        "internal": enrolled_with(ceremony, ["internal"], "touch-id"),
        "hybrid and internal": ceremony.enrol("icloud-keychain"),
        "internal again": enrolled_with(ceremony, ["internal"], "touch-id"),
        "usb": ceremony.enrol(),
    }
    for tool, challenge in issued_for_each(ceremony):
        if tool.annotation is None or tool.annotation.authenticator_class is not CROSS:
            continue
        found = [name for name, passkey in enrolled.items() if passkey.id in challenge.offered]
        ceremony.expect(
            found == ["hybrid and internal", "usb"],
            sent=f"a challenge for {tool.name}, enrolled: {', '.join(enrolled)}",
            expected="hybrid and internal, usb",
            got=", ".join(found) or "none of them",
        )


def _issue_and_call_agree(ceremony, tool, passkey, what, *, includes_usb=False):
    """What is offered may approve, what is not offered may not: one filter, in both places."""
    challenge = issued(ceremony, tool)
    is_offered = passkey.id in challenge.offered
    outcome = ceremony.call(challenge, sign_uninvited(ceremony, challenge, passkey))
    if is_offered:
        ceremony.expect_run(outcome, sent=f"a call with a credential that was offered ({what})")
        if not includes_usb:
            ceremony.warn(f"{what}: taken for cross-platform, which the document does not say")
    else:
        ceremony.expect_refusal(
            outcome,
            Reason.AUTHENTICATOR_CLASS_MISMATCH,
            sent=f"a call with a credential that was not offered ({what})",
        )
        ceremony.still_serves(challenge)


@requirement("sep2672/4.7-cross-platform-excludes-internal")
@pytest.mark.parametrize("transports", UNCLEAR.values(), ids=UNCLEAR)
def test_unclear_transports_are_judged_alike_in_both_places(ceremony, transports, request):
    """Reading: the document does not mention transports that are neither internal alone nor
    roaming. Offering such a credential is a warning; offering it and refusing it, or the other way
    round, a failure."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    what = f"transports {request.node.callspec.id}"
    passkey, reply = enrol_with(ceremony, transports)
    if passkey is None:
        # Enrolment does not constrain which authenticator may be registered.
        ceremony.warn(f"{what}: the enrolment was refused, {reply.describe()}")
        return
    _issue_and_call_agree(ceremony, tool, passkey, what)


@may_poison
@requirement("sep2672/4.7-cross-platform-excludes-internal")
@pytest.mark.parametrize("transports", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_transports_of_the_wrong_type(ceremony, transports, request):
    """Reading: a registration whose transports are no list of names may be refused, or taken for
    one without transports; what follows must agree, and the server must survive. A list that has
    usb in it includes usb, whatever else it has."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    what = f"transports {request.node.callspec.id}"
    passkey, reply = enrol_with(ceremony, transports)
    if passkey is None:
        expect_some_error(ceremony, reply, sent=f"approval/enroll/finish, {what}")
    challenge, reply = ask(ceremony, tool, safe_arguments(tool))
    ceremony.expect(
        challenge is not None,
        sent=f"an honest challenge for {tool.name} after an enrolment with {what}",
        expected="a challenge, as before",
        got=reply.describe(),
    )
    if passkey is not None:
        listed = isinstance(transports, list) and "usb" in transports
        _issue_and_call_agree(ceremony, tool, passkey, what, includes_usb=listed)


# ---- 4.7-platform-accepts-all

ANY = {
    **ROAMING,
    "internal": ("touch-id", ["internal"]),
    "internal on Windows": ("windows-hello", ["internal"]),
    **{name: ("security-key", transports) for name, transports in UNCLEAR.items()},
}


def _somebody_can_approve(ceremony, tool):
    """The positive twin of this rule: a call of the tool succeeds, with one kind of credential or
    the other."""
    outcome = None
    for passkey in (ceremony.passkey, enrolled_with(ceremony, ["internal"], "touch-id")):
        challenge, reply = ask(ceremony, tool, safe_arguments(tool))
        if challenge is not None:
            outcome = ceremony.call(challenge, sign_uninvited(ceremony, challenge, passkey))
            if outcome.served:
                return
    got = reply.describe() if outcome is None else outcome.describe()
    raise NotVerified(f"nobody can approve {tool.name}: {got}")


@requirement("sep2672/4.7-platform-accepts-all")
@pytest.mark.parametrize(("shape", "transports"), ANY.values(), ids=ANY)
def test_a_platform_tool_takes_any_credential(ceremony, shape, transports, request):
    """Any enrolled credential is eligible, a security key no less than a fingerprint."""
    tool = ceremony.tool_of_class(PLATFORM)
    _somebody_can_approve(ceremony, tool)
    passkey = enrolled_with(ceremony, transports, shape)
    challenge = issued(ceremony, tool)
    kind = request.node.callspec.id
    ceremony.expect(
        passkey.id in challenge.offered,
        sent=f"a challenge for {tool.name}, a credential enrolled with transports {kind}",
        expected="it is offered in allowCredentials",
        got="it is not",
    )
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
    ceremony.expect_run(
        outcome, sent=f"a call of {tool.name}, signed by a credential with transports {kind}"
    )


@requirement("sep2672/4.7-platform-accepts-all")
def test_one_pool_serves_tools_of_both_classes(ceremony):
    """Enrolment is for the user, not for a tool: the same credential, two tools, two answers."""
    platform, cross = ceremony.tool_of_class(PLATFORM), ceremony.tool_of_class(CROSS)
    ceremony.honest(cross)
    passkey = enrolled_with(ceremony, ["internal"], "touch-id")
    found = [passkey.id in issued(ceremony, tool).offered for tool in (platform, cross)]
    ceremony.expect(
        found == [True, False],
        sent=f"challenges for {platform.name} and {cross.name}, an ['internal'] credential",
        expected=f"offered for {platform.name} only",
        got=f"offered for {platform.name}: {found[0]}, for {cross.name}: {found[1]}",
    )
    challenge = issued(ceremony, platform)
    outcome = ceremony.call(challenge, sign_uninvited(ceremony, challenge, passkey))
    ceremony.expect_run(outcome, sent=f"a call of {platform.name} by an ['internal'] credential")


# ---- 4.7-transports-persisted


def _claim_attachment(evidence, value, _):
    evidence["response"]["authenticatorAttachment"] = value


def _claim_in_response(evidence, _, transports):
    evidence["response"]["response"]["transports"] = transports


def _claim_in_credential(evidence, _, transports):
    evidence["response"]["transports"] = transports


def _claim_in_evidence(evidence, value, transports):
    evidence["transports"] = transports
    evidence["authenticatorClass"] = value


CLAIMS = {
    "authenticatorAttachment": _claim_attachment,
    "response.response.transports": _claim_in_response,
    "response.transports": _claim_in_credential,
    "evidence.transports": _claim_in_evidence,
}
STRICT = dict.fromkeys(
    (Reason.MISSING_EVIDENCE, Reason.SIGNATURE_VERIFICATION_FAILED),
    "a server may refuse evidence with members that do not belong there",
)


@requirement("sep2672/4.7-transports-persisted")
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_call_cannot_claim_other_transports(ceremony, claim, request):
    """A same-device credential stays one, whatever the evidence says."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    passkey = enrolled_with(ceremony, ["internal"], "touch-id")
    challenge = issued(ceremony, tool)
    evidence = copy.deepcopy(sign_uninvited(ceremony, challenge, passkey))
    claim(evidence, "cross-platform", ["usb"])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.AUTHENTICATOR_CLASS_MISMATCH,
        sent=f"a call of {tool.name} by an ['internal'] credential that claims to be "
        f"cross-platform in {request.node.callspec.id}",
        tolerated=STRICT,
    )
    ceremony.still_serves(challenge)


@requirement("sep2672/4.7-transports-persisted")
def test_a_call_does_not_lose_its_transports(ceremony):
    """The other way round: a security key whose client reports it as built in is still one."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    challenge = ceremony.challenge(tool)
    evidence = copy.deepcopy(ceremony.evidence(challenge))
    _claim_attachment(evidence, "platform", None)
    ceremony.expect_run(
        ceremony.call(challenge, evidence),
        sent=f"a call of {tool.name} by a ['usb'] credential, authenticatorAttachment 'platform'",
    )


@requirement("sep2672/4.7-transports-persisted")
@pytest.mark.parametrize(
    ("transports", "attachment", "eligible"),
    [(["internal"], "cross-platform", False), (["usb"], "platform", True)],
    ids=["internal, said to be cross-platform", "usb, said to be platform"],
)
def test_transports_decide_and_not_the_attachment(ceremony, transports, attachment, eligible):
    """At enrolment too: authenticatorAttachment is the client's word for how it was reached."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    passkey = enrolled_with(ceremony, transports, authenticatorAttachment=attachment)
    found = passkey.id in issued(ceremony, tool).offered
    ceremony.expect(
        found is eligible,
        sent=f"a challenge for {tool.name}, a credential enrolled with transports {transports} "
        f"and authenticatorAttachment {attachment!r}",
        expected="offered" if eligible else "not offered: its transports are internal only",
        got="offered" if found else "not offered",
    )


@requirement("sep2672/4.7-transports-persisted")
@pytest.mark.parametrize(
    "member",
    [
        {"authenticatorClass": "platform"},
        {"transports": ["usb"]},
        {"allowCredentials": []},
        {"authenticatorAttachment": "platform"},
    ],
    ids=lambda member: next(iter(member)),
)
def test_a_challenge_request_cannot_choose_the_class(ceremony, member):
    """The tool's listing says the class and the enrolment the transports; a request says neither.
    A server may also refuse params that it does not know."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    passkey = enrolled_with(ceremony, ["internal"], "touch-id")
    usual = set(issued(ceremony, tool).offered)
    params = {"toolName": tool.name, "arguments": safe_arguments(tool), **member}
    reply = ceremony.session.call(CHALLENGE_CREATE, params)
    if reply.outcome is Outcome.ERROR:
        return
    options = reply.result.get("requestOptions") if isinstance(reply.result, dict) else None
    listed = options.get("allowCredentials") if isinstance(options, dict) else None
    ids = {entry.get("id") for entry in listed or [] if isinstance(entry, dict)}
    ceremony.expect(
        ids == usual,
        sent=f"approval/challenge/create for {tool.name} with the further member {member}",
        expected="the allowCredentials of the request without it",
        got="the ['internal'] credential is offered" if passkey.id in ids else "another list",
    )


@requirement("sep2672/4.7-transports-persisted")
def test_a_second_finish_does_not_change_transports(ceremony):
    """The registration once more, with other transports: refused, and nothing was changed by it."""
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    passkey = enrolled_with(ceremony, ["internal"], "touch-id")
    again = copy.deepcopy(dict(passkey.registration))
    again["response"]["transports"] = ["usb"]
    reply = ceremony.approval.finish(again)
    sent = "the same registration a second time, with transports ['usb'] for ['internal']"
    ceremony.expect(
        reply.outcome is not Outcome.RESULT, sent=sent, expected="an error", got=reply.describe()
    )
    ceremony.expect(
        passkey.id not in issued(ceremony, tool).offered,
        sent=f"a challenge for {tool.name} after {sent}",
        expected="the credential is still not offered",
        got="it is offered",
    )


@requirement("sep2672/4.7-transports-persisted")
def test_transports_survive_a_restart(ceremony):
    """If credentials are kept over a restart, what is known about them is too."""
    if not ceremony.target.can_restart:
        ceremony.not_applicable("the suite cannot restart this server")
    tool = ceremony.tool_of_class(CROSS)
    ceremony.honest(tool)
    internal = enrolled_with(ceremony, ["internal"], "touch-id")
    synced = ceremony.enrol("icloud-keychain")
    before = set(issued(ceremony, tool).offered)
    ceremony.target.restart()
    ceremony.approval.forget()
    challenge, reply = ask(ceremony, tool, safe_arguments(tool))
    after = set(challenge.offered if challenge is not None else ())
    if not after:
        ceremony.not_applicable(f"nothing is kept over a restart: {reply.describe()[:100]}")
    names = {internal.id: "internal", synced.id: "hybrid and internal"}
    ceremony.expect(
        after == before,
        sent=f"challenges for {tool.name} before and after a restart",
        expected="the same allowCredentials",
        got=f"more: {[names.get(one, 'another') for one in after - before]}, "
        f"fewer: {[names.get(one, 'another') for one in before - after]}",
    )


# ---- 4.7-enrolment-open

EVERY_CLASS = {
    **{name: ROAMING[name] for name in ("usb", "nfc", "ble", "hybrid", "hybrid and internal")},
    "internal": ("touch-id", ["internal"]),
}


@requirement("sep2672/4.7-enrolment-open")
@pytest.mark.parametrize(("shape", "transports"), EVERY_CLASS.values(), ids=EVERY_CLASS)
def test_a_credential_of_any_class_is_enrolled(ceremony, shape, transports):
    """Which tools it may approve is checked when it is used, not when it is enrolled."""
    ceremony.honest()
    passkey, reply = enrol_with(ceremony, transports, shape)
    ceremony.expect(
        passkey is not None,
        sent=f"approval/enroll/finish, an honest registration with transports {transports}",
        expected="it is enrolled, whatever class the tools ask for",
        got=reply.describe(),
    )


@requirement("sep2672/4.7-enrolment-open")
def test_no_attachment_is_asked_for(ceremony):
    """With authenticatorAttachment in the options a browser offers only one kind of device."""
    selection = begin(ceremony).get("authenticatorSelection")
    asked = selection.get("authenticatorAttachment") if isinstance(selection, dict) else None
    ceremony.expect(
        asked is None,
        sent="approval/enroll/begin",
        expected="options without authenticatorSelection.authenticatorAttachment",
        got=f"authenticatorAttachment {asked!r}",
    )
