"""SEP-2672 section 4.8, steps 10 and 11: the signature and the counter."""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.issuing import halves
from pytest_mcp_approval.families.sep2672.unusual import UNUSUAL
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from virtual_authenticator import Authenticator, Vault
from virtual_authenticator.counters import Scripted
from virtual_authenticator.faults import (
    CrossOrigin,
    FlipFlag,
    OtherAlgorithm,
    OtherKey,
    Replayed,
    SignatureBit,
    TopOrigin,
    Trailing,
    Truncated,
    WrongChallenge,
    WrongOrigin,
    WrongRpIdHash,
    WrongType,
    WrongUserHandle,
)

ANY_REASON = dict.fromkeys(
    Reason, "refused, but signature_verification_failed would be step 10's reason (reading 2)"
)

# ---- step 10: the assertion verifies

SIGNATURE_FAULTS = {
    "last bit of the signature flipped": SignatureBit(-1),
    "first bit of the signature flipped": SignatureBit(0),
    "signed by another key": OtherKey(),
    "signed by another algorithm": OtherAlgorithm(),
}


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("fault", SIGNATURE_FAULTS)
def test_a_signature_that_does_not_verify_is_refused(ceremony, fault):
    """The signature itself is wrong: the reason is step 10's and no other."""
    ceremony.honest()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, faults=SIGNATURE_FAULTS[fault])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"tools/call, {fault}",
    )


@requirement("sep2672/4.8-10-signature")
def test_the_key_of_another_enrolled_credential_does_not_serve(ceremony):
    """Two enrolled credentials: one signs, the response names the other."""
    ceremony.honest()
    other = ceremony.enrol()
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge)
    evidence["response"] = {**evidence["response"], "id": other.id, "rawId": other.id}
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent="tools/call, signed by one enrolled credential in the name of another",
    )


CLIENT_AND_DEVICE_FAULTS = {
    "another challenge signed": [WrongChallenge()],
    "no challenge signed": [WrongChallenge("AA")],
    "origin https://attacker.example": [WrongOrigin()],
    "origin null": [WrongOrigin("null")],
    "rpIdHash of another party": [WrongRpIdHash()],
    "type webauthn.create": [WrongType()],
    "user presence (UP) clear": [FlipFlag("UP")],
    "user verification (UV) clear": [FlipFlag("UV")],
    "UP and UV clear": [FlipFlag("UP"), FlipFlag("UV")],
    "authenticatorData one byte short": [Truncated(1)],
    "authenticatorData without counter": [Truncated(4)],
    "authenticatorData empty": [Truncated(37)],
    "the response of the call before": [Replayed()],
}


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("fault", CLIENT_AND_DEVICE_FAULTS)
def test_what_was_signed_is_looked_at(ceremony, fault):
    """The signature is valid here, by the enrolled key; what it signs is wrong.

    Reading: step 10 names only the signature, but these checks belong to verifying one (WebAuthn
    Level 3, section 7.2). To run the tool is a failure; another reason is a warning."""
    # If the counter is cut off or old, a passkey without one is used: no counter may hide the
    # fault.
    counts = not fault.startswith(("authenticatorData", "the response"))
    passkey = ceremony.enrol("security-key" if counts else "icloud-keychain")
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey, faults=CLIENT_AND_DEVICE_FAULTS[fault])
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"tools/call, {fault}",
        tolerated=ANY_REASON,
    )


