"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ...wire.eras import Era
from ..base.scenario import check_preconditions
from .driver import Approval
from .needs import CHECKS
from .scenario import Ceremony

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage
    from ...clients.opened import OpenedClient
    from .client_scenario import ApprovingClient
    from .page import PageDriver
    from .page_scenario import Visit


@pytest.fixture
def ceremony(approval: Approval, request: pytest.FixtureRequest) -> Ceremony:
    """A scenario's view of the target; "not verified" if it lacks what the rules need."""
    return Ceremony(approval, check_preconditions(request.node, approval.target, CHECKS))


@pytest.fixture
def visit(
    approval: Approval,
    approval_page: ApprovalPage,
    approval_page_driver: PageDriver,
    request: pytest.FixtureRequest,
) -> Visit:
    """A person on the page of the target, in a browser."""
    from .page_scenario import Visit

    warn = check_preconditions(request.node, approval.target, CHECKS)
    return Visit(approval, approval_page, approval_page_driver, warn)


@pytest.fixture(params=list(Era), ids=lambda era: era.value)
def approving(
    approval_client: OpenedClient, request: pytest.FixtureRequest
) -> Iterator[ApprovingClient]:
    """The client under test, whose server wants calls approved, in each era that it speaks."""
    from ..base.client_scenario import client_for, warnings_of
    from .client_scenario import ApprovingClient
    from .scripted_approvals import SuiteAuthenticator

    authenticator = SuiteAuthenticator(approval_client.description.origin)
    with client_for(approval_client, request.param, authenticator) as client:
        yield ApprovingClient(client, authenticator, warnings_of(request.node))
