"""Sections 4.4.1 and 4.4.2: what is offered, what is accepted, what is refused and why."""

import datetime
import threading
from typing import Any

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import base64url_decode
from tests.reference_server.ceremony import ALICE, ORIGIN, Ceremony
from virtual_authenticator import Authenticator, fault, profiles

SELF_SIGNED = {"attestation": "packed-self"}
LETS_STATEMENT_THROUGH = ["attestation"]


def test_the_options_are_those_of_section_4_4_1(ceremony):
    options = ceremony.gate.begin_enrolment(ALICE)["options"]
    assert options["rp"]["id"] == "localhost"
    assert len(base64url_decode(options["challenge"])) == 32
    assert len(base64url_decode(options["user"]["id"])) == 32
    assert options["excludeCredentials"] == []
    assert options["authenticatorSelection"]["userVerification"] == "required"
    assert options["timeout"] == 300_000
    assert [one["alg"] for one in options["pubKeyCredParams"]] == [-7, -8, -35, -257]


def test_no_challenge_comes_twice(ceremony):
    challenges = {ceremony.gate.begin_enrolment(ALICE)["options"]["challenge"] for _ in range(50)}
    assert len(challenges) == 50


def test_a_user_keeps_the_handle_and_another_has_another(stored_ceremony):
    first, again, other = (
        stored_ceremony.gate.begin_enrolment(user)["options"]["user"]["id"]
        for user in (ALICE, ALICE, "bob")
    )
    assert first == again != other


@pytest.mark.parametrize("shape", [name for name in profiles() if name != "u2f-key"])
def test_every_kind_of_authenticator_enrols_and_approves(shape):
    ceremony = Ceremony()
    passkey = ceremony.enrol(shape)
    for _ in range(3):
        assert ceremony.call(ceremony.evidence(passkey, ceremony.challenge("wipe")), "wipe")


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
@pytest.mark.parametrize("attestation", ["none", "packed-self", "packed"])
def test_every_offered_algorithm_and_statement_is_accepted(ceremony, algorithm, attestation):
    passkey = Authenticator(algorithms=[algorithm], attestation=attestation)
    ceremony.enrol(passkey, ignoring=LETS_STATEMENT_THROUGH)
    assert ceremony.call(ceremony.evidence(passkey, ceremony.challenge()))


def test_the_confirmation_names_the_credential_and_the_instant(stored_ceremony):
    ceremony = stored_ceremony
    ceremony.clock.move_to(datetime.datetime(2030, 1, 2, 3, 4, 5, 678_900, tzinfo=datetime.UTC))
    response = ceremony.register(Authenticator())
    assert ceremony.gate.finish_enrolment(ALICE, response) == {
        "success": True,
        "credentialId": response["id"],
        "createdAt": "2030-01-02T03:04:05.678Z",
    }


def test_what_is_enrolled_is_excluded_next_time_with_its_transports(stored_ceremony):
    passkeys = [stored_ceremony.enrol(shape) for shape in ("security-key-nfc", "icloud-keychain")]
    assert len(passkeys) == 2
    excluded = stored_ceremony.gate.begin_enrolment(ALICE)["options"]["excludeCredentials"]
    assert [one["transports"] for one in excluded] == [["nfc", "usb"], ["hybrid", "internal"]]
    assert stored_ceremony.gate.begin_enrolment("bob")["options"]["excludeCredentials"] == []


# ---- what does not verify

FAULTS = [
    "wrong-challenge",
    "wrong-origin",
    "wrong-type",
    "cross-origin",
    "top-origin",
    "wrong-rp-id-hash",
    "attested-data-missing",
    {"fault": "attested-data-missing", "keep_flag": True},
    "truncated",
    {"fault": "truncated", "count": 60},
    "trailing",
    "off-curve-key",
    "oversized-key",
    "other-algorithm",
    "wrong-credential-id",
    "duplicate-key-cbor",
    {"fault": "duplicate-key-cbor", "where": "public-key"},
    {"fault": "flip-flag", "flag": "UP"},
    {"fault": "flip-flag", "flag": "UV"},
    {"fault": "flip-flag", "flag": "BS"},
]


