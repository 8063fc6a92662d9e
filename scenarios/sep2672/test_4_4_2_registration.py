"""SEP-2672 section 4.4.2: approval/enroll/finish, how a registration is verified."""

import secrets

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, may_poison, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import confirmed_enrolment
from pytest_mcp_approval.families.sep2672.issuing import ask, safe_arguments, tools_to_ask
from pytest_mcp_approval.families.sep2672.registrations import (
    answer,
    begin,
    enrolled_ids,
    expect_not_enrolled,
    expect_registration_refused,
    expect_still_enrols,
)
from pytest_mcp_approval.families.sep2672.unusual import UNUSUAL
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from virtual_authenticator import Authenticator, cbor
from virtual_authenticator.algorithms import ALGORITHMS
from virtual_authenticator.faults import (
    AttestedDataMissing,
    BrokenX5c,
    CrossOrigin,
    DuplicateKeyCbor,
    FlipFlag,
    OffCurveKey,
    OtherAlgorithm,
    OtherKey,
    OversizedKey,
    SignatureBit,
    TopOrigin,
    Trailing,
    Truncated,
    WrongChallenge,
    WrongCredentialId,
    WrongOrigin,
    WrongRpIdHash,
    WrongType,
)

pytestmark = may_poison

LOOKED_UP: dict[Reason | str, str] = {
    Reason.NO_PENDING_ENROLLMENT: "a server that looks the challenge up may find none (reading)"
}
"""Section 4.4.2 does not say whether a wrong challenge fails to verify or is not found."""


# ---- the challenge


def other_challenges(issued):
    """Challenges that are not the one that was issued, and how a comparison might miss that."""
    raw = words.base64url_decode(issued)
    return {
        "random": None,
        "one-bit-off": words.base64url_encode(raw[:-1] + bytes([raw[-1] ^ 1])),
        "a-beginning-of-it": words.base64url_encode(raw[: len(raw) // 2]),
        "more-behind-it": words.base64url_encode(raw + b"\x00"),
        "other-letter-case": issued.swapcase(),
        "one-byte": "AA",
    }


@requirement("sep2672/4.4.2-challenge-must-match")
@pytest.mark.parametrize("which", other_challenges("AAAA"))
def test_another_challenge_is_refused(ceremony, which):
    """A response over any other challenge than the pending one does not verify."""
    ceremony.enrol()
    options = begin(ceremony)
    value = other_challenges(options["challenge"])[which]
    _, response = answer(ceremony, options=options, faults=WrongChallenge(value))
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, signed over another challenge ({which})",
        tolerated=LOOKED_UP,
    )


@requirement("sep2672/4.4.2-challenge-must-match")
def test_the_challenge_of_a_call_enrols_nothing(ceremony):
    """A challenge of approval/challenge/create is not one for registrations."""
    ceremony.enrol()
    tool = tools_to_ask(ceremony)[0]  # nothing runs, so any arguments will do
    request, reply = ask(ceremony, tool, safe_arguments(tool))
    if request is None:
        raise NotApplicable(f"no challenge to be had for {tool.name}: {reply.describe()}")
    foreign = request.options["challenge"]
    _, response = answer(ceremony, faults=WrongChallenge(foreign))
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, signed over the challenge of a tool call",
        tolerated=LOOKED_UP,
    )


# ---- user verification

STATEMENTS = ("none", "packed-self", "packed")


def attesting(kind):
    """A security key, and how it is asked, so that it sends this attestation statement though
    'none' was asked for."""
    if kind == "none":
        return Authenticator("security-key"), {}
    return Authenticator("security-key", attestation=kind), {"ignoring": ["attestation"]}


def honest_statement(ceremony, kind):
    """The positive twin of a broken statement: the same one, intact."""
    device, create = attesting(kind)
    _, response = answer(ceremony, device, **create)
    reply = ceremony.approval.finish(response)
    if confirmed_enrolment(reply):
        return
    if kind == "none":
        raise NotVerified(f"an honest enrolment was refused: {reply.describe()}")
    raise NotApplicable(f"the server takes no {kind} attestation at all: {reply.describe()}")


@requirement("sep2672/4.4.2-uv-asserted")
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_registration_without_user_verification_is_refused(ceremony, statement):
    """The UV flag is clear, everything else is valid: anybody could have used the key."""
    honest_statement(ceremony, statement)
    device, create = attesting(statement)
    _, response = answer(ceremony, device, faults=FlipFlag("UV"), **create)
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, attestation {statement}, flag UV clear",
    )


@requirement("sep2672/4.4.2-uv-asserted")
def test_an_authenticator_that_cannot_verify_is_refused(ceremony):
    """A plain U2F key, through a client that ignored what the options ask for."""
    ceremony.enrol()
    _, response = answer(ceremony, "u2f-key", ignoring=["user-verification", "resident-key"])
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, by a U2F key that cannot verify its user",
    )


# ---- the rest of the response

