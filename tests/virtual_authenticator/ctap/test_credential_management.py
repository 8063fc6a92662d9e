"""CredentialManagement, by python-fido2's class of that name."""

from __future__ import annotations

import pytest
from fido2.cose import CoseKey
from fido2.ctap2 import CredentialManagement
from fido2.utils import sha256

from virtual_authenticator import Authenticator
from virtual_authenticator.ctap import Status

PIN = "2468"
MANAGE = 0x04
RESULT = CredentialManagement.RESULT


def identifier(made):
    return made.auth_data.credential_data.credential_id


@pytest.fixture
def stored(platform):
    """Alice and Bob at example.org, Carol at example.com; gives the answers to their making."""
    return {
        user: platform.make(
            rp_id,
            user=user.encode(),
            options={"rk": True},
            extensions={"credProtect": level},
            token=platform.token(1, rp_id),
        )
        for user, rp_id, level in (
            ("alice", "example.org", 1),
            ("bob", "example.org", 3),
            ("carol", "example.com", 2),
        )
    }


@pytest.fixture
def manage(platform):
    """A manager with a fresh token, bound to an RP ID if one is given."""

    def make(rp_id=None, permissions=MANAGE):
        token = platform.token(permissions, rp_id)
        return CredentialManagement(platform.ctap, platform.protocol, token)

    return make


def test_metadata(platform, stored, manage):
    platform.make(user=b"dave")  # not discoverable, not counted
    assert manage().get_metadata() == {1: 3, 2: 97}


def test_metadata_without_a_limit(new_key, platform_of):
    platform = platform_of(new_key(capacity=0, pin=PIN))
    manager = CredentialManagement(platform.ctap, platform.protocol, platform.token(MANAGE, None))
    assert manager.get_metadata()[2] > 1000
    assert platform.ctap.get_info().remaining_disc_creds is None


def test_relying_parties(platform, stored, platform_of, protocol):
    other = platform_of(platform.authenticator, protocol)
    found = CredentialManagement(other.ctap, protocol, other.token(MANAGE, None)).enumerate_rps()

    assert [one[RESULT.RP] for one in found] == [{"id": "example.org"}, {"id": "example.com"}]
    assert found[0][RESULT.TOTAL_RPS] == 2
    assert [one[RESULT.RP_ID_HASH] for one in found] == [
        sha256(b"example.org"),
        sha256(b"example.com"),
    ]


def test_credentials(stored, manage):
    found = manage().enumerate_creds(sha256(b"example.org"))

    assert found[0][RESULT.TOTAL_CREDENTIALS] == 2
    assert [
        (one[RESULT.USER]["name"], one[RESULT.CREDENTIAL_ID]["id"], one[RESULT.CRED_PROTECT])
        for one in found
    ] == [("bob", identifier(stored["bob"]), 3), ("alice", identifier(stored["alice"]), 1)]
    for one in found:
        made = stored[one[RESULT.USER]["name"]]
        public_key = CoseKey.parse(one[RESULT.PUBLIC_KEY])
        assert public_key == made.auth_data.credential_data.public_key


def test_an_empty_key(manage, refuses):
    manager = manage()
    assert manager.get_metadata()[1] == 0
    with refuses("NO_CREDENTIALS"):
        manager.enumerate_rps_begin()
    with refuses("NO_CREDENTIALS"):
        manager.enumerate_creds_begin(sha256(b"example.org"))


def test_delete(platform, stored, manage, refuses):
    manager = manage()
    bob = {"type": "public-key", "id": identifier(stored["bob"])}
    manager.delete_cred(bob)

    assert manager.get_metadata()[1] == 2
    with refuses("NO_CREDENTIALS"):
        manager.delete_cred(bob)
    assert platform.get(allow=[identifier(stored["alice"])])


def test_a_credential_that_is_not_discoverable_is_not_managed(platform, manage, refuses):
    made = platform.make()
    with refuses("NO_CREDENTIALS"):
        manage().delete_cred({"type": "public-key", "id": identifier(made)})
    assert platform.get(allow=[identifier(made)])


def test_update(platform, stored, manage, refuses):
    manager = manage()
    alice = {"type": "public-key", "id": identifier(stored["alice"])}
    manager.update_user_info(alice, {"id": b"alice", "name": "alicia"})
    held = platform.authenticator.credential(identifier(stored["alice"]))

    assert (held.user_name, held.user_display_name) == ("alicia", None)
    with refuses("INVALID_PARAMETER"):
        manager.update_user_info(alice, {"id": b"bob", "name": "bob"})
    with refuses("NO_CREDENTIALS"):
        manager.update_user_info({"type": "public-key", "id": b"?"}, {"id": b"alice", "name": "a"})
    assert held.user_name == "alicia"