@requirement("sep2672/4.8-10-signature")
def test_an_origin_that_only_begins_like_the_right_one_is_another(ceremony):
    """http://localhost is not http://localhost.attacker.example."""
    ceremony.honest()
    challenge = ceremony.challenge()
    origin = f"{ceremony.passkey.origin}.attacker.example"
    evidence = ceremony.evidence(challenge, faults=WrongOrigin(origin))
    ceremony.expect_refusal(
        ceremony.call(challenge, evidence),
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"tools/call, origin {origin}",
        tolerated=ANY_REASON,
    )


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("half", ["nonce", "action hash"])
def test_both_halves_of_the_challenge_are_compared(ceremony, half):
    """A challenge is nonce and action hash: an assertion over a challenge that shares one half with
    the issued one, and not the other, is an assertion over another challenge."""
    ceremony.honest()
    challenge = ceremony.challenge()
    nonce, action = halves(challenge)
    if half == "nonce":
        nonce = bytes(byte ^ 0xFF for byte in nonce)
    else:
        action = bytes(byte ^ 0xFF for byte in action)
    fault = WrongChallenge(words.base64url_encode(nonce + action))
    ceremony.expect_refusal(
        ceremony.call(challenge, ceremony.evidence(challenge, faults=fault)),
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"tools/call, a challenge signed that differs in the {half} alone",
        tolerated=ANY_REASON,
    )


FURTHER_FAULTS = {
    "crossOrigin true": ("security-key", CrossOrigin()),
    "crossOrigin true with a topOrigin": ("security-key", TopOrigin()),
    "a userHandle of somebody else": ("security-key", WrongUserHandle()),
    "authenticatorData with a byte more": ("security-key", Trailing()),
    "backup state (BS) without backup eligibility (BE)": ("security-key", FlipFlag("BS")),
    "backup eligibility (BE) lost since enrolment": ("icloud-keychain", FlipFlag("BE")),
    # Without BS beside it, so that nothing but the value at enrolment speaks against it.
    "backup eligibility (BE) gained since enrolment": ("security-key", FlipFlag("BE")),
}


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("fault", FURTHER_FAULTS)
def test_the_rest_of_webauthn_is_looked_at_too(ceremony, fault):
    """Reading: WebAuthn's section 7.2 asks for these checks, the SEP does not mention them and the
    signature is good. A server that runs the tool gets a warning; refusing is always right."""
    shape, device_fault = FURTHER_FAULTS[fault]
    passkey = ceremony.enrol(shape)
    ceremony.honest(passkey=passkey)
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey, faults=device_fault))
    if outcome.executed:
        ceremony.warn(f"tools/call, {fault}: {outcome.describe()} (WebAuthn Level 3, section 7.2)")
        return
    ceremony.expect_refusal(
        outcome,
        Reason.SIGNATURE_VERIFICATION_FAILED,
        sent=f"tools/call, {fault}",
        tolerated=ANY_REASON,
    )


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("how", UNUSUAL)
def test_what_few_clients_write_is_no_fault(ceremony, how):
    """The twin of the faults above: an honest assertion by a client, or an authenticator, that is
    older or newer than most.

    Reading: WebAuthn has relying parties tolerate these, and the SEP does not mention them.
    Refusing one is a warning.
    """
    ceremony.honest()
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, faults=UNUSUAL[how]))
    if not outcome.executed:
        ceremony.warn(f"tools/call, an honest assertion with {how}: {outcome.describe()}")


# ---- step 11: the counter

TOP = 2**32 - 1
RUNS, REGRESSES = True, False
COUNTERS = {
    # name: the counter at enrolment, then each one asserted and what follows
    "equal": (1, [(5, RUNS), (5, REGRESSES)]),
    "one lower": (1, [(5, RUNS), (4, REGRESSES)]),
    "much lower": (1, [(1000, RUNS), (1, REGRESSES)]),
    "zero after non-zero": (1, [(5, RUNS), (0, REGRESSES)]),
    "one higher": (1, [(5, RUNS), (6, RUNS), (7, RUNS)]),
    "leaps": (1, [(2, RUNS), (300, RUNS), (70_000, RUNS), (2**24, RUNS)]),
    "equal to enrolment": (7, [(8, RUNS), (7, REGRESSES)]),
    "zero for ever": (0, [(0, RUNS), (0, RUNS), (0, RUNS), (0, RUNS)]),
    "first non-zero switches the check on": (
        0,
        [
            (0, RUNS),
            (0, RUNS),
            (7, RUNS),
            (7, REGRESSES),
            (3, REGRESSES),
            (0, REGRESSES),
            (8, RUNS),
        ],
    ),
    "one after zero": (0, [(0, RUNS), (1, RUNS), (1, REGRESSES), (0, REGRESSES), (2, RUNS)]),
    "past 2^31": (1, [(2**31 - 1, RUNS), (2**31, RUNS), (2**31 + 1, RUNS), (5, REGRESSES)]),
    "the highest": (1, [(TOP - 1, RUNS), (TOP, RUNS), (TOP, REGRESSES), (TOP - 1, REGRESSES)]),
    "wraps to zero": (1, [(TOP, RUNS), (0, REGRESSES)]),
    "wraps to one": (1, [(TOP, RUNS), (1, REGRESSES)]),
    "up again after a refusal": (1, [(5, RUNS), (5, REGRESSES), (6, RUNS), (6, REGRESSES)]),
}


