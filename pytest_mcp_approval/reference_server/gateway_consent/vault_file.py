"""A vault in one encrypted file, for machines without a key store.

AES-256-GCM over all records at once, so that neither names nor their number are readable, and any
change to the file is noticed. A new file replaces the old one as a whole: a process that dies while
writing leaves the old one. Several processes share it, one writing at a time. The key comes from
the environment, or from a file beside it that only its owner may read. Knows no consent and no
credential.
"""

from __future__ import annotations

import atexit
import base64
import binascii
import contextlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from ...families.gateway_consent.vocabulary import VAULT_KEY_VARIABLE
from .locking import FileLock
from .vault import Records, VaultError, WholeVault

FILE = "vault"
KEY_FILE = "vault.key"
LOCK_FILE = "vault.lock"
HEAD = b"mcp-approval vault 1\n"
"""Says what the file is; it is authenticated too."""
KEY_BYTES = 32
_NONCE_BYTES = 12


class FileVault(WholeVault):
    """The vault in a folder. A temporary one is removed when it is closed."""

    storage = "file"
    folder: Path

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        temporary: bool = False,
    ) -> None:
        self.folder = folder
        self._temporary = temporary
        self._remove = partial(shutil.rmtree, folder, ignore_errors=True)
        if temporary:
            atexit.register(self._remove)  # in case nobody closes it
        make_private(folder)
        self._path = folder / FILE
        self._lock = FileLock(folder / LOCK_FILE)
        self._key = self.read_key(os.environ if environment is None else environment)
        self._all()  # with a wrong key nothing starts, instead of every decision being lost

    # ---- the key

    def read_key(self, environment: Mapping[str, str]) -> bytes:
        given = environment.get(VAULT_KEY_VARIABLE)
        if given is not None:
            return _key_from(given, VAULT_KEY_VARIABLE)
        path = self.folder / KEY_FILE
        with self.exclusive():
            if not path.exists():
                self._write(path, base64.b64encode(secrets.token_bytes(KEY_BYTES)))
            self.check_private(path)
            return _key_from(path.read_text(encoding="ascii", errors="replace"), KEY_FILE)

    def check_private(self, path: Path) -> None:
        """A key file must not be readable by others."""
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            mode = stat.S_IMODE(path.stat().st_mode)
            raise VaultError(f"{path.name}: got mode {mode:04o}, expected 0600; chmod 600 it")

    # ---- encryption

    def seal(self, plain: bytes) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return HEAD + nonce + AESGCM(self._key).encrypt(nonce, plain, HEAD)

    def unseal(self, content: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if not content.startswith(HEAD):
            raise VaultError(f"{FILE}: got another sort of file, expected a vault")
        sealed = content[len(HEAD) :]
        try:
            return AESGCM(self._key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], HEAD)
        except (InvalidTag, ValueError):
            raise VaultError(
                f"{FILE}: cannot be opened with this key, or is damaged; use the right key, or "
                "move the file away and decide everything again"
            ) from None

    # ---- records

    def _all(self) -> Records:
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise VaultError(f"{FILE}: cannot be read: {error.strerror}") from None
        entries: list[Any] = json.loads(self.unseal(content))
        return {(kind, tuple(key)): record for kind, key, record in entries}

    def _store(self, records: Records) -> None:
        entries = [[kind, list(key), record] for (kind, key), record in records.items()]
        self._write(self._path, self.seal(json.dumps(entries).encode()))

    def _write(self, path: Path, content: bytes) -> None:
        """All or nothing, and on disk when this returns."""
        fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
        try:
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                fresh.replace(path)
            except BaseException:
                fresh.unlink(missing_ok=True)
                raise
            _sync(path.parent)
        except OSError as error:
            raise VaultError(f"{path.name}: cannot be written: {error.strerror}") from None

    @contextmanager
    def _changing(self) -> Iterator[Records]:
        with self.exclusive():
            records = self._all()
            yield records
            self._store(records)

    def exclusive(self) -> AbstractContextManager[None]:
        return self._lock.held()

    def close(self) -> None:
        if self._temporary:
            self._remove()
            atexit.unregister(self._remove)


def make_private(folder: Path) -> None:
    """A folder that only its owner can read."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise VaultError(f"folder: cannot make {folder}: {error.strerror}") from None


def _key_from(text: str, name: str) -> bytes:
    """The key itself is never shown."""
    try:
        key = base64.b64decode(text.strip().encode("ascii", "replace"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise VaultError(f"{name}: got no valid key, expected base64 of {KEY_BYTES} bytes")
    return key


def _sync(folder: Path) -> None:
    """The folder's entry itself, in case the machine fails; not every system supports this."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
