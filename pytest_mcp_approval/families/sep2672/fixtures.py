"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import pytest

from ...catalogue import NotVerified
from ...run import WARNINGS, rules_of
from ..needs import check_needs
from .ceremony import Ceremony
from .driver import Approval
from .needs import CHECKS


@pytest.fixture
def ceremony(approval: Approval, request: pytest.FixtureRequest) -> Ceremony:
    """A scenario's view of the target. What its rules need and the target lacks: not verified."""
    warnings = request.node.stash.setdefault(WARNINGS, [])
    made = Ceremony(approval, warnings.append)
    missing = check_needs(request.node, rules_of(request.node), made.target, CHECKS)
    if missing:
        raise NotVerified(missing)
    return made
