"""A credential, and the store that holds many of them.

Every look-up is by key, never by search, so that ten thousand credentials cost no more than one.
Knows nothing of ceremonies.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from typing import Any

from .algorithms import Algorithm, PrivateKey, algorithm_of, by_name, from_pkcs8, to_pkcs8
from .encoding import base64url_decode, base64url_encode

_BY_KEY: Any = None
"""By default the key tells its algorithm."""


@lru_cache(maxsize=1024)
def hash_of(rp_id: str) -> bytes:
    """The RP ID hash, by which authenticator data names a relying party."""
    return sha256(rp_id.encode()).digest()


@dataclass(slots=True)
class Credential:
    """One key pair for one account at one relying party."""

    id: bytes
    rp_id: str
    key: PrivateKey
    user_id: bytes = b""
    user_name: str | None = None
    user_display_name: str | None = None
    rp_name: str | None = None
    discoverable: bool = True
    sign_count: int = 0
    """The counter value shown last."""
    shown: int = 0
    """How many counter values have been shown, the registration's included."""
    backup_eligible: bool = False
    backup_state: bool = False
    protection: int = 1
    """credProtect: 1 UV optional, 2 optional with a list of ids, 3 required."""
    secrets: tuple[bytes, bytes] | None = None
    """hmac-secret: the secret used with user verification, and the one used without."""
    large_blob: bytes | None = None
    credential_blob: bytes | None = None
    """credBlob: a few bytes that the relying party keeps with the credential."""
    large_blob_key: bytes | None = None
    """largeBlobKey: what platforms encrypt this credential's entry of the large-blob array with."""
    third_party_payment: bool = False
    """Whether others than the relying party may ask for it, to confirm a payment."""
    created: float = 0.0
    revision: int = 0
    """Counts changes, so that two replicas of a vault can tell which one is newer."""
    algorithm: Algorithm = _BY_KEY
    rp_id_hash: bytes = field(default=b"", repr=False)
    """Given only if the RP ID is unknown (empty): U2F tells an authenticator only the hash."""
    encoded_id: str = field(init=False, repr=False)
    _encoded_user_id: str | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if self.algorithm is _BY_KEY:
            self.algorithm = algorithm_of(self.key)
        if self.rp_id or not self.rp_id_hash:
            self.rp_id_hash = hash_of(self.rp_id)
        self.encoded_id = base64url_encode(self.id)

    @property
    def encoded_user_id(self) -> str:
        """The user handle, base64url."""
        if self._encoded_user_id is None:
            self._encoded_user_id = base64url_encode(self.user_id)
        return self._encoded_user_id

    def belongs_to(self, rp_id: str) -> bool:
        """Whether it was made for this relying party; one made by U2F knows only the hash."""
        return self.rp_id == rp_id or (not self.rp_id and self.rp_id_hash == hash_of(rp_id))

    def copy(self) -> Credential:
        return replace(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)  # keys cannot be pickled

    def public_key_bytes(self) -> bytes:
        """The COSE public key."""
        return self.algorithm.public_forms(self.key)[1]

    def to_json(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "id": self.encoded_id,
            "rp_id": self.rp_id,
            "key": base64url_encode(to_pkcs8(self.key)),
            "algorithm": self.algorithm.name,
            "user_id": self.encoded_user_id,
            "secrets": [base64url_encode(s) for s in self.secrets] if self.secrets else None,
            "large_blob": base64url_encode(self.large_blob) if self.large_blob else None,
        }
        for name in _BINARY_MEMBERS:
            value = getattr(self, name)
            state[name] = None if value is None else base64url_encode(value)
        for name in _PLAIN_MEMBERS:
            state[name] = getattr(self, name)
        state["third_party_payment"] = self.third_party_payment
        if not self.rp_id:
            state["rp_id_hash"] = base64url_encode(self.rp_id_hash)
        return state

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> Credential:
        secrets, blob = state["secrets"], state["large_blob"]
        binary: dict[str, Any] = {
            name: base64url_decode(state[name])
            for name in _BINARY_MEMBERS
            if state.get(name) is not None
        }
        return cls(
            id=base64url_decode(state["id"]),
            rp_id=state["rp_id"],
            key=from_pkcs8(base64url_decode(state["key"])),
            # States of earlier versions do not say it: there the key told.
            algorithm=by_name(state["algorithm"]) if "algorithm" in state else _BY_KEY,
            user_id=base64url_decode(state["user_id"]),
            secrets=(base64url_decode(secrets[0]), base64url_decode(secrets[1]))
            if secrets
            else None,
            large_blob=base64url_decode(blob) if blob else None,
            rp_id_hash=base64url_decode(state.get("rp_id_hash", "")),
            # States that were saved before these members existed lack them.
            third_party_payment=state.get("third_party_payment", False),
            **binary,
            **{name: state[name] for name in _PLAIN_MEMBERS},
        )


_BINARY_MEMBERS = ("credential_blob", "large_blob_key")
_PLAIN_MEMBERS = (
    "user_name",
    "user_display_name",
    "rp_name",
    "discoverable",
    "sign_count",
    "shown",
    "backup_eligible",
    "backup_state",
    "protection",
    "created",
    "revision",
)