@pytest.mark.parametrize("broken", FAULTS, ids=str)
@pytest.mark.parametrize("attestation", ["none", "packed-self"])
def test_a_faulty_registration_is_refused_and_the_honest_one_accepted(
    ceremony, broken, attestation
):
    passkey = Authenticator(attestation=attestation, counter={"kind": "constant", "value": 0})
    options = ceremony.gate.begin_enrolment(ALICE)["options"]
    how: dict[str, Any] = {"ignoring": LETS_STATEMENT_THROUGH} if attestation != "none" else {}
    response = passkey.create(options, ORIGIN, faults=[fault(broken)], **how)
    assert ceremony.refused_enrolment(response) == "verification_failed"
    assert ceremony.store.credentials(ALICE) == []
    # The same challenge still serves the honest response.
    honest = Authenticator().create(options, ORIGIN)
    assert ceremony.gate.finish_enrolment(ALICE, honest)["success"] is True


@pytest.mark.parametrize("broken", ["signature-bit", "other-key"])
@pytest.mark.parametrize("attestation", ["packed-self", "packed"])
def test_a_broken_statement_is_refused_although_none_was_asked_for(ceremony, broken, attestation):
    response = ceremony.register(
        Authenticator(attestation=attestation), faults=[broken], ignoring=LETS_STATEMENT_THROUGH
    )
    assert ceremony.refused_enrolment(response) == "verification_failed"


@pytest.mark.parametrize("algorithm", ["EdDSA", "ES256"])
def test_a_point_off_its_curve_is_refused_under_none(ceremony, algorithm):
    passkey = Authenticator(algorithms=[algorithm], attestation="none")
    response = ceremony.register(passkey, faults=["off-curve-key"])
    assert ceremony.refused_enrolment(response) == "verification_failed"


@pytest.mark.parametrize("bit", [1, 5])
def test_reserved_flags_are_ignored(ceremony, bit):
    ceremony.enrol(faults=[fault({"fault": "reserved-bit", "bit": bit})])
    assert len(ceremony.store.credentials(ALICE)) == 1


SPOILT = {
    "not an object": lambda _: "x",
    "empty": lambda _: {},
    "another type": lambda response: {**response, "type": "password"},
    "no type": lambda response: _without(response, "type"),
    "no rawId": lambda response: _without(response, "rawId"),
    "no id": lambda response: _without(response, "id"),
    "id is a number": lambda response: {**response, "id": 5},
    "padded id": lambda response: {**response, "id": response["id"] + "="},
    "response is text": lambda response: {**response, "response": "x"},
    "no client data": lambda response: _inner(response, clientDataJSON=None),
    "client data is a number": lambda response: _inner(response, clientDataJSON=5),
    "client data is a list": lambda response: _inner(response, clientDataJSON="W10"),
    "client data is garbage": lambda response: _inner(response, clientDataJSON="____"),
    "no attestation": lambda response: _inner(response, attestationObject=None),
    "attestation is garbage": lambda response: _inner(response, attestationObject="AAAA"),
    "attestation is an integer": lambda response: _inner(response, attestationObject="BA"),
    "attestation has a tail": lambda response: _inner(
        response, attestationObject=_lengthened(response["response"]["attestationObject"])
    ),
    "transports are text": lambda response: _inner(response, transports="usb"),
    "transports are numbers": lambda response: _inner(response, transports=[1]),
}


def _without(members, name):
    return {key: value for key, value in members.items() if key != name}


def _inner(response, **changes):
    return {**response, "response": {**response["response"], **changes}}


def _lengthened(text):
    from pytest_mcp_approval.families.sep2672.vocabulary import base64url_encode

    return base64url_encode(base64url_decode(text) + b"\x00")


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT.keys())
def test_a_malformed_response_is_refused_and_its_whole_self_accepted(ceremony, spoil):
    response = ceremony.register(Authenticator())
    assert ceremony.refused_enrolment(spoil(response)) == "verification_failed"
    assert ceremony.gate.finish_enrolment(ALICE, response)["success"] is True


@pytest.mark.parametrize(
    "transports", [None, [], ["smart-card"], ["later"], ["usb", "usb", "internal"]], ids=str
)
def test_transports_are_kept_as_given_each_once(stored_ceremony, transports):
    response = stored_ceremony.register(Authenticator())
    stored_ceremony.gate.finish_enrolment(ALICE, _inner(response, transports=transports))
    (kept,) = stored_ceremony.store.credentials(ALICE)
    assert list(kept.transports) == list(dict.fromkeys(transports or []))