FAULTS = {
    "rp-id-hash": WrongRpIdHash(),
    "type-of-a-sign-in": WrongType(),
    "type-in-capitals": WrongType("WEBAUTHN.CREATE"),
    "type-empty": WrongType(""),
    "user-not-present": FlipFlag("UP"),
    "no-attested-data": AttestedDataMissing(),
    "attested-data-announced-and-missing": AttestedDataMissing(keep_flag=True),
    "authenticator-data-cut-by-1": Truncated(1),
    "authenticator-data-cut-by-40": Truncated(40),
    "authenticator-data-of-hardly-any-byte": Truncated(160),
    "algorithm-not-offered": OtherAlgorithm(),
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_faulty_registration_is_refused(ceremony, fault):
    """One thing is wrong and all else is valid, even if no attestation is signed."""
    ceremony.enrol()
    _, response = answer(ceremony, faults=fault)
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, attestation none, fault {fault.name} ({fault.check})",
    )


ELLIPTIC, EDWARDS = (-7, -35, -36, -47, -9, -51, -52), (-8, -19, -53)
"""Algorithms whose keys are points of a curve, as COSE numbers them."""


@requirement("sep2672/4.4.2-response-verified")
def test_a_key_off_its_curve_is_refused(ceremony):
    """A public key that is no point of its curve is none: the response is not well-formed. Whatever
    curve it is, of those that the server offers.

    Reading: an Ed25519 key is any 32 bytes to the usual libraries, which find out when they first
    verify a signature; accepting one is a warning.
    """
    ceremony.enrol()
    fault = OffCurveKey()
    # Without a list WebAuthn means ES256 and RS256 (section 5.4).
    offered = begin(ceremony).get("pubKeyCredParams") or [{"alg": -7}]
    curves = [one.get("alg") for one in offered if one.get("alg") in ELLIPTIC + EDWARDS]
    if not curves:
        raise NotApplicable("this server asks for no keys that are points of a curve")
    with ceremony.several() as several:
        for algorithm in curves:
            name = ALGORITHMS[algorithm].name
            with several.one(name):
                device = Authenticator("security-key", algorithms=[name])
                _, response = answer(ceremony, device, faults=fault)
                sent = f"{words.ENROLL_FINISH}, {name}, fault {fault.name} ({fault.check})"
                if algorithm in ELLIPTIC:
                    expect_registration_refused(
                        ceremony, response, Reason.VERIFICATION_FAILED, sent=sent
                    )
                    continue
                reply = ceremony.approval.finish(response)
                if confirmed_enrolment(reply):
                    ceremony.warn(f"{sent}: accepted; an {name} key that is no point is no key")
                    continue
                ceremony.expect_error(reply, Reason.VERIFICATION_FAILED, sent=sent)


ORIGINS = {
    "attacker": "https://attacker.example",
    "ours-as-a-label-of-theirs": "{page}.attacker.example",
    "ours-as-their-path": "https://attacker.example/{page}",
    "ours-as-their-user": "{page}@attacker.example",
    "ours-as-their-ending": "https://attacker-{host}",
    "null": "null",
    "empty": "",
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("origin", ORIGINS.values(), ids=ORIGINS)
def test_another_origin_is_refused(ceremony, origin):
    """A page that is not the server's asked. Reading: ports and subdomains are left to it."""
    ceremony.enrol()
    options = begin(ceremony)
    page = ceremony.approval.origin_for(options)
    claimed = origin.format(page=page, host=page.partition("://")[2])
    _, response = answer(ceremony, options=options, faults=WrongOrigin(claimed))
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, client data's origin {claimed!r}",
    )


