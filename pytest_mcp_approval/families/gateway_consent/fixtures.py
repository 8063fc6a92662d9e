"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ...catalogue import NotApplicable
from ...catalogue.marking import rules_of
from ..base.scenario import check_preconditions
from .driver import GatewayConsent
from .needs import CHECKS, not_concerned
from .rendered_page import RenderedPage
from .scenario import Consents

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage


@pytest.fixture
def consents(
    approval_gateway: GatewayConsent, request: pytest.FixtureRequest
) -> Iterator[Consents]:
    """A scenario's view of the gateway; "not verified" if it lacks what the rules need."""
    why = not_concerned(rules_of(request.node), approval_gateway.table)
    if why:
        raise NotApplicable(why)
    warn = check_preconditions(request.node, approval_gateway.target, CHECKS)
    with contextlib.ExitStack() as others:
        yield Consents(approval_gateway, warn, others.callback)


@pytest.fixture
def rendered_page(consents: Consents, request: pytest.FixtureRequest) -> RenderedPage:
    """A real browser, for what a person sees; "not verified" without one. A gateway that asks in
    dialogs has no page: that is checked before a browser is needed."""
    if any(rule.name.startswith("dialog-") for rule in rules_of(request.node)):
        consents.need_page()
    page: ApprovalPage = request.getfixturevalue("approval_page")
    if "approval_browser" not in request.node.fixturenames:
        request.node.fixturenames.append("approval_browser")  # marks the test as one with a browser
    return RenderedPage(page.page, consents.target)
