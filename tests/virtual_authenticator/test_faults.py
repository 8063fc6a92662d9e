"""Every fault before two independent relying parties: who notices it, or why nobody does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.virtual_authenticator.support.relying_party import ALGORITHMS, RelyingParty
from virtual_authenticator import Authenticator, FaultError, fault, faults
from virtual_authenticator.faults import Fault

PY_WEBAUTHN, FIDO2 = "py_webauthn", "python-fido2"
BOTH, PY_ONLY, NOBODY = {PY_WEBAUTHN, FIDO2}, {PY_WEBAUTHN}, set[str]()

# Why a fault passes both libraries, in a few words each.
FRAMES = "neither library looks at crossOrigin or topOrigin: framing is left to the application"
ELIGIBLE = "BE may be set at registration; that it never changes is for the application to compare"
UNUSUAL = "section 5.8.1 has crossOrigin optional, and lets clients add members"
RESERVED = "reserved flags must be ignored"
FIRST = "the first counter value is whatever it is"
ORDER = "both read CBOR maps in any order, which is harmless once nothing stands twice"
OTHER_ID = "neither compares id with the attested one; an application must store the attested one"
UNUSED_KEY = "under attestation none neither loads the key before it is used"
EXTRA = "AT in an assertion is read over; section 7.2 asks for no check"
HANDLE = "the application looks up the owner of the credential, not the library"


@dataclass(frozen=True)
class Case:
    ceremony: str
    attestation: str
    fault: Fault
    noticed_by: frozenset[str]
    why_not: str = ""

    def __str__(self) -> str:
        members = "-".join(str(value) for value in self.fault.__dict__.values())
        return f"{self.ceremony}-{self.attestation}-{self.fault.name}-{members}"


def create(attestation: str, one: Fault, noticed_by: set[str], why_not: str = "") -> Case:
    return Case("create", attestation, one, frozenset(noticed_by), why_not)


def get(one: Fault, noticed_by: set[str], why_not: str = "") -> Case:
    return Case("get", "none", one, frozenset(noticed_by), why_not)


CASES = [
    create("packed-self", faults.WrongChallenge(), BOTH),
    create("packed-self", faults.WrongOrigin(), BOTH),
    create("packed-self", faults.WrongType(), BOTH),
    create("packed-self", faults.CrossOrigin(), NOBODY, FRAMES),
    create("packed-self", faults.TopOrigin(), NOBODY, FRAMES),
    create("packed-self", faults.UnusualClientData(), NOBODY, UNUSUAL),
    create("packed-self", faults.UnusualClientData(more=False), NOBODY, UNUSUAL),
    create("packed-self", faults.OtherAlgorithm(), PY_ONLY),
    create("packed-self", faults.OffCurveKey(), BOTH),
    create("packed-self", faults.OversizedKey(), BOTH),
    create("packed-self", faults.WrongRpIdHash(), BOTH),
    create("packed-self", faults.FlipFlag("UP"), BOTH),
    create("packed-self", faults.FlipFlag("UV"), BOTH),
    create("packed-self", faults.FlipFlag("BE"), NOBODY, ELIGIBLE),
    create("packed-self", faults.FlipFlag("BS"), PY_ONLY),
    create("packed-self", faults.ReservedBit(1), NOBODY, RESERVED),
    create("packed-self", faults.ReservedBit(5), NOBODY, RESERVED),
    create("packed-self", faults.WrongCounter(9), NOBODY, FIRST),
    create("packed-self", faults.AttestedDataMissing(), BOTH),
    create("packed-self", faults.AttestedDataMissing(keep_flag=True), BOTH),
    create("packed-self", faults.Truncated(), BOTH),
    create("packed-self", faults.Truncated(130), BOTH),
    create("packed-self", faults.Trailing(), BOTH),
    create("packed-self", faults.OtherKey(), BOTH),
    create("packed-self", faults.SignatureBit(), BOTH),
    create("packed-self", faults.SignatureBit(0), BOTH),
    create("packed-self", faults.NonCanonicalCbor(), NOBODY, ORDER),
    create("packed-self", faults.NonCanonicalCbor("public-key"), NOBODY, ORDER),
    create("packed-self", faults.DuplicateKeyCbor(), PY_ONLY),
    create("packed-self", faults.DuplicateKeyCbor("public-key"), PY_ONLY),
    create("packed-self", faults.WrongCredentialId(), NOBODY, OTHER_ID),
    create("packed-self", faults.Replayed(), BOTH),
    create("packed", faults.BrokenX5c(), BOTH),
    create("packed", faults.ExpiredX5c(), PY_ONLY),
    create("packed", faults.ForeignX5c(), BOTH),
    create("packed", faults.SignatureBit(), BOTH),
    create("packed", faults.OtherKey(), BOTH),
    create("fido-u2f", faults.BrokenX5c(), BOTH),
    create("fido-u2f", faults.ExpiredX5c(), PY_ONLY),
    create("fido-u2f", faults.ForeignX5c(), BOTH),
    create("fido-u2f", faults.SignatureBit(), BOTH),
    create("fido-u2f", faults.OtherKey(), BOTH),
    *(
        create(fmt, one, {PY_WEBAUTHN} if fmt == "android-key" else noticed_by)
        for fmt in ("tpm", "android-key", "android-safetynet", "apple")
        for one, noticed_by in (
            (faults.BrokenX5c(), BOTH),
            (faults.ExpiredX5c(), PY_ONLY),
            (faults.ForeignX5c(), BOTH),
            (faults.SignatureBit(), BOTH),
            (faults.OtherKey(), BOTH),
        )
        if fmt != "apple" or one.name.endswith("x5c")  # nothing is signed beside the certificate
    ),
    create("none", faults.OffCurveKey(), NOBODY, UNUSED_KEY),
    create("none", faults.OversizedKey(), NOBODY, UNUSED_KEY),
    create("none", faults.OtherAlgorithm(), PY_ONLY),
    create("none", faults.Truncated(), PY_ONLY),
    create("none", faults.Trailing(), BOTH),
    get(faults.WrongChallenge(), BOTH),
    get(faults.WrongOrigin(), BOTH),
    get(faults.WrongType(), BOTH),
    get(faults.CrossOrigin(), NOBODY, FRAMES),
    get(faults.TopOrigin(), NOBODY, FRAMES),
    get(faults.UnusualClientData(), NOBODY, UNUSUAL),
    get(faults.UnusualClientData(more=False), NOBODY, UNUSUAL),
    get(faults.OtherAlgorithm(), BOTH),
    get(faults.WrongRpIdHash(), BOTH),
    get(faults.FlipFlag("UP"), BOTH),
    get(faults.FlipFlag("UV"), BOTH),
    get(faults.FlipFlag("BE"), NOBODY, ELIGIBLE),
    get(faults.FlipFlag("BS"), PY_ONLY),
    get(faults.ReservedBit(1), NOBODY, RESERVED),
    get(faults.ReservedBit(5), NOBODY, RESERVED),
    get(faults.WrongCounter(0), PY_ONLY),
    get(faults.WrongCounter(5), PY_ONLY),
    get(faults.AttestedDataExtra(), NOBODY, EXTRA),
    get(faults.Truncated(), BOTH),
    get(faults.Trailing(), BOTH),
    get(faults.OtherKey(), BOTH),
    get(faults.SignatureBit(), BOTH),
    get(faults.SignatureBit(0), BOTH),
    get(faults.WrongCredentialId(), BOTH),
    get(faults.WrongUserHandle(), NOBODY, HANDLE),
    get(faults.Replayed(), BOTH),
]

OPTIONS: dict[str, Any] = {
    "authenticatorSelection": {"userVerification": "required", "residentKey": "required"},
    "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
}


def new_device(attestation: str) -> Authenticator:
    aaguid: dict[str, Any] = {"aaguid": bytes(16)} if attestation == "fido-u2f" else {}
    return Authenticator(
        "security-key",
        attestation=attestation,
        algorithms=["ES256"],
        counter={"kind": "global", "start": 5},
        **aaguid,
    )


class Ceremony:
    """One ceremony that can be run whole or with faults, and judged by each library."""

    def __init__(self, kind: str, attestation: str) -> None:
        self.kind = kind
        self.device = new_device(attestation)
        self.party = RelyingParty()
        if self.device.profile.certified_formats:
            self.party.trust(self.device)
        self.attestation = attestation
        self.options = {
            **OPTIONS,
            "attestation": "none" if attestation == "none" else "direct",
        }
        if kind == "get":
            self.registered = self.party.register(self.device, **self.options)["id"]

    def run(self, *given: Fault) -> dict[str, Any]:
        party = self.party
        if self.kind == "create":
            options = party.creation_options(**self.options)
            return self.device.create(options, party.origin, faults=given)
        options = party.request_options([self.registered], userVerification="required")
        return self.device.get(options, party.origin, faults=given)

    def judges(self) -> dict[str, Any]:
        party = self.party
        if self.kind == "create":
            judges: dict[str, Any] = {PY_WEBAUTHN: party.verify_registration}
            if self.attestation != "android-key":  # which python-fido2 does not have
                judges[FIDO2] = party.verify_registration_with_fido2
            return judges
        return {PY_WEBAUTHN: party.verify_assertion, FIDO2: party.verify_assertion_with_fido2}

    def refused_by(self, response: dict[str, Any]) -> set[str]:
        refused = set()
        for name, verify in self.judges().items():
            try:
                verify(response)
            except Exception:  # each library has exceptions of many kinds
                refused.add(name)
        return refused


@pytest.mark.parametrize("case", CASES, ids=str)
def test_who_notices(case: Case):
    ceremony = Ceremony(case.ceremony, case.attestation)
    assert ceremony.refused_by(ceremony.run()) == NOBODY, "the same without the fault is accepted"

    assert ceremony.refused_by(ceremony.run(case.fault)) == case.noticed_by
    assert case.noticed_by or case.why_not


def test_every_fault_has_its_case_in_each_of_its_ceremonies():
    covered = {(case.fault.name, case.ceremony) for case in CASES}
    owed = {(name, one) for name, kind in faults.FAULTS.items() for one in kind.ceremonies}
    assert covered == owed


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_names_the_check_and_survives_json(case: Case):
    assert case.fault.check
    assert case.fault.section[0].isdigit()
    assert fault(json.loads(json.dumps(case.fault.to_json()))) == case.fault


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (faults.WrongOrigin(), faults.SignatureBit()),
        (faults.FlipFlag("UV"), faults.WrongCounter(0)),
        (faults.WrongChallenge(), faults.OtherKey()),
        (faults.Trailing(), faults.WrongRpIdHash()),
    ],
    ids=lambda one: one.name,
)
def test_two_faults_at_once_are_both_there(first: Fault, second: Fault):
    """With both, undoing either one still leaves a refusal."""
    ceremony = Ceremony("get", "none")
    for given in ([first, second], [second, first]):
        assert PY_WEBAUTHN in ceremony.refused_by(ceremony.run(*given))
        names = ceremony.device.log[-1].details["faults"]
        assert sorted(names) == sorted(one.name for one in given)


def test_composed_faults_change_their_own_part_only():
    ceremony = Ceremony("get", "none")
    response = ceremony.run(faults.WrongOrigin("https://other.example"), faults.FlipFlag("UV"))
    party = ceremony.party
    party.origin = "https://other.example"
    party.require_user_verification = False
    assert ceremony.refused_by(response) == NOBODY, "the signature covers both changes"


def test_a_fault_that_finds_nothing_to_change_is_an_error_of_the_test():
    ceremony = Ceremony("create", "none")
    with pytest.raises(FaultError, match=r"signature-bit: found nothing .* attestation"):
        ceremony.run(faults.SignatureBit())
    with pytest.raises(FaultError, match=r"foreign-x5c: .* certificates"):
        Ceremony("create", "packed-self").run(faults.ForeignX5c())
    with pytest.raises(FaultError, match="attested-data-missing: got get, expected create"):
        Ceremony("get", "none").run(faults.AttestedDataMissing())
    with pytest.raises(FaultError, match="replayed: there was no create before"):
        ceremony.run(faults.Replayed())


def test_a_replay_is_the_previous_answer_even_if_the_test_has_changed_its_copy():
    ceremony = Ceremony("get", "none")
    first = ceremony.run()
    kept = json.dumps(first)
    first["response"]["signature"] = "changed"
    assert json.dumps(ceremony.run(faults.Replayed())) == kept


def test_faults_stand_while_a_block_lasts():
    ceremony = Ceremony("get", "none")
    with ceremony.device.faulty("signature-bit"):
        assert ceremony.refused_by(ceremony.run()) == BOTH
        assert ceremony.refused_by(ceremony.run(faults.WrongOrigin())) == BOTH
    assert ceremony.refused_by(ceremony.run()) == NOBODY


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("no-such", r"fault: got 'no-such', expected one of wrong-challenge, "),
        ({"fault": "truncated", "size": 3}, "fault truncated: got 'size', expected count"),
        ({"fault": "replayed", "size": 3}, "fault replayed: got 'size', expected nothing"),
        ({}, "fault: got None, expected one of"),
    ],
)
def test_an_unknown_fault_is_told_what_there_is(description: Any, message: str):
    with pytest.raises(ValueError, match=message):
        fault(description)


def refused(accept: Any, response: dict[str, Any]) -> bool:
    try:
        accept(response)
    except Exception:  # each library has exceptions of many kinds
        return True
    return False


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("ceremony", "one"),
    [
        ("create", faults.OffCurveKey()),
        ("create", faults.OversizedKey()),
        ("get", faults.OtherAlgorithm()),
        ("get", faults.OtherKey()),
        ("get", faults.SignatureBit()),
    ],
    ids=lambda one: getattr(one, "name", one),
)
def test_faults_of_keys_and_signatures_fit_every_algorithm(
    algorithm: str, ceremony: str, one: Fault
):
    device = Authenticator("security-key", attestation="packed-self", algorithms=[algorithm])
    party = RelyingParty()
    held = party.register(device, attestation="direct")["id"]  # the twin without the fault
    if ceremony == "get":
        response = device.get(party.request_options([held]), party.origin, faults=one)
        assert refused(party.accept_assertion, response)
        return
    options = party.creation_options(attestation="direct")
    if one == faults.OffCurveKey() and algorithm[:2] in ("RS", "PS", "ML"):
        with pytest.raises(FaultError, match="expected one on a curve"):
            device.create(options, party.origin, faults=one)
        return
    response = device.create(options, party.origin, faults=one)
    assert refused(party.accept_registration, response)
