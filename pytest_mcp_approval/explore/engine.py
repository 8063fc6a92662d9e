"""Explores one family at one server within a budget: rounds of walks, until something is found.

A find is shrunk (by Hypothesis, then by leaving out steps), run again from the beginning, and kept
only if it breaks the same rule in the same way. Later rounds look for something else. Knows no
pytest and no report.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis.errors import HypothesisException
from hypothesis.stateful import get_state_machine_test

from ..catalogue import NotVerified
from ..clock import ClockError
from ..families.base.driver import DriverError
from ..families.base.exploration import (
    BrokenRule,
    EndOfWalk,
    Exercised,
    Model,
    Step,
    Whole,
)
from ..support import recording
from ..support.text import neutralise, number_of
from ..target import EffectsError, Target, TargetError
from ..wire import WireError, keeping
from .budget import Budget, BudgetPatience, OutOfTime
from .coverage import Explored
from .findings import ExploredFinding, run_walk
from .machine import Found, found_of, machine_of

STEPS = 25
"""The longest walk."""
_MANY = 1_000_000
_OF_THE_TARGET = (ClockError, DriverError, EffectsError, NotVerified, TargetError, WireError)
_MOST_SHRINKING = 6.0
"""Seconds for one find; less if the budget is small."""
_SHARE_OF_SHRINKING = 0.2
_GRACE = 5.0
"""Seconds beyond the budget in which a find is still checked again."""
_LAST_MOMENT = 0.2
_TRIES = 2
_TRIES_BY_CHANCE = 8
_MOST_FINDINGS = 20
_MOST_NOTES = 6

Progress = Callable[[Explored], None]


class ShrunkEnough(BaseException):
    """The find is as short as the time allows."""


@dataclass
class _Best:
    """The shortest walk of the find that a round is about."""

    broken: BrokenRule
    walk: tuple[Step, ...]
    after: int
    found_with: int
    until: float = 0.0

    @property
    def size(self) -> tuple[int, int]:
        return len(self.walk), len(str(self.walk))


@dataclass
class Explorer:
    """One exploration. `stop_at_first`: enough once something was found."""

    model: type[Model]
    target: Target
    budget: Budget
    seed: int
    database: Any = None
    progress: Progress = lambda _: None
    stop_at_first: bool = False
    most_walks: int | None = None
    """The end before that of the budget, for runs that must not depend on time."""
    most_shrinking: float = _MOST_SHRINKING
    known: Collection[tuple[str, str]] = ()
    findings: list[ExploredFinding] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.exercised = Exercised()
        self.walks = self.steps = 0
        self.notes: Counter[str] = Counter()
        self.patience = BudgetPatience(self.target.settings.timeout, self.budget)
        self._handled: set[tuple[str, str]] = set(self.known)
        self._classes: dict[tuple[str, str], type[Found]] = {}
        self._best: _Best | None = None
        self._errors: list[Exception] = []
        self._random = Random(self.seed)

    # ---- rounds

    def run(self) -> Explored:
        """Explore until the budget is used up."""
        with keeping(self.patience):
            while not self._is_over and len(self.findings) < _MOST_FINDINGS:
                self._round()
                if self._errors:
                    raise self._errors[0]
                if self._best is not None:
                    self._keep(self._best)
                if self.stop_at_first and self.findings:
                    break
        return self.explored

    @property
    def _is_over(self) -> bool:
        walked = self.most_walks is not None and self.walks >= self.most_walks
        return walked or self.budget.left <= 0

    def _round(self) -> None:
        self._best = None
        self.exercised.thrifty = self.most_walks is None
        machine = machine_of(self.model, self)
        seed(self._random.getrandbits(64))(machine)
        phases = [Phase.generate, Phase.shrink] + ([Phase.reuse] if self.database else [])
        test = get_state_machine_test(
            machine,
            settings=settings(
                max_examples=_MANY,
                stateful_step_count=STEPS,
                deadline=None,
                database=self.database,
                phases=phases,
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
                verbosity=Verbosity.quiet,
                print_blob=False,
            ),
        )
        test._hypothesis_internal_database_key = f"mcp-approval/{self.model.family}".encode()  # type: ignore[attr-defined]
        with contextlib.suppress(OutOfTime, ShrunkEnough, Found, HypothesisException):
            test()

    # ---- what Hypothesis calls

    def begin(self) -> Model | None:
        self._check_time()
        if self._best is None and self._is_over:
            raise OutOfTime
        self.walks += 1
        self.patience.begin()
        model: Model | None = None
        try:
            if self.target.can_reset or self.target.settings.reset:
                self.target.reset()
            model = self.model(self.target, self.exercised)
            model.begin()
        except _OF_THE_TARGET as error:
            self._note(error)
            if model is not None:
                model.close()
            return None
        return model

    def step(self, model: Model, step: Step, walk: list[Step]) -> bool:
        self._check_time()
        self.steps += 1
        return self._watched(lambda: model.take(step), walk)

    def end(self, model: Model, walk: list[Step]) -> None:
        self._check_time()
        self._watched(model.settle, walk)
        self.progress(self.explored)

    def _watched(self, act: Callable[[], None], walk: Sequence[Step]) -> bool:
        try:
            act()
        except BrokenRule as broken:
            if broken.key in self._handled:
                return False
            if self.patience.last is not None:
                # No verdict on a server that did not answer.
                self._note(EndOfWalk(f"no answer: {self.patience.last.line}"))
                self._after_silence()
                return False
            self._improve(broken, tuple(walk))
            raise found_of(broken, self._classes) from None
        except EndOfWalk as end:
            self._note(end)
            self._after_silence()
            return False
        except _OF_THE_TARGET as error:
            self._note(error)
            self._after_silence()
            return False
        except Exception as error:
            # Ours: told at once, with the walk.
            error.add_note(f"in the walk {list(walk)!r}")
            self._errors.append(error)
            raise OutOfTime from error
        return True

    def _after_silence(self) -> None:
        """A conversation that broke off is opened anew."""
        last = self.patience.last
        if last is not None and last.broken_off and self.budget.left > 0:
            with contextlib.suppress(*_OF_THE_TARGET):
                self.target.stop()

    def _check_time(self) -> None:
        best = self._best
        if best is not None and self.budget.used > best.until:
            raise ShrunkEnough
        self.budget.check()

    def _improve(self, broken: BrokenRule, walk: tuple[Step, ...]) -> None:
        best = self._best
        if best is None:
            longest = min(self.most_shrinking, max(1.0, _SHARE_OF_SHRINKING * self.budget.seconds))
            self._best = _Best(broken, walk, self.walks, len(walk), self.budget.used + longest)
        elif broken.key == best.broken.key:
            found = _Best(broken, walk, best.after, best.found_with, best.until)
            if found.size < best.size:
                self._best = found

    def _note(self, why: BaseException) -> None:
        if self.budget.left < _LAST_MOMENT:
            raise OutOfTime from why  # not asked any more, so that nothing follows
        line = neutralise(str(why) or type(why).__name__, 120)
        if len(self.notes) < 100:
            self.notes[line] += 1

    # ---- a find

    def _keep(self, best: _Best) -> None:
        """Shorten it further, and check it again."""
        self._handled.add(best.broken.key)
        self.exercised.thrifty = False
        own = Budget(min(_MOST_SHRINKING, max(_GRACE, self.budget.left)))
        patience = BudgetPatience(self.target.settings.timeout, own)
        with keeping(patience):
            walk = self._without_needless_steps(best, own)
            tries = _TRIES_BY_CHANCE if best.broken.by_chance else _TRIES
            for candidate in (walk,) if walk == best.walk else (walk, best.walk):
                for _ in range(tries):
                    found = self._again(candidate, best)
                    if found is not None:
                        self.findings.append(found)
                        return
        if best.broken.by_chance:
            # Two runs on one approval are proved by the first time.
            told = (best.broken.sent, "seen once; another order of the same calls did not show it")
            self.findings.append(
                ExploredFinding(best.broken, best.walk, told, best.after, best.found_with)
            )
            return
        self.notes[
            f"seen once and not again, so not told as a finding: {best.broken.rule} "
            f"({neutralise(best.broken.got, 80)})"
        ] += 1

    def _without_needless_steps(self, best: _Best, own: Budget) -> tuple[Step, ...]:
        """Leave out steps, many at first and then single ones, and give the last one the simplest
        parameters: what a step is about is often told by how many others were before it."""
        walk = best.walk
        tries = 1 if not best.broken.by_chance else 3

        def breaks(candidate: tuple[Step, ...]) -> bool:
            return any(self._breaks(candidate, best.broken) for _ in range(tries))

        many = max(1, len(walk) // 2)
        while len(walk) > 1 and own.left > _GRACE / 2:
            before, end = walk, len(walk) - 1  # the last step is the one that shows it
            while end > 0 and own.left > _GRACE / 2:
                begin = max(0, end - many)
                shorter = (*walk[:begin], *walk[end:])
                walk = next(filter(breaks, (shorter, self._simplest_at_end(shorter))), walk)
                end = begin
            if many == 1 and walk == before:
                break
            many = max(1, many // 2)
        simple = self._simplest_at_end(walk) if walk else walk
        return simple if simple != walk and own.left > _GRACE / 2 and breaks(simple) else walk

    def _simplest_at_end(self, walk: tuple[Step, ...]) -> tuple[Step, ...]:
        name, given = walk[-1]
        simple = dict(given)
        for parameter, one in self.model.transitions[name].parameters.items():
            if isinstance(one, Whole):
                simple[parameter] = one.least
        return (*walk[:-1], (name, simple))

    def _breaks(self, walk: Sequence[Step], wanted: BrokenRule) -> bool:
        try:
            run_walk(self.target, self.model.family, walk, self.exercised)
        except BrokenRule as broken:
            return broken.key == wanted.key
        except (EndOfWalk, *_OF_THE_TARGET):
            return False
        return False

    def _again(self, walk: tuple[Step, ...], best: _Best) -> ExploredFinding | None:
        """The finding, if the walk still breaks the same rule in the same way."""
        before = recording.current()
        record = recording.begin()
        try:
            run_walk(self.target, self.model.family, walk, self.exercised)
        except BrokenRule as broken:
            if broken.key == best.broken.key:
                return ExploredFinding(
                    broken, broken.walk, broken.told, best.after, best.found_with, record
                )
        except (EndOfWalk, *_OF_THE_TARGET):
            pass
        finally:
            recording.end()
            if before is not None:
                recording.resume(before)
        return None

    # ---- what to tell

    @property
    def explored(self) -> Explored:
        transitions = self.model.transitions
        named = {one.words: self.exercised.transitions[name] for name, one in transitions.items()}
        rules = sorted(self.model.checkable_rules() | set(self.exercised.rules))
        ended = sum(self.notes.values())
        told = [f"{count} times: {line}" for line, count in self.notes.most_common(_MOST_NOTES)]
        if told:
            told.insert(0, f"{number_of(ended, 'walk')} ended early, for these reasons:")
        return Explored(
            self.model.family,
            seconds=self.budget.used,
            walks=self.walks,
            steps=self.steps,
            requests=self.patience.requests,
            states=len(self.exercised.states),
            findings=len(self.findings),
            seeds=(self.seed,),
            transitions=named,
            rules={rule: self.exercised.rules[rule] for rule in rules},
            notes=tuple(told),
        )
