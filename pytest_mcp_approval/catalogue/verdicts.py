"""What can become of a rule, and the ways in which a scenario says so.

A scenario that returns has passed. `Finding` is what it raises when the target breaks the rule:
what was sent, what was expected, what came. `NotVerified` and `NotApplicable` say why nothing could
be judged. Anything else that escapes from a scenario is an error of the suite, never a verdict on
the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum, StrEnum
from typing import TypeVar

import pytest
from _pytest.outcomes import Skipped  # what pytest.skip raises; it has no public name

from ..config.markers import MAY_POISON

Test = TypeVar("Test", bound=Callable[..., object])


class Verdict(StrEnum):
    """What is said of a rule; which of several decides is the report's to know."""

    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"
    NOT_VERIFIED = "not verified"
    WARNING = "warning"
    KNOWN = "known"
    """Failed, and the user's baseline says so."""
    FAILED = "failed"
    HARNESS_ERROR = "harness error"


class Grade(IntEnum):
    """How bad a finding is beside others of the same scenario: the worst one is told."""

    OTHER_WORDS = 1
    """Refused, as it had to be, but with another code or reason than the document fixes."""
    BROKEN = 2
    RAN = 3
    """What had to be refused ran."""


class Finding(AssertionError):  # noqa: N818  # a finding is no error of ours
    """The target breaks the rule."""

    def __init__(self, *, sent: str, expected: str, got: str, grade: Grade = Grade.BROKEN) -> None:
        super().__init__(f"sent {sent}; expected {expected}; got {got}")
        self.sent = sent
        self.expected = expected
        self.got = got
        self.grade = grade


class NotVerified(Skipped):
    """The target offers no way to look; the message says what to configure.

    `minor`: the rule does not hang on this check. Where its others pass, it has passed with a note.
    """

    def __init__(self, reason: str, *, minor: bool = False) -> None:
        super().__init__(reason, _use_item_location=True)
        self.minor = minor


class NotApplicable(Skipped):
    """What is checked here does not concern this target, which need not have it. Where other checks
    of the rule pass, it has passed with a note."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, _use_item_location=True)


may_poison = getattr(pytest.mark, MAY_POISON)
"""On a scenario, or as a file's `pytestmark`: it sends what a careless server accepts and keeps, so
that honest calls fail from then on. On a server that cannot be restarted these come last."""


def requirement(*full_ids: str, needs: Sequence[str] | None = None) -> Callable[[Test], Test]:
    """Ties a scenario to the rules that it judges; `needs` replaces what those rules need."""
    return pytest.mark.mcp_approval_requirement(*full_ids, needs=needs)
