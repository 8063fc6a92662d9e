"""The fixtures that only the scenarios of this family see."""

from __future__ import annotations

import pytest

from pytest_mcp_approval import check_preconditions

from .driver import TwoPerson
from .needs import CHECKS
from .scenario import TwoPersonScenario


@pytest.fixture
def two_person(approval_two_person: TwoPerson, request: pytest.FixtureRequest) -> TwoPersonScenario:
    """A scenario's view of the target; "not verified" if it lacks what the rules need."""
    warn = check_preconditions(request.node, approval_two_person.target, CHECKS)
    return TwoPersonScenario(approval_two_person, warn)
