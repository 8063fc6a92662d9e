"""A model as one of Hypothesis's state machines: its transitions are the rules of the machine.

Hypothesis chooses and shrinks; what is done, and what must hold, is in the model. What a walk finds
is told to a `Listener`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from ..families.base.exploration import BrokenRule, Model, Step, Transition
from .strategies import parameters


class StepListener(Protocol):
    """Runs the steps of walks, and decides what becomes of a find."""

    def begin(self) -> Model | None:
        """A model for a new walk, in its first state; None if the walk ended before its start."""

    def step(self, model: Model, step: Step, walk: list[Step]) -> bool:
        """Take a step; returns whether the walk goes on. Raises what Hypothesis should shrink."""

    def end(self, model: Model, walk: list[Step]) -> None:
        """The walk is over, without a find."""


class Found(Exception):  # noqa: N818  # not an error
    """A walk that breaks a rule. Hypothesis tells finds apart by their class."""

    broken: BrokenRule


def found_of(broken: BrokenRule, classes: dict[tuple[str, str], type[Found]]) -> Found:
    if broken.key not in classes:
        classes[broken.key] = type("Found", (Found,), {})
    found = classes[broken.key](f"{broken.rule}: {broken}")
    found.broken = broken
    return found


class WalkMachine(RuleBasedStateMachine):
    """One walk."""

    listener: StepListener

    def __init__(self) -> None:
        super().__init__()
        self.walk: list[Step] = []
        self.model = self.listener.begin()
        self.goes_on = self.model is not None
        self._settled = False

    def take(self, name: str, given: dict[str, Any]) -> None:
        if not self.goes_on or self.model is None:
            return
        step = (name, given)
        self.walk.append(step)
        try:
            self.goes_on = self.listener.step(self.model, step, self.walk)
        except BaseException:
            self.goes_on = False
            raise

    def teardown(self) -> None:
        if self.model is None:
            return
        try:
            if self.goes_on:
                self.goes_on = False
                self.listener.end(self.model, self.walk)
        finally:
            self.model.close()


def machine_of(model: type[Model], listener: StepListener) -> type[WalkMachine]:
    """The machine of a model."""
    members: dict[str, Any] = {"listener": listener}
    for one in model.transitions.values():
        for copy in range(one.weight):
            # Hypothesis leaves out some rules of each walk, by their names: what is needed most
            # has several.
            name = f"{one.name}_{copy}" if copy else one.name
            members[name] = _rule(one, name)
    return type(f"{model.__name__}Machine", (WalkMachine,), members)


def _rule(one: Transition, name: str) -> Any:
    def run(self: WalkMachine, **given: Any) -> None:
        self.take(one.name, given)

    def possible(self: WalkMachine) -> bool:
        # A walk that has ended does nothing any more, and Hypothesis needs a rule to choose.
        return not self.goes_on or self.model is None or one.possible(self.model)

    run.__name__ = name
    given: dict[str, Any] = dict(parameters(one))
    make: Any = rule
    decorated: Callable[..., Any] = make(**given)(run)
    return precondition(possible)(decorated)
