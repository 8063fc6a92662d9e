"""A gate on each store, with a clock that the test moves."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_mcp_approval.families.elicitation.vocabulary import Mode, capability
from pytest_mcp_approval.reference_server.elicitation.demonstration import TOOLS
from pytest_mcp_approval.reference_server.elicitation.gate import KEY, ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.refusals import ElicitationRefusal
from pytest_mcp_approval.reference_server.elicitation.settings import read_settings
from pytest_mcp_approval.reference_server.elicitation.store import ElicitationStore
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from pytest_mcp_approval.reference_server.server.extension import Caller

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
BOTH = capability(Mode.FORM, Mode.URL)
NAMED = {tool.name: tool for tool in TOOLS}
YES = {"action": "accept", "content": {"confirm": True}}
ACCOUNT = {"account": "test-1"}


@dataclass
class Desk:
    """A gate and everything around it."""

    gate: ElicitationGate
    clock: SettableClock
    store: ElicitationStore
    effects: RecordedEffects = field(default_factory=RecordedEffects)

    def call(
        self,
        arguments: Mapping[str, Any] = ACCOUNT,
        tool: str = "erase_account",
        *,
        user: str = "alice",
        capabilities: Any = BOTH,
        protocol: str = "2026-07-28",
        **params: Any,
    ) -> Any:
        caller = Caller(
            user,
            params=params,
            capabilities=capabilities,
            protocol=protocol,
            has_handshake=protocol < "2026",
        )
        asks = NAMED[tool].asks
        assert asks is not None

        def run() -> Any:
            return self.effects.record(tool, arguments)

        return self.gate.decide(GatedCall(asks, arguments, caller, run))

    def ask(self, *call: Any, **more: Any) -> str:
        """The state of a question."""
        asked = self.call(*call, **more)
        assert asked["resultType"] == "input_required"
        state: str = asked["requestState"]
        return state

    def answer(self, state: Any, answer: Any = YES, *call: Any, **more: Any) -> Any:
        return self.call(*call, requestState=state, inputResponses={KEY: answer}, **more)

    def refusal(self, act: Callable[..., Any], *call: Any, **more: Any) -> str:
        """The reason for which nothing was done."""
        before = len(self.effects)
        with pytest.raises(ElicitationRefusal) as refused:
            act(*call, **more)
        assert len(self.effects) == before
        return str(refused.value.reason)


@pytest.fixture
def open_store(new_database):
    """Makes stores of a kind, which are closed at the end."""
    made = []
    urls: dict[str, Any] = {"memory": None}

    def make(kind: str) -> ElicitationStore:
        if kind not in urls:
            urls[kind] = new_database(kind)
        made.append(ElicitationStore(urls[kind]))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def desk_on(open_store):
    def make(store: ElicitationStore | None = None, **settings: Any) -> Desk:
        kept, clock = store or open_store("memory"), SettableClock(START)
        gate = ElicitationGate(
            kept, clock, read_settings(settings), lambda id: f"http://localhost/{id}"
        )
        return Desk(gate, clock, kept)

    return make


@pytest.fixture
def desk(desk_on) -> Desk:
    return desk_on()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def stored_desk(request, open_store, desk_on) -> Desk:
    return desk_on(open_store(request.param))
