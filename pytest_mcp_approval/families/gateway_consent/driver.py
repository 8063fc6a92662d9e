"""Speaks to a gateway as its MCP clients do, and decides as its person does.

    cursor, windsurf = approval_gateway.client("Cursor"), approval_gateway.client("Windsurf")
    asked = cursor.call("com.example.calendar:listEvents")
    approval_gateway.decide(asked, "tool", remember=True)
    assert cursor.call("com.example.calendar:listEvents").executed
    assert windsurf.call("com.example.calendar:listEvents").needs_consent

Knows no verdicts: it does what it is told and says what came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...support.json_reading import JsonError, read_json
from ...target import Target
from ...wire import Outcome, Reply, StdioTransport
from ..driving import Driver, DriverError
from .answers import Answer
from .callers import AS_NAMED, Connection, connect
from .people import BrowserPerson, PagePerson, Person, person_for
from .surfing import SurfingError
from .table import BROWSER, SafeTool, Table, filled, read_table, safe_tools
from .vocabulary import FAMILY, Choice

_TOOL = "tool:"


class Client:
    """One MCP client of the gateway."""

    def __init__(self, gateway: GatewayConsent, connection: Connection) -> None:
        self.gateway = gateway
        self.connection = connection

    @property
    def name(self) -> str:
        return self.connection.name

    def call(
        self,
        tool: SafeTool | str,
        arguments: Any = None,
        *,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """A tools/call; without arguments, with those that are named as safe."""
        name, arguments = self.gateway.named(tool, arguments)
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if meta is not None:
            params["_meta"] = dict(meta)
        reply, runs = self.connection.runs_during(
            lambda: self.connection.session.call("tools/call", params, headers=headers)
        )
        return self.seen(name, arguments, reply, runs)

    def seen(self, name: str, arguments: Any, reply: Reply, runs: int | None = None) -> Answer:
        """An answer that came in another way, read as one of a call."""
        probed = self.connection.effects is not None
        return Answer.read(self.name, name, arguments, reply, runs, probed)


class GatewayConsent(Driver):
    """The gateway behind one target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        known = target.known_settings.get(FAMILY, {})
        self._given = {**known, **target.settings.family_settings.get(FAMILY, {})}
        self.table: Table = read_table(self._given)
        self._clients: dict[str, Client] = {}
        self._places: list[Target] = []
        self.stand_in: Person | None = None
        """Who decides in place of the one that the table names: a person at a real browser."""

    # ---- what there is

    def listing(self) -> dict[str, dict[str, Any]]:
        """The entries of tools/list by name."""
        key = f"{FAMILY} listing"
        if key not in self.target.remembered:
            self.target.remembered[key] = {
                str(entry.get("name")): entry for entry in self.session.list_tools()
            }
        found: dict[str, dict[str, Any]] = self.target.remembered[key]
        return found

    def tools(self) -> list[SafeTool]:
        """Those that may be run, first the ones that run on consent alone."""
        return safe_tools(self.table, list(self.listing()), self.target.settings.tools)

    def named(self, tool: SafeTool | str, arguments: Any) -> tuple[str, Any]:
        if isinstance(tool, SafeTool):
            return tool.name, tool.arguments if arguments is None else arguments
        if arguments is None:
            arguments = next((one.arguments for one in self.tools() if one.name == tool), {})
        return tool, arguments

    # ---- what the gateway tells of itself

    def status(self) -> dict[str, Any]:
        """What the placeholders of the table stand for; empty where nobody tells."""
        key = f"{FAMILY} status"
        if not self.table.status:
            return {}
        if key not in self.target.remembered:
            self.target.remembered[key] = self._look(f"{_TOOL}{self.table.status}")
        found = self.target.remembered[key]
        return found if isinstance(found, dict) else {}

    def facts(self) -> Table:
        """The table with its placeholders filled, for the gateway as it runs now."""
        return read_table(filled(self._given, self.status()))

    def export(self) -> Any:
        """The stored consents, as the gateway gives them out."""
        named = self.facts().export
        if not named:
            raise DriverError(f"there is no export: export = 'tool:NAME' or a URL in [{FAMILY}]")
        return self._look(named)

    def _look(self, named: str) -> Any:
        if not named.startswith(_TOOL):
            from .people import surfer_for

            page = surfer_for(self.target).get(named)
            try:
                return read_json(page.body)
            except JsonError:
                raise SurfingError(f"{named[:80]}: no JSON: {page.describe()}") from None
        params = {"name": named[len(_TOOL) :], "arguments": {}}
        reply = self.session.call("tools/call", params)
        result = reply.result
        if reply.outcome is not Outcome.RESULT or not isinstance(result, dict):
            raise DriverError(f"{named}: {reply.describe()}", reply)
        if "structuredContent" in result:
            return result["structuredContent"]
        try:
            return read_json(result["content"][0]["text"])
        except (LookupError, TypeError, ValueError):
            raise DriverError(f"{named}: no JSON: {reply.describe()}", reply) from None

    # ---- clients

    def client(self, name: str, client_info: Any = AS_NAMED) -> Client:
        """The client of that name; `client_info` is what it says of itself in place of a name."""
        if client_info is not AS_NAMED:
            return self._connect(name, client_info)
        if name not in self._clients:
            self._clients[name] = self._connect(name, AS_NAMED)
        return self._clients[name]

    def _connect(self, name: str, client_info: Any) -> Client:
        shared = self.table.shared_state
        place = connect(self, name, client_info, self._places.append, shared_state=shared)
        return Client(self, place)

    def restart(self) -> None:
        """The gateway and every process of it; clients connect again when they call."""
        for place in [*self._places, self.target]:
            place.restart()
        self.forget()
        _ = self.session  # so that it runs again before anybody looks at its effects

    def said_elsewhere(self) -> bytes:
        """What processes that clients have for themselves wrote to their standard error."""
        return b"\n".join(
            place.transport.stderr_tail
            for place in self._places
            if isinstance(place.transport, StdioTransport)
        )

    def close(self) -> None:
        """What clients have of their own; the target stays."""
        self._clients.clear()
        while self._places:
            self._places.pop().close()

    # ---- the person

    @property
    def person(self) -> Person:
        return self.stand_in or person_for(self.target, self.table)

    @property
    def decides_in_a_browser(self) -> bool:
        return self.table.person == BROWSER

    def decide_at(self, page: Any) -> None:
        """From now on in a real browser; `page` is Playwright's."""
        self.stand_in = BrowserPerson(page, self.target, self.table.page)

    @property
    def person_at_pages(self) -> PagePerson:
        """For dialogs and the pages of apps, which no hook stands in for."""
        return PagePerson(self.target, self.table.page)

    def decide(self, asked: Answer, choice: Choice | str, *, remember: bool = False) -> None:
        """Answer the question: "tool" (Authorize Tool), "all" (Authorize All Tools) or "deny"."""
        self.person.decide(asked, Choice(choice), remember=remember)
