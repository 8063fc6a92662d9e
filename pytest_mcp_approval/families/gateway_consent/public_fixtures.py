"""Fixtures of this family for users' own tests. Loaded with the plugin: imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ...target import Target
    from .driver import GatewayConsent


@pytest.fixture
def approval_gateway(
    approval_turn: Target, request: pytest.FixtureRequest
) -> Iterator[GatewayConsent]:
    """A gateway, its MCP clients and the person who decides (docs/gateway-consent.md)."""
    from .driver import GatewayConsent
    from .settings import BROWSER

    driver = GatewayConsent(approval_turn)
    if driver.table.person == BROWSER:
        driver.decide_at(request.getfixturevalue("approval_page").page)
    yield driver
    driver.close()
