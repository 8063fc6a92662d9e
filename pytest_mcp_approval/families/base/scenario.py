"""What the scenarios of all families share: one scenario's view of the target.

An expectation that is not met raises a `Finding`: what was sent, what was expected, what came. If
something cannot be checked, because an honest step fails or the target lacks something, it is
`NotVerified`: a refusal proves nothing if the honest call is refused too. Knows no specification.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import NoReturn

import pytest

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...catalogue.marking import WARNINGS, rules_of
from ...clock import ClockControl
from ...config.settings import PREFIX
from ...support.deadline import Deadline
from ...target import Target
from ...wire import Patience, keeping
from .driver import DriverError
from .needs import Check, check_needs
from .outcome import ObservedOutcome

Warn = Callable[[str], None]
"""Notes a warning: something that a reading allows, but that the document does not want. The rule's
verdict becomes "warning"."""
CloseLater = Callable[[Callable[[], object]], object]
"""Notes something to be closed when the scenario ends."""

_LISTED = 12
"""How many findings are listed after the worst one; the others are counted."""
_WAITED = 5.0
"""Seconds of an expectation that came to nothing because no answer came."""
_WAITS = 2
"""How many of these a scenario makes: a server that answers nothing would take a time-out for each
of its expectations."""


class HonestStepRefused(NotVerified):
    """The target refused what it should serve. Without it nothing else can be judged, unless the
    rule itself is about it: see `ScenarioView.promised`."""


class _Enough(Exception):  # noqa: N818  # no error of anybody
    """It is broken, and does not answer."""


class Several:
    """Several expectations of one scenario: all are tried, and the worst finding is raised.

    with view.several() as several:
        for name, value in SHAPES.items():
            with several.one(name):
                view.expect(...)
    """

    def __init__(self) -> None:
        self._found: list[tuple[str, Finding]] = []
        self._waits = 0

    @classmethod
    @contextlib.contextmanager
    def tried(cls) -> Iterator[Several]:
        """Around all of them."""
        several = cls()
        try:
            yield several
        except _Enough:
            pass
        except (NotVerified, NotApplicable):
            several.settle()  # raise what was found before
            raise
        several.settle()

    @contextlib.contextmanager
    def one(self, name: str = "") -> Iterator[None]:
        """Around one expectation; a finding is kept, and the next one is still tried."""
        if self._waits == _WAITS:
            raise _Enough
        deadline = Deadline(_WAITED)
        try:
            yield
        except Finding as finding:
            self._waits += deadline.passed
            self._found.append((name or finding.sent, finding))

    def settle(self) -> None:
        """Raise the worst finding; if several are equally bad, the first."""
        if not self._found:
            return
        worst = max((finding for _, finding in self._found), key=lambda one: one.grade)
        rest = [(name, one) for name, one in self._found if one is not worst]
        if not rest:
            raise worst
        listed = [f"{name}: {one.got}" for name, one in rest[:_LISTED]]
        if len(rest) > _LISTED:
            listed.append(f"{len(rest) - _LISTED} more")
        raise Finding(
            sent=worst.sent,
            expected=worst.expected,
            got=f"{worst.got}; also {'; '.join(listed)}",
            grade=worst.grade,
            noted=True,
        )


class ScenarioView:
    """One scenario's view of the target; a family adds its honest steps and its expectations."""

    def __init__(
        self, target: Target, warn: Warn, close_later: CloseLater = lambda _: None
    ) -> None:
        self.target = target
        self.warn = warn
        self._close_later = close_later

    @property
    def clock(self) -> ClockControl:
        if not self.target.clock.movable:
            raise NotVerified(f"needs a clock that can be moved: {self.target.clock.why_not}")
        return self.target.clock

    def need_effects(self) -> None:
        if self.target.settings.effects_doubt:
            raise NotVerified(
                f"needs to see what ran, and the effects probe cannot tell: "
                f"{self.target.settings.effects_doubt} ({PREFIX}effects)"
            )
        if self.target.effects() is None:
            raise NotVerified(f"needs to see what ran: {PREFIX}effects URL|tool:NAME")

    def need_served(self, outcome: ObservedOutcome, what: str = "the honest call failed") -> None:
        """`NotVerified` unless served: a refusal proves nothing if honest calls are refused too."""
        if not outcome.served:
            raise HonestStepRefused(f"{what}, so nothing follows: {outcome.describe()}")

    def need_target(self, target: Target | None, what: str) -> Target:
        """Another server, which is closed when the scenario ends."""
        if target is None:
            raise NotVerified(f"needs {what}")
        self._close_later(target.close)
        return target

    def not_applicable(self, why: str) -> NoReturn:
        raise NotApplicable(why)

    def left_open(self, what: str, page: str = "docs/self-approval.md") -> NoReturn:
        """Information for whoever runs the server: the document is silent, so this is neither
        broken nor kept. It becomes a note of the rule; `page` says more."""
        raise NotApplicable(f"left open by the document: {what}; see {page}")

    @contextlib.contextmanager
    def honest_step(self, what: str = "") -> Iterator[None]:
        """Around a step without which nothing else can be checked; `what` says that it failed."""
        try:
            yield
        except DriverError as error:
            refused = NotVerified if error.reply is None else HonestStepRefused
            raise refused(f"{what}: {error}" if what else str(error)) from error

    @contextlib.contextmanager
    def promised(self, *, sent: str, expected: str) -> Iterator[None]:
        """Around honest steps that the rule itself promises: where the target refuses one, the rule
        is broken."""
        try:
            yield
        except HonestStepRefused as refusal:
            raise Finding(sent=sent, expected=expected, got=str(refusal.msg)) from refusal

    @contextlib.contextmanager
    def may_not_start(self) -> Iterator[None]:
        """Around the use of a server that may rightly refuse to start: that it breaks off does not
        count as trouble with the target."""
        with keeping(Patience(self.target.settings.timeout)):
            yield

    def expect(self, holds: bool, *, sent: str, expected: str, got: str) -> None:
        """Any expectation; a finding has four lines (the rule is the fourth)."""
        self.target.last_sent = sent
        if not holds:
            raise Finding(sent=sent, expected=expected, got=got)

    def expect_not_run(self, outcome: ObservedOutcome, *, sent: str) -> None:
        """Whatever the target answers, nothing may have run or be reported as run."""
        expect_nothing_ran(outcome, sent=sent)

    def several(self) -> AbstractContextManager[Several]:
        """For a loop over variants: goes on after a finding, and raises the worst one at the
        end."""
        return Several.tried()


def finding_of(
    outcome: ObservedOutcome,
    *,
    sent: str,
    expected: str,
    grade: Grade = Grade.BROKEN,
    remark: str = "",
) -> Finding:
    """What came was not what was expected."""
    return Finding(sent=sent, expected=expected, got=f"{outcome.describe()}{remark}", grade=grade)


def expect_nothing_ran(outcome: ObservedOutcome, *, sent: str) -> None:
    """The same for what knows no family, whose own view may expect more."""
    if outcome.executed or outcome.succeeded:
        expected = f"a refusal, {outcome.thing} not run"
        raise finding_of(outcome, sent=sent, expected=expected, grade=Grade.RAN)


def check_preconditions(item: pytest.Item, target: Target, own_checks: Mapping[str, Check]) -> Warn:
    """Call first in a scenario: "not verified" if the target lacks what its rules need."""
    missing = check_needs(item, rules_of(item), target, own_checks)
    if missing:
        raise NotVerified(missing)
    return item.stash.setdefault(WARNINGS, []).append