class CredentialStore:
    """Credentials by id, and the discoverable ones by relying party, oldest first.

    Hold `lock` to read and then write; devices that share a store share it.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._by_id: dict[bytes, Credential] = {}
        self.by_encoded_id: dict[str, Credential] = {}
        """By the base64url form of the id, as options carry it."""
        self._by_rp: dict[str, dict[bytes, Credential]] = {}
        self._by_account: dict[tuple[str, bytes], Credential] = {}
        self._rp_by_hash: dict[bytes, str] = {}
        self._open_by_rp: dict[str, int] = {}
        """By RP ID, how many of them need no verification (credProtect)."""
        self.changes = 0
        """Counts what happens to discoverable credentials: who saw it before can tell old news."""
        self.removed: set[bytes] | None = None
        """Ids that were deleted, for a vault: a replica must not revive them."""

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Credential]:
        with self.lock:
            return iter(list(self._by_id.values()))

    def get(self, credential_id: bytes) -> Credential | None:
        return self._by_id.get(credential_id)

    def discoverable_for(self, rp_id: str) -> list[Credential]:
        """Newest first, the order in which CTAP returns them."""
        with self.lock:
            return list(reversed(self._by_rp.get(rp_id, {}).values()))

    def newest_first(self, rp_id: str) -> Iterator[Credential]:
        """As `discoverable_for`, one by one: the next of many costs no more than that of two. Hold
        the lock for each step; a RuntimeError says that credentials came or went in between."""
        return reversed(self._by_rp.get(rp_id, {}).values())

    def count_for(self, rp_id: str, *, verified: bool) -> int:
        """How many discoverable credentials a person can see, verified or not (credProtect)."""
        return len(self._by_rp.get(rp_id, ())) if verified else self._open_by_rp.get(rp_id, 0)

    def rp_id_of(self, rp_id_hash: bytes) -> str | None:
        """The RP ID with this hash, if it has discoverable credentials."""
        return self._rp_by_hash.get(rp_id_hash)

    def newest_for(self, rp_id: str) -> Credential | None:
        with self.lock:
            found = self._by_rp.get(rp_id)
            return next(reversed(found.values())) if found else None

    def account(self, rp_id: str, user_id: bytes) -> Credential | None:
        """The discoverable credential of an account: there is at most one on a device."""
        return self._by_account.get((rp_id, user_id))

    @property
    def discoverable_count(self) -> int:
        return len(self._by_account)

    def relying_parties(self) -> list[str]:
        """RP IDs that have discoverable credentials, in the order of their first one."""
        with self.lock:
            return [rp_id for rp_id, held in self._by_rp.items() if held]

    def add(self, credential: Credential) -> None:
        """Store a credential; a discoverable one replaces that of the same account."""
        credential_id = credential.id
        with self.lock:
            if credential_id in self._by_id:
                self._forget(credential_id)
            if credential.discoverable:
                rp_id = credential.rp_id
                account = rp_id, credential.user_id
                held = self._by_account.get(account)
                if held is not None:
                    self._forget(held.id)
                    if self.removed is not None:
                        self.removed.add(held.id)
                of_rp = self._by_rp.get(rp_id)
                if of_rp is None:
                    of_rp = self._by_rp[rp_id] = {}
                    self._rp_by_hash[credential.rp_id_hash] = rp_id
                    self._open_by_rp[rp_id] = 0
                of_rp[credential_id] = self._by_account[account] = credential
                if credential.protection == 1:
                    self._open_by_rp[rp_id] += 1
                self.changes += 1
            self._by_id[credential_id] = self.by_encoded_id[credential.encoded_id] = credential
            if self.removed is not None:
                self.removed.discard(credential_id)

    def remove(self, credential_id: bytes) -> None:
        """Delete a credential; KeyError if there is none."""
        with self.lock:
            self._forget(credential_id)
            if self.removed is not None:
                self.removed.add(credential_id)

    def clear(self) -> None:
        with self.lock:
            for credential in list(self._by_id.values()):
                self.remove(credential.id)

    def _forget(self, credential_id: bytes) -> None:
        credential = self._by_id.pop(credential_id)
        del self.by_encoded_id[credential.encoded_id]
        rp_id = credential.rp_id
        of_rp = self._by_rp.get(rp_id)
        if of_rp is not None and of_rp.pop(credential_id, None) is not None:
            del self._by_account[rp_id, credential.user_id]
            self.changes += 1
            if credential.protection == 1:
                self._open_by_rp[rp_id] -= 1
            if not of_rp:
                del self._by_rp[rp_id], self._open_by_rp[rp_id]
                del self._rp_by_hash[credential.rp_id_hash]

    def copy(self) -> CredentialStore:
        """The same credentials, as objects of their own."""
        with self.lock:
            twin = CredentialStore()
            for credential in self._by_id.values():
                twin.add(credential.copy())
            twin.changes = self.changes
            return twin

    def to_json(self) -> dict[str, Any]:
        with self.lock:
            return {
                "credentials": [credential.to_json() for credential in self._by_id.values()],
                "changes": self.changes,
            }

    @classmethod
    def from_json(cls, state: dict[str, Any]) -> CredentialStore:
        store = cls()
        for credential in state["credentials"]:
            store.add(Credential.from_json(credential))
        store.changes = state.get("changes", store.changes)
        return store
