"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import pytest

from ..scenes import opened
from .ceremony import Ceremony
from .driver import Approval
from .needs import CHECKS


@pytest.fixture
def ceremony(approval: Approval, request: pytest.FixtureRequest) -> Ceremony:
    """A scenario's view of the target. What its rules need and the target lacks: not verified."""
    return Ceremony(approval, opened(request.node, approval.target, CHECKS))
