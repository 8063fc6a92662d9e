"""Vaults: what is saved is found, by whoever shares it, and by nobody who only has the files."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keyring.errors
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keyring.backend import KeyringBackend
from keyring.backends import fail, null
from keyring.backends.chainer import ChainerBackend

from pytest_mcp_approval.families.gateway_consent.vocabulary import VAULT_KEY_VARIABLE
from pytest_mcp_approval.reference_server.gateway_consent import vault_keyring
from pytest_mcp_approval.reference_server.gateway_consent.settings import Storage, read_settings
from pytest_mcp_approval.reference_server.gateway_consent.store import open_vault, own_folder
from pytest_mcp_approval.reference_server.gateway_consent.vault import (
    MemoryVault,
    Vault,
    VaultError,
)
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import (
    FILE,
    HEAD,
    KEY_FILE,
    LOCK_FILE,
    FileVault,
)
from pytest_mcp_approval.reference_server.gateway_consent.vault_keyring import (
    KeyringVault,
    address,
)

ROOT = Path(__file__).parents[3]
SECRET = "a very secret value"
CALLER = "A caller that nobody should read of"
DEADLINE = 30


class WindowsLike(KeyringBackend):
    """A key store by the library's own plug-in interface, with the limits of the tightest one."""

    priority = 5

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}
        self.broken = False

    def get_password(self, service: str, username: str) -> str | None:
        self._check(service, username)
        return self.held.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check(service, username)
        if len(password.encode("utf-16-le")) > 2560:
            raise keyring.errors.PasswordSetError(f"too long: {password}")
        self.held[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check(service, username)
        try:
            del self.held[service, username]
        except KeyError:
            raise keyring.errors.PasswordDeleteError("not there") from None

    def _check(self, service: str, username: str) -> None:
        if self.broken:
            raise keyring.errors.KeyringLocked(f"locked, with {SECRET}")
        assert len(f"{username}@{service}") < 337


Opener = Callable[[], Vault]


@pytest.fixture(params=["memory", "file", "key store"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same vault again and again, as processes or restarts would."""
    if request.param == "memory":
        kept = MemoryVault()
        return lambda: kept
    if request.param == "file":
        return lambda: FileVault(tmp_path, {})
    backend = WindowsLike()
    return lambda: KeyringVault(backend, tmp_path)


def test_what_is_saved_is_found_again(opener: Opener) -> None:
    vault = opener()
    assert vault.load("consent", "A", "x") is None
    assert vault.keys("consent") == []
    vault.save("consent", {"n": 1}, "A", "x")
    vault.save("consent", {"n": 2}, "A", "x")
    vault.save("consent", {"n": 3}, "x", "A")
    vault.save("credential", {"n": 4}, "A", "x")
    other = opener()
    assert other.load("consent", "A", "x") == {"n": 2}
    assert sorted(other.keys("consent")) == [("A", "x"), ("x", "A")]
    other.delete("consent", "A", "x")
    other.delete("consent", "never there")
    assert vault.load("consent", "A", "x") is None
    assert vault.keys("consent") == [("x", "A")]
    assert vault.load("credential", "A", "x") == {"n": 4}
    vault.reset()
    assert [vault.keys("consent"), other.keys("credential")] == [[], []]


def test_a_record_that_was_handed_out_is_a_copy(opener: Opener) -> None:
    vault, record = opener(), {"tools": {"a": 1}}
    vault.save("consent", record, "A")
    record["tools"]["a"] = 2
    found = vault.load("consent", "A")
    assert found == {"tools": {"a": 1}}
    found["tools"]["a"] = 3
    assert vault.load("consent", "A") == {"tools": {"a": 1}}


@pytest.mark.parametrize("text", ["", "\x00\n", "\u202e<b>", "é" * 10_000, "\U0001f600" * 3000])
def test_any_text_will_do(opener: Opener, text: str) -> None:
    vault = opener()
    vault.save("consent", {text: [text, {"": None}]}, text, "x")
    vault.save("consent", {"other": True}, text + "-", "x")
    assert opener().load("consent", text, "x") == {text: [text, {"": None}]}
    assert sorted(opener().keys("consent")) == sorted([(text, "x"), (text + "-", "x")])
    vault.save("consent", {}, text, "x")
    assert opener().load("consent", text, "x") == {}


def test_exclusive_can_be_taken_again_by_who_has_it(opener: Opener) -> None:
    vault = opener()
    with vault.exclusive(), vault.exclusive():
        vault.save("consent", {"n": 1}, "A")
        assert vault.load("consent", "A") == {"n": 1}
    with vault.exclusive():
        pass


_KEYS = st.lists(st.text(max_size=8), min_size=1, max_size=3).map(tuple)


@given(st.sampled_from(["a", "b"]), _KEYS, st.sampled_from(["a", "b"]), _KEYS)
def test_no_two_keys_share_an_address(
    kind: str, key: tuple[str, ...], other_kind: str, other: tuple[str, ...]
) -> None:
    assert (address(kind, key) == address(other_kind, other)) == (
        (kind, key) == (other_kind, other)
    )
    assert len(address(kind, key)) <= len(kind) + 64 + 80 + 2


# ---- the file


def everything_in(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_nothing_is_in_clear_and_only_the_owner_may_read(tmp_path: Path) -> None:
    folder = tmp_path / "gateway"
    FileVault(folder, {}).save("credential", {"value": SECRET}, CALLER, "com.x")
    content = everything_in(folder)
    for text in (SECRET, CALLER, "com.x", "credential"):
        for form in (
            text.encode(),
            base64.b64encode(text.encode())[:-4],
            text.encode().hex().encode(),
        ):
            assert form not in content  # fmt: skip
    assert {path.name for path in folder.iterdir()} == {FILE, KEY_FILE, LOCK_FILE}
    if os.name == "posix":
        assert folder.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_two_writings_of_one_record_are_not_alike(tmp_path: Path) -> None:
    vault = FileVault(tmp_path, {})
    vault.save("consent", {"n": 1}, "A")
    first = (tmp_path / FILE).read_bytes()
    vault.save("consent", {"n": 1}, "A")
    assert (tmp_path / FILE).read_bytes()[len(HEAD) :][:12] != first[len(HEAD) :][:12]


def test_the_key_may_come_from_the_environment(tmp_path: Path) -> None:
    key = {VAULT_KEY_VARIABLE: base64.b64encode(bytes(range(32))).decode()}
    FileVault(tmp_path, key).save("consent", {"n": 1}, "A")
    assert not (tmp_path / KEY_FILE).exists()
    assert FileVault(tmp_path, key).load("consent", "A") == {"n": 1}
    other = {VAULT_KEY_VARIABLE: base64.b64encode(bytes(32)).decode()}
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(VaultError, match="cannot be opened with this key"):
        FileVault(tmp_path, other)
    with pytest.raises(VaultError, match="cannot be opened with this key"):
        FileVault(tmp_path, {})
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("text", ["", "short", "x" * 44, base64.b64encode(bytes(31)).decode(), "é"])
def test_a_key_that_is_none_starts_nothing_and_is_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(VaultError, match=f"{VAULT_KEY_VARIABLE}: got no valid key") as error:
        FileVault(tmp_path, {VAULT_KEY_VARIABLE: text})
    assert not text or text not in str(error.value)


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such modes")
def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    FileVault(tmp_path, {})
    (tmp_path / KEY_FILE).chmod(0o640)
    with pytest.raises(VaultError, match="got mode 0640, expected 0600"):
        FileVault(tmp_path, {})


@pytest.mark.parametrize("place", [0, len(HEAD), len(HEAD) + 12, -1])
def test_any_change_of_the_file_is_noticed(tmp_path: Path, place: int) -> None:
    vault = FileVault(tmp_path, {})
    vault.save("consent", {"n": 1}, "A")
    content = bytearray((tmp_path / FILE).read_bytes())
    content[place] ^= 1
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(VaultError):
        vault.load("consent", "A")
    with pytest.raises(VaultError):
        vault.save("consent", {"n": 2}, "A")
    assert (tmp_path / FILE).read_bytes() == content


def test_a_writer_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = FileVault(tmp_path, {})
    vault.save("consent", {"n": 1}, "A")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(VaultError, match="vault: cannot be written: No space left"):
            vault.save("consent", {"n": 2}, "A")
    assert vault.load("consent", "A") == {"n": 1}
    assert {path.name for path in tmp_path.iterdir()} == {FILE, KEY_FILE, LOCK_FILE}


_COUNTING = """
import sys
from pathlib import Path
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import FileVault
vault = FileVault(Path(sys.argv[1]), {})
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    with vault.exclusive():
        record = vault.load("count", "shared") or {"n": 0}
        vault.save("count", {"n": record["n"] + 1}, "shared")
    vault.save("own", {}, sys.argv[2], str(number))
"""


def test_several_processes_share_one_file(tmp_path: Path) -> None:
    """Three that start together, of which one makes the key, and none loses what another wrote."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _COUNTING, str(tmp_path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        for number in range(3)
    ]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        for process in running:
            process.communicate(timeout=DEADLINE)
            assert process.returncode == 0
    finally:
        for process in running:
            process.kill()
            process.wait(DEADLINE)
    vault = FileVault(tmp_path, {})
    assert vault.load("count", "shared") == {"n": 60}
    assert len(vault.keys("own")) == 60


def test_who_waits_too_long_for_the_lock_is_told(tmp_path: Path) -> None:
    vault, other = FileVault(tmp_path, {}), FileVault(tmp_path, {})
    other._lock._seconds = 0.02
    with vault.exclusive(), pytest.raises(VaultError, match="held by another process"):
        other.save("consent", {}, "A")
    other.save("consent", {}, "A")


_FORGETTING = """
import sys
from pathlib import Path
from pytest_mcp_approval.reference_server.gateway_consent.vault_file import FileVault
FileVault(Path(sys.argv[1]), {}, temporary=True).save("consent", {}, "A")
"""


def test_a_temporary_vault_goes_with_its_process(tmp_path: Path) -> None:
    folder = tmp_path / "temporary"
    subprocess.run(
        [sys.executable, "-c", _FORGETTING, str(folder)], cwd=ROOT, check=True, timeout=DEADLINE
    )
    assert not folder.exists()
    kept = FileVault(folder, {})
    kept.close()
    assert folder.exists()


# ---- the key store


def test_parts_that_are_no_longer_needed_go(tmp_path: Path) -> None:
    backend = WindowsLike()
    vault = KeyringVault(backend, tmp_path)
    vault.save("consent", {"n": 1}, "A")
    least = len(backend.held)
    vault.save("consent", {"n": "x" * 9000}, "A")
    assert len(backend.held) > least + 8
    vault.save("consent", {"n": "y" * 9000}, "A")
    vault.save("consent", {"n": 2}, "A")
    assert len(backend.held) == least
    vault.reset()
    assert backend.held == {}
    assert {path.name for path in tmp_path.iterdir()} == {LOCK_FILE}


def test_hundreds_of_records_are_found_again(tmp_path: Path) -> None:
    vault = KeyringVault(WindowsLike(), tmp_path)
    names = {(str(number), "x") for number in range(60)}
    for name in names:
        vault.save("consent", {}, *name)
    assert set(vault.keys("consent")) == names


def test_a_key_store_that_fails_is_an_error_without_its_words(tmp_path: Path) -> None:
    backend = WindowsLike()
    vault = KeyringVault(backend, tmp_path)
    vault.save("consent", {"n": 1}, "A")
    backend.broken = True
    for act in (
        lambda: vault.load("consent", "A"),
        lambda: vault.save("consent", {}, "A"),
        lambda: vault.delete("consent", "A"),
        vault.reset,
    ):
        with pytest.raises(VaultError, match="the key store: KeyringLocked") as error:
            act()
        assert SECRET not in str(error.value)


class Slow(WindowsLike):
    """Waits for a person, who comes when the test is over."""

    def __init__(self) -> None:
        super().__init__()
        self.person = threading.Event()

    def set_password(self, service: str, username: str, password: str) -> None:
        self.person.wait(DEADLINE)


class Forgetful(WindowsLike):
    def get_password(self, service: str, username: str) -> str | None:
        return None


class Unrecommended(WindowsLike):
    priority = 0.5  # type: ignore[assignment]


class Chain(ChainerBackend):
    backends = ()


def chain(*several: KeyringBackend) -> ChainerBackend:
    made = Chain()
    made.backends = several  # type: ignore[assignment]
    return made


# The library takes every class that it sees for a candidate; these are for these tests only.
for double in (WindowsLike, Slow, Forgetful, Unrecommended, Chain):
    KeyringBackend._classes.discard(double)


def test_a_usable_key_store_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    good, locked = WindowsLike(), WindowsLike()
    locked.broken = True
    for found, expected in (
        (good, good),
        (chain(fail.Keyring(), locked, good), good),
        (locked, None),
        (fail.Keyring(), None),
        (null.Keyring(), None),
        (Forgetful(), None),
        (Unrecommended(), None),
        (chain(), None),
    ):
        monkeypatch.setattr(keyring, "get_keyring", lambda found=found: found)
        assert vault_keyring.usable_backend() is expected
    assert good.held == {}


def test_a_key_store_that_waits_for_a_person_is_not_waited_for() -> None:
    slow = Slow()
    try:
        assert vault_keyring.works(slow, seconds=0.02) is False
    finally:
        slow.person.set()


# ---- which one it is


def test_the_vault_is_chosen_by_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VAULT_KEY_VARIABLE, raising=False)
    database = f"sqlite:///{tmp_path}/store.db"
    here = {"folder": str(tmp_path / "named")}

    def chosen(url: str | None, **settings: Any) -> tuple[str, Path | None]:
        vault = open_vault(read_settings(settings), url)
        try:
            return vault.storage, vault.folder
        finally:
            vault.close()

    monkeypatch.setattr(keyring, "get_keyring", fail.Keyring)
    assert chosen(None) == (Storage.MEMORY, None)
    assert chosen(database, storage="memory") == (Storage.MEMORY, None)
    assert chosen(database) == (Storage.FILE, tmp_path / "store.db-gateway")
    assert chosen(database, **here) == (Storage.FILE, tmp_path / "named")
    assert chosen(None, storage="system", **here) == (Storage.FILE, tmp_path / "named")
    with pytest.raises(VaultError, match="no key store that can be used"):
        chosen(None, storage="keyring", **here)
    storage, folder = chosen(None, storage="file")
    assert storage == Storage.FILE
    assert folder is not None
    assert not folder.exists()

    good = WindowsLike()
    monkeypatch.setattr(keyring, "get_keyring", lambda: good)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "state"))
    assert own_folder().is_relative_to(tmp_path)
    assert chosen(None, storage="system") == (Storage.KEYRING, own_folder())
    assert chosen(None, storage="keyring", **here) == (Storage.KEYRING, tmp_path / "named")


