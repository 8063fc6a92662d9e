"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ...wire.eras import Era
from ..base.scenario import check_preconditions
from .driver import Elicitation
from .needs import CHECKS
from .people import BrowserFormPerson
from .scenario import Questions
from .settings import BROWSER

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage
    from ...clients.opened import OpenedClient
    from .client_scenario import AskedClient


@pytest.fixture
def questions(
    approval_elicitation: Elicitation, request: pytest.FixtureRequest
) -> Iterator[Questions]:
    """A scenario's view of the target; "not verified" if it lacks what the rules need."""
    driver, item = approval_elicitation, request.node
    warn = check_preconditions(item, driver.target, CHECKS)

    def note(text: str) -> None:
        item.user_properties.append(("mcp_approval_note", text))
        item.add_report_section("call", "mcp-approval", text)

    with contextlib.ExitStack() as others:
        view = Questions(driver, warn, others.callback, note)
        if driver.table.person.who == BROWSER and view.url_tools():
            page: ApprovalPage = request.getfixturevalue("approval_page")
            driver.stand_in = BrowserFormPerson(page.page, driver.target, driver.table.person)
        yield view


@contextlib.contextmanager
def _asked(opened: OpenedClient, era: Era, item: pytest.Item) -> Iterator[AskedClient]:
    from ..base.client_scenario import client_for, warnings_of
    from .client_scenario import AskedClient

    with client_for(opened, era) as client:
        yield AskedClient(client, warnings_of(item))


@pytest.fixture(params=list(Era), ids=lambda era: era.value)
def asked(approval_client: OpenedClient, request: pytest.FixtureRequest) -> Iterator[AskedClient]:
    """The client under test, whose server asks its person, in each era that it speaks."""
    with _asked(approval_client, request.param, request.node) as view:
        yield view


@pytest.fixture
def asked_by_result(
    approval_client: OpenedClient, request: pytest.FixtureRequest
) -> Iterator[AskedClient]:
    """The same in the sessionless era, in which a result asks and a retry answers."""
    with _asked(approval_client, Era.SESSIONLESS, request.node) as view:
        yield view


@pytest.fixture
def asked_by_request(
    approval_client: OpenedClient, request: pytest.FixtureRequest
) -> Iterator[AskedClient]:
    """The same in the handshake era, in which a request asks."""
    with _asked(approval_client, Era.HANDSHAKE, request.node) as view:
        yield view
