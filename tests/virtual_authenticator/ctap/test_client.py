"""python-fido2's Fido2Client drives the device, and its Fido2Server verifies what comes out."""

from __future__ import annotations

import pytest
from fido2.attestation import AttestationVerifier
from fido2.client import ClientError, PinRequiredError
from fido2.ctap2 import ClientPin, Ctap2
from fido2.server import Fido2Server
from fido2.utils import websafe_decode
from fido2.webauthn import AttestationConveyancePreference, PublicKeyCredentialRpEntity

from virtual_authenticator import Gesture, profiles

PIN = "2468"
USER = {"id": b"alice", "name": "alice", "displayName": "Alice"}


class Trusting(AttestationVerifier):
    """Knows one root: the test CA of one device."""

    def __init__(self, root):
        super().__init__()
        self.root = root

    def ca_lookup(self, attestation_result, auth_data):
        return self.root


PARTY = PublicKeyCredentialRpEntity(id="example.org", name="Example")


@pytest.fixture
def server():
    return Fido2Server(PARTY, attestation=AttestationConveyancePreference.DIRECT)


@pytest.fixture
def ready(new_key, client_of):
    """A key whose PIN is set if it can have one, with a client and the person in front of it."""

    def make(shape="security-key", **changes):
        key = new_key(shape, **changes)
        if key.profile.has_pin:
            ClientPin(Ctap2(key.ctap)).set_pin(PIN)
        return key, *client_of(key)

    return make


def register(server, client, user=USER, **options):
    asked, state = server.register_begin(user, **options)
    response = client.make_credential(asked.public_key)
    return server.register_complete(state, response).credential_data, response


def authenticate(server, client, credentials, listed=True, **options):
    asked, state = server.authenticate_begin(credentials if listed else None, **options)
    selection = client.get_assertion(asked.public_key)
    response = selection.get_response(0)
    assert server.authenticate_complete(state, credentials, response)
    return response


@pytest.mark.parametrize(
    ("name", "verification"),
    [(name, "discouraged") for name in profiles()]
    + [(name, "required") for name, shape in profiles().items() if shape.verifies],
)
def test_every_profile_registers_and_asserts(ready, server, name, verification):
    key, client, _ = ready(name)

    credential, made = register(server, client, user_verification=verification)
    got = authenticate(server, client, [credential], user_verification=verification)

    always = key.profile.always_verifies or key.profile.ctap == "2.0"
    verified = verification == "required" or always
    assert made.response.attestation_object.auth_data.is_user_verified() is verified
    # CTAP 2.0 wants the PIN for registrations only.
    verified = verification == "required" or key.profile.always_verifies
    assert got.response.authenticator_data.is_user_verified() is verified
    assert credential.credential_id == key.credentials[0].id


@pytest.mark.parametrize("name", ["security-key", "touch-id", "u2f-key"])
def test_attestation_is_verified(ready, name):
    key, client, _ = ready(name)
    verifier = None
    if key.profile.attestation != "packed-self":
        verifier = Trusting(key.attestation_authority.root)
    server = Fido2Server(
        PARTY,
        attestation=AttestationConveyancePreference.DIRECT,
        verify_attestation=verifier,
    )

    _, made = register(server, client, user_verification="discouraged")

    assert made.response.attestation_object.fmt == key.profile.attestation.removesuffix("-self")


def test_the_pin_is_asked_for_once_a_ceremony(ready, server):
    _, client, holder = ready()
    credential, _ = register(server, client, user_verification="required")
    assert (holder.pins, holder.touches) == (1, 1)
    authenticate(server, client, [credential], user_verification="required")
    assert (holder.pins, holder.touches) == (2, 2)


def test_without_its_pin_a_key_does_not_verify(ready, server, client_of):
    key, _, _ = ready()
    client, _ = client_of(key, pin=None)
    with pytest.raises(PinRequiredError):
        register(server, client, user_verification="required")
    assert not key.credentials


def test_a_wrong_pin_reaches_the_client(ready, server, client_of):
    key, _, _ = ready()
    client, _ = client_of(key, pin="0000")
    with pytest.raises(ClientError) as caught:
        register(server, client, user_verification="required")
    assert caught.value.cause.code.name == "PIN_INVALID"


def test_without_any_pin_set_a_key_still_registers(new_key, client_of, server):
    client, holder = client_of(new_key())
    credential, made = register(server, client, user_verification="discouraged")

    assert not made.response.attestation_object.auth_data.is_user_verified()
    assert authenticate(server, client, [credential], user_verification="discouraged")
    assert holder.pins == 0


def test_a_blocked_finger_falls_back_to_the_pin(ready, server):
    key, client, holder = ready("security-key-biometric")
    key.core.pin.uv_retries = 0

    _, made = register(server, client, user_verification="required")

    assert holder.pins == 1
    assert made.response.attestation_object.auth_data.is_user_verified()


@pytest.mark.parametrize("name", ["security-key", "security-key-2.0", "u2f-key", "touch-id"])
def test_an_excluded_credential_is_not_made_again(ready, server, name):
    key, client, holder = ready(name)
    credential, _ = register(server, client, user_verification="discouraged")
    touches = holder.touches

    with pytest.raises(ClientError) as caught:
        register(server, client, credentials=[credential], user_verification="discouraged")

    assert caught.value.code == ClientError.ERR.DEVICE_INELIGIBLE
    if name != "u2f-key":  # there the client registers a dummy to get its touch
        assert holder.touches == touches + 1
        assert len(key.credentials) == 1


