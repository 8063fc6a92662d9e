"""Fixtures for test authors. Each fixture imports what it needs when it is used.

A family has its fixtures in its own folder (`families/<family>/public_fixtures.py`). Knows no
family.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from .browser.pages import ApprovalPage
    from .clients.opened import OpenedClient
    from .clock import ClockControl
    from .target import Target
    from .wire import Session

__all__ = [
    "approval_browser",
    "approval_client",
    "approval_clock",
    "approval_page",
    "approval_session",
    "approval_target",
    "approval_turn",
]


@pytest.fixture(scope="session")
def approval_target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The server under test, started when it is first used."""
    from .session.target_use import opened_target

    with opened_target(request.config) as target:
        yield target


@pytest.fixture
def approval_turn(approval_target: Target, request: pytest.FixtureRequest) -> Iterator[Target]:
    """The server for one test: fresh if possible, and used by nobody else meanwhile."""
    from .session.target_use import exclusive_use

    with exclusive_use(request.node, approval_target):
        yield approval_target


@pytest.fixture
def approval_session(approval_turn: Target) -> Session:
    """The MCP conversation with the server, to send your own messages."""
    return approval_turn.session()


@pytest.fixture
def approval_clock(approval_turn: Target) -> ClockControl:
    """The server's clock. The test is skipped if the clock cannot be moved."""
    clock = approval_turn.clock
    if not clock.movable:
        pytest.skip(f"the server's clock cannot be moved: {clock.why_not}")
    return clock


@pytest.fixture(scope="session")
def approval_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A headless browser, started once: Playwright's own object. Skips if there is none."""
    from .session.browser_use import session_browser

    with session_browser(request) as browser:
        yield browser


@pytest.fixture
def approval_page(
    approval_browser: Browser, request: pytest.FixtureRequest
) -> Iterator[ApprovalPage]:
    """A page in its own context; `.key("icloud-keychain")` gives it an authenticator."""
    from .session.browser_use import recorded_page

    with recorded_page(approval_browser, request) as page:
        yield page


@pytest.fixture(scope="session")
def approval_client(request: pytest.FixtureRequest) -> Iterator[OpenedClient]:
    """The client under test: the suite plays its server and its person."""
    from .session.client_use import opened_client

    with opened_client(request.config) as opened:
        yield opened
