"""Speaks to a gateway as its MCP clients do, and decides as its person does.

    cursor, windsurf = approval_gateway.client("Cursor"), approval_gateway.client("Windsurf")
    asked = cursor.call("com.example.calendar:listEvents")
    approval_gateway.decide(asked, "tool", remember=True)
    assert cursor.call("com.example.calendar:listEvents").executed
    assert windsurf.call("com.example.calendar:listEvents").needs_consent

Knows no verdicts: it does what it is told and reports what came back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from ...support.json_reading import JsonError, read_json
from ...support.recording import note
from ...support.text import neutralise
from ...target import Target
from ...wire import Reply, StdioTransport, race
from ..base.driver import Driver, DriverError, table_of
from ..base.form_client import FormClientError
from ..base.people import form_client_for
from ..base.probes import call_tool, read_probe
from .binding import binding_of
from .callers import AS_NAMED, ClientConnection, place_of_client
from .outcome import GatewayOutcome
from .people import (
    LEAVE,
    BrowserConsentPerson,
    ConsentPerson,
    PagePerson,
    Planned,
    ToldPerson,
    told_person_for,
)
from .settings import (
    IN_A_DIALOG,
    GatewayConsentTable,
    SafeTool,
    filled,
    read_table,
    safe_tools,
)
from .vocabulary import CHOICE_NAMES, FAMILY, Choice, split_tool_name

_TOOL = "tool:"


class Client:
    """One MCP client of the gateway."""

    def __init__(self, gateway: GatewayConsent, connection: ClientConnection) -> None:
        self.gateway = gateway
        self.connection = connection
        self.name = connection.name

    def call(
        self,
        tool: SafeTool | str,
        arguments: Any = None,
        *,
        beside: Mapping[str, Any] | None = None,
        beside_arguments: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> GatewayOutcome:
        """A tools/call; by default with the arguments named as safe. `beside` is added to the
        gateway's own arguments, if it has all tools behind one; `beside_arguments` to the params of
        the call."""
        safe, arguments = self.gateway.named(tool, arguments)
        params = {**self.gateway.binding.call_params(safe, arguments), **(beside_arguments or {})}
        if beside is not None:
            params["arguments"] = {**params["arguments"], **beside}
        if meta is not None:
            params["_meta"] = dict(meta)

        def send() -> list[Reply]:
            return [self.connection.session.call("tools/call", params, headers=headers)]

        (answer,), _ = self._attended(safe, arguments, send)
        return replace(answer, again=lambda: self.call(tool, arguments))

    def at_once(self, tool: SafeTool, count: int) -> tuple[list[GatewayOutcome], int | None]:
        """This many calls at the same time, and how often a tool ran meanwhile."""
        call = ("tools/call", self.gateway.binding.call_params(tool, tool.arguments))
        return self._attended(
            tool, tool.arguments, lambda: list(race(self.connection.session, [call] * count))
        )

    def _attended(
        self, tool: SafeTool, arguments: Any, send: Callable[[], list[Reply]]
    ) -> tuple[list[GatewayOutcome], int | None]:
        """With a person who answers the dialogs that come up, if the gateway asks in dialogs."""
        gateway, planned = self.gateway, Planned()
        if gateway.asks_in_dialogs:
            planned = gateway.planned.pop((self.name, tool.app, tool.tool), planned)
            gateway.told_person.attend(self.name, tool.app, tool.tool, planned)
        replies, runs = self.connection.runs_during(send)
        dialogs = gateway.told_person.report() if gateway.asks_in_dialogs else ()
        decision = "" if planned.decision == LEAVE else planned.decision
        probed = self.connection.effects is not None
        answers = [
            replace(
                gateway.binding.read(self.name, tool, arguments, reply, runs, probed),
                app=tool.app,
                tool=tool.tool,
                dialogs=dialogs,
                decision=decision,
            )
            for reply in replies
        ]
        return answers, runs


class GatewayConsent(Driver):
    """The gateway behind one target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self._given = table_of(target, FAMILY)
        self.table: GatewayConsentTable = read_table(self._given, target.settings.sources)
        self.binding = binding_of(self.table, target.settings.directory)
        self.planned: dict[tuple[str, str, str], Planned] = {}
        """For dialogs that come up later, by caller, app and tool."""
        self._clients: dict[str, Client] = {}
        self._places: list[Target] = []
        self.stand_in: ConsentPerson | None = None
        """Who decides instead of the person in the table: one at a real browser."""

    # ---- what there is

    def tools(self) -> list[SafeTool]:
        """The tools that may be run, first those that need consent alone."""
        return safe_tools(self.table, list(self.listing()), self.target.settings.tools)

    def named(self, tool: SafeTool | str, arguments: Any) -> tuple[SafeTool, Any]:
        if isinstance(tool, str):
            app, own = split_tool_name(tool) or ("", tool)
            known = next((one for one in self.tools() if one.name == tool), None)
            tool = known or SafeTool(tool, app, own, {})
        return tool, tool.arguments if arguments is None else arguments

    def described(self, tool: SafeTool) -> tuple[str, Mapping[str, Any]] | None:
        """What the gateway says elsewhere about a tool and its arguments; None if nothing."""
        return self.binding.described(
            tool, self.listing(), lambda params: self.session.call("tools/call", params)
        )

    # ---- what the gateway says about itself

    def status(self) -> dict[str, Any]:
        """The values for the table's placeholders; empty without a status tool."""
        key = f"{FAMILY} status"
        if not self.table.status:
            return {}
        if key not in self.target.remembered:
            self.target.remembered[key] = self._look(f"{_TOOL}{self.table.status}")
        found = self.target.remembered[key]
        return found if isinstance(found, dict) else {}

    def facts(self, client: Client | None = None) -> GatewayConsentTable:
        """The table with its placeholders filled, for the gateway as it runs now: for this client,
        whose process may have addresses of its own."""
        told = self.status() if client is None else self._status_for(client)
        return read_table(filled(self._given, told), self.target.settings.sources)

    def _status_for(self, client: Client) -> dict[str, Any]:
        connection = client.connection
        if connection.target is self.target or not self.table.status:
            return self.status()
        found = call_tool(connection.target, self.table.status, session=connection.session)
        return found if isinstance(found, dict) else {}

    def export(self) -> Any:
        """The stored consents, as the gateway exports them."""
        named = self.facts().export
        if not named:
            raise DriverError(f"there is no export: export = 'tool:NAME' or a URL in [{FAMILY}]")
        return self._look(named)

    def credentials(self) -> Any:
        """The stored credentials, as the gateway exports them: with their secrets masked."""
        return self._look(self.facts().credentials)

    def key_store(self) -> str:
        """The names of its entries in the system's key store, as text to search."""
        return json.dumps(self._look(self.facts().key_store), ensure_ascii=False)

    def _look(self, named: str) -> Any:
        if named.startswith(_TOOL):
            found = read_probe(self.target, named)
            if isinstance(found, str):
                raise DriverError(f"{named}: no JSON: {neutralise(found, 80)}")
            return found
        # The address may come from the gateway: every redirect is checked.
        page = form_client_for(self.target).get(named)
        try:
            return read_json(page.body)
        except JsonError:
            raise FormClientError(f"{neutralise(named, 80)}: no JSON: {page.describe()}") from None

    # ---- clients

    def client(self, name: str, client_info: Any = AS_NAMED) -> Client:
        """The client of that name; `client_info` is what it says about itself instead."""
        if client_info is AS_NAMED and name in self._clients:
            return self._clients[name]
        place = place_of_client(self.target, shared_state=self.table.shared_state)
        alone = place is not self.target
        if alone:
            self._places.append(place)
        made = Client(self, ClientConnection(place, name, client_info, self.session, alone=alone))
        if client_info is AS_NAMED:
            self._clients[name] = made
        return made

    def restart(self) -> None:
        """Restart the gateway and all its processes; clients reconnect when they call."""
        for place in [*self._places, self.target]:
            place.restart()
        self.forget()
        _ = self.session  # so that it runs again before anybody looks at its effects

    @property
    def keeps_over_restarts(self) -> bool:
        """Whether what it remembers can last: our own, in memory and in a process, cannot."""
        spec = self.target.spec
        in_memory = (spec.transport, spec.store) == ("stdio", "memory")
        return not (spec.kind == "reference" and in_memory)

    @property
    def places(self) -> list[Target]:
        """The clients' own processes, where each needs one."""
        return list(self._places)

    def said_elsewhere(self) -> bytes:
        """What the clients' own processes wrote to standard error."""
        return b"\n".join(
            place.transport.stderr_tail
            for place in self._places
            if isinstance(place.transport, StdioTransport)
        )

    def close(self) -> None:
        """Close what the clients opened; the target stays open."""
        self._clients.clear()
        while self._places:
            self._places.pop().close()

    # ---- the person

    @property
    def person(self) -> ConsentPerson:
        if self.stand_in is not None:
            return self.stand_in
        return self.told_person if self.table.person_is_told else self.person_at_pages

    @cached_property
    def told_person(self) -> ToldPerson:
        return told_person_for(self.target, self.table)

    def decide_at(self, page: Any) -> None:
        """From now on the person is at a real browser; `page` is Playwright's."""
        self.stand_in = BrowserConsentPerson(page, self.target, self.table.page)

    @property
    def person_at_pages(self) -> PagePerson:
        """For dialogs and the pages of apps, which no hook replaces."""
        return PagePerson(self.target, self.table.page)

    @property
    def asks_in_dialogs(self) -> bool:
        """Whether a call waits for the person, and its answer mentions no question."""
        return self.table.asks == IN_A_DIALOG

    def decide(
        self, asked: GatewayOutcome, choice: Choice | str, *, remember: bool = False
    ) -> None:
        """Answer the question: "tool" (Authorize Tool), "all" (Authorize All Tools) or "deny".

        A dialog is answered while a call waits: during the next call, or, if the decision is to be
        remembered, during one made for it.
        """
        choice = Choice(choice)
        kept = ", and the decision is remembered" if remember else ", for now"
        note("page", f"the person decides: {CHOICE_NAMES[choice]}{kept}")
        if not self.asks_in_dialogs:
            self.person.decide(asked, choice, remember=remember)
            return
        self.planned[asked.caller, asked.app, asked.tool] = Planned(choice.value, remember)
        if remember and asked.again is not None and not asked.again().dialogs:
            raise DriverError(f"no dialog came up to answer for {asked.name}")

    def type_in(self, needed: GatewayOutcome, values: Sequence[str]) -> None:
        """Type in what the app needs: on its page, or in a dialog of the gateway."""
        if needed.auth_url.startswith(("http://", "https://")):
            if values:
                self.person_at_pages.type_in(needed.auth_url, values)
            else:
                self.person_at_pages.let_in(needed.auth_url)
        elif self.asks_in_dialogs:
            key = needed.caller, needed.app, needed.tool
            self.planned[key] = Planned(values=tuple(values))
        elif self.table.person_is_told:
            self.told_person.type_in(needed.app, needed.tool, needed.auth_url, values)
        else:
            raise DriverError(f"there is no authUrl to go to: {needed.describe()}", needed.reply)
