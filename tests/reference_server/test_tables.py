"""Tables in memory do what tables in a database do, and take no longer if they hold much."""

import random
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_mcp_approval.reference_server.server import memory, tables
from pytest_mcp_approval.reference_server.server.tables import RecordStore


@dataclass(frozen=True)
class Note:
    key: str
    owner: str
    until: int | None
    used: bool = False


class Notes(RecordStore):
    def __init__(self, url=None):
        super().__init__(url)
        self.notes = self.table("notes", Note, is_ordered=True, indexed=("owner", "until"))


@pytest.fixture
def both(new_database):
    made = [Notes(), Notes(new_database("sqlite"))]
    yield [one.notes for one in made]
    for one in made:
        one.close()


def steps(choose: random.Random):
    key, owner = f"k{choose.randrange(40)}", choose.choice("abc")
    until = choose.choice([None, *range(20)])
    below = choose.randrange(20)
    return choose.choice(
        [
            lambda table: table.add(Note(key, owner, until)),
            lambda table: table.add(Note(key, owner, until)),
            lambda table: table.change(key, {"used": False}, used=True),
            lambda table: table.change(key, until=until, owner=owner),
            lambda table: table.remove(key, lambda note: note.used == True),  # noqa: E712
            lambda table: table.remove_all({"owner": owner, "used": True}),
            lambda table: table.remove_all(lambda note: note.until < below // 4),
            lambda table: table.remove_below("until", below // 3),
            lambda table: table.keep_most({"owner": owner}, 1 + below // 3, "until"),
            lambda table: {
                note.key for note in table.change_all({"owner": owner, "until": until}, used=True)
            },
            lambda table: {note.key for note in table.find({"owner": owner})},
            lambda table: table.find({"until": until, "used": False}) and "some",
        ]
    )


def test_what_is_gone_leaves_nothing_behind():
    """Records are bounded by a limit or by hand: so is what is kept to find the oldest of them."""
    table: Any = Notes().notes
    table.remove_below("until", 0)
    for number in range(3000):
        table.add(Note(f"k{number}", "a", number))
        table.keep_most({"owner": "a"}, 5, "until")
        table.change(f"k{number}", until=number + 1)
    assert len(table.find()) <= 6
    assert len(table._least["until"]) <= 2 * 6 + memory._SPARE + 1
    table.remove_below("until", 3000)
    assert [note.until for note in table.find()] == [3000]


@pytest.mark.parametrize("seed", range(8))
def test_memory_and_database_do_the_same(both, seed, monkeypatch):
    monkeypatch.setattr(memory, "_SPARE", 0)  # tidied up all the time
    choose = random.Random(seed)
    for number in range(150):
        step = steps(choose)
        results = [step(table) for table in both]
        assert results[0] == results[1], (seed, number)
        kept = [sorted(table.find(), key=lambda note: note.key) for table in both]
        assert kept[0] == kept[1], (seed, number)


def test_records_come_in_the_order_in_which_they_were_added(both):
    for table in both:
        for name in "cab":
            table.add(Note(name, "x", 1))
        table.add(Note("z", "y", 1))
        table.change("c", used=True)
        assert [note.key for note in table.find({"owner": "x"})] == ["c", "a", "b"]
        assert [note.key for note in table.find({"owner": "x"}, newest=2)] == ["a", "b"]


def test_the_most_are_kept_and_those_that_equal_the_last(both):
    for table in both:
        for name, until in zip("abcde", (5, 3, 3, 9, 1), strict=True):
            table.add(Note(name, "x", until))
        table.add(Note("other", "y", 0))
        table.keep_most({"owner": "x"}, 3, "until")
        assert [note.key for note in table.find()] == ["a", "b", "c", "d", "other"]


def test_what_is_indexed_is_not_searched_for(monkeypatch):
    table: Any = Notes().notes
    for number in range(20_000):
        table.add(Note(str(number), str(number % 5000), number))
    looked_at = []
    holds = tables.holds
    monkeypatch.setattr(
        memory, "holds", lambda where, one: looked_at.append(one) or holds(where, one)
    )
    assert len(table.find({"owner": "7"})) == 4
    table.keep_most({"owner": "8"}, 2, "until")
    table.remove_below("until", 10)
    table.change("500", {"used": False}, used=True)
    assert len(looked_at) <= 10
    assert len(table.find()) == 20_000 - 2 - 10 + 1, "until 8 was one of the first ten"
