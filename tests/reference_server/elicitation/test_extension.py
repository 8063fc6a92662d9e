"""The tools behind MCP, as the official SDK's own client sees them: both eras, three transports."""

from __future__ import annotations

import contextlib
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from pytest_mcp_approval.reference_server import ReferenceServer, build
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.server.extension import DEFAULT_USER, USER_HEADER
from tests.reference_server.running import serving
from tests.warm_python import warm_python

ERAS = ["legacy", "2026-07-28"]
TRANSPORTS = ["direct", "http", "stdio"]
TRANSFER = {"to": {"iban": "1", "name": "Ada"}, "amount": 1.5, "tags": []}
MINE = {USER_HEADER: DEFAULT_USER}
DEADLINE = 30


def fetched(url: str, headers: dict[str, str], data: dict[str, str] | None = None) -> Any:
    body = None if data is None else urllib.parse.urlencode(data).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=20) as got:
            return got.status, got.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def decide(url: str, decision: str, headers: dict[str, str] = MINE) -> int:
    """Open the page and press a button; the status of what came of it."""
    status, page = fetched(url, headers)
    csrf = re.search(r'name="csrf" value="([^"]+)"', page)
    if csrf is None:
        return int(status)
    return int(fetched(url, headers, {"csrf": csrf[1], "decision": decision})[0])


class Person:
    """Answers the questions, and remembers them."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Callable[[Any], ElicitResult] = self.says_yes

    async def __call__(self, _: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return await anyio.to_thread.run_sync(self.answer, params)

    def says_yes(self, params: Any) -> ElicitResult:
        if params.mode == "url":
            assert decide(params.url, "approved") == 200
            return ElicitResult(action="accept")
        members = params.requested_schema["properties"]
        yes: dict[str, Any] = {"confirm": True, "decision": "approve", "remark": "fine"}
        return ElicitResult(action="accept", content={name: yes[name] for name in members})


@pytest.fixture
def server() -> Iterator[ReferenceServer]:
    made = build(extensions={"elicitation": ElicitationExtension}, user_header=USER_HEADER)
    yield made
    made.close()


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture(params=ERAS)
def era(request) -> str:
    return str(request.param)


@pytest.fixture(params=TRANSPORTS)
def run(request, server, person, era) -> Iterator[Callable[..., Any]]:
    """Runs a conversation with a client that can ask this person."""
    with contextlib.ExitStack() as stack:
        place: Any = server.mcp
        if request.param == "http":
            place = f"http://localhost:{stack.enter_context(serving(server))}/mcp"
        if request.param == "stdio":
            options = ["--stdio", "--only", "elicitation"]
            module = "pytest_mcp_approval.reference_server"
            command, *words = warm_python()
            place = StdioServerParameters(command=command, args=[*words, "-m", module, *options])

        def converse(act: Any, *, asks: bool = True) -> Any:
            async def conversation() -> Any:
                with anyio.fail_after(DEADLINE):
                    async with opened(place, era, person if asks else None) as client:
                        return await act(client)

            return anyio.run(conversation)

        yield converse


@contextlib.asynccontextmanager
async def opened(place: Any, era: str, person: Any) -> AsyncIterator[Client]:
    async with Client(place, mode=era, elicitation_callback=person) as client:
        yield client


async def effects(client: Client) -> list[Any]:
    found: Any = await client.call_tool("list_effects", {})
    return list(found.structured_content["effects"])


def test_every_tool_asks_and_runs_on_a_yes(run, person):
    calls: dict[str, Any] = {
        "erase_account": {"account": "a"},
        "suspend_account": {"account": "a", "reason": "r", "keep_backup": False},
        "wire_money": TRANSFER,
        "publish_release": {"version": "1"},
        "rotate_keys": {"service": "s"},
    }

    async def act(client: Client) -> None:
        for tool, arguments in calls.items():
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, (tool, result.structured_content)
        ran = {one["tool"]: one["arguments"] for one in await effects(client)}
        assert ran == calls
        shown = await client.call_tool("show_accounts", {})
        assert shown.structured_content["accounts"]

    run(act)
    assert [one.mode for one in person.asked] == [*["form"] * 4, "url"]
    assert person.asked[0].message == 'Erase the account "a" for ever.\n- account: "a"'


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_no_runs_nothing_and_is_told(run, person, action):
    person.answer = lambda _: ElicitResult(action=action, content={"confirm": True})

    async def act(client: Client) -> None:
        result: Any = await client.call_tool("erase_account", {"account": "a"})
        assert result.is_error
        assert "Nothing was done" in result.content[0].text
        assert await effects(client) == []

    run(act)


def test_a_tool_that_fails_after_its_approval(run, person):
    async def act(client: Client) -> None:
        result = await client.call_tool("erase_account", {"account": "broken"})
        assert result.is_error
        assert len(await effects(client)) == 1

    run(act)


def test_a_client_that_cannot_ask_is_refused(run, person, era):
    async def act(client: Client) -> None:
        if era == "legacy":
            result = await client.call_tool("erase_account", {"account": "a", "confirm": True})
            assert result.is_error
        else:
            with pytest.raises(MCPError) as refused:
                await client.call_tool("erase_account", {"account": "a", "confirm": True})
            assert refused.value.error.code == -32021
            data: Any = refused.value.error.data
            assert data["requiredCapabilities"] == {"elicitation": {"form": {}}}
        assert await effects(client) == []

    run(act, asks=False)


@pytest.mark.parametrize("run", ["http"], indirect=True)
def test_nobody_else_finishes_on_the_page(run, person):
    seen = []

    def visits(params: Any) -> ElicitResult:
        seen.append(fetched(params.url, {})[0])
        seen.append(decide(params.url, "approved", {USER_HEADER: "bob"}))
        seen.append(fetched(f"{params.url}x", MINE)[0])
        seen.append(fetched(params.url, MINE, {"csrf": "", "decision": "approved"})[0])
        status, page = fetched(params.url, {"Cookie": "reference_user=demonstration%20user"})
        assert status == 200
        assert "Replace all keys of the service &quot;&lt;b&gt;&quot;." in page
        assert "<b>" not in page
        decide(params.url, "declined")
        seen.append(decide(params.url, "approved"))
        return ElicitResult(action="accept")

    person.answer = visits

    async def act(client: Client) -> None:
        result = await client.call_tool("rotate_keys", {"service": "<b>"})
        assert result.is_error
        assert await effects(client) == []

    run(act)
    assert seen == [401, 404, 404, 400, 404]


def test_arguments_are_checked_before_anybody_is_asked(run, person):
    async def act(client: Client) -> None:
        for arguments in ({}, {"account": 7}, {"account": "a", "keep_backup": "yes"}):
            with pytest.raises(MCPError) as refused:
                await client.call_tool("erase_account", arguments)
            assert refused.value.error.code == -32602

    run(act)
    assert person.asked == []
