"""The first verdict on a scenario, by what it raised, and how its rule's level changes it.

The target's health, the user's baseline and the reports have their own steps (`hooks` has the
list). Knows no family.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from ..browser import BrowserError
from ..catalogue import Finding, NotApplicable, NotVerified, Verdict
from ..catalogue.marking import WARNINGS
from ..clients.messages import ClientError
from ..clock import ClockError
from ..families.base.driver import DriverError
from ..report.results import ScenarioResult, check_lines
from ..target import EffectsError, TargetError
from ..wire import WireError
from .phase import Phase

_OF_THE_TARGET = (
    *(BrowserError, ClientError, ClockError, DriverError, EffectsError, TargetError),
    WireError,
)
"""Caused by the target or its page (like Playwright's own errors): nothing was checked."""
_LONGEST_PLAUSIBLE = 3600.0


def blank_result(phase: Phase) -> ScenarioResult | None:
    """The result that the first step gets; None for a phase that says nothing."""
    if phase.error is None and phase.report.when != "call":
        return None
    seconds = phase.call.duration
    return ScenarioResult(
        rules=tuple(rule.id for rule in phase.rules),
        scenario=phase.item.nodeid,
        verdict=Verdict.PASSED,
        # Moving the clock in this process (freezegun) also moves pytest's stopwatch.
        seconds=seconds if 0 <= seconds < _LONGEST_PLAUSIBLE else 0.0,
    )


def needs_no_traceback(error: BaseException) -> bool:
    """Whether the steps put words of their own in the place of pytest's."""
    return isinstance(error, Finding) or _of_the_target(error)


def _of_the_target(error: BaseException) -> bool:
    return isinstance(error, _OF_THE_TARGET) or type(error).__module__.startswith("playwright.")


def judge(result: ScenarioResult, phase: Phase) -> ScenarioResult:
    """The scenario's own verdict."""
    error = phase.error
    if error is None:
        warnings = phase.item.stash.get(WARNINGS, [])
        return result.with_verdict(Verdict.WARNING, "; ".join(warnings)) if warnings else result
    if isinstance(error, Finding):
        return result.with_finding(error)
    if isinstance(error, NotApplicable):
        return result.with_verdict(Verdict.NOT_APPLICABLE, str(error.msg))
    if isinstance(error, NotVerified):
        unseen = result.with_verdict(Verdict.NOT_VERIFIED, str(error.msg))
        return replace(unseen, minor=error.minor)
    if isinstance(error, pytest.skip.Exception):
        return result.with_verdict(Verdict.NOT_VERIFIED, str(error.msg))
    if _of_the_target(error):
        return phase.not_verified(result, str(error))
    return result.with_verdict(Verdict.HARNESS_ERROR, f"{type(error).__name__}: {error}")


def downgrade_should(result: ScenarioResult, phase: Phase) -> ScenarioResult:
    """A SHOULD that is broken is a warning, unless the user is strict."""
    binding = any(rule.level == "MUST" for rule in phase.rules)
    if result.verdict is Verdict.FAILED and not binding:
        return replace(result, verdict=Verdict.WARNING)
    return result


def tell_pytest(result: ScenarioResult, phase: Phase) -> ScenarioResult:
    """The last step: make pytest's report agree, and attach the result to it (xdist ships it)."""
    report = phase.report
    if result.verdict is Verdict.WARNING:
        report.outcome, report.longrepr = "passed", None
    elif result.evidence is not None:
        report.longrepr = "\n".join(check_lines(result, phase.rules[0]))
    report.mcp_approval = result.to_json()  # type: ignore[attr-defined]
    # On the item, so that JUnit's XML, which is written at teardown, has it too.
    phase.item.user_properties.append(("mcp_approval_verdict", str(result.verdict)))
    return result