# ---- who may


def test_without_a_token(platform, refuses):
    with refuses("PUAT_REQUIRED"):
        platform.ctap.credential_mgmt(1)


@pytest.mark.parametrize("permissions", [0x01, 0x02, 0x03])
def test_without_the_permission(stored, manage, refuses, permissions):
    with refuses("PIN_AUTH_INVALID"):
        manage("example.org", permissions).get_metadata()


def test_a_bound_token_sees_its_own_only(stored, manage, refuses):
    manager = manage("example.org")
    assert len(manager.enumerate_creds(sha256(b"example.org"))) == 2
    alice = {"type": "public-key", "id": identifier(stored["alice"])}
    carol = {"type": "public-key", "id": identifier(stored["carol"])}

    for forbidden in (
        manager.get_metadata,
        manager.enumerate_rps_begin,
        lambda: manager.enumerate_creds_begin(sha256(b"example.com")),
        lambda: manager.delete_cred(carol),
        lambda: manager.update_user_info(carol, {"id": b"carol", "name": "c"}),
    ):
        with refuses("PIN_AUTH_INVALID"):
            forbidden()
    manager.delete_cred(alice)
    assert len(manager.enumerate_creds(sha256(b"example.org"))) == 1


def test_the_parameters_are_signed(platform, stored, refuses):
    token = platform.token(MANAGE, None)
    message = b"\x04"  # without the parameters
    with refuses("PIN_AUTH_INVALID"):
        platform.ctap.credential_mgmt(
            4,
            {1: sha256(b"example.org")},
            platform.protocol.VERSION,
            platform.protocol.authenticate(token, message),
        )


# ---- enumerations


@pytest.mark.parametrize("step", ["enumerate_rps_next", "enumerate_creds_next"])
def test_next_without_a_first(manage, refuses, step):
    with refuses("NOT_ALLOWED"):
        getattr(manage(), step)()


def test_next_of_another_kind(stored, manage, refuses):
    manager = manage()
    manager.enumerate_rps_begin()
    with refuses("NOT_ALLOWED"):
        manager.enumerate_creds_next()
    with refuses("NOT_ALLOWED"):
        manager.enumerate_rps_next()


def test_another_command_ends_it(platform, stored, manage, refuses):
    manager = manage()
    manager.enumerate_rps_begin()
    platform.ctap.get_info()
    with refuses("NOT_ALLOWED"):
        manager.enumerate_rps_next()


def test_another_subcommand_ends_it(stored, manage, refuses):
    manager = manage()
    manager.enumerate_rps_begin()
    manager.get_metadata()
    with refuses("NOT_ALLOWED"):
        manager.enumerate_rps_next()


def test_time_ends_it(stored, manage, clock, refuses):
    manager = manage()
    manager.enumerate_rps_begin()
    clock.advance(31)
    with refuses("NOT_ALLOWED"):
        manager.enumerate_rps_next()


@pytest.mark.parametrize(
    ("shape", "status"),
    [
        ("security-key-2.0", Status.INVALID_COMMAND),
        ("android-platform", Status.INVALID_COMMAND),  # no discoverable credentials
        ("touch-id", Status.PUAT_REQUIRED),
    ],
)
def test_only_where_there_is_something_to_manage(new_key, shape, status):
    assert new_key(shape).ctap.processor.process(b"\x0a\xa1\x01\x01") == bytes([status])


def test_unknown_subcommand(platform, refuses):
    with refuses("INVALID_SUBCOMMAND"):
        platform.ctap.credential_mgmt(0x63)


# ---- the persistent token, which only reads (pcmr)

READ_FOR_GOOD = 0x40


@pytest.fixture
def reader(new_key, platform_of):
    """A CTAP 2.3 key with two credentials, and a platform at it."""
    platform = platform_of(new_key("security-key-2.3", pin=PIN))
    for user, paid in ((b"alice", True), (b"bob", False)):
        platform.make(
            user=user,
            options={"rk": True},
            extensions={"largeBlobKey": True, "thirdPartyPayment": paid},
            token=platform.token(1),
        )
    return platform


def reading(platform, token):
    return CredentialManagement(platform.ctap, platform.protocol, token)


def overview(manager):
    return [
        found[RESULT.USER]["name"]
        for party in manager.enumerate_rps()
        for found in manager.enumerate_creds(party[RESULT.RP_ID_HASH])
    ]


