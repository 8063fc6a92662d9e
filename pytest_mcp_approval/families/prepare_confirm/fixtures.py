"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import pytest

from ..base.scenario import check_preconditions
from .driver import PrepareConfirm
from .needs import CHECKS
from .scenario import TwoStep


@pytest.fixture
def two_step(approval_two_step: PrepareConfirm, request: pytest.FixtureRequest) -> TwoStep:
    """A scenario's view of the target; "not verified" if it lacks what the rules need."""
    target = approval_two_step.target
    warn = check_preconditions(request.node, target, CHECKS)
    if (target.can_reset or target.settings.reset) and (
        target.clock.stops or not target.clock.movable
    ):
        approval_two_step.as_new()  # not while waiting for time to pass: then nothing is reset
    return TwoStep(approval_two_step, warn, request.addfinalizer)
