"""The form of a model: what can be done with a server, in any order, and what must then hold.

A family brings a subclass of `Model` in its `exploration.py`, named `MODEL`. Its transitions are
methods that do one thing to the server and compare what came with what the model expects; whatever
breaks a rule is raised as a `BrokenRule`. A walk is plain data (names and parameters), so that it
can be kept, shown and run again without what invented it. Knows no Hypothesis, which is needed to
invent walks (`pytest_mcp_approval.explore`), and no specification.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from ...catalogue import Finding, Grade
from ...clock import ClockError
from ...support.deadline import now
from ...support.text import neutralise
from ...target import Target
from ...wire import Outcome, Reply
from .driver import DriverError
from .message_changes import KINDS

Given = TypeVar("Given")
Method = TypeVar("Method", bound=Callable[..., None])
_LONGEST = 240
_INTERNAL_ERROR = -32603
_SHARE_OF_RESTARTS = 0.1
_QUICK_RESTARTS = 1.0
"""Seconds in all, which are never too many."""
_NO_REPLICAS = "exploration: no replicas"
_NO_ANSWER = (
    *(Outcome.NO_ANSWER, Outcome.CLOSED, Outcome.UNREACHABLE, Outcome.TOO_LARGE),
    *(Outcome.GARBAGE, Outcome.WRONG_ID),
)


# ---- the parameters of a transition


@dataclass(frozen=True)
class OneOf:
    """One of these values; the first is the simplest."""

    values: tuple[Any, ...]

    def allows(self, value: Any) -> bool:
        return any(value == one and type(value) is type(one) for one in self.values)


@dataclass(frozen=True)
class Whole:
    """A whole number; small ones are simpler."""

    least: int
    most: int

    def allows(self, value: Any) -> bool:
        return type(value) is int and self.least <= value <= self.most


@dataclass(frozen=True)
class AnyChange:
    """A change of a message (`message_changes`)."""

    def allows(self, value: Any) -> bool:
        return (
            isinstance(value, Mapping)
            and set(value) == {"kind", "place", "at"}
            and value["kind"] in KINDS
            and all(type(value[name]) is int and value[name] >= 0 for name in ("place", "at"))
        )


Parameter = OneOf | Whole | AnyChange


def one_of(*values: Any) -> OneOf:
    return OneOf(values)


def which(most: int = 7) -> Whole:
    """The number of something that the model has; `Model.pick` takes it modulo how many."""
    return Whole(0, most)


# ---- transitions


@dataclass(frozen=True)
class Transition:
    """One thing that can be done."""

    name: str
    words: str
    """What it is, in a few words, for the table of what was exercised."""
    run: Callable[..., None]
    parameters: Mapping[str, Parameter]
    when: str
    """The name of a property of the model: whether it can be done now; "" if always."""
    rules: tuple[str, ...]
    """The rules that doing it may show broken."""
    weight: int
    """How many times as often as others it is tried."""

    def check(self, given: Mapping[str, Any]) -> None:
        """ValueError unless these are parameters that it may have: a walk may come from a file."""
        if set(given) != set(self.parameters):
            wanted = ", ".join(self.parameters) or "none"
            raise ValueError(f"{self.name}: got parameters {sorted(given)}, expected {wanted}")
        for name, one in self.parameters.items():
            if not one.allows(given[name]):
                raise ValueError(f"{self.name}: {name} cannot be {given[name]!r}")

    def possible(self, model: Model) -> bool:
        return not self.when or bool(getattr(model, self.when))


def transition(
    words: str, *, when: str = "", rules: Sequence[str] = (), weight: int = 1, **parameters: Any
) -> Callable[[Method], Method]:
    """Marks a method of a model as one; `parameters` say what it takes."""

    def mark(method: Method) -> Method:
        method.__dict__["transition"] = Transition(
            method.__name__, words, method, parameters, when, tuple(rules), weight
        )
        return method

    return mark


Step = tuple[str, Mapping[str, Any]]
"""The name of a transition, and its parameters."""


# ---- what a walk may raise


class BrokenRule(Finding):
    """What came breaks a rule: the end of a walk."""

    def __init__(
        self,
        rule: str,
        cause: str,
        *,
        sent: str,
        expected: str,
        got: str,
        grade: Grade = Grade.BROKEN,
        warning: bool = False,
        by_chance: bool = False,
    ) -> None:
        """`rule` is the full id. `cause` is the same for every walk that breaks it in this way.
        `warning`: the document leaves it open. `by_chance`: it depends on timing."""
        super().__init__(sent=sent, expected=expected, got=got, grade=grade, noted=True)
        self.rule = rule
        self.cause = cause
        self.warning = warning
        self.by_chance = by_chance
        self.told: tuple[str, ...] = ()
        """The steps of the walk that showed it, in words, and as data."""
        self.walk: tuple[Step, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return self.rule, self.cause


class LeftOut(Exception):  # noqa: N818  # not an error
    """A step is not taken after all."""


class EndOfWalk(Exception):  # noqa: N818  # not an error
    """Nothing more can be said in this walk; the line says why."""


# ---- models


@dataclass
class Exercised:
    """What walks have exercised so far."""

    transitions: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    states: set[tuple[Any, ...]] = field(default_factory=set)
    thrifty: bool = False
    """Whether restarts and replicas are left out that would take too large a part of the time."""
    began: float = field(default_factory=now)
    restarting: float = 0.0
    """Seconds that restarts and the start of replicas have taken."""


class Model:
    """What is known of one server in one walk. Made anew for each walk."""

    family: ClassVar[str]
    transitions: ClassVar[Mapping[str, Transition]] = {}
    without: ClassVar[tuple[str, ...]] = ()
    """Transitions of its base that a model does not have."""

    def __init_subclass__(cls) -> None:
        found = dict(cls.transitions)
        for name in dir(cls):
            marked = getattr(getattr(cls, name), "transition", None)
            if isinstance(marked, Transition):
                found[name] = marked
        cls.transitions = {name: found[name] for name in sorted(found) if name not in cls.without}

    @classmethod
    def checkable_rules(cls) -> set[str]:
        """The full ids of the rules that it can find broken."""
        named = {rule for one in cls.transitions.values() for rule in one.rules}
        return {f"{cls.family}/{rule}" for rule in (*named, cls.served_rule)}

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        self.target = target
        self.exercised = exercised or Exercised()
        self.told: list[str] = []
        """Each step so far, in words."""
        self.taken: list[Step] = []
        """The same as data: those of a walk that were possible."""
        self.moved_clock = False
        self._later: list[Callable[[], object]] = []
        self._words, self._said = "", ""

    # ---- what a family's model says

    def begin(self) -> None:
        """What every walk needs first."""

    def honest(self) -> str:
        """A whole honest approval: an empty text if it was served, else what came instead."""
        raise NotImplementedError

    served_rule: ClassVar[str] = ""
    """The rule that is broken if honest people are not served after a walk."""

    def state(self) -> tuple[Any, ...]:
        """Where the model stands, coarsely: how many different ones were reached is told."""
        return ()

    # ---- running

    def take(self, step: Step) -> None:
        """Take one step; one that is not possible now is left out."""
        name, parameters = step
        found = self.transitions.get(name)
        if found is None:
            known = ", ".join(self.transitions)
            raise EndOfWalk(f"got step {neutralise(name, 60)!r}, expected one of {known}")
        try:
            found.check(parameters)
        except ValueError as error:
            raise EndOfWalk(neutralise(str(error), _LONGEST)) from None
        if not found.possible(self):
            return
        self._words, self._said = found.words, ""
        self.taken.append((name, dict(parameters)))
        self.exercised.transitions[name] += 1
        try:
            found.run(self, **parameters)
        except LeftOut:
            self.taken.pop()
            self.exercised.transitions[name] -= 1
            return
        except BaseException:
            self._tell()
            raise
        self._tell()
        self.exercised.states.add(self.state())

    def _tell(self) -> None:
        line = f"{self._words} -> {self._said}" if self._said else self._words
        self.told.append(neutralise(line, _LONGEST))

    def settle(self) -> None:
        """At the end of a walk: honest people are still served."""
        with contextlib.suppress(ClockError):
            self.target.clock.release()
        self.checked(self.served_rule)
        problem = self.honest()
        if problem and self.moved_clock:
            raise EndOfWalk(f"after the clock went back: {problem}")
        if problem:
            raise self.broken(
                self.served_rule,
                "honest people are no longer served",
                sent="after these steps, an honest approval from its beginning",
                expected="honest people served as before",
                got=problem,
            )

    def close(self) -> None:
        """Give up what the walk opened."""
        while self._later:
            with contextlib.suppress(Exception):
                self._later.pop()()
        with contextlib.suppress(ClockError):
            self.target.clock.release()

    def close_later(self, close: Callable[[], object]) -> None:
        self._later.append(close)

    # ---- for transitions

    def say(self, words: str, said: object = "") -> None:
        """What this step is, and what came of it."""
        self._words = words or self._words
        self._said = str(said)

    def checked(self, *rules: str) -> None:
        """Note that these rules were compared with what came."""
        for rule in rules:
            self.exercised.rules[self.full(rule)] += 1

    def full(self, rule: str) -> str:
        return rule if "/" in rule else f"{self.family}/{rule}"

    def broken(self, rule: str, cause: str, **lines: Any) -> BrokenRule:
        self._said = f"{lines['got']} <- {cause}"
        return BrokenRule(self.full(rule), cause, **lines)

    @staticmethod
    def pick(things: Sequence[Any], number: int) -> Any:
        return things[number % len(things)]

    def answered(self, reply: Reply) -> Reply:
        """The reply; the walk ends if the server did not answer, for or against."""
        if reply.outcome in _NO_ANSWER:
            raise EndOfWalk(f"no answer: {neutralise(reply.describe(), _LONGEST)}")
        return reply

    @contextlib.contextmanager
    def honest_steps(self, rule: str, cause: str, *, sent: str) -> Iterator[None]:
        """Around steps that must be served; a refusal breaks the rule."""
        self.checked(rule)
        try:
            yield
        except DriverError as error:
            if error.reply is not None:
                self.answered(error.reply)
            raise self.broken(
                rule, cause, sent=sent, expected="it is served", got=str(error)
            ) from error

    def restart_target(self, restart: Callable[[], None] | None = None) -> None:
        """Restart the server, unless that takes too long: see `take_time`."""

        def begin_again() -> None:
            (restart or self.target.restart)()
            _ = self.target.session()

        self.take_time(begin_again)

    def take_time(self, act: Callable[[], Given]) -> Given:
        """Start a server, or another one. Some take seconds for it: `LeftOut` if many walks could
        be made meanwhile, and this is not a walk that was found before."""
        spent, began = self.exercised, now()
        dear = spent.restarting > _SHARE_OF_RESTARTS * (began - spent.began)
        if spent.thrifty and dear and spent.restarting > _QUICK_RESTARTS:
            raise LeftOut
        try:
            return act()
        finally:
            spent.restarting += now() - began

    def a_replica(self) -> Target:
        """Another server over the same state, which lasts as long as this walk; `LeftOut` if there
        is none."""
        others = self.take_time(self.target.replicas)
        if not others:
            self.target.remembered[_NO_REPLICAS] = True
            raise LeftOut
        for one in others:
            self.close_later(one.close)
        return others[0]

    @property
    def may_have_replicas(self) -> bool:
        return not self.target.remembered.get(_NO_REPLICAS)

    def move_clock(self, seconds: float) -> None:
        self.moved_clock = True
        self.target.clock.advance(seconds)
        self.say(f"{seconds:g} seconds pass")

    @property
    def clock_moves(self) -> bool:
        """Whether time can be moved without waiting for it."""
        clock = self.target.clock
        return clock.movable and clock.stops


def is_internal_error(reply: Reply) -> bool:
    """Whether the server's own code failed: JSON-RPC's internal error, or an HTTP status of it."""
    code = reply.error.code if reply.error is not None else None
    return code == _INTERNAL_ERROR or (reply.status or 0) >= 500


def walk(model: Model, steps: Sequence[Step]) -> None:
    """Take these steps, and look whether honest people are still served. Raises `BrokenRule`."""
    try:
        model.begin()
        for step in steps:
            model.take(step)
        model.settle()
    finally:
        model.close()
