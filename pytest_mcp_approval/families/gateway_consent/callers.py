"""MCP clients with any name or none: one conversation each, at the same time.

If a pipe carries only one client (stdio before 2026-07-28), each client has its own process over
the same state. Knows no consent.
"""

from __future__ import annotations

import itertools
from typing import Any

from ...support.deadline import Deadline
from ...target import EffectsProbe, EffectsWatch, Target
from ...wire import (
    Era,
    HttpTransport,
    InProcessTransport,
    Outgoing,
    RefusedError,
    Session,
    request_bytes,
)
from ...wire.eras import CLIENT_INFO_KEY
from ...wire.session import Terms
from ..base.driver import Driver, DriverError

LEFT_OUT: Any = object()
"""For clientInfo: not there at all."""
AS_NAMED: Any = object()
"""For clientInfo: the name that the client has, and a version."""
_TOOL = "tool:"


class OddSession(Session):
    """Says about its client exactly what it is told to, or nothing."""

    client_info: Any = LEFT_OUT

    def complete(self, params: object) -> object:
        params = super().complete(params)
        if self.era is not Era.SESSIONLESS or not isinstance(params, dict):
            return params
        meta = {key: value for key, value in params["_meta"].items() if key != CLIENT_INFO_KEY}
        if self.client_info is not LEFT_OUT:
            meta[CLIENT_INFO_KEY] = self.client_info
        return {**params, "_meta": meta}


class ClientConnection(Driver):
    """One client's conversation, opened when it is first used and again after a restart."""

    def __init__(
        self, place: Target, name: str, client_info: Any, alike: Session, *, alone: bool
    ) -> None:
        """`alone`: its process has no other client."""
        super().__init__(place)
        if alone:
            self.effects_watch = EffectsWatch(self._own_probe)
        self.name = name
        self._client_info = client_info
        self._alike = alike
        self._own: Session | None = None

    @property
    def session(self) -> Session:
        if self._own is None or self._own.transport is not self.target.transport:
            self.forget()
            self._own = self._open()
        return self._own

    def _own_probe(self) -> EffectsProbe | None:
        """Read by this client itself: another conversation on its pipe would replace its name."""
        named = self.target.settings.effects or self.target.default_effects or ""
        if named.startswith(_TOOL) and self.target.effects() is not None:
            return EffectsProbe.of_tool(named[len(_TOOL) :], lambda: self.session)
        return self.target.effects()

    def _open(self) -> Session:
        if self._client_info is AS_NAMED:
            return self.target.new_session(self.name)
        terms = self._alike.terms
        if self._alike.era is Era.HANDSHAKE:
            terms = _handshake(self.target, self._alike.revision, self._client_info)
        session = OddSession(
            self.target.transport,
            terms,
            client_info={},
            client_capabilities={},
            deadline=self.target.settings.timeout,
            ids=itertools.count(2),  # the handshake used the first
        )
        session.client_info = self._client_info
        if session.era is Era.HANDSHAKE:
            session.notify("notifications/initialized")
        return session


def place_of_client(target: Target, *, shared_state: bool) -> Target:
    """Where one more client connects: the target, or a process of its own over the same state if a
    connection belongs to the client that opened it. The caller closes that process."""
    several = isinstance(target.transport, (HttpTransport, InProcessTransport))
    if several or target.session().era is not Era.HANDSHAKE:
        return target
    other = target.replica() or (target.twin() if shared_state else None)
    if other is None:
        raise DriverError(
            "needs clients of other names at the same time: a pipe has one, and there is no "
            "second process over the same state ({state} in the command, or shared-state)"
        )
    return other


def _handshake(target: Target, revision: str, client_info: Any) -> Terms:
    params: dict[str, Any] = {"protocolVersion": revision, "capabilities": {}}
    if client_info is not LEFT_OUT:
        params["clientInfo"] = client_info
    deadline = Deadline(max(target.settings.timeout, target.start_seconds or 0.0))
    target.transport.start(deadline)
    asking = Outgoing(request_bytes(1, "initialize", params), 1, "initialize")
    reply = target.transport.exchange(asking, deadline)
    if not isinstance(reply.result, dict):
        raise RefusedError(f"initialize was refused: {reply.describe()}", reply)
    return Terms(revision, reply.header("mcp-session-id"))
