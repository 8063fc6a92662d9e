"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import pytest

from ..base.scenario import check_preconditions
from .driver import PrepareConfirm
from .needs import CHECKS
from .scenario import TwoStep


@pytest.fixture
def two_step(approval_two_step: PrepareConfirm, request: pytest.FixtureRequest) -> TwoStep:
    """A scenario's view of the target. What its rules need and the target lacks: not verified."""
    target = approval_two_step.target
    warn = check_preconditions(request.node, target, CHECKS)
    if (target.can_reset or target.settings.reset) and (
        target.clock.stops or not target.clock.movable
    ):
        approval_two_step.as_new()  # a run that waits for time to pass resets nothing meanwhile
    return TwoStep(approval_two_step, warn, request.addfinalizer)
