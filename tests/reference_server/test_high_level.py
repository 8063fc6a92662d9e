"""The gate in front of an `MCPServer`: what is refused when it is put together, and on the wire."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY
from pytest_mcp_approval.reference_server import (
    ApprovalGate,
    ApprovalStore,
    VerifiedApproval,
    http_app,
)
from pytest_mcp_approval.wire import InProcessTransport, Session, open_session


@pytest.fixture
def approval() -> VerifiedApproval:
    return VerifiedApproval(ApprovalGate(store=ApprovalStore()), user=lambda _: "alice")


@pytest.fixture
def server(approval: VerifiedApproval) -> MCPServer[Any]:
    return MCPServer("test", extensions=[approval], middleware=[approval.middleware])


@pytest.fixture(params=["2025-11-25", "2026-07-28"])
def session(server: MCPServer[Any], approval: VerifiedApproval, request: pytest.FixtureRequest):
    """A conversation with a server of one gated and one plain tool, in either era."""

    @approval.tool(server, describe=lambda _: "Wipe it", meta={"acme/team": "storage"})
    def wipe(disk: str) -> str:
        return f"wiped {disk}"

    @server.tool()
    def look(disk: str) -> str:
        return f"looked at {disk}"

    transport = InProcessTransport(http_app(server))
    yield open_session(transport, request.param, deadline=20)
    transport.close()


def call(session: Session, tool: str, **more: Any) -> Any:
    return session.call("tools/call", {"name": tool, "arguments": {"disk": "a"}, **more})


def test_the_capability_is_declared_under_the_bare_key_alone(session: Session):
    assert session.capabilities["extensions"] == {"verifiedApproval": {}}


def test_the_annotation_is_listed_beside_the_authors_own(session: Session):
    tools = {tool["name"]: tool for tool in session.call("tools/list").result["tools"]}
    assert tools["wipe"]["_meta"] == {"acme/team": "storage", META_KEY: {"required": "verified"}}
    assert META_KEY not in tools["look"].get("_meta", {})


@pytest.mark.parametrize("meta", [{}, {META_KEY: 7}])
def test_a_gated_tool_is_refused_as_an_error_and_a_plain_one_runs(session: Session, meta: Any):
    refused = call(session, "wipe", _meta=meta)
    assert refused.error.code == -32001
    assert refused.error.data == {"reason": "missing_evidence"}
    assert call(session, "look").result["content"][0]["text"] == "looked at a"


def test_the_approval_methods_answer(session: Session):
    begun = session.call("approval/enroll/begin")
    assert begun.result["options"]["user"]["name"] == "alice"
    bad = session.call("approval/challenge/create", {"toolName": "wipe"})
    assert bad.error is not None
    assert bad.error.code == -32602
    nobody = session.call("approval/challenge/create", {"toolName": "wipe", "arguments": {}})
    assert nobody.error is not None
    assert nobody.error.data["reason"] == "no_eligible_credential"


def test_malformed_json_has_an_answer(session: Session):
    reply = session.call("approval/challenge/create", {"toolName": "\ud800", "arguments": {}})
    assert reply.error is not None
    assert reply.error.code == -32700


@pytest.mark.parametrize("half", ["extensions", "middleware"])
def test_half_an_installation_is_refused(approval: VerifiedApproval, half: str):
    options: dict[str, Any] = {"extensions": [approval], "middleware": [approval.middleware]}
    server: MCPServer[Any] = MCPServer("test", **{half: options[half]})
    with pytest.raises(RuntimeError, match=r"test is not set up for approval, expected MCPServer"):
        approval.tool(server, describe=lambda _: "x")


def test_a_name_is_gated_once(approval: VerifiedApproval, server: MCPServer[Any]):
    decorate = approval.tool(server, describe=lambda _: "x", name="wipe")
    decorate(lambda: None)
    with pytest.raises(ValueError, match="got 'wipe' a second time"):
        decorate(lambda: None)


def test_an_unknown_class_is_refused(approval: VerifiedApproval, server: MCPServer[Any]):
    decorate = approval.tool(server, describe=lambda _: "x", authenticator_class="any", name="y")
    with pytest.raises(ValueError, match="any"):
        decorate(lambda: None)