# ---- a key store to try it with


def test_a_trial_key_store_shows_the_documents_places_and_goes_with_its_vault():
    vault = open_vault(read_settings({"storage": "trial"}), None)
    vault.save("cred", {"type": "apiKey", "value": SECRET}, "Cursor", "com.example/mail")
    vault.save("cred", {"type": "apiKey", "value": SECRET}, "Windsurf", "com.example/mail")
    names = vault.accounts()
    assert len(set(names)) == 2, "one for each caller"
    assert all(name.startswith("cred-com.examplemail-") for name in names)
    assert not any(SECRET in name or "Cursor" in name for name in names)
    vault.delete("cred", "Cursor", "com.example/mail")
    assert len(vault.accounts()) == 1
    assert vault.folder is not None
    vault.close()
    assert not vault.folder.exists()


def test_processes_over_one_folder_share_a_trial_key_store(tmp_path: Path):
    settings = read_settings({"storage": "trial", "folder": str(tmp_path)})
    one, other = open_vault(settings, None), open_vault(settings, None)
    one.save("cred", {"type": "apiKey", "value": SECRET}, "Cursor", "com.example.mail")
    assert other.load("cred", "Cursor", "com.example.mail") == {"type": "apiKey", "value": SECRET}
    assert other.accounts() == one.accounts() != []
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in written
    other.reset()
    assert one.accounts() == []


def test_a_vault_in_no_key_store_has_no_names_there(tmp_path: Path):
    for settings in ({"storage": "memory"}, {"storage": "file", "folder": str(tmp_path)}):
        vault = open_vault(read_settings(settings), None)
        vault.save("cred", {"value": SECRET}, "Cursor", "com.example.mail")
        assert vault.accounts() == []
        vault.close()
