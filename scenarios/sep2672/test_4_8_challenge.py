"""SEP-2672 section 4.8, steps 4 to 9: which challenge was answered, and by whose credential?"""

import datetime

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672.faulty_calls import (
    another_tool,
    expiry_of,
    never_enrolled,
    unissued,
)
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from virtual_authenticator.faults import AttestedDataExtra

# ---- step 4: the challenge is known

UNISSUED = {
    "of the server's own shape": unissued,
    "cut short": lambda issued: issued[:-1],
    "made longer": lambda issued: f"{issued}0",
    "plain words": lambda _: "never-issued",
    "with a zero byte": lambda issued: f"{issued}\x00",
    "beyond ASCII": lambda _: "\u00e9\u4e2d\U0001f511",
    "very long": lambda _: "0" * 20_000,
    "a quote": lambda _: "' OR '1'='1",
    "a wildcard": lambda _: "%",
    "__proto__": lambda _: "__proto__",
    "constructor": lambda _: "constructor",
}


@requirement("sep2672/4.8-04-challenge-known")
@pytest.mark.parametrize("spelling", UNISSUED)
def test_a_challenge_that_was_never_issued_is_unknown(ceremony, spelling):
    """Good evidence under an id that the server never gave out."""
    ceremony.honest()
    challenge = ceremony.challenge()
    claimed = UNISSUED[spelling](challenge.id)
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, challengeId=claimed))
    ceremony.expect_refusal(
        outcome, Reason.CHALLENGE_UNKNOWN, sent=f"tools/call, an unissued challengeId, {spelling}"
    )


@requirement("sep2672/4.8-04-challenge-known")
def test_a_registration_challenge_is_no_approval_challenge(ceremony):
    """The challenge of an enrolment is known to the server, but not as one of a call."""
    ceremony.honest()
    challenge = ceremony.challenge()
    claimed = str(ceremony.approval.begin_options().get("challenge"))
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, challengeId=claimed))
    ceremony.expect_refusal(
        outcome,
        Reason.CHALLENGE_UNKNOWN,
        sent="tools/call, challengeId is the challenge of a pending enrolment",
    )


# ---- step 5: the challenge was not used

FORGOTTEN = "the server has forgotten a challenge inside its lifetime (reading 4)"
LATER = "the server forgets a challenge soon after it expired (reading 4)"


@requirement("sep2672/4.8-05-challenge-unconsumed")
@pytest.mark.parametrize("shape", ["security-key", "icloud-keychain"])
@pytest.mark.parametrize("again", ["the same evidence", "newly signed"])
def test_a_challenge_serves_once(ceremony, shape, again):
    """A second submission, once as a replay to the byte and once signed anew. The synced passkey
    shows no counter, so that nothing but the used challenge can give it away.

    Reading: at once a used challenge is told from an unknown one; there was no time to forget it.
    """
    passkey = ceremony.enrol(shape)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    first = ceremony.call(challenge, evidence)
    if not first.served:
        raise NotVerified(f"the honest call failed, so nothing follows: {first.describe()}")
    if again == "newly signed":
        evidence = ceremony.evidence(challenge, passkey)
    for _ in range(2):
        ceremony.expect_refusal(
            ceremony.call(challenge, evidence),
            Reason.CHALLENGE_CONSUMED,
            sent=f"tools/call, {again} on a used challenge ({shape})",
        )
    ceremony.honest(passkey=passkey)


@requirement("sep2672/4.8-05-challenge-unconsumed", needs=["clock"])
def test_a_used_challenge_stays_used_for_its_lifetime(ceremony):
    """The same evidence again, just before the challenge would have expired.

    Reading: by then a server may have forgotten what it needs no more: a warning."""
    passkey = ceremony.enrol("icloud-keychain")
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    first = ceremony.call(challenge, evidence)
    if not first.served:
        raise NotVerified(f"the honest call failed, so nothing follows: {first.describe()}")
    expiry = expiry_of(challenge)
    ceremony.clock.move_to(expiry - datetime.timedelta(seconds=1), before=expiry)
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.CHALLENGE_CONSUMED,
        sent="tools/call, the same evidence again, 1 s before the challenge expires",
        tolerated={Reason.CHALLENGE_UNKNOWN: FORGOTTEN},
    )


@requirement("sep2672/4.8-05-challenge-unconsumed", needs=["clock"])
@pytest.mark.parametrize("seconds", [1, 3600, 2 * 86400], ids="{} s after expiry".format)
def test_a_used_challenge_stays_used_after_its_lifetime(ceremony, seconds):
    """Reading: after its lifetime the server may have forgotten the challenge. "expired" would be
    wrong all the same, since step 5 comes first."""
    passkey = ceremony.enrol("icloud-keychain")
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey)
    first = ceremony.call(challenge, evidence)
    if not first.served:
        raise NotVerified(f"the honest call failed, so nothing follows: {first.describe()}")
    ceremony.clock.move_to(expiry_of(challenge) + datetime.timedelta(seconds=seconds))
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.CHALLENGE_CONSUMED,
        Reason.CHALLENGE_UNKNOWN,
        sent=f"tools/call, the same evidence again, {seconds} s after the challenge expired",
    )


# ---- step 6: the challenge has not expired

AT_ONCE, LONG_AFTER = 1, 3600
"""Seconds after the expiry."""


