"""The verdicts on a rule, and how a scenario reports them.

A scenario that returns has passed. It raises `Finding` if the target breaks the rule: what was
sent, what was expected, what came. `NotVerified` and `NotApplicable` say why nothing could be
checked. Any other exception from a scenario is an error of the suite, never a verdict on the
target.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, StrEnum

import pytest
from _pytest.outcomes import Skipped  # what pytest.skip raises; it has no public name

from ..config.markers import MAY_POISON
from ..support.recording import note


class Verdict(StrEnum):
    """The verdict on a rule; if there are several, the report decides which one counts."""

    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"
    NOT_VERIFIED = "not verified"
    WARNING = "warning"
    KNOWN = "known"
    """Failed, and listed in the user's baseline."""
    FAILED = "failed"
    HARNESS_ERROR = "harness error"


class Grade(IntEnum):
    """How bad a finding is compared with others of its scenario: the worst one is reported."""

    OTHER_WORDS = 1
    """Correctly refused, but with another code or reason than the document requires."""
    BROKEN = 2
    RAN = 3
    """What had to be refused ran."""


class Finding(AssertionError):  # noqa: N818  # a finding is not an error of ours
    """The target breaks the rule."""

    def __init__(
        self,
        *,
        sent: str,
        expected: str,
        got: str,
        grade: Grade = Grade.BROKEN,
        noted: bool = False,
    ) -> None:
        """`noted`: it sums up what was found before, so that nothing new is marked in the record
        of the conversation."""
        super().__init__(f"sent {sent}; expected {expected}; got {got}")
        if not noted:
            note("finding", "found")
        self.sent = sent
        self.expected = expected
        self.got = got
        self.grade = grade


class NotVerified(Skipped):
    """The check could not be made; the message says what to configure.

    `minor`: the check is not essential for the rule. If the others pass, the rule passes with a
    note.
    """

    def __init__(self, reason: str, *, minor: bool = False) -> None:
        super().__init__(reason, _use_item_location=True)
        self.minor = minor


class NotApplicable(Skipped):
    """The check does not apply to this target, which need not have what is checked. If other checks
    of the rule pass, the rule passes with a note."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, _use_item_location=True)


may_poison = getattr(pytest.mark, MAY_POISON)
"""On a scenario, or as a file's `pytestmark`: it sends data that a careless server accepts and
keeps, so that honest calls fail from then on. On a server that cannot be restarted these run
last."""


def requirement(*full_ids: str, needs: Sequence[str] | None = None) -> pytest.MarkDecorator:
    """Ties a scenario, or one of its cases, to the rules that it checks; `needs` replaces what
    those rules need."""
    return pytest.mark.mcp_approval_requirement(*full_ids, needs=needs)
