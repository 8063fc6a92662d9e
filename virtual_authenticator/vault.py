"""Synced passkeys: one vault, several devices, and the time it takes for news to spread.

    vault = Vault()
    phone, laptop = vault.device("icloud-keychain"), vault.device("icloud-keychain", lags=True)

The laptop learns what the phone registers only after `laptop.sync()`; a device that does not lag
shares everything at once. Knows nothing of ceremonies.
"""

from __future__ import annotations

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


class SyncedAuthenticator(Authenticator):
    """A device of a vault."""

    vault: Vault

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


def _keep_newer(credential: Credential, store: CredentialStore) -> None:
    held = store.get(credential.id)
    if held is None or held.revision < credential.revision:
        store.add(credential.copy())
