"""SEP-2672: what is checked for one kind of credential or statement is checked for every kind.

Registrations with each attestation statement, assertions by each kind of authenticator, and hashes
of the RP ID's neighbours. Other scenarios try these with a security key that attests nothing.
"""

import hashlib
import uuid
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, may_poison, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import confirmed_enrolment
from pytest_mcp_approval.families.sep2672.registrations import answer, begin, enrolled_ids
from pytest_mcp_approval.families.sep2672.rewritten import inner_of, signed_anew
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from virtual_authenticator import Authenticator
from virtual_authenticator.faults import (
    BrokenX5c,
    FlipFlag,
    OtherKey,
    SignatureBit,
    WrongChallenge,
    WrongOrigin,
    WrongRpIdHash,
    WrongType,
)

pytestmark = may_poison
ANY_REASON = dict.fromkeys(
    Reason, "refused, but signature_verification_failed would be step 10's reason (reading 2)"
)

# ---- assertions

SHAPES = ("security-key-nfc", "icloud-keychain", "phone-hybrid", "touch-id")
ASSERTED = {
    "flag UV clear": FlipFlag("UV"),
    "flag UP clear": FlipFlag("UP"),
    "another page": WrongOrigin(),
    "another relying party": WrongRpIdHash(),
    "another challenge": WrongChallenge(),
    "the type of a registration": WrongType(),
    "a bit of the signature flipped": SignatureBit(),
    "signed by another key": OtherKey(),
}


@requirement("sep2672/4.8-10-signature")
@pytest.mark.parametrize("attachment", ["as it is", "platform"])
@pytest.mark.parametrize("shape", SHAPES)
def test_assertions_of_every_kind_are_verified(ceremony, shape, attachment):
    """Synced, built in, on a phone: none of them is spared a check, whatever the client says of how
    it was reached."""
    tool = ceremony.tool
    if shape == "touch-id":
        tool = ceremony.tool_of_class(AuthenticatorClass.PLATFORM)
    _ = ceremony.passkey
    passkey = ceremony.enrol(shape)
    ceremony.honest(tool, passkey)
    challenge = ceremony.challenge(tool)

    def sent_by(fault=()):
        evidence = ceremony.evidence(challenge, passkey, faults=fault)
        response = dict(evidence["response"])
        if attachment != "as it is":
            response["authenticatorAttachment"] = attachment
        return {**evidence, "response": response}

    with ceremony.several() as several:
        for what, fault in ASSERTED.items():
            with several.one(what):
                outcome = ceremony.call(challenge, sent_by(fault))
                if outcome.executed:
                    challenge = ceremony.challenge(tool)
                ceremony.expect_refusal(
                    outcome,
                    Reason.SIGNATURE_VERIFICATION_FAILED,
                    sent=f"tools/call {tool.name} by {shape}, attachment {attachment}, {what}",
                    tolerated=ANY_REASON,
                )
        with several.one("the honest call"):
            ceremony.expect_run(
                ceremony.call(challenge, sent_by()),
                sent=f"tools/call {tool.name} by {shape}, attachment {attachment}, honest",
            )


# ---- registrations

STATEMENTS = ("packed-self", "packed", "fido-u2f")
REGISTERED = {
    "another page": WrongOrigin(),
    "another challenge": WrongChallenge(),
    "another relying party": WrongRpIdHash(),
    "the type of a sign-in": WrongType(),
    "flag UP clear": FlipFlag("UP"),
    "flag UV clear": FlipFlag("UV"),
    "a bit of the signature flipped": SignatureBit(),
    "signed by another key": OtherKey(),
    "an unreadable certificate": BrokenX5c(),
}


def _registered(ceremony, statement, fault=()):
    # U2F has neither AAGUIDs nor other algorithms.
    own: dict[str, Any] = {"aaguid": str(uuid.UUID(int=0))} if statement == "fido-u2f" else {}
    device = Authenticator("security-key", attestation=statement, algorithms=["ES256"], **own)
    return answer(ceremony, device, faults=fault, ignoring=["attestation"])[1]