def test_a_persistent_token_reads_after_a_power_cycle_and_many_others(reader, clock):
    token = reader.token(READ_FOR_GOOD, None)
    assert CredentialManagement.is_readonly_supported(reader.ctap.info)
    reader.token(MANAGE, None)  # ends other tokens, not this one
    clock.advance(100_000)
    reader.authenticator.ctap.power_cycle()

    assert reading(reader, token).get_metadata() == {1: 2, 2: 98}
    assert overview(reading(reader, token)) == ["bob", "alice"]
    assert reader.token(READ_FOR_GOOD, None) == token
    restored = Authenticator.from_json(reader.authenticator.to_json())
    assert overview(reading(type(reader)(restored), token)) == ["bob", "alice"]


def test_a_persistent_token_changes_nothing(reader, refuses):
    manager = reading(reader, reader.token(READ_FOR_GOOD, None))
    first = manager.enumerate_creds(sha256(b"example.org"))[0]
    with refuses("PIN_AUTH_INVALID"):
        manager.delete_cred(first[RESULT.CREDENTIAL_ID])
    with refuses("PIN_AUTH_INVALID"):
        manager.update_user_info(first[RESULT.CREDENTIAL_ID], {"id": b"bob", "name": "Mallory"})
    with refuses("PIN_AUTH_INVALID"):
        reader.make(token=manager.pin_uv.token)
    assert overview(manager) == ["bob", "alice"]


@pytest.mark.parametrize("permissions", [READ_FOR_GOOD | MANAGE, READ_FOR_GOOD | 1])
def test_it_is_asked_for_alone(reader, refuses, permissions):
    with refuses("UNAUTHORIZED_PERMISSION"):
        reader.token(permissions)


def test_a_new_pin_ends_it(reader, refuses):
    manager = reading(reader, reader.token(READ_FOR_GOOD, None))
    reader.pins.change_pin(PIN, "97531")
    with refuses("PIN_AUTH_INVALID"):
        manager.get_metadata()
    again = reader.token(READ_FOR_GOOD, None, "97531")
    assert reading(reader, again).get_metadata()


def test_who_holds_it_knows_the_device_and_whether_anything_changed(reader):
    """encIdentifier and encCredStoreState: sealed, and sealed anew each time."""
    token = reader.token(READ_FOR_GOOD, None)

    def seen():
        info = reader.ctap.get_info()
        return info.get_identifier(token), info.get_cred_store_state(token)

    raw = {reader.ctap.get_info().enc_identifier for _ in range(3)}
    before = seen()
    reader.get(token=reader.token(2))  # using a credential does not change the store
    reader.make(user=b"dave")  # nor does one that is not discoverable
    assert len(raw) == 3
    assert seen() == before

    def update():
        manager = reading(reader, reader.token(MANAGE, None))
        found = manager.enumerate_creds(sha256(b"example.org"))[0]
        manager.update_user_info(found[RESULT.CREDENTIAL_ID], {"id": b"bob", "name": "Robert"})

    def delete():
        manager = reading(reader, reader.token(MANAGE, None))
        found = manager.enumerate_creds(sha256(b"example.org"))[0]
        manager.delete_cred(found[RESULT.CREDENTIAL_ID])

    def add():
        reader.make(user=b"carol", options={"rk": True}, token=reader.token(1))

    states = [before]
    for change in (update, delete, add):
        change()
        states.append(seen())
    assert {identifier for identifier, _ in states} == {before[0]}
    assert len({state for _, state in states}) == 4
    assert Authenticator.from_json(reader.authenticator.to_json()).core.store.changes == (
        reader.authenticator.core.store.changes
    )

    reader.authenticator.ctap.power_cycle()
    reader.ctap.reset()
    reader.pins.set_pin(PIN)
    token = reader.token(READ_FOR_GOOD, None)
    assert seen()[0] != before[0]


# ---- what else is listed


def test_blob_keys_and_payment_are_listed(reader):
    """thirdPartyPayment shows in assertions and here, not in the registration (section 12.9)."""
    asks = {"thirdPartyPayment": True, "largeBlobKey": True}
    got = reader.ctap.get_assertions(
        "example.org", bytes(32), extensions=asks, **reader.signed(reader.token(2), bytes(32))
    )
    manager = reading(reader, reader.token(MANAGE, None))
    listed = manager.enumerate_creds(sha256(b"example.org"))

    assert [one.auth_data.extensions for one in got] == [
        {"thirdPartyPayment": False},
        {"thirdPartyPayment": True},
    ]
    assert [one[RESULT.THIRD_PARTY_PAYMENT] for one in listed] == [False, True]
    assert [one[RESULT.LARGE_BLOB_KEY] for one in listed] == [one.large_blob_key for one in got]
    made = reader.make(user=b"carol", extensions={"thirdPartyPayment": True})
    assert made.auth_data.extensions is None
    restored = Authenticator.from_json(reader.authenticator.to_json())
    assert [one.third_party_payment for one in restored.credentials] == [True, False, True]
