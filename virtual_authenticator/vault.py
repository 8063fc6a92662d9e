"""Synced passkeys: one vault, several devices, and the time it takes for news to spread.

    vault = Vault()
    phone, laptop = vault.device("icloud-keychain"), vault.device("icloud-keychain", lags=True)

The laptop learns what the phone registers only after `laptop.sync()`; a device that does not lag
shares everything at once. Knows nothing of ceremonies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .authenticator import Authenticator
from .credentials import Credential, CredentialStore
from .profile import Profile


class Vault:
    """The provider's copy of the credentials."""

    def __init__(self) -> None:
        self.store = CredentialStore()
        self.store.removed = set()

    def device(
        self, shape: str | Profile = "icloud-keychain", *, lags: bool = False, **keywords: Any
    ) -> SyncedAuthenticator:
        """An authenticator that holds this vault's credentials; keywords as for `Authenticator`."""
        store = self.store
        if lags:
            store = CredentialStore()
            store.removed = set()
        device = SyncedAuthenticator(shape, store=store, **keywords)
        device.vault = self
        device.sync()
        return device

    def to_json(self) -> dict[str, Any]:
        """All credentials, including private keys, as JSON values."""
        return {"store": self.store.to_json(), "removed": _encoded(self.store.removed)}

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Vault:
        """The vault that `to_json` described."""
        vault = cls()
        vault.store = CredentialStore.from_json(state["store"])
        vault.store.removed = _decoded(state["removed"])
        return vault

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)


class SyncedAuthenticator(Authenticator):
    """A device of a vault."""

    vault: Vault

    @property
    def lags(self) -> bool:
        """Whether it has credentials of its own, which `sync` brings up to date."""
        return self.core.store is not self.vault.store

    def clone(self) -> SyncedAuthenticator:
        """A stolen copy. It is still a device of the vault, but one that learns nothing and tells
        nothing until it is synced."""
        twin = super().clone()
        assert isinstance(twin, SyncedAuthenticator)
        twin.vault = self.vault
        twin.core.store.removed = set(self.core.store.removed or ()) if self.lags else set()
        return twin

    def to_json(self) -> dict[str, Any]:
        """As of any authenticator, with the vault, so that it is still a device of it later."""
        return {
            **super().to_json(),
            "vault": {
                **self.vault.to_json(),
                "lags": self.lags,
                "removed_here": _encoded(self.core.store.removed),
            },
        }

    @classmethod
    def _wrote(cls, state: Mapping[str, Any]) -> bool:
        return "vault" in state

    @classmethod
    def _saved_store(
        cls, state: Mapping[str, Any], vault: Vault | None
    ) -> tuple[CredentialStore, Vault]:
        held, saved = state["vault"], CredentialStore.from_json(state["store"])
        vault = vault or Vault.from_json(held)
        if held["lags"]:
            saved.removed = _decoded(held["removed_here"])
            return saved, vault
        with vault.store.lock:
            for credential in saved:
                if credential.id not in (vault.store.removed or ()):
                    _keep_newer(credential, vault.store)
        return vault.store, vault

    def sync(self) -> None:
        """Bring device and vault to the same state: the newer copy of each credential wins, and a
        deletion wins over everything."""
        here, there = self.core.store, self.vault.store
        if here is there:
            return
        with there.lock, here.lock:
            removed_here, removed_there = here.removed or set(), there.removed or set()
            for gone in removed_here | removed_there:
                for store in (here, there):
                    if store.get(gone) is not None:
                        store.remove(gone)
            here.removed, there.removed = set(), removed_here | removed_there
            for credential in here:
                _keep_newer(credential, there)
            for credential in there:
                _keep_newer(credential, here)


def _encoded(removed: set[bytes] | None) -> list[str]:
    return sorted(each.hex() for each in removed or ())


def _decoded(removed: list[str]) -> set[bytes]:
    return {bytes.fromhex(each) for each in removed}


def _keep_newer(credential: Credential, store: CredentialStore) -> None:
    held = store.get(credential.id)
    if held is None or held.revision < credential.revision:
        store.add(credential.copy())
