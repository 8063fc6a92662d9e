"""The authenticator itself, below both layers: makes credentials, signs assertions, counts.

The WebAuthn layer and the CTAP layer decide who may ask and whether a person agreed; what they ask
for then happens here, in one place. Knows nothing of JSON, of origins, or of CTAP messages.

Callers hold `core.lock`.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from . import cbor
from .algorithms import BY_NAME, ES256, Algorithm, PrivateKey, algorithm_of
from .attestation import FORMATS, AttestationInput, Statement
from .authenticator_data import (
    AT,
    BE,
    BS,
    ED,
    UP,
    UV,
    AuthenticatorDataDraft,
    attested_part,
    fixed_part,
)
from .clock import Clock, SystemClock
from .credentials import Credential, CredentialStore
from .entropy import Entropy
from .identities import Identities
from .journal import Journal
from .person import Person
from .pin_state import PIN_RETRIES, UV_RETRIES, PinState
from .profile import Profile
from .settings import Settings

if TYPE_CHECKING:
    from .certificates import AttestationIdentity
    from .counters import CounterPolicy
    from .faults import Fault, FaultRun

__all__ = ["PIN_RETRIES", "UV_RETRIES", "Core", "NewCredential", "PinState", "Registered"]

NO_LARGE_BLOBS = bytes.fromhex("8076be8b528d0075f7aae98d6fa57a6d3c")
"""An empty array and its checksum (CTAP 2.1, section 6.10)."""
LARGE_BLOB_CAPACITY = 4096
"""Bytes that the serialized array may have; section 6.10 asks for 1024 at least."""
CREDENTIAL_BLOB_LENGTH = 32
"""The longest credBlob, and the least that section 12.2 allows."""


@dataclass(slots=True, eq=False, repr=False)
class Registered:
    """The result of a registration."""

    credential: Credential
    authenticator_data: bytes
    public_der: bytes
    fmt: str
    statement: Statement


@dataclass(slots=True, eq=False, repr=False)
class NewCredential:
    """What a registration is asked for. The layers fill this in from their own requests."""

    rp_id: str
    client_data_hash: bytes
    algorithm: Algorithm = ES256
    user_id: bytes = b""
    user_name: str | None = None
    user_display_name: str | None = None
    rp_name: str | None = None
    discoverable: bool = False
    present: bool = True
    verified: bool = False
    attestation: str = "none"
    """The statement to make: a name in `attestation.FORMATS`."""
    protection: int = 1
    hmac_secret: bool = False
    enterprise: bool = False
    """Whether the statement identifies this one device (CTAP 2.1, section 7.1)."""
    credential_blob: bytes | None = None
    large_blob_key: bool = False
    third_party_payment: bool = False
    extend: Callable[[Credential], dict[str, Any]] | None = None
    """Returns the authenticator extension outputs once the credential exists."""
    credential_id: bytes | None = None
    private_key: PrivateKey | None = None


class Core:
    """State and operations of one authenticator."""

    def __init__(
        self,
        profile: Profile,
        *,
        entropy: Entropy | None = None,
        clock: Clock | None = None,
        store: CredentialStore | None = None,
        person: Person | None = None,
        identities: Sequence[AttestationIdentity] = (),
    ) -> None:
        self.profile = profile
        self.entropy = entropy or Entropy()
        self._deterministic = self.entropy.seeded
        self.clock: Clock = clock or SystemClock()
        self.store = store if store is not None else CredentialStore()
        self.lock = self.store.lock
        self.person = person or Person()
        self.pin = PinState()
        self.settings = Settings.of(profile)
        self.journal = Journal()
        self.counter: CounterPolicy = profile.counter
        self.device_count = 0
        self.device_shown = 0
        self.large_blobs = NO_LARGE_BLOBS
        """The serialized array of large blobs, as a security key keeps it."""
        self.ctap_faults: tuple[Fault, ...] = ()
        """The faults of the CTAP layer for now (the WebAuthn layer gets its own with each call)."""
        self.identities = Identities(profile, self.entropy, identities)
        self.algorithms = {BY_NAME[n].identifier: BY_NAME[n] for n in profile.algorithms}
        self._built_in, self._pin_verifies = profile.built_in_verification, profile.pin_verifies
        self._sensor = profile.fingerprint_sensor
        self._fault_entropy = self.entropy.fork("faults")
        self._backup_at_first = (
            _scripted(profile.backup_eligible, 0),
            _scripted(profile.backup_state, 0),
        )
        self._plain_backup = isinstance(profile.backup_eligible, bool) and isinstance(
            profile.backup_state, bool
        )

    # ---- who uses it

    @property
    def can_verify(self) -> bool:
        """Whether a person can be verified now: by a sensor, or by a PIN that is set, and neither
        is blocked. Means the same to both layers."""
        pin = self.pin
        if not pin.retries:
            return False
        if self._built_in and pin.uv_retries and (not self._sensor or self._knows_finger):
            return True
        return self._pin_verifies and pin.hash is not None

    @property
    def _knows_finger(self) -> bool:
        return self.settings.knows(self.person.finger)

    # ---- what it attests with

    @property
    def identity(self) -> AttestationIdentity:
        """What it usually attests with."""
        return self.identities.usual

    @property
    def enterprise_identity(self) -> AttestationIdentity:
        """That of enterprise attestation: this one device's, by the same CA."""
        return self.identities.of("packed", individual=True)

    @property
    def minimum_pin_rp_ids(self) -> tuple[str, ...]:
        """Relying parties that may learn the PIN policy: the vendor's, and those set later."""
        return self.profile.min_pin_length_rp_ids + self.settings.minimum_pin_rp_ids

    # ---- counters and backup flags

    def count(self, credential: Credential) -> int:
        """Move the counter and return the value to show."""
        policy = self.counter
        if policy.scope == "device":
            value = policy.following(self.device_count, self.device_shown, self.entropy)
            self.device_count = value
            self.device_shown += 1
        else:
            value = policy.following(credential.sign_count, credential.shown, self.entropy)
        credential.sign_count = value
        credential.shown += 1
        credential.revision += 1
        return value

    def _backup_flags(self, credential: Credential) -> int:
        if not self._plain_backup:
            use = credential.shown - 1
            credential.backup_eligible = _scripted(self.profile.backup_eligible, use)
            credential.backup_state = _scripted(self.profile.backup_state, use)
        return (BE if credential.backup_eligible else 0) | (BS if credential.backup_state else 0)

    # ---- registration

    @property
    def is_full(self) -> bool:
        """Whether no further discoverable credential fits."""
        capacity = self.profile.capacity
        return capacity > 0 and self.store.discoverable_count >= capacity

    def choose_algorithm(self, offered: Sequence[int]) -> Algorithm | None:
        """The relying party's first choice among those the device has (section 6.3.2)."""
        mine = self.algorithms
        for identifier in offered:
            if identifier in mine:
                return mine[identifier]
        return None

    def register(self, wanted: NewCredential, faults: FaultRun | None = None) -> Registered:
        """Make, store and attest a credential."""
        profile = self.profile
        credential_id = wanted.credential_id
        if credential_id is None:
            credential_id = self.entropy.bytes(profile.credential_id_length)
        algorithm, key = wanted.algorithm, wanted.private_key
        if key is None:
            key = algorithm.generate(self.entropy)
        else:
            algorithm = algorithm if algorithm.takes(key) else algorithm_of(key)
        credential = Credential(
            credential_id,
            wanted.rp_id,
            key,
            wanted.user_id,
            wanted.user_name,
            wanted.user_display_name,
            wanted.rp_name,
            wanted.discoverable,
            backup_eligible=self._backup_at_first[0],
            backup_state=self._backup_at_first[1],
            protection=wanted.protection,
            secrets=(self.entropy.bytes(32), self.entropy.bytes(32))
            if wanted.hmac_secret
            else None,
            credential_blob=wanted.credential_blob,
            large_blob_key=self.entropy.bytes(32) if wanted.large_blob_key else None,
            third_party_payment=wanted.third_party_payment,
            created=self.clock.now(),
            algorithm=algorithm,
        )
        public_der, public_key = algorithm.public_forms(key)
        outputs = wanted.extend(credential) if wanted.extend is not None else None
        count = self.count(credential)
        flags = AT | (UP if wanted.present else 0) | (UV if wanted.verified else 0)
        if credential.backup_eligible or credential.backup_state or not self._plain_backup:
            flags |= self._backup_flags(credential)
        extensions = b""
        if outputs:
            flags |= ED
            extensions = cbor.encode(outputs)
        if faults is None:
            size = len(credential_id)
            head = attested_part(credential.rp_id_hash, flags, count, profile.aaguid, size)
            data = head + credential_id + public_key + extensions
        else:
            faults.credential = credential
            draft = AuthenticatorDataDraft(
                rp_id_hash=credential.rp_id_hash,
                flags=flags,
                sign_count=count,
                aaguid=profile.aaguid,
                credential_id=credential_id,
                public_key=public_key,
                extensions=extensions,
            )
            data = self._encode(draft, faults)
        fmt = wanted.attestation
        statement: Statement = {}
        if fmt != "none":
            fmt, statement = self._attest(wanted, credential, data, faults)
        self.store.add(credential)
        self.journal.append(
            (
                credential.created,
                "registered",
                wanted.rp_id,
                credential_id,
                algorithm.name,
                credential.sign_count,
                _names(faults) if faults is not None else (),
            )
        )
        return Registered(credential, data, public_der, fmt, statement)

    def _attest(
        self, wanted: NewCredential, credential: Credential, data: bytes, faults: FaultRun | None
    ) -> tuple[str, Statement]:
        return FORMATS[wanted.attestation](
            AttestationInput(
                credential,
                data,
                wanted.client_data_hash,
                partial(self._sign, faults),
                partial(self._identity_with, wanted.enterprise, faults),
                self.profile.compound_of,
            )
        )

    # ---- assertion

    def sign_assertion(
        self,
        credential: Credential,
        client_data_hash: bytes,
        *,
        present: bool = True,
        verified: bool = False,
        outputs: dict[str, Any] | None = None,
        faults: FaultRun | None = None,
    ) -> tuple[bytes, bytes]:
        """Authenticator data and signature of an assertion."""
        count = self.count(credential)
        flags = (UP if present else 0) | (UV if verified else 0)
        if credential.backup_eligible or credential.backup_state or not self._plain_backup:
            flags |= self._backup_flags(credential)
        if faults is None and not outputs:  # nearly every call, so kept short
            data = fixed_part(credential.rp_id_hash, flags, count)
            signature = credential.algorithm.sign(
                credential.key, self._deterministic, data + client_data_hash
            )
        else:
            draft = AuthenticatorDataDraft(credential.rp_id_hash, flags, count)
            if outputs:
                draft.flags |= ED
                draft.extensions = cbor.encode(outputs)
            if faults is not None:
                faults.credential = credential
            data = self._encode(draft, faults)
            signature = self._sign(
                faults, credential.algorithm, credential.key, data + client_data_hash
            )
        self.journal.append(
            (
                self.clock.now(),
                "asserted",
                credential.rp_id,
                credential.id,
                count,
                verified,
                _names(faults) if faults is not None else (),
            )
        )
        return data, signature

    def hmac_secret(self, credential: Credential, salts: bytes, *, verified: bool) -> bytes:
        """The hmac-secret outputs for one or two salts of 32 bytes (CTAP 2.1, section 12.5)."""
        assert credential.secrets is not None
        secret = credential.secrets[0 if verified else 1]
        return b"".join(
            hmac.digest(secret, salts[at : at + 32], "sha256") for at in range(0, len(salts), 32)
        )

    # ---- faults

    def fault_run(self, faults: tuple[Fault, ...], ceremony: str) -> FaultRun | None:
        """The run of these faults in one ceremony; their randomness disturbs no other."""
        if not faults:
            return None
        from .faults import FaultRun

        return FaultRun(faults, ceremony, self._fault_entropy)

    def _encode(self, draft: AuthenticatorDataDraft, faults: FaultRun | None) -> bytes:
        if faults is None:
            return draft.encode()
        for one in faults.at("authenticator_data"):
            one.authenticator_data(draft, faults)
        data = draft.encode()
        for one in faults.at("authenticator_bytes"):
            data = one.authenticator_bytes(data, faults)
        return data

    def _sign(
        self, faults: FaultRun | None, algorithm: Algorithm, key: PrivateKey, message: bytes
    ) -> bytes:
        if faults is None:
            return algorithm.sign(key, self._deterministic, message)
        signer = algorithm.signer(key, self._deterministic)
        faults.algorithm = algorithm
        for one in faults.at("signer"):
            signer = one.signer(key, signer, faults)
        signature = signer(message)
        for one in faults.at("signature"):
            signature = one.signature(signature, faults)
        return signature

    def _identity_with(
        self, individual: bool, faults: FaultRun | None, fmt: str
    ) -> AttestationIdentity:
        # Section 8.2.2 is about packed statements: no other certificate names a device.
        identity = self.identities.of(fmt, individual=individual and fmt == "packed")
        if faults is not None:
            for one in faults.at("identity"):
                identity = one.identity(identity, faults)
        return identity


def _scripted(value: bool | Sequence[bool], use: int) -> bool:
    return value if isinstance(value, bool) else value[min(use, len(value) - 1)]


def _names(faults: FaultRun) -> tuple[str, ...]:
    return tuple(one.name for one in faults.faults)
