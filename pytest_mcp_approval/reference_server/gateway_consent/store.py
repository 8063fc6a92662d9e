"""Chooses the vault by the settings and the machine, and where its files go.

Knows no consent and no credential.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from .settings import GatewaySettings, Storage
from .vault import MemoryVault, Vault, VaultError
from .vault_file import FileVault
from .vault_keyring import KeyringVault, TrialKeyStore, usable_backend

TRIAL_FOLDER = "key-store"
"""Of a key store to try it with, in the gateway's folder."""


def open_vault(settings: GatewaySettings, url: str | None) -> Vault:
    """`url` is the server's own database, None for memory."""
    storage = settings.storage
    if storage is Storage.AUTOMATIC:
        storage = Storage.MEMORY if url is None else Storage.FILE
    if storage is Storage.MEMORY:
        return MemoryVault()
    folder = settings.folder or _beside(url)
    if storage is Storage.FILE:
        if folder is not None:
            return FileVault(folder)
        return FileVault(Path(tempfile.mkdtemp(prefix="mcp-approval-gateway-")), temporary=True)
    if storage is Storage.TRIAL:
        if folder is not None:
            return KeyringVault(TrialKeyStore(FileVault(folder / TRIAL_FOLDER)), folder)
        own = Path(tempfile.mkdtemp(prefix="mcp-approval-gateway-"))
        return KeyringVault(TrialKeyStore(MemoryVault()), own, temporary=True)
    folder, backend = folder or own_folder(), usable_backend()
    if backend is not None:
        return KeyringVault(backend, folder)
    if storage is Storage.KEYRING:
        raise VaultError(
            "storage: got keyring, but this machine has no key store that can be used; "
            "set file, or system for whichever there is"
        )
    return FileVault(folder)


def _beside(url: str | None) -> Path | None:
    """A folder beside the database, if that is a file."""
    if url is None:
        return None
    import sqlalchemy

    parts = sqlalchemy.make_url(url)
    if parts.get_backend_name() != "sqlite" or not parts.database:
        return None
    return Path(f"{parts.database}-gateway")


def own_folder() -> Path:
    """Where this person's programs keep their state."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "mcp-approval-gateway"