# ---- pending or not


def test_nothing_is_pending_before_a_begin(ceremony):
    response = ceremony.register(Authenticator(), user="bob")
    assert ceremony.refused_enrolment(response) == "no_pending_enrollment"
    assert ceremony.refused_enrolment({}) == "no_pending_enrollment"


def test_a_used_challenge_is_pending_no_more_even_beside_another(stored_ceremony):
    response = stored_ceremony.register(Authenticator())
    stored_ceremony.gate.finish_enrolment(ALICE, response)
    assert stored_ceremony.refused_enrolment(response) == "no_pending_enrollment"
    stored_ceremony.gate.begin_enrolment(ALICE)
    assert stored_ceremony.refused_enrolment(response) == "no_pending_enrollment"


@pytest.mark.parametrize(("seconds", "good"), [(299.999, True), (300, False), (301, False)])
def test_a_registration_challenge_is_good_for_five_minutes(stored_ceremony, seconds, good):
    ceremony = stored_ceremony
    ceremony.clock.move_to(datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC))
    response = ceremony.register(Authenticator())
    ceremony.clock.advance(seconds)
    if good:
        assert ceremony.gate.finish_enrolment(ALICE, response)["success"] is True
    else:
        assert ceremony.refused_enrolment(response) == "no_pending_enrollment"


def test_several_enrolments_may_be_pending_at_once(ceremony):
    responses = [ceremony.register(Authenticator()) for _ in range(3)]
    for response in reversed(responses):
        assert ceremony.gate.finish_enrolment(ALICE, response)["success"] is True


# ---- enrolled already


@pytest.mark.parametrize("user", [ALICE, "bob"])
def test_an_enrolled_credential_is_refused_and_unharmed(stored_ceremony, user):
    ceremony = stored_ceremony
    passkey = ceremony.enrol()
    (before,) = ceremony.store.credentials(ALICE)
    again = ceremony.register(
        Authenticator(),
        user,
        credential_id=before.credential_id,
        ignoring=["exclude-credentials"],
    )
    assert ceremony.refused_enrolment(again, user) == "credential_already_enrolled"
    assert ceremony.store.credential(before.credential_id) == before
    assert ceremony.call(ceremony.evidence(passkey, ceremony.challenge()))


def test_an_invalid_duplicate_does_not_verify(ceremony):
    ceremony.enrol()
    (before,) = ceremony.store.credentials(ALICE)
    forged = ceremony.register(
        Authenticator(),
        credential_id=before.credential_id,
        ignoring=["exclude-credentials"],
        faults=["wrong-origin"],
    )
    assert ceremony.refused_enrolment(forged) == "verification_failed"


# ---- together


def together(work, count=8):
    """All outcomes of the same work, begun at one moment."""
    from pytest_mcp_approval.reference_server import ApprovalRefusal

    barrier, outcomes = threading.Barrier(count), []

    def one(number):
        barrier.wait(10)
        try:
            work(number)
            outcomes.append("accepted")
        except ApprovalRefusal as refusal:
            outcomes.append(refusal.reason.value)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(outcomes) == count
    return sorted(outcomes)


def test_of_many_finishes_on_one_challenge_one_succeeds(stored_ceremony):
    options = stored_ceremony.gate.begin_enrolment(ALICE)["options"]
    responses = [Authenticator().create(options, ORIGIN) for _ in range(8)]
    outcomes = together(
        lambda number: stored_ceremony.gate.finish_enrolment(ALICE, responses[number])
    )
    assert outcomes == ["accepted"] + 7 * ["no_pending_enrollment"]
    assert len(stored_ceremony.store.credentials(ALICE)) == 1


def test_of_many_challenges_for_one_credential_one_succeeds(stored_ceremony):
    passkey = Authenticator()
    responses = [
        stored_ceremony.register(
            passkey, credential_id=b"the same one, 32 bytes of it ...", private_key=None
        )
        for _ in range(8)
    ]
    outcomes = together(
        lambda number: stored_ceremony.gate.finish_enrolment(ALICE, responses[number])
    )
    assert outcomes == ["accepted"] + 7 * ["credential_already_enrolled"]
