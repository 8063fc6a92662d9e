"""SEP-2672 sections 4.4.2 and 4.8, step 10: every part of what was signed counts, and all of it.

One member exchanged, cut, lengthened, left out or spelled in another way, and the signature over it
valid; or one byte changed, and the signature as it was. What is tried at an assertion is tried at a
registration. Each refused call leaves the challenge as it was, so one serves many.
"""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import confirmed_enrolment
from pytest_mcp_approval.families.sep2672.pending import PendingCall
from pytest_mcp_approval.families.sep2672.registrations import (
    answer,
    begin,
    enrolled_ids,
    expect_some_error,
    expect_still_enrols,
)
from pytest_mcp_approval.families.sep2672.rewritten import (
    OTHERS,
    client_data_of,
    flipped,
    inner_of,
    quarters,
    rewritten_client_data,
    signed_anew,
    with_inner,
)
from pytest_mcp_approval.families.sep2672.vocabulary import Reason

READINGS: dict[Reason | str, str] = dict.fromkeys(
    Reason, "refused, but signature_verification_failed would be step 10's reason (reading 2)"
)
MALFORMED = (Reason.SIGNATURE_VERIFICATION_FAILED, Reason.MISSING_EVIDENCE)
"""Reading: how deep "well-formed" reaches into the response is open."""


class _Attempts(PendingCall):
    """Calls with evidence that must be refused, all on one challenge while it lasts."""

    def expect_refused(self, evidence, *, sent):
        outcome = self.ceremony.call(self.challenge, evidence)
        self.keep_fresh(outcome)
        self.ceremony.expect_refusal(outcome, *MALFORMED, sent=sent, tolerated=READINGS)


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("member", OTHERS)
def test_client_data_of_an_assertion_is_compared_whole(ceremony, member):
    """The enrolled key signs client data with another challenge, type or origin than it must."""
    attempts = _Attempts(ceremony)
    with ceremony.several() as several:
        for how in rewritten_client_data(attempts.genuine["response"], member):
            with several.one(how):
                # Made for the challenge that is pending now.
                other = rewritten_client_data(attempts.genuine["response"], member)[how]
                evidence = signed_anew(attempts.passkey, attempts.genuine, client_data=other)
                attempts.expect_refused(
                    evidence, sent=f"tools/call, {member} {how} in the signed client data"
                )
        attempts.close()


@requirement("sep2672/4.4.2-response-verified", "sep2672/4.4.2-challenge-must-match")
@pytest.mark.parametrize("member", OTHERS)
def test_client_data_of_a_registration_is_compared_whole(ceremony, member):
    """The same at enrolment, where nothing is signed if there is no attestation.

    Reading: a member that is missing or no text is bad params, for which any error will do."""
    ceremony.enrol()
    refused = {}
    with ceremony.several() as several:
        for how in rewritten_client_data(answer(ceremony)[1], member):
            with several.one(how):
                _, response = answer(ceremony)
                other = rewritten_client_data(response, member)[how]
                response["response"] = {**response["response"], "clientDataJSON": other}
                reply = ceremony.approval.finish(response)
                refused[response["id"]] = how
                sent = f"{words.ENROLL_FINISH}, {member} {how} in the client data"
                ceremony.expect(
                    not confirmed_enrolment(reply),
                    sent=sent,
                    expected="-32001 verification_failed",
                    got=reply.describe(),
                )
                if not isinstance(client_data_of(response).get(member), str):
                    expect_some_error(ceremony, reply, sent=sent)
                    continue
                ceremony.expect_error(
                    reply,
                    Reason.VERIFICATION_FAILED,
                    *([Reason.NO_PENDING_ENROLLMENT] if member == "challenge" else []),
                    sent=sent,
                    tolerated=dict.fromkeys(Reason, "another reason than verification_failed"),
                )
        kept = [refused[one] for one in enrolled_ids(ceremony) if one in refused]
        ceremony.expect(
            not kept,
            sent="a begin after registrations that were refused",
            expected="none of them enrolled",
            got=f"enrolled all the same: {member} {', '.join(kept)}",
        )
        expect_still_enrols(ceremony, sent=f"registrations with another {member}")


@requirement("sep2672/4.8-10-signature")
def test_the_relying_party_is_compared_whole(ceremony):
    """The enrolled key signs authenticator data whose rpIdHash differs in one bit, wherever."""
    attempts = _Attempts(ceremony)
    data = words.base64url_decode(inner_of(attempts.genuine)["authenticatorData"])
    with ceremony.several() as several:
        for name, place in quarters(data[:32]).items():
            with several.one(name):
                data = words.base64url_decode(inner_of(attempts.genuine)["authenticatorData"])
                attempts.expect_refused(
                    signed_anew(
                        attempts.passkey, attempts.genuine, authenticator_data=flipped(data, place)
                    ),
                    sent=f"tools/call, the rpIdHash signed has its {name} wrong",
                )
        attempts.close()