def test_another_users_credential_excludes_nothing(ready, server):
    key, client, _ = ready()
    other, other_client, _ = ready()
    foreign, _ = register(server, other_client)

    register(server, client, credentials=[foreign])

    assert len(key.credentials) == len(other.credentials) == 1


def test_a_long_exclude_list_is_sent_in_pieces(ready, server):
    key, client, _ = ready()
    credentials = [register(server, client, user_verification="discouraged")[0] for _ in range(20)]
    with pytest.raises(ClientError) as caught:
        register(server, client, credentials=credentials[::-1], user_verification="discouraged")
    assert caught.value.code == ClientError.ERR.DEVICE_INELIGIBLE
    assert len(key.credentials) == 20


def test_resident_keys_sign_in_without_a_name(ready, server):
    _, client, _ = ready()
    users = [{"id": name.encode(), "name": name, "displayName": name.title()} for name in "abc"]
    made = [
        register(server, client, user, resident_key_requirement="required")[0] for user in users
    ]
    asked, state = server.authenticate_begin(user_verification="required")

    selection = client.get_assertion(asked.public_key)

    assert [one.user["name"] for one in selection.get_assertions()] == ["c", "b", "a"]
    for index, credential in enumerate(reversed(made)):
        response = selection.get_response(index)
        assert server.authenticate_complete(state, made, response) == credential


def test_a_second_resident_key_of_an_account_replaces_the_first(ready, server):
    key, client, _ = ready()
    first, _ = register(server, client, resident_key_requirement="required")
    second, _ = register(server, client, resident_key_requirement="required")

    assert [one.id for one in key.credentials] == [second.credential_id]
    assert first.credential_id != second.credential_id


@pytest.mark.parametrize("name", ["security-key", "security-key-2.0", "google-password-manager"])
def test_prf(ready, server, name):
    """The same salt gives the same secret, another salt another one, and other keys others."""
    _, client, _ = ready(name)
    credential, made = register(server, client, extensions={"prf": {}})
    assert made.client_extension_results["prf"]["enabled"] is True

    def secrets(first, second=None):
        values = {"first": first} | ({"second": second} if second else {})
        asked = {"prf": {"eval": values}}
        response = authenticate(server, client, [credential], extensions=asked)
        return response.client_extension_results["prf"]["results"]

    one, two = secrets(b"salt"), secrets(b"salt", b"pepper")
    assert not one.get("second")
    assert len(websafe_decode(one["first"])) == len(websafe_decode(two["second"])) == 32
    assert one["first"] == two["first"] != two["second"]
    assert secrets(b"pepper")["first"] == two["second"]


def test_prf_agrees_with_the_page(ready, server):
    """A credential's secret is one, whether a page or a platform asks for it."""
    key, client, _ = ready()
    credential, _ = register(server, client, extensions={"prf": {}})
    by_platform = authenticate(
        server, client, [credential], extensions={"prf": {"eval": {"first": b"salt"}}}
    ).client_extension_results["prf"]["results"]
    by_page = key.get(
        {
            "challenge": "AAAA",
            "rpId": "example.org",
            "allowCredentials": [{"type": "public-key", "id": key.credentials[0].encoded_id}],
            "userVerification": "required",
            "extensions": {"prf": {"eval": {"first": "c2FsdA"}}},
        },
        "https://example.org",
    )["clientExtensionResults"]["prf"]["results"]

    assert by_platform["first"] == by_page["first"]


def test_prf_at_registration(ready, server):
    _, client, _ = ready("security-key-2.3")
    asked = {"prf": {"eval": {"first": b"one", "second": b"two"}}}
    credential, made = register(server, client, extensions=asked, user_verification="required")
    results = made.client_extension_results["prf"]["results"]
    again = authenticate(
        server, client, [credential], extensions=asked, user_verification="required"
    ).client_extension_results["prf"]["results"]

    assert results == again
    assert results["first"] != results["second"]


def test_cred_protect(ready, server):
    _, client, _ = ready()
    policy = {
        "credentialProtectionPolicy": "userVerificationRequired",
        "enforceCredentialProtectionPolicy": True,
    }
    credential, made = register(server, client, extensions=policy)

    assert made.response.attestation_object.auth_data.extensions == {"credProtect": 3}
    with pytest.raises(ClientError) as caught:
        authenticate(server, client, [credential], user_verification="discouraged")
    assert caught.value.code == ClientError.ERR.DEVICE_INELIGIBLE
    assert authenticate(server, client, [credential], user_verification="required")


@pytest.mark.parametrize(
    ("gesture", "code"),
    [
        (Gesture.DECLINE, ClientError.ERR.BAD_REQUEST),
        (Gesture.IGNORE, ClientError.ERR.BAD_REQUEST),  # CTAP has one status for both
    ],
)
def test_the_person_decides(ready, server, gesture, code):
    key, client, _ = ready()
    key.person.will(gesture)
    with pytest.raises(ClientError) as caught:
        register(server, client, user_verification="discouraged")
    assert caught.value.code == code
    assert not key.credentials


@pytest.mark.parametrize("name", ["security-key", "security-key-2.0", "u2f-key"])
def test_selection(ready, name):
    key, client, _ = ready(name)
    client.selection()
    key.person.will(Gesture.DECLINE)
    if name == "u2f-key":
        client.selection()  # U2F cannot say no: it polls, and the next answer is a touch
        assert not key.person.planned
    else:
        with pytest.raises(ClientError):
            client.selection()
