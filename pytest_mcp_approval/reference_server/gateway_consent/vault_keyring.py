"""A vault in the key store of the operating system, through the library `keyring`.

Keychain, Credential Manager, or the Secret Service: each encrypts what it holds. Their limits are
respected: names are short and of one length, and a text beyond the lowest limit (Windows: 2560
bytes, two for a character) is written in parts, the new ones before the old ones are removed. Key
stores cannot list their content, so an index is stored too. Knows no consent and no credential.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import json
import re
import secrets
import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ...families.gateway_consent.vocabulary import KEY_STORE_SERVICE
from .locking import FileLock
from .vault import Key, Record, Vault, VaultError
from .vault_file import LOCK_FILE, make_private

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = KEY_STORE_SERVICE
INDEX = "index"
_PART = 1000
"""Characters of one part: ASCII."""
_READABLE = 80
_PROBE_SECONDS = 5.0
# Backends that store nothing, or store it in clear text.
_UNFIT = ("keyring.backends.fail", "keyring.backends.null", "keyrings.alt")

Result = TypeVar("Result")


class KeyringVault(Vault):
    """`folder` contains only the lock that processes share. A temporary one goes when the vault
    is closed."""

    storage = "keyring"

    def __init__(
        self,
        backend: KeyringBackend | TrialKeyStore,
        folder: Path,
        *,
        temporary: bool = False,
    ) -> None:
        self.folder: Path = folder
        self._backend = backend
        self._temporary = temporary
        if temporary:
            atexit.register(self.close)  # should nobody close it
        make_private(folder)
        self._lock = FileLock(folder / LOCK_FILE)

    def load(self, kind: str, *key: str) -> Record | None:
        with self.exclusive():
            text = self._read(address(kind, key))
        return None if text is None else json.loads(text)["record"]

    def save(self, kind: str, record: Record, *key: str) -> None:
        name = address(kind, key)
        with self.exclusive():
            index = self._index()
            if index.get(name) != kind:
                # Before the record, so that every record can be found and deleted.
                self._write(INDEX, json.dumps({**index, name: kind}))
            self._write(name, json.dumps({"key": key, "record": record}))

    def delete(self, kind: str, *key: str) -> None:
        name = address(kind, key)
        with self.exclusive():
            self._erase(name)
            index = self._index()
            if index.pop(name, None) is not None:
                self._write(INDEX, json.dumps(index))

    def keys(self, kind: str) -> list[Key]:
        with self.exclusive():
            names = [name for name, own in self._index().items() if own == kind]
            texts = [self._read(name) for name in names]
        return [tuple(json.loads(text)["key"]) for text in texts if text is not None]

    def accounts(self) -> list[str]:
        """The names under which it keeps its records, without those of parts."""
        with self.exclusive():
            return sorted(self._index())

    def exclusive(self) -> AbstractContextManager[None]:
        return self._lock.held()

    def reset(self) -> None:
        with self.exclusive():
            for name in self._index():
                self._erase(name)
            self._erase(INDEX)

    def close(self) -> None:
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
            atexit.unregister(self.close)

    # ---- texts of any length under a name

    def _index(self) -> dict[str, str]:
        text = self._read(INDEX)
        found: dict[str, str] = {} if text is None else json.loads(text)
        return found

    def _read(self, name: str) -> str | None:
        head = self._get(name)
        if head is None:
            return None
        parts = [self._get(part) for part in _parts(name, head)]
        if None in parts:
            raise VaultError("the key store: got a record without one of its parts")
        return head[1:] if head.startswith("=") else "".join(filter(None, parts))

    def _write(self, name: str, text: str) -> None:
        old = self._get(name)
        if len(text) < _PART:
            self._set(name, f"={text}")
        else:
            starts = range(0, len(text), _PART)
            pieces = [text[start : start + _PART] for start in starts]
            head = f"{len(pieces)} {secrets.token_hex(8)}"
            for part, piece in zip(_parts(name, head), pieces, strict=True):
                self._set(part, piece)
            self._set(name, head)
        for part in _parts(name, old or "="):
            self._unset(part)

    def _erase(self, name: str) -> None:
        head = self._get(name)
        if head is not None:
            self._unset(name)
            for part in _parts(name, head):
                self._unset(part)

    # ---- the key store

    def _get(self, name: str) -> str | None:
        return self._asked(lambda: self._backend.get_password(SERVICE, name))

    def _set(self, name: str, text: str) -> None:
        self._asked(lambda: self._backend.set_password(SERVICE, name, text))

    def _unset(self, name: str) -> None:
        from keyring.errors import PasswordDeleteError

        def delete() -> None:
            with contextlib.suppress(PasswordDeleteError):  # it is not there
                self._backend.delete_password(SERVICE, name)

        self._asked(delete)

    def _asked(self, question: Callable[[], Result]) -> Result:
        try:
            return question()
        except Exception as error:
            # Backends may raise anything, and their messages may contain the secret.
            raise VaultError(f"the key store: {type(error).__name__}") from None


def address(kind: str, key: Key) -> str:
    """One name for one kind and key: what a person may read of it, and a digest that decides.

    The document has cred-<appId>; of an id with other characters, or a long one, a part is shown.
    JSON of a list is unambiguous (joined text is not: "a-b", "c" and "a", "b-c"), and SHA-256 makes
    it short: Windows allows names of 337 bytes, others less.
    """
    text = json.dumps([kind, *key], ensure_ascii=True, separators=(",", ":"))
    readable = re.sub(r"[^A-Za-z0-9._-]", "", key[-1] if key else "")[:_READABLE]
    return f"{kind}-{readable}-{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _parts(name: str, head: str) -> list[str]:
    if head.startswith("="):
        return []
    count, _, generation = head.partition(" ")
    return [f"{name}.{generation}.{number}" for number in range(int(count))]


# ---- a key store to try it with


class TrialKeyStore:
    """For machines that have none: it shows where things would go. It is in a vault, so that every
    process over one file has the same, as those of one person share a system's."""

    _KIND = "password"

    def __init__(self, kept: Vault) -> None:
        self._kept = kept

    def get_password(self, service: str, name: str) -> str | None:
        found = self._kept.load(self._KIND, service, name)
        return None if found is None else str(found["text"])

    def set_password(self, service: str, name: str, text: str) -> None:
        self._kept.save(self._KIND, {"text": text}, service, name)

    def delete_password(self, service: str, name: str) -> None:
        self._kept.delete(self._KIND, service, name)


