"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from ..base.scenario import check_preconditions
from .driver import Elicitation
from .needs import CHECKS
from .people import BrowserFormPerson
from .scenario import Questions
from .settings import BROWSER

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage


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