@requirement("sep2672/4.4.2-response-verified")
def test_the_relying_party_of_a_registration_is_compared_whole(ceremony):
    """The same at enrolment."""
    ceremony.enrol()
    rp = begin(ceremony).get("rp") or {}
    with ceremony.several() as several:
        for name, place in quarters(bytes(32)).items():
            with several.one(name):
                _, response = answer(ceremony)
                inner = response["response"]
                attested = words.base64url_decode(inner["attestationObject"])
                start = attested.find(words.base64url_decode(inner["authenticatorData"]))
                other = words.base64url_encode(flipped(attested, start + place))
                response["response"] = {**inner, "attestationObject": other}
                ceremony.expect_error(
                    ceremony.approval.finish(response),
                    Reason.VERIFICATION_FAILED,
                    sent=f"{words.ENROLL_FINISH} for {rp.get('id')}, the rpIdHash has its {name} "
                    "wrong",
                )
    expect_still_enrols(ceremony, sent="registrations with another rpIdHash")


ALGORITHMS = {"ES256": -7, "EdDSA": -8, "RS256": -257, "ES384": -35}


def _other_signatures(signature):
    """Signatures that are not the one that was made, by what was done."""
    changed = {
        f"{name} another": flipped(signature, place) for name, place in quarters(signature).items()
    }
    return changed | {
        "a byte shorter": signature[:-1],
        "a byte longer": signature + b"\x00",
        "its first half": signature[: len(signature) // 2],
        "zeros": bytes(len(signature)),
        "empty": b"",
    }


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_signatures_of_every_algorithm_are_verified_whole(ceremony, algorithm):
    """For each kind of key that the server offers: no signature but the right one serves."""
    offered = begin(ceremony).get("pubKeyCredParams")
    if not any(one.get("alg") == ALGORITHMS[algorithm] for one in offered or ()):
        ceremony.not_applicable(f"the server does not offer {algorithm}")
    passkey = ceremony.enrol("security-key", algorithms=[algorithm])
    stranger = ceremony.enrol("security-key", algorithms=[algorithm])
    attempts = _Attempts(ceremony, passkey)
    genuine = words.base64url_decode(inner_of(attempts.genuine)["signature"])
    with ceremony.several() as several:
        for how in _other_signatures(genuine):
            with several.one(how):
                made = words.base64url_decode(inner_of(attempts.genuine)["signature"])
                other = words.base64url_encode(_other_signatures(made)[how])
                attempts.expect_refused(
                    with_inner(attempts.genuine, signature=other),
                    sent=f"tools/call, {algorithm} signature {how}",
                )
        with several.one("by another enrolled key"):
            foreign = ceremony.evidence(attempts.challenge, stranger)
            attempts.expect_refused(
                with_inner(attempts.genuine, **inner_of(foreign)),
                sent=f"tools/call, {algorithm} signature by another enrolled key",
            )
        attempts.close()


@requirement("sep2672/8.1.3-rewritten-call")
@pytest.mark.parametrize("part", ["clientDataJSON", "authenticatorData"])
def test_no_byte_can_be_rewritten(ceremony, part):
    """One bit of what was signed is changed on the way, wherever: the signature no longer fits."""
    attempts = _Attempts(ceremony, ceremony.enrol("icloud-keychain"))
    size = len(words.base64url_decode(inner_of(attempts.genuine)[part]))
    with ceremony.several() as several:
        for place in range(0, size, 1 if part == "authenticatorData" else 5):
            with several.one(f"byte {place}"):
                data = words.base64url_decode(inner_of(attempts.genuine)[part])
                other = words.base64url_encode(flipped(data, place))
                outcome = ceremony.call(
                    attempts.challenge, with_inner(attempts.genuine, **{part: other})
                )
                attempts.keep_fresh(outcome)
                ceremony.expect_not_run(
                    outcome, sent=f"a genuine tools/call, byte {place} of {part} rewritten"
                )
        attempts.close()


@requirement("sep2672/4.8-02-evidence-well-formed", "sep2672/4.5-never-executes-unverified")
def test_no_part_of_a_response_may_be_missing(ceremony):
    """Each member that carries the assertion left out alone, and all that the server could do
    without them taken along: the client data's members, beside the response."""
    attempts = _Attempts(ceremony)
    collected = client_data_of(attempts.genuine["response"])
    reasons = (
        Reason.MISSING_EVIDENCE,
        Reason.UNKNOWN_CREDENTIAL,
        Reason.SIGNATURE_VERIFICATION_FAILED,
    )
    left_out = {
        "clientDataJSON": lambda genuine: with_inner(genuine, clientDataJSON=None, **collected),
        "authenticatorData": lambda genuine: with_inner(genuine, authenticatorData=None),
        "signature": lambda genuine: with_inner(genuine, signature=None),
        "id": lambda genuine: _without(genuine, "id"),
        "id and rawId": lambda genuine: _without(genuine, "id", "rawId"),
        "response.response": lambda genuine: _without(genuine, "response"),
        "everything": lambda genuine: {**genuine, "response": {}},
    }
    with ceremony.several() as several:
        for what, change in left_out.items():
            with several.one(what):
                outcome = ceremony.call(attempts.challenge, change(attempts.genuine))
                attempts.keep_fresh(outcome)
                ceremony.expect_refusal(
                    outcome, *reasons, sent=f"tools/call, evidence.response without {what}"
                )
        attempts.close()


def _without(evidence, *names):
    response = {name: one for name, one in evidence["response"].items() if name not in names}
    return {**evidence, "response": response}
