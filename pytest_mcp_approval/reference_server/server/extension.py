"""An extension: what one family adds to the reference server.

It has its own tools and its own state, and sees every call of its tools as it came; it may also
declare a capability, answer methods of its own and serve pages. The server routes requests to it
and tells it when an MCP session ends. Knows no specification.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .answers import ErrorAnswer
from .clock import Clock
from .effects import RecordedEffects
from .held_calls import HeldCall

if TYPE_CHECKING:
    from mcp.server.transport_security import TransportSecuritySettings
    from starlette.requests import Request
    from starlette.routing import Route

Kept = TypeVar("Kept")


class Backing:
    """Where extensions keep their state: in memory, or in the database of an SQLAlchemy URL.

    It outlives a server that is restarted or doubled: a new server finds what the old one had.
    """

    def __init__(self, url: str | None = None) -> None:
        self.url = url
        self._kept: dict[str, Any] = {}

    def keep(self, family: str, make: Callable[[str | None], Kept]) -> Kept:
        """The store of a family, made when it is first asked for; None is memory."""
        if family not in self._kept:
            self._kept[family] = make(self.url)
        found: Kept = self._kept[family]
        return found

    def close(self) -> None:
        for store in self._kept.values():
            store.close()
        self._kept.clear()


USER_HEADER = "X-Reference-User"
"""Names the user where the suite starts the server; over stdio there is only one."""
DEFAULT_USER = "demonstration user"
"""Who calls if nobody is named."""


@dataclass(frozen=True)
class Caller:
    """Who calls: the user, the MCP session ("" if the era or the transport has none), and what the
    client calls itself ("" if it does not say)."""

    user: str
    session: str = ""
    client: str = ""
    meta: Any = None
    """The `_meta` of the request, as it came."""
    params: Any = None
    """All params of the request, as they came."""
    capabilities: Any = None
    """What the client declared, as it came: in this request, or at the handshake of its session."""
    protocol: str = ""
    """The revision of MCP that is spoken."""
    has_handshake: bool = False
    """Whether that is one with a handshake: then a client is asked inside an open call, and else by
    the result of a call that is made once more with the answer."""


Method = Callable[[Caller, str, Any], dict[str, Any]]
"""Answers a request: who asks, the method, and the params as they came."""


@dataclass(frozen=True)
class ExtensionParts:
    """What a server gives its extensions."""

    clock: Clock
    effects: RecordedEffects
    backing: Backing
    settings: Mapping[str, Any] = field(default_factory=dict)


class Extension(ABC):
    """One family's part of the server."""

    family: ClassVar[str]
    suite_settings: ClassVar[Mapping[str, Any]] = {}
    """What a suite that checks this server must be told: the family's table in its settings."""
    environment_settings: ClassVar[Mapping[str, str]] = {}
    """Settings without a default, by their environment variables: they must not appear on a command
    line. Without them a server does not have the extension."""

    waits: ClassVar[bool] = True
    """Whether a call may wait for something else than the store, such as another server or a slow
    back end. Where it does and this says no, no race would be seen in the suite's own process."""
    store: Any
    """What it remembers, and what outlives it."""

    @classmethod
    def trial_settings(cls) -> Mapping[str, Any]:
        """The settings of a server that is started only to be checked, unless others are given."""
        return {}

    @classmethod
    def instance_settings(cls) -> Mapping[str, Any]:
        """The same for settings that differ between servers, unless they share a store."""
        return {}

    def running_suite_settings(self) -> Mapping[str, Any]:
        """What a suite must be told that is known only once the server runs."""
        return {}

    def served_at(self, origin: str) -> None:  # noqa: B027  # most do not need it
        """Called when its pages are served there too."""

    def __init__(self, parts: ExtensionParts) -> None:
        self.clock = parts.clock
        self.effects = parts.effects

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        """The capabilities of `initialize` and `server/discover`, as they go out."""
        return capabilities

    def methods(self) -> Mapping[str, Method]:
        """What it answers besides `tools/call`, by the name of the method."""
        return {}

    @abstractmethod
    def listings(self) -> list[dict[str, Any]]:
        """The entries of its tools in tools/list."""

    @abstractmethod
    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any] | HeldCall:
        """Run one of its tools: the result of tools/call, or what must come first. May be called by
        several threads."""

    def refuse(self, refusal: ErrorAnswer) -> dict[str, Any]:
        """What becomes of a refusal: an error, never a result."""
        raise refusal

    def routes(
        self,
        security: TransportSecuritySettings,  # noqa: ARG002
        endpoint: str,  # noqa: ARG002
        user_of: Callable[[Request], str],  # noqa: ARG002
    ) -> list[Route]:
        """Pages beside the MCP endpoint, for the hosts and origins that `security` allows."""
        return []

    def page_origins(self) -> Sequence[str]:
        """Origins of pages, here or elsewhere, whose requests are allowed."""
        return ()

    def session_ended(self, session: str) -> None:  # noqa: B027  # most have nothing to do
        """An MCP session is over, whoever ended it."""

    def reset(self) -> None:
        """As if newly started, with the same identity."""
        self.store.reset()

    def close(self) -> None:  # noqa: B027  # most run nothing
        """The server ends: whatever the extension started ends too, what is stored stays."""
