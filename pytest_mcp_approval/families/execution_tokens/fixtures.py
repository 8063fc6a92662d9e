"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import pytest

from ..base.scenario import check_preconditions
from .driver import ExecutionTokens
from .needs import CHECKS
from .scenario import Executions


@pytest.fixture
def executions(approval_execution: ExecutionTokens, request: pytest.FixtureRequest) -> Executions:
    """A scenario's view of the target; "not verified" if it lacks what the rules need."""
    warn = check_preconditions(request.node, approval_execution.target, CHECKS)
    return Executions(approval_execution, warn, request.addfinalizer)
