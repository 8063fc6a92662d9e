"""The engine: walks, what it does with a find, and what it makes of the time that it has."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_mcp_approval.explore.budget import Budget
from pytest_mcp_approval.explore.databases import open_databases
from pytest_mcp_approval.explore.engine import Explorer
from pytest_mcp_approval.families.base.exploration import (
    BrokenRule,
    EndOfWalk,
    Model,
    one_of,
    transition,
    which,
)
from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.wire import Outcome, Reply
from pytest_mcp_approval.wire.patience import allowed_by_patience
from tests.explore.exploring import opened


@pytest.fixture(scope="module")
def target():
    with opened() as target:
        yield target


class Lamp(Model):
    """A model of nothing: it breaks when three things were done in their order."""

    family = "sep2672"
    served_rule = "4.8-13-consume-after-verify"
    honest_says = ""

    def begin(self) -> None:
        self.done: list[str] = []

    def honest(self) -> str:
        return self.honest_says

    def state(self) -> tuple[Any, ...]:
        return (len(self.done),)

    @transition("something is done", what=one_of("a", "b", "c"), number=which())
    def do(self, what: str, number: int) -> None:
        self.done.append(what)
        self.say(f"{what} is done", f"as number {number}")

    @transition("nothing is done")
    def nothing(self) -> None:
        """Nothing."""

    @transition("it is looked at", when="is_lit", rules=("4.8-order",))
    def look(self) -> None:
        self.checked("4.8-order")
        raise self.broken("4.8-order", "it is lit", sent="a look", expected="darkness", got="light")

    @property
    def is_lit(self) -> bool:
        wanted = iter("cab")
        missing = next(wanted)
        for one in self.done:
            if one == missing:
                missing = next(wanted, "")
        return not missing


def explore(model: type[Model], target: Any, walks: int = 400, **more: Any) -> Explorer:
    explorer = Explorer(model, target, Budget(60), 7, most_walks=walks, **more)
    explorer.run()
    return explorer


@pytest.fixture
def as_model(monkeypatch):
    def use(model: type[Model]) -> type[Model]:
        monkeypatch.setattr("pytest_mcp_approval.explore.findings.model_of", lambda _: model)
        return model

    return use


def test_a_find_is_shrunk_and_made_again(target, as_model):
    explorer = explore(as_model(Lamp), target, stop_at_first=True)
    (found,) = explorer.findings
    assert [(name, given.get("what")) for name, given in found.walk] == [
        ("do", "c"),
        ("do", "a"),
        ("do", "b"),
        ("look", None),
    ]
    assert found.found_with > len(found.walk)
    assert found.broken.rule == "sep2672/4.8-order"
    assert len(found.told) == 4
    assert found.told[0].startswith("c is done")
    assert "<- it is lit" in found.told[3]
    assert found.record is not None


def test_what_is_found_is_not_found_again(target, as_model):
    explorer = explore(as_model(Lamp), target)
    assert len(explorer.findings) == 1
    assert explorer.explored.findings == 1
    assert explorer.explored.transitions["it is looked at"] > 1
    assert explorer.explored.rules == {
        "sep2672/4.8-13-consume-after-verify": pytest.approx(
            explorer.exercised.rules["sep2672/4.8-13-consume-after-verify"]
        ),
        "sep2672/4.8-order": explorer.exercised.rules["sep2672/4.8-order"],
    }


def test_a_database_carries_a_find_to_the_next_run(target, as_model, tmp_path):
    database = open_databases(("found",), tmp_path)
    first = explore(as_model(Lamp), target, stop_at_first=True, database=database)
    again = Explorer(
        Lamp, target, Budget(60), 99, database=database, most_walks=400, stop_at_first=True
    )
    again.run()
    assert first.findings[0].after > 3
    assert again.findings[0].after <= 3
    assert again.findings[0].broken.key == first.findings[0].broken.key


def test_the_same_seed_walks_the_same(target, as_model):
    found = {("sep2672/4.8-order", "it is lit")}  # shrinking depends on time
    one, two = (explore(as_model(Lamp), target, walks=30, known=found) for _ in range(2))
    assert one.explored.transitions == two.explored.transitions
    assert one.walks == two.walks


def test_what_does_not_happen_again_is_a_note(target, as_model):
    class Once(Lamp):
        times = 0

        @transition("it flickers")
        def flicker(self) -> None:
            Once.times += 1
            if Once.times == 5:
                raise self.broken("4.8-order", "once", sent="a", expected="b", got="c")

    explorer = explore(as_model(Once), target, walks=40)
    assert all(found.broken.cause != "once" for found in explorer.findings)
    assert any("seen once and not again" in note for note in explorer.explored.notes)


def test_honest_people_are_asked_after_every_walk(target, as_model):
    class Dark(Lamp):
        honest_says = "nobody is served"

    explorer = explore(as_model(Dark), target, stop_at_first=True)
    (found,) = explorer.findings
    assert found.broken.rule == "sep2672/4.8-13-consume-after-verify"
    assert len(found.walk) <= 1
    assert "nobody is served" in found.broken.got


def test_an_error_of_ours_is_told_with_its_walk(target, as_model):
    class Wrong(Lamp):
        @transition("it fails", rules=())
        def fail(self) -> None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        explore(as_model(Wrong), target)
    assert "fail" in raised.value.__notes__[0]


def test_walks_that_end_early_are_counted(target, as_model):
    class Tired(Lamp):
        @transition("it is tired")
        def tire(self) -> None:
            raise EndOfWalk("enough")

    explored = explore(as_model(Tired), target, walks=30).explored
    assert any("enough" in note for note in explored.notes)


def test_the_budget_is_kept(target, as_model):
    began = now()
    Explorer(as_model(Lamp), target, Budget(0.5), 1).run()
    assert now() - began < 60


def test_a_server_that_hangs_costs_no_more_than_the_budget(as_model, monkeypatch):
    """It answers until it is explored, and then never again."""

    class Hung(Lamp):
        @transition("it is called")
        def call(self) -> None:
            self.answered(self.target.session().call("tools/list"))

    with opened() as target:
        target.session()
        # A hanging server, as far as patience can tell.
        monkeypatch.setattr(
            target.transport,
            "exchange",
            lambda outgoing, deadline: _silence(allowed_by_patience(outgoing, deadline)),
        )
        budget = Budget(1.5)
        Explorer(as_model(Hung), target, budget, 1).run()
        assert waited
        assert sum(waited) < 2.5


waited: list[float] = []


def _silence(deadline: Deadline | None) -> Reply:
    """What a hanging server gives: the whole wait, and nothing. Nobody really waits here."""
    seconds = deadline.left() if deadline is not None else 0.0
    waited.append(min(seconds, 0.1))
    time.sleep(min(seconds, 0.1))
    assert seconds < 2.0, "it would have waited for longer than there was time"
    return Reply(Outcome.NO_ANSWER, seconds=seconds)


def test_the_rate_is_kept():
    began = now()
    budget = Budget(30, rate=50)
    for _ in range(6):
        budget.pace()
    assert now() - began >= 5 / 50


def test_a_walk_from_elsewhere_is_checked(target):
    model = Lamp(target)
    model.begin()
    for step in (("do", {"what": "z", "number": 0}), ("do", {"what": "a"}), ("else", {})):
        with pytest.raises(EndOfWalk):
            model.take(step)
    assert model.done == []
    model.take(("look", {}))  # not possible now: left out
    assert model.told == []


def test_broken_rules_have_a_key():
    broken = BrokenRule("a/b", "c", sent="1", expected="2", got="3")
    assert broken.key == ("a/b", "c")
    assert not broken.warning
