"""Our checks against py_webauthn's all-in-one functions: nothing that it refuses passes here."""

from typing import Any

import pytest
import webauthn

from pytest_mcp_approval.reference_server import RelyingParty, VerificationError
from tests.reference_server.ceremony import ORIGIN, Ceremony
from tests.reference_server.test_enrolment import FAULTS as REGISTRATION_FAULTS
from tests.reference_server.test_verification import FAULTS as ASSERTION_FAULTS
from virtual_authenticator import Authenticator, fault

CHALLENGE = bytes(range(64))
EXPECTED: dict[str, Any] = {
    "expected_challenge": CHALLENGE,
    "expected_rp_id": "localhost",
    "expected_origin": ORIGIN,
}
ACCEPTED_BY_THE_LIBRARY = {
    "cross-origin",
    "top-origin",
    "wrong-credential-id",
    "wrong-user-handle",
    "off-curve-key",
    "oversized-key",
    "flip-flag",
}
"""Under attestation none; why ours looks for itself."""


def options(ceremony):
    begun = ceremony.gate.begin_enrolment("alice")["options"]
    return {**begun, "challenge": webauthn.helpers.bytes_to_base64url(CHALLENGE)}


def refuses(check):
    try:
        check()
    except Exception:
        return True
    return False


@pytest.mark.parametrize("broken", [None, *REGISTRATION_FAULTS], ids=str)
def test_registrations(ceremony, broken):
    faults = [] if broken is None else [fault(broken)]
    response = Authenticator(attestation="none").create(options(ceremony), ORIGIN, faults=faults)
    library = refuses(
        lambda: webauthn.verify_registration_response(
            credential=response, require_user_verification=True, **EXPECTED
        )
    )
    if broken is None:
        assert not library
        RelyingParty(origins=[ORIGIN]).verify_registration(response, CHALLENGE)
    else:
        assert library or faults[0].name in ACCEPTED_BY_THE_LIBRARY
        with pytest.raises(VerificationError):
            RelyingParty(origins=[ORIGIN]).verify_registration(response, CHALLENGE)


@pytest.mark.parametrize("broken", [None, *ASSERTION_FAULTS], ids=str)
def test_assertions(broken):
    ceremony = Ceremony()
    passkey = ceremony.enrol()
    (credential,) = ceremony.store.credentials("alice")
    request = {
        **ceremony.challenge()["requestOptions"],
        "challenge": webauthn.helpers.bytes_to_base64url(CHALLENGE),
    }
    faults = [] if broken is None else [fault(broken)]
    response = passkey.get(request, ORIGIN, faults=faults)
    library = refuses(
        lambda: webauthn.verify_authentication_response(
            credential=response,
            credential_public_key=credential.public_key,
            credential_current_sign_count=0,
            require_user_verification=True,
            **EXPECTED,
        )
    )
    if broken is None:
        assert not library
        RelyingParty(origins=[ORIGIN]).verify_assertion(response, CHALLENGE, credential)
    else:
        assert library or faults[0].name in ACCEPTED_BY_THE_LIBRARY
        with pytest.raises(VerificationError):
            RelyingParty(origins=[ORIGIN]).verify_assertion(response, CHALLENGE, credential)


def test_origins_are_a_list_of_at_least_one():
    for origins in ((), "http://localhost"):
        with pytest.raises(ValueError, match="origins: got"):
            RelyingParty(origins=origins)
