"""Database files belong to their owner alone, and no password is shown."""

import logging
import os
import socket
import stat

import pytest

from pytest_mcp_approval.reference_server.command_line import UsageError, main, store_url
from pytest_mcp_approval.reference_server.sep2672.store import ApprovalStore
from pytest_mcp_approval.reference_server.server.database_url import shown, without_secrets

SECRET = "t0p-s3cret"


@pytest.fixture
def open_umask():
    before = os.umask(0o000)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.parametrize("asked", ["library", "command line"])
def test_a_database_file_is_its_owner_s_alone(tmp_path, asked):
    path = tmp_path / "store.db"
    url = store_url(f"sqlite:{path}") if asked == "command line" else f"sqlite:///{path}"
    store = ApprovalStore(url)
    try:
        store.user_handle("somebody")
        found = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
        assert {"store.db", "store.db-wal", "store.db-shm"} == found.keys()
        assert set(found.values()) == {0o600}
    finally:
        store.close()


def test_a_file_that_others_can_read_stays_so_and_is_warned_about(tmp_path, caplog):
    path = tmp_path / "store.db"
    path.touch()
    path.chmod(0o644)
    with caplog.at_level(logging.WARNING):
        store_url(f"sqlite:{path}")
    assert "got mode 0644, expected 0600" in caplog.text
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


STORES = [
    f"postgresql+nothing://me:{SECRET}@localhost/db",
    f"bogus//me:{SECRET}@localhost",
    f"bogus://me:{SECRET}@localhost:not-a-port/db",
    f"postgresql+psycopg://me:{SECRET}@127.0.0.1:{{port}}/db",
    f"postgresql+psycopg://127.0.0.1:{{port}}/db?user=me&password={SECRET}",
    f"postgresql+psycopg://127.0.0.1:{{port}}/db?connect_timeout={SECRET}&password={SECRET}",
]


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_cannot_be_opened_shows_no_password(store, capsys):
    url = store.format(port=closed_port())
    with pytest.raises(UsageError) as caught:
        store_url(url)
    assert "--store: " in str(caught.value)
    assert SECRET not in str(caught.value)
    assert main(["--stdio", "--store", url]) == 2
    assert SECRET not in capsys.readouterr().err


def test_the_rest_of_an_address_is_shown():
    assert shown(f"postgresql://me:{SECRET}@db.example/x?sslmode=require") == (
        "postgresql://me:***@db.example/x?sslmode=require"
    )
    assert shown("sqlite:////srv/store.db") == "sqlite:////srv/store.db"
    assert without_secrets(f"bad option {SECRET}", f"postgresql://me:{SECRET}@x") == (
        "bad option ***"
    )