# ---- whether there is a key store


def usable_backend() -> KeyringBackend | None:
    """The key store of this machine, if there is one that encrypts and works; None otherwise."""
    import keyring
    from keyring.backends.chainer import ChainerBackend

    try:
        chosen = keyring.get_keyring()
        several = chosen.backends if isinstance(chosen, ChainerBackend) else [chosen]
        return next((one for one in several if fit(one) and works(one)), None)
    except Exception:
        # A backend that fails to load does not count.
        return None


def fit(backend: Any) -> bool:
    """By the library's own rating: a priority below 1 is not recommended."""
    module = type(backend).__module__
    return not module.startswith(_UNFIT) and getattr(backend, "priority", 0) >= 1


def works(backend: Any, seconds: float = _PROBE_SECONDS) -> bool:
    """A round trip, in a thread: a locked key store may wait for a person who is not there."""
    outcome: list[bool] = []

    def probe() -> None:
        name, text = f"probe {secrets.token_hex(8)}", secrets.token_hex(8)
        try:
            backend.set_password(SERVICE, name, text)
            outcome.append(backend.get_password(SERVICE, name) == text)
            backend.delete_password(SERVICE, name)
        except Exception:
            outcome.insert(0, False)

    thread = threading.Thread(target=probe, name="key store probe", daemon=True)
    thread.start()
    thread.join(seconds)
    return outcome[:1] == [True] and not thread.is_alive()
