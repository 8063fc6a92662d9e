"""Fixtures of this family for users' own tests. Loaded with the plugin: imports nothing heavy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ...target import Target
    from .driver import ExecutionTokens


@pytest.fixture
def approval_execution(approval_turn: Target) -> Iterator[ExecutionTokens]:
    """Execution tokens and their verifier: a server, a command or a callable."""
    from .driver import ExecutionTokens

    driver = ExecutionTokens(approval_turn)
    yield driver
    driver.close()