@requirement("sep2672/4.8-11-counter")
@pytest.mark.parametrize("course", COUNTERS)
def test_a_counter_above_zero_only_ever_rises(ceremony, course):
    """A passkey shows the counters of a script. While the stored one is zero, any will do; from the
    first one above zero on, each has to be higher than the one before, to the end of 32 bits."""
    ceremony.honest()
    enrolled, calls = COUNTERS[course]
    script = [enrolled, *(counter for counter, _ in calls)]
    passkey = ceremony.enrol(Authenticator("security-key", counter=Scripted(script)))
    stored = enrolled
    for counter, expected in calls:
        challenge = ceremony.challenge()
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        sent = f"tools/call, signCount {counter} (stored {stored})"
        if expected is RUNS:
            ceremony.expect_run(outcome, sent=sent)
            stored = counter
        else:
            ceremony.expect_refusal(outcome, Reason.SIGNATURE_COUNTER_REGRESSION, sent=sent)


@requirement("sep2672/4.8-11-counter")
def test_counters_are_kept_for_each_credential(ceremony):
    """A second credential with lower counters is not measured by those of the first."""
    high = ceremony.enrol(Authenticator("security-key", counter=Scripted([1, 5000, 5001])))
    low = ceremony.enrol(Authenticator("security-key", counter=Scripted([1, 2, 3])))
    ceremony.honest(passkey=high)
    for passkey, sent in ((low, "signCount 2 (5000 of another credential)"), (high, "5001")):
        challenge = ceremony.challenge()
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, passkey))
        ceremony.expect_run(outcome, sent=f"tools/call, {sent}")


@requirement("sep2672/4.8-11-counter")
def test_a_copied_key_is_noticed(ceremony):
    """A key and its copy, which count on their own: the second to show a value is refused."""
    passkey = ceremony.passkey
    copy = type(passkey)(passkey.authenticator.clone(), passkey.origin, passkey.registration)
    ceremony.honest()
    challenge = ceremony.challenge()
    ceremony.expect_refusal(
        ceremony.call(challenge, ceremony.evidence(challenge, copy)),
        Reason.SIGNATURE_COUNTER_REGRESSION,
        sent="tools/call, signed by a copy of the key whose counter stands where the key's stood",
    )


@requirement("sep2672/4.8-11-counter")
def test_devices_that_share_a_synced_passkey_are_no_copies(ceremony):
    """Two devices of one person, the same passkey, no counter: each may approve, in any order."""
    vault = Vault()
    phone, laptop = vault.device("icloud-keychain"), vault.device("icloud-keychain")
    passkey = ceremony.enrol(phone)
    other = type(passkey)(laptop, passkey.origin, passkey.registration)
    ceremony.honest()
    for who, name in ((passkey, "phone"), (other, "laptop"), (passkey, "phone")):
        challenge = ceremony.challenge()
        outcome = ceremony.call(challenge, ceremony.evidence(challenge, who))
        ceremony.expect_run(outcome, sent=f"tools/call, synced passkey on the {name}, signCount 0")
