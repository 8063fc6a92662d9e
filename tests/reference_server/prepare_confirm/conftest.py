"""A gate on each state, with a clock that the test moves."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_mcp_approval.reference_server.prepare_confirm.back_end import BACK_ENDS
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import OPERATIONS
from pytest_mcp_approval.reference_server.prepare_confirm.settings import read_settings
from pytest_mcp_approval.reference_server.prepare_confirm.store import PreparationStore
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
NAMED = {operation.name: operation for operation in OPERATIONS}


@dataclass
class Desk:
    """A gate and everything around it."""

    gate: PreparationGate
    clock: SettableClock
    effects: RecordedEffects
    state: PreparationStore

    def prepare(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.gate.prepare(NAMED[operation], arguments, "somebody")

    def confirm(self, operation: str, token: Any, **more: Any) -> dict[str, Any]:
        return self.gate.confirm(
            NAMED[operation], {"confirmation_token": token, **more}, "somebody"
        )

    def done(self) -> list[Any]:
        return [next(iter(one["arguments"].values())) for one in self.effects]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def state(request, new_database) -> Any:
    url = None if request.param == "memory" else new_database(request.param)
    made = PreparationStore(url, START)
    yield made
    made.close()


@pytest.fixture
def desk_with(state) -> Callable[..., Desk]:
    def make(**settings: Any) -> Desk:
        options = read_settings(settings)
        clock, effects = SettableClock(START), RecordedEffects()
        back_end = BACK_ENDS[options.back_end](state, effects)
        return Desk(PreparationGate(clock, state, back_end, options), clock, effects, state)

    return make


@pytest.fixture
def desk(desk_with) -> Desk:
    return desk_with()
