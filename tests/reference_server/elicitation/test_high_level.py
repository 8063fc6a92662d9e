"""The gate in front of an `MCPServer`, with the official SDK's own client."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from pytest_mcp_approval.families.elicitation.vocabulary import Mode, capability
from pytest_mcp_approval.reference_server import (
    ElicitationGate,
    ElicitationStore,
    ElicitedApproval,
    SettableClock,
    http_app,
)
from pytest_mcp_approval.wire import InProcessTransport, open_session

ERAS = ["legacy", "2026-07-28"]


class Notes:
    """A server of one's own, with a tool behind the gate and one beside it."""

    def __init__(self) -> None:
        gate = ElicitationGate(ElicitationStore(), SettableClock())
        self.approval = ElicitedApproval(gate, user=lambda _: "alice")
        self.server: MCPServer[Any] = MCPServer("notes")
        self.deleted: list[str] = []
        self.asked: list[str] = []
        self.answer = ElicitResult(action="accept", content={"confirm": True})

        @self.approval.tool(
            self.server, describe=lambda arguments: f"Delete the note {arguments['title']}."
        )
        def delete_note(title: str) -> str:
            self.deleted.append(title)
            return f"deleted {title}"

        @self.server.tool()
        def count_notes() -> int:
            return 3

    async def person(self, _: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return self.answer

    def call(self, era: str, *calls: tuple[str, Any], asks: bool = True) -> list[Any]:
        async def converse() -> list[Any]:
            person: Any = self.person if asks else None
            with anyio.fail_after(30):
                async with Client(self.server, mode=era, elicitation_callback=person) as client:
                    return [await client.call_tool(*one) for one in calls]

        return anyio.run(converse)


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture(params=ERAS)
def era(request) -> str:
    return str(request.param)


def test_a_tool_runs_on_a_yes_and_others_as_ever(notes, era):
    deleted, counted = notes.call(era, ("delete_note", {"title": "x"}), ("count_notes", {}))
    assert deleted.content[0].text == "deleted x"
    assert counted.structured_content == {"result": 3}
    assert notes.deleted == ["x"]
    assert notes.asked == ['Delete the note x.\n- title: "x"']


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_no_runs_nothing(notes, era, action):
    notes.answer = ElicitResult(action=action)
    (refused,) = notes.call(era, ("delete_note", {"title": "x"}))
    assert refused.is_error
    assert notes.deleted == []


def test_a_client_that_cannot_ask_is_refused(notes, era):
    call = ("delete_note", {"title": "x"})
    if era == "legacy":
        assert notes.call(era, call, asks=False)[0].is_error
    else:
        with pytest.raises(BaseExceptionGroup) as refused:
            notes.call(era, call, asks=False)
        assert refused.group_contains(MCPError, match="can ask its user", depth=None)
    assert notes.deleted == []


def test_a_state_serves_once_and_only_its_own_call(notes):
    transport = InProcessTransport(http_app(notes.server))
    session = open_session(transport, "2026-07-28", deadline=10, capabilities=capability(Mode.FORM))
    call: Any = {"name": "delete_note", "arguments": {"title": "x"}}
    state = session.call("tools/call", call).result["requestState"]
    yes = {"approval": {"action": "accept", "content": {"confirm": True}}}
    answer = {"requestState": state, "inputResponses": yes}
    other = session.call("tools/call", {**call, "arguments": {"title": "y"}, **answer})
    assert other.error is not None
    assert session.call("tools/call", {**call, **answer}).result["resultType"] == "complete"
    again = session.call("tools/call", {**call, **answer})
    assert again.error is not None
    assert again.error.data == {"reason": "request_state_used"}
    undescribed = session.call("tools/call", {**call, "arguments": {}})
    assert undescribed.error is not None
    assert undescribed.error.code == -32602
    assert notes.deleted == ["x"]
    transport.close()


def test_a_name_is_gated_once(notes):
    with pytest.raises(ValueError, match="got 'delete_note' a second time"):
        notes.approval.tool(notes.server, describe=str, name="delete_note")(print)