@requirement("sep2672/4.4.2-response-verified", "sep2672/4.4.2-uv-asserted")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_registrations_with_every_statement_are_verified(ceremony, statement):
    """With each attestation statement that the server takes.

    Reading: one that takes no such statement at all is not judged here."""
    ceremony.enrol()
    try:
        reply = ceremony.approval.finish(_registered(ceremony, statement))
    except NotVerified as error:
        raise NotApplicable(f"no {statement} statement can be made: {error.msg}") from None
    if not confirmed_enrolment(reply):
        raise NotApplicable(f"the server takes no {statement} statement: {reply.describe()}")
    refused = {}
    with ceremony.several() as several:
        for what, fault in REGISTERED.items():
            if what == "an unreadable certificate" and statement == "packed-self":
                continue
            with several.one(what):
                response = _registered(ceremony, statement, fault)
                refused[response["id"]] = what
                ceremony.expect_error(
                    ceremony.approval.finish(response),
                    Reason.VERIFICATION_FAILED,
                    *([Reason.NO_PENDING_ENROLLMENT] if what == "another challenge" else []),
                    sent=f"{words.ENROLL_FINISH}, attestation {statement}, {what}",
                )
        kept = [refused[one] for one in enrolled_ids(ceremony) if one in refused]
        with several.one("what is enrolled"):
            ceremony.expect(
                not kept,
                sent=f"a begin after refused registrations, attestation {statement}",
                expected="none of them enrolled",
                got=f"enrolled all the same: {', '.join(kept)}",
            )
    ceremony.enrol()


# ---- the relying party's neighbours


def _neighbours(rp_id, origin):
    """Names that are not the RP ID, though they are near it."""
    named = {
        "the origin": origin,
        "the origin with a slash": f"{origin}/",
        "in capitals": rp_id.upper(),
        "with a full stop": f"{rp_id}.",
        "a subdomain": f"www.{rp_id}",
        "its parent": rp_id.partition(".")[2] or "local",
        "as somebody's subdomain": f"{rp_id}.attacker.example",
        "with a port": f"{rp_id}:443",
        "one that ends alike": f"attacker{rp_id}",
        "empty": "",
    }
    digests = {how: hashlib.sha256(name.encode()).digest() for how, name in named.items()}
    return digests | {
        "zeros": bytes(32),
        "itself, not hashed": rp_id.encode()[:32].ljust(32, b"\0"),
    }


@requirement("sep2672/4.8-10-signature", "sep2672/4.4.2-response-verified")
def test_the_relying_party_is_no_neighbour(ceremony):
    """The rpIdHash of a name near the RP ID, at an assertion and at a registration."""
    ceremony.honest()
    options = begin(ceremony)
    rp_id = str((options.get("rp") or {}).get("id") or "")
    if not rp_id:
        ceremony.not_applicable("the options name no RP ID")
    challenge = ceremony.challenge()
    with ceremony.several() as several:
        for how, digest in _neighbours(rp_id, ceremony.passkey.origin).items():
            genuine = ceremony.evidence(challenge)
            data = words.base64url_decode(inner_of(genuine)["authenticatorData"])
            evidence = signed_anew(ceremony.passkey, genuine, authenticator_data=digest + data[32:])
            with several.one(f"{how}, at a call"):
                outcome = ceremony.call(challenge, evidence)
                if outcome.executed:
                    challenge = ceremony.challenge()
                ceremony.expect_refusal(
                    outcome,
                    Reason.SIGNATURE_VERIFICATION_FAILED,
                    sent=f"tools/call, the rpIdHash is that of the RP ID's neighbour: {how}",
                    tolerated=ANY_REASON,
                )
            with several.one(f"{how}, at an enrolment"):
                _, response = answer(ceremony)
                inner = dict(response["response"])
                attested = words.base64url_decode(inner["attestationObject"])
                right = hashlib.sha256(rp_id.encode()).digest()
                inner["attestationObject"] = words.base64url_encode(attested.replace(right, digest))
                ceremony.expect_error(
                    ceremony.approval.finish({**response, "response": inner}),
                    Reason.VERIFICATION_FAILED,
                    sent=f"{words.ENROLL_FINISH}, the rpIdHash is that of the RP ID's neighbour: "
                    f"{how}",
                )
    ceremony.honest()
