"""Two releases over one database: side by side while one can work with what the other writes, and
one clear line where it cannot."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import ClassVar

import pytest
import sqlalchemy

from pytest_mcp_approval.reference_server import ApprovalStore, command_line
from pytest_mcp_approval.reference_server.server.database_schema import TABLE
from pytest_mcp_approval.reference_server.server.tables import RecordStore, Schema, SchemaError


@dataclass(frozen=True)
class Note:
    id: str
    text: str


@dataclass(frozen=True)
class LongerNote(Note):
    author: str | None = None


@dataclass(frozen=True)
class StricterNote(Note):
    author: str


class Notes(RecordStore):
    prefix: ClassVar[str] = "notes_"
    record: ClassVar[type[Note]] = Note

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.notes = self.table("all", self.record)


class NewNotes(Notes):
    """The next release: it remembers more."""

    schema = Schema(version=2, usable_by=1)
    record = LongerNote


class LaterNotes(NewNotes):
    """The one after it, with which the first one cannot work any more."""

    schema = Schema(version=3, usable_by=2, upgrades=2)


class StrictNotes(Notes):
    """A mistake: a new member that may not be empty."""

    schema = Schema(version=2)
    record = StricterNote


@pytest.fixture
def opened(database_url):
    stores = []

    def open_one(kind):
        stores.append(kind(database_url))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


def version(url):
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        row = connection.exec_driver_sql(f"SELECT version, usable_by FROM {TABLE}").one()
    engine.dispose()
    return tuple(row)


def test_two_releases_work_side_by_side(opened, database_url):
    old = opened(Notes)
    assert old.notes.add(Note("1", "by the old"))
    new = opened(NewNotes)
    assert new.notes.get("1") == LongerNote("1", "by the old", None)
    assert version(database_url) == (2, 1)
    assert new.notes.add(LongerNote("2", "by the new", "alice"))
    assert old.notes.get("2") == Note("2", "by the new"), "the old one still runs"
    assert old.notes.change("2", {"text": "by the new"}, text="changed")
    assert old.notes.add(Note("3", "by the old"))
    assert new.notes.get("2") == LongerNote("2", "changed", "alice"), "what it does not know stays"
    assert new.notes.get("3") == LongerNote("3", "by the old", None)
    assert opened(Notes).notes.get("1"), "the old one may even start again: a way back"
    assert version(database_url) == (2, 1)


def test_a_release_that_is_too_old_says_so(opened):
    assert opened(NewNotes).notes.find() == []
    assert opened(LaterNotes).notes.find() == []
    for use in (lambda store: store.notes.find(), lambda store: store.check_schema()):
        with pytest.raises(SchemaError, match="of a newer release") as caught:
            use(opened(Notes))
        assert "got schema 3, usable from schema 2 on, and this release has 1" in str(caught.value)
        assert "\n" not in str(caught.value)
    assert opened(NewNotes).notes.find() == []


def test_tables_that_are_too_old_are_left_alone(opened, database_url):
    opened(Notes).notes.find()
    with pytest.raises(SchemaError, match="too old: got schema 1, expected 2 to 3"):
        opened(LaterNotes).notes.find()
    assert version(database_url) == (1, 1)


def test_a_member_that_may_not_be_empty_is_no_upgrade(opened, database_url):
    opened(Notes).notes.find()
    with pytest.raises(SchemaError, match="author is missing, and is one that may not be empty"):
        opened(StrictNotes).notes.find()
    assert version(database_url) == (1, 1)


def test_replicas_that_upgrade_together_agree(opened, database_url):
    opened(Notes).notes.add(Note("1", "old"))
    stores = [opened(NewNotes) for _ in range(4)]
    start = threading.Barrier(len(stores), timeout=30)
    found: list[object] = []

    def look(store):
        start.wait()
        found.append(store.notes.get("1"))

    threads = [threading.Thread(target=look, args=[one]) for one in stores]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert found == [LongerNote("1", "old", None)] * len(stores)
    assert version(database_url) == (2, 1)


def test_tables_from_before_the_list_are_of_the_first_version(opened, database_url):
    opened(Notes).notes.add(Note("1", "old"))
    engine = sqlalchemy.create_engine(database_url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP TABLE {TABLE}")
    engine.dispose()
    assert opened(NewNotes).notes.get("1") == LongerNote("1", "old", None)


def test_a_server_does_not_start_over_tables_of_a_newer_release(tmp_path, capsys):
    path = tmp_path / "store.db"
    store = ApprovalStore(f"sqlite:///{path}")
    store.server_id()
    with store._database.engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE {TABLE} SET version = 9, usable_by = 8")
    store.close()
    assert command_line.main(["--stdio", "--store", f"sqlite:{path}"]) == 2
    said = capsys.readouterr().err
    assert "--store: the tables of sep2672 are of a newer release: got schema 9" in said
    assert said.count("\n") == 1
