"""Clients of the server that pass questions on to a person, or declare that they cannot.

What a client can do it declares in each request (sessionless), or when it opens its session
(handshake). Over a pipe of the handshake era there is one session, so each further client has a
process of its own. Knows no answers and no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from ...target import Effects, EffectsWatch, Target
from ...wire import Era, Session, StdioTransport
from ..base.driver import DriverError
from .settings import ElicitingTool
from .vocabulary import CLIENT_CAPABILITIES, Mode, capability, declared_modes

BOTH_MODES = capability(Mode.FORM, Mode.URL)
_ASKS_ON = "elicitation asks on"


class QuestionDriver(Protocol):
    """The part of the driver that a client needs."""

    target: Target
    opened: list[Any]

    def another_process(self) -> Target: ...

    @property
    def ask(self) -> Callable[..., Any]: ...

    @property
    def answer(self) -> Callable[..., Any]: ...


def era_of(target: Target) -> Era:
    return target.session().era


def has_one_session(target: Target) -> bool:
    """Whether a connection belongs to the one client that opened it."""
    return isinstance(target.transport, StdioTransport) and era_of(target) is Era.HANDSHAKE


class RelayingClient:
    """One client: who it is, and what it declares."""

    def __init__(
        self,
        driver: QuestionDriver,
        capabilities: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        place: Target | None = None,
        name: str = "pytest-mcp-approval",
        protocol: str = "",
    ) -> None:
        """`capabilities` is sent exactly; by default both modes are declared. `protocol` is a
        revision that others do not speak here."""
        self.driver = driver
        self.capabilities = BOTH_MODES if capabilities is None else capabilities
        self.headers = headers
        self.name = name
        self.protocol = protocol
        self.place = place or driver.target
        self._session: Session | None = None
        self._stream: Any = None

    @property
    def modes(self) -> frozenset[Mode]:
        return declared_modes(self.capabilities)

    @property
    def era(self) -> Era:
        return self.session.era

    # ---- the conversation

    @property
    def session(self) -> Session:
        """Opened when it is first used, and again after a restart."""
        if self._session is None or self._session.transport is not self.place.transport:
            self._stream = None
            self._session = self._open()
        return self._session

    def _open(self) -> Session:
        place = self.place
        if self.protocol:
            return place.new_session(
                self.name,
                headers=self.headers,
                capabilities=self.capabilities,
                protocol=self.protocol,
            )
        if era_of(place) is Era.SESSIONLESS:
            if self.headers is None and self.name == "pytest-mcp-approval":
                return place.session()
            return place.new_session(self.name, headers=self.headers)
        if has_one_session(place):
            if self.headers:
                raise DriverError("over stdio there is one user")
            if place is self.driver.target and self.capabilities != BOTH_MODES:
                self.place = place = self.driver.another_process()
            place.declare(self.capabilities)
            return place.session()
        return place.new_session(self.name, headers=self.headers, capabilities=self.capabilities)

    @property
    def listening(self) -> bool:
        return self._stream is not None

    def listen(self) -> Any:
        """The session's own stream (handshake over HTTP): some servers ask there."""
        if self._stream is None:
            self._stream = self.session.listen()
        return self._stream

    def listen_for(self, tool: str) -> None:
        """Before a call: listen unless the tool is known to ask on the call's own stream. Servers
        drop a question for the session's stream if nobody listens there when they ask."""
        if self.place.remembered.get(_ASKS_ON, {}).get(tool) != "call":
            self.listen()

    def asked_on(self, stream: str, tool: str) -> None:
        """Note where this tool asks."""
        known = self.place.remembered.setdefault(_ASKS_ON, {})
        if known.get(tool) != "session":  # one that also asks there is listened for
            known[tool] = stream

    def completed(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Params with what this client declares in them (sessionless)."""
        if self.era is Era.HANDSHAKE:
            return dict(params)
        meta = params.get("_meta", {})
        if not isinstance(meta, Mapping):
            return dict(params)
        return {**params, "_meta": {CLIENT_CAPABILITIES: self.capabilities, **meta}}

    def close(self) -> None:
        """End a session of its own; the target stays open."""
        session, self._session = self._session, None
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
        shared = session is not None and session is self.place._session
        if session is not None and not shared and session.transport is self.place.transport:
            session.close()

    # ---- what ran

    @cached_property
    def watch(self) -> EffectsWatch:
        """Where this client is: over stdio that may be another process, with effects of its own."""
        _ = self.session
        return self.place.effects_watch

    def effects(self) -> Effects | None:
        return self.watch.look()

    # ---- calls

    def ask(self, tool: ElicitingTool | str, arguments: Any = None, **changes: Any) -> Any:
        """A question, or what came instead: see the driver."""
        return self.driver.ask(tool, arguments, client=self, **changes)

    call = ask