BROKEN_STATEMENTS = {
    "self-signature-bit": ("packed-self", SignatureBit()),
    "self-signed-by-another-key": ("packed-self", OtherKey()),
    "signature-bit-under-a-certificate": ("packed", SignatureBit()),
    "signed-by-another-key-than-the-certificate's": ("packed", OtherKey()),
    "unreadable-certificate": ("packed", BrokenX5c()),
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize(("statement", "fault"), BROKEN_STATEMENTS.values(), ids=BROKEN_STATEMENTS)
def test_a_broken_attestation_is_refused(ceremony, statement, fault):
    """Under 'none' nobody asks whose attestation it is; a signature that is there must verify.

    Reading: a signature exists only in statements that have one; a server that takes no such
    statement at all is not judged here.
    """
    honest_statement(ceremony, statement)
    device, create = attesting(statement)
    _, response = answer(ceremony, device, faults=fault, **create)
    expect_registration_refused(
        ceremony,
        response,
        Reason.VERIFICATION_FAILED,
        sent=f"{words.ENROLL_FINISH}, attestation {statement}, fault {fault.name}",
    )


QUESTIONABLE = {
    "bytes-behind-the-authenticator-data": Trailing(),
    "member-twice-in-the-cbor": DuplicateKeyCbor(),
    "oversized-key": OversizedKey(),
    "backed-up-but-not-eligible": FlipFlag("BS"),
    "in-a-frame-of-another-origin": CrossOrigin(),
    "framed-by-an-attacker": TopOrigin(),
}


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("fault", QUESTIONABLE.values(), ids=QUESTIONABLE)
def test_a_questionable_registration_is_better_refused(ceremony, fault):
    """WebAuthn asks to refuse these or leaves them to the server; the SEP does not name them.

    Reading: accepting one is a warning.
    """
    ceremony.enrol()
    _, response = answer(ceremony, faults=fault)
    reply = ceremony.approval.finish(response)
    sent = f"{words.ENROLL_FINISH}, fault {fault.name} ({fault.check})"
    if confirmed_enrolment(reply):
        ceremony.warn(f"{sent}: accepted; WebAuthn, {fault.section}")
        return
    ceremony.expect_error(reply, Reason.VERIFICATION_FAILED, sent=sent)
    expect_not_enrolled(ceremony, response["id"], sent=sent)
    expect_still_enrols(ceremony, sent=sent)


@requirement("sep2672/4.4.2-response-verified")
def test_a_key_of_another_curve_is_better_refused(ceremony):
    """A point of P-384 that calls itself a key for ES256, whose curve is P-256 (WebAuthn, section
    5.8.5).

    Reading: the SEP does not mention it; accepting one is a warning.
    """
    ceremony.enrol()
    offered = {one.get("alg") for one in begin(ceremony).get("pubKeyCredParams") or ()}
    if not {-7, -35} <= offered:
        raise NotApplicable("the server does not offer both ES256 and ES384")
    _, response = answer(ceremony, Authenticator("security-key", algorithms=["ES384"]))
    attestation = cbor.decode(words.base64url_decode(response["response"]["attestationObject"]))
    # Of the COSE key, the number of its members, its type and its algorithm.
    named, renamed = bytes.fromhex("a5 0102 033822"), bytes.fromhex("a5 0102 0326")
    attestation["authData"] = attestation["authData"].replace(named, renamed)
    edited = words.base64url_encode(cbor.encode(attestation))
    response["response"] = {**response["response"], "attestationObject": edited}
    reply = ceremony.approval.finish(response)
    sent = f"{words.ENROLL_FINISH}, a key of P-384 under the name of ES256"
    if confirmed_enrolment(reply):
        ceremony.warn(f"{sent}: accepted; WebAuthn, section 5.8.5")
        return
    ceremony.expect_error(reply, Reason.VERIFICATION_FAILED, sent=sent)
    expect_still_enrols(ceremony, sent=sent)


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("how", UNUSUAL)
def test_what_few_clients_write_is_no_fault(ceremony, how):
    """The twin of the faults above: an honest registration by a client, or an authenticator, that
    is older or newer than most.

    Reading: WebAuthn has relying parties tolerate these, and the SEP does not mention them.
    Refusing one is a warning.
    """
    ceremony.enrol()
    _, response = answer(ceremony, faults=UNUSUAL[how])
    reply = ceremony.approval.finish(response)
    if not confirmed_enrolment(reply):
        ceremony.warn(f"{words.ENROLL_FINISH}, honest, with {how}: {reply.describe()}")


LONGEST_ID = 1023


@requirement("sep2672/4.4.2-response-verified")
@pytest.mark.parametrize("size", [0, LONGEST_ID, LONGEST_ID + 1])
def test_ids_have_the_lengths_that_ids_have(ceremony, size):
    """An id of 1023 bytes is the longest (WebAuthn, section 7.1): it enrols, whole.

    Reading: the SEP does not mention it. Refusing it is a warning, and so is taking a longer one,
    or one of no bytes.
    """
    ceremony.enrol()
    _, response = answer(ceremony, credential_id=secrets.token_bytes(size))
    reply = ceremony.approval.finish(response)
    sent = f"{words.ENROLL_FINISH}, a credential id of {size} bytes"
    if confirmed_enrolment(reply) != (size == LONGEST_ID):
        ceremony.warn(f"{sent}: {reply.describe()}; WebAuthn, section 7.1, step 25")
    elif size == LONGEST_ID:
        ceremony.expect(
            response["id"] in enrolled_ids(ceremony),
            sent=f"{sent}; then a new begin",
            expected="its id among excludeCredentials",
            got="others",
        )
    expect_still_enrols(ceremony, sent=sent)


@requirement("sep2672/4.4.2-response-verified")
def test_the_id_beside_the_response_is_not_believed(ceremony):
    """The id that counts is the attested one; the page could write any other, somebody else's too.

    Refusing is fine, and so is enrolling the attested id.
    """
    ceremony.enrol()
    _, response = answer(ceremony, faults=WrongCredentialId())
    reply = ceremony.approval.finish(response)
    sent = f"{words.ENROLL_FINISH}, id and rawId not those of the attested credential"
    if not confirmed_enrolment(reply):
        ceremony.expect_error(reply, Reason.VERIFICATION_FAILED, sent=sent)
    expect_not_enrolled(ceremony, response["id"], sent=sent)