@requirement("sep2672/4.8-06-challenge-unexpired")
def test_a_challenge_is_good_just_before_it_expires(ceremony):
    """One second before: servers may write expiresAt in whole seconds."""
    ceremony.honest()
    challenge = ceremony.challenge()
    expiry = expiry_of(challenge)
    ceremony.clock.move_to(expiry - datetime.timedelta(seconds=1), before=expiry)
    outcome = ceremony.call(challenge, ceremony.evidence(challenge))
    ceremony.expect_run(outcome, sent="tools/call, honest, 1 s before expiresAt")


@requirement("sep2672/4.8-06-challenge-unexpired")
@pytest.mark.parametrize("late", [0, 0.001, 1, 29, 3600], ids="{} s late".format)
def test_an_expired_challenge_is_refused(ceremony, late):
    """The rule is now < expiresAt: the very instant is too late, and there is no grace.

    Reading: an expired challenge is told from an unknown one at once. Half a minute later a server
    that has dropped it gets a warning, an hour later none."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    ceremony.clock.move_to(expiry_of(challenge) + datetime.timedelta(seconds=late))
    forgotten = (Reason.CHALLENGE_UNKNOWN,) if late >= LONG_AFTER else ()
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.CHALLENGE_EXPIRED,
        *forgotten,
        sent=f"tools/call, honest but {late} s after expiresAt",
        tolerated={Reason.CHALLENGE_UNKNOWN: LATER} if late > AT_ONCE else {},
    )
    ceremony.honest()  # a new challenge is good at the new time


# ---- step 7: the challenge is for this tool


@requirement("sep2672/4.8-07-challenge-tool")
@pytest.mark.parametrize("way", ["there", "back"])
def test_a_challenge_of_another_tool_is_refused(ceremony, way):
    """Two gated tools; each one's evidence is sent with a call of the other.

    The challenge is asked for with the arguments that the other tool is called with, so that
    nothing but the tool's name differs. Asking runs nothing, and what would run is safe."""
    called, approved = ceremony.tool, another_tool(ceremony, ceremony.tool)
    if way == "back":
        called, approved = approved, called
    ceremony.honest(called)
    try:
        challenge = ceremony.challenge(approved, called.arguments)
    except NotVerified:  # arguments that its schema does not allow
        challenge = ceremony.challenge(approved)
    evidence = ceremony.evidence(challenge)
    call = challenge.with_tool(called.name).with_arguments(called.arguments)
    ceremony.expect_refusal(
        ceremony.call(call, evidence),
        Reason.CHALLENGE_WRONG_TOOL,
        sent=f"tools/call {called.name} with an approval for {approved.name}",
    )


# ---- step 8: the credential is enrolled


@requirement("sep2672/4.8-08-credential-enrolled")
@pytest.mark.parametrize("carries_key", [False, True], ids=["plain", "carries its key"])
def test_a_credential_that_was_never_enrolled_is_unknown(ceremony, carries_key):
    """A stranger's passkey signs correctly. It may bring its public key along, in the authenticator
    data and beside it: a server that believes it checks the stranger with his own key."""
    ceremony.honest()
    challenge = ceremony.challenge()
    stranger = never_enrolled(ceremony)
    evidence = ceremony.evidence(
        challenge,
        stranger,
        ignoring=["allow-credentials"],
        faults=[AttestedDataExtra()] if carries_key else [],
    )
    if carries_key:
        registered = stranger.registration["response"]
        evidence["response"]["response"]["publicKey"] = registered["publicKey"]
        evidence["response"]["response"]["attestationObject"] = registered["attestationObject"]
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.UNKNOWN_CREDENTIAL,
        sent="tools/call, correctly signed by a credential that was never enrolled"
        + (" and brings its public key along" if carries_key else ""),
    )


@requirement("sep2672/4.8-08-credential-enrolled")
@pytest.mark.parametrize(
    "claimed", ["AAAA", "__proto__", "A" * 4096], ids=["short", "name", "long"]
)
def test_an_id_that_was_never_enrolled_is_unknown(ceremony, claimed):
    """The enrolled passkey signs, but the response names another credential."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    evidence["response"] = {**evidence["response"], "id": claimed, "rawId": claimed}
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.UNKNOWN_CREDENTIAL,
        sent=f"tools/call, evidence.response.id {claimed[:12]!r}, which was never enrolled",
        tolerated={
            Reason.MISSING_EVIDENCE: "an id that cannot be one may count as malformed (reading 3)"
        },
    )


# ---- step 9: the credential is of the tool's class


@requirement("sep2672/4.8-09-class")
@pytest.mark.parametrize("given", [True, False], ids=["cross-platform", "class omitted"])
@pytest.mark.parametrize("shape", ["touch-id", "security-key"])
def test_a_same_device_credential_does_not_serve_a_cross_platform_tool(ceremony, given, shape):
    """An enrolled credential with transports ['internal'] signs a challenge that was issued while
    an eligible one was there too: a client that ignores allowCredentials.

    Reading: a class that is omitted is cross-platform, as the MUST of section 4.7 says."""
    tool = ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM, given=given)
    ceremony.honest(tool)
    same_device = ceremony.enrol(shape, transports=["internal"])
    challenge = ceremony.challenge(tool)
    evidence = ceremony.evidence(challenge, same_device, ignoring=["allow-credentials"])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.AUTHENTICATOR_CLASS_MISMATCH,
        sent=f"tools/call {tool.name}, signed by an enrolled ['internal'] credential ({shape})",
    )
