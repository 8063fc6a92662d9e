"""What a test author uses. Each fixture imports what it needs when it is asked for.

def test_a_synced_passkey_approves_once(approval):
    passkey = approval.enrol("icloud-keychain")
    request = approval.challenge("place_trade", {"symbol": "AAPL", "quantity": 10})
    evidence = passkey.sign(request)

    assert approval.call(request, evidence).executed
    assert approval.call(request, evidence).refused_because("challenge_consumed")
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from .browser.pages import ApprovalPage
    from .clock import ClockControl
    from .families.confirmation_tokens.driver import ConfirmationTokens
    from .families.execution_tokens.driver import ExecutionTokens
    from .families.gateway_consent.driver import GatewayConsent
    from .families.prepare_confirm.driver import PrepareConfirm
    from .families.sep2672.driver import Approval, Passkey
    from .families.sep2672.page import PageDriver
    from .target import Target
    from .wire import Session

__all__ = [
    "approval",
    "approval_browser",
    "approval_clock",
    "approval_execution",
    "approval_gateway",
    "approval_page",
    "approval_page_driver",
    "approval_passkey",
    "approval_session",
    "approval_target",
    "approval_tokens",
    "approval_turn",
    "approval_two_step",
]


@pytest.fixture(scope="session")
def approval_target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """The server under test, started when it is first used."""
    from .session.target_use import opened_target, settings_of

    settings = settings_of(request.config)
    if not settings.targets:
        pytest.skip(
            "no server to test: pytest --mcp-approval-target=<server>, or target = ... in "
            "mcp-approval.toml"
        )
    with opened_target(request.config, settings) as target:
        yield target


@pytest.fixture
def approval_turn(approval_target: Target, request: pytest.FixtureRequest) -> Iterator[Target]:
    """The server for one test: fresh where that is possible, and nobody else's meanwhile."""
    from .session.target_use import exclusive_use

    with exclusive_use(request.config, approval_target):
        yield approval_target


@pytest.fixture
def approval(approval_turn: Target) -> Approval:
    """The ceremonies of SEP-2672 with the server: enrol, challenge, sign, call."""
    from .families.sep2672.driver import Approval

    return Approval(approval_turn)


@pytest.fixture
def approval_session(approval_turn: Target) -> Session:
    """The MCP conversation with the server, for messages of your own."""
    return approval_turn.session()


@pytest.fixture
def approval_passkey(approval: Approval) -> Passkey:
    """An enrolled security key."""
    return approval.enrol("security-key")


@pytest.fixture
def approval_clock(approval_turn: Target) -> ClockControl:
    """The server's clock. A test that needs it is skipped where it cannot be moved."""
    clock = approval_turn.clock
    if not clock.movable:
        pytest.skip(f"the server's clock cannot be moved: {clock.why_not}")
    return clock


@pytest.fixture
def approval_two_step(approval_turn: Target) -> PrepareConfirm:
    """The prepare_x and confirm_x tools of the server: prepare, look, confirm."""
    from .families.prepare_confirm.driver import PrepareConfirm

    return PrepareConfirm(approval_turn)


@pytest.fixture
def approval_tokens(approval_turn: Target) -> ConfirmationTokens:
    """Confirmation tokens of the server: issue, redeem, revoke (docs/confirmation-tokens.md)."""
    from .families.confirmation_tokens.driver import ConfirmationTokens

    return ConfirmationTokens(approval_turn)


@pytest.fixture
def approval_execution(approval_turn: Target) -> Iterator[ExecutionTokens]:
    """Execution tokens and their verifier: a server, a command or a callable."""
    from .families.execution_tokens.driver import ExecutionTokens

    driver = ExecutionTokens(approval_turn)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def approval_browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A headless browser, started once: Playwright's own object. Skips where there is none."""
    from .session.browser_use import session_browser

    with session_browser(request) as browser:
        yield browser


@pytest.fixture
def approval_page(
    approval_browser: Browser, request: pytest.FixtureRequest
) -> Iterator[ApprovalPage]:
    """A page in a context of its own; `.key("icloud-keychain")` puts an authenticator before it."""
    from .session.browser_use import recorded_page

    with recorded_page(approval_browser, request) as page:
        yield page


@pytest.fixture
def approval_page_driver(approval_page: ApprovalPage, approval_turn: Target) -> PageDriver:
    """What a person does on the server's page, as [sep2672.page] describes it. A page that needs
    more: a fixture of this name in your conftest.py, with a class of yours (docs/browser.md)."""
    from .families.sep2672.settings import driver_for

    return driver_for(approval_page, approval_turn)


@pytest.fixture
def approval_gateway(
    approval_turn: Target, request: pytest.FixtureRequest
) -> Iterator[GatewayConsent]:
    """A gateway, its MCP clients and the person who decides (docs/gateway-consent.md)."""
    from .families.gateway_consent.driver import GatewayConsent

    driver = GatewayConsent(approval_turn)
    if driver.decides_in_a_browser:
        driver.decide_at(request.getfixturevalue("approval_page").page)
    yield driver
    driver.close()
