"""The fixtures that only the packaged scenarios see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from ..scenes import opened
from .consents import Consents
from .driver import GatewayConsent
from .needs import CHECKS
from .page_looks import Looks

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage


@pytest.fixture
def consents(
    approval_gateway: GatewayConsent, request: pytest.FixtureRequest
) -> Iterator[Consents]:
    """A scenario's view of the gateway. What its rules need and the target lacks: not verified."""
    warn = opened(request.node, approval_gateway.target, CHECKS)
    with contextlib.ExitStack() as others:
        yield Consents(approval_gateway, warn, lambda close: _later(others, close))


def _later(stack: contextlib.ExitStack, close: Any) -> None:
    stack.callback(close)


@pytest.fixture
def looks(consents: Consents, approval_page: ApprovalPage) -> Looks:
    """A real browser, for what a person sees. None there: not verified."""
    return Looks(approval_page.page, consents.target)
