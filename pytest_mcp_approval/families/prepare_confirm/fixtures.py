"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ...catalogue import NotVerified
from ...run import WARNINGS, rules_of
from ..needs import check_needs
from .driver import PrepareConfirm
from .needs import CHECKS
from .two_step import TwoStep


@pytest.fixture
def two_step(
    approval_two_step: PrepareConfirm, request: pytest.FixtureRequest
) -> Iterator[TwoStep]:
    """A scenario's view of the target. What its rules need and the target lacks: not verified."""
    warnings = request.node.stash.setdefault(WARNINGS, [])
    target = approval_two_step.target
    missing = check_needs(request.node, rules_of(request.node), target, CHECKS)
    if missing:
        raise NotVerified(missing)
    with contextlib.ExitStack() as others:
        yield TwoStep(
            approval_two_step, warnings.append, lambda other: others.callback(other.close)
        )
