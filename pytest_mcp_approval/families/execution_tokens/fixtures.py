"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ...catalogue import NotVerified
from ...run import WARNINGS, rules_of
from ..needs import check_needs
from .driver import ExecutionTokens
from .executions import Executions
from .needs import CHECKS


@pytest.fixture
def executions(
    approval_execution: ExecutionTokens, request: pytest.FixtureRequest
) -> Iterator[Executions]:
    """A scenario's view of the target. What its rules need and the target lacks: not verified."""
    warnings = request.node.stash.setdefault(WARNINGS, [])
    target = approval_execution.target
    missing = check_needs(request.node, rules_of(request.node), target, CHECKS)
    if missing:
        raise NotVerified(missing)
    with contextlib.ExitStack() as others:
        yield Executions(
            approval_execution, warnings.append, lambda port: others.callback(port.close)
        )
