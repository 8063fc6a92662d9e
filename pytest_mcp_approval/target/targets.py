"""The target of a run: one server to talk to, and what else can be done with it.

Each kind of target knows how to start, reach, restart and duplicate its server. It says what it
cannot do, with the option that would help. Knows no family.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from ..clock import NOT_STARTED, ClockControl, ClockError, NoClock, choose_clock
from ..config.settings import PREFIX, Settings
from ..config.values import longest_wait
from ..support.command import CommandError, run_command
from ..support.connection import is_loopback
from ..wire import (
    HttpTransport,
    NothingAnsweredError,
    Session,
    Transport,
    open_session,
)
from .effects import EffectsProbe, EffectsWatch
from .errors import TargetError
from .grammar import TargetSpec, parse_target


class Target(ABC):
    """A server under test."""

    can_reset = False
    """Whether `reset` makes it like new, cheaply enough to do so before every scenario."""
    can_restart = False
    speaks_mcp = True
    """Whether there is a server behind it; otherwise a driver runs it in its own way."""
    shared = False
    """Whether other processes of this run may use the same server."""
    default_effects: str | None = None
    known_arguments: Mapping[str, Any] = {}
    """Safe arguments by gated tool, if the suite knows the target."""
    known_second_user: Mapping[str, str] = {}
    """Headers by which the server knows a second user, if the suite knows the target."""
    known_settings: Mapping[str, Mapping[str, Any]] = {}
    """Settings by family, if the suite knows the target; the user's take precedence."""

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        self.spec = spec
        self.settings = settings
        self.clock: ClockControl = NoClock("no clock can be moved in this kind of target")
        self.remembered: dict[str, Any] = {}
        """What a driver has learned about the server and need not ask again while it runs."""
        self.lasting: dict[str, Any] = {}
        """The same, where it stays true when the server is started again."""
        self.last_served = 0.0
        """When a driver last saw an honest approval succeed, on the clock of the wire."""
        self.last_sent = ""
        """What the running scenario last said about what it sent."""
        self.effects_watch = EffectsWatch(self.effects)
        """Shared by all drivers of this target."""
        self.gated_tools: frozenset[str] = frozenset()
        """Tools that are known to ask for approval, by any family; found before the first check."""
        self.client_capabilities: Mapping[str, object] = {}
        """What our client declares, unless a conversation is opened with others; see `declare`."""
        self._transport: Transport | None = None
        self._session: Session | None = None

    # ---- what each kind does in its own way

    @abstractmethod
    def make_transport(self) -> Transport:
        """A new connection to the server; starts the server if necessary."""

    def twin(self) -> Target | None:
        """Another server of the same kind, with its own state; None if not possible."""
        return None

    def replica(self) -> Target | None:
        """Another process over the same state; None if there is none."""
        return None

    def replicas(self) -> list[Target]:
        """All others over the same state: as many as the user said, else one if that is
        possible."""
        wanted = max(1, (self.settings.replicas or 2) - 1)
        made = (self.replica() for _ in range(wanted))
        return [one for one in made if one is not None]

    def replica_with_clock(self) -> Target | None:
        """A replica whose clock can be set apart from this one's; None if there is none."""
        return None

    def variant(self, family: str, setting: str, value: Any) -> Target | None:  # noqa: ARG002
        """The same server with one setting of a family changed; None if not possible.

        Whether the server accepts the value shows when it is used.
        """
        return None

    def known_tools(self) -> Mapping[str, frozenset[str]]:
        """The tools of each family, if the suite knows the target."""
        return {}

    def with_environment(self, variables: Mapping[str, str]) -> Target | None:  # noqa: ARG002
        """The same server, started with these additional variables; None if we do not start it."""
        return None

    def restart(self) -> None:
        """End the server and start it again; what it keeps on disk is kept.

        If it could be reached before, it can be reached again when this returns.
        """
        raise TargetError(f"a {self.spec.kind} target cannot be restarted")

    def renew(self) -> None:
        """Like `restart`, but without its stored state."""
        self.restart()

    def kill(self) -> bool:
        """Kill its process at once, without warning; returns whether we had one to kill."""
        return False

    # ---- what they share

    def choose_clock(
        self, automatic: Callable[[], ClockControl], *, starts_a_process: bool = False
    ) -> ClockControl:
        """The clock that the user asked for, else the one for this kind of target."""
        return choose_clock(
            self.settings.clock,
            automatic=automatic,
            starts_a_process=starts_a_process,
            longest_wait=longest_wait(self.settings.clock),
            hook_timeout=self.settings.timeout,
            directory=self.settings.directory,
            nearby=not self.spec.url or is_loopback(urlsplit(self.spec.url).hostname or ""),
        )

    @property
    def transport(self) -> Transport:
        if self._transport is None:
            self._transport = self.make_transport()
        return self._transport

    def session(self) -> Session:
        """The conversation that scenarios share."""
        if self._session is None:
            self._session = self.new_session()
        return self._session

    def new_session(
        self,
        client_name: str = "pytest-mcp-approval",
        *,
        headers: Mapping[str, str] | None = None,
        capabilities: Mapping[str, object] | None = None,
        protocol: str = "",
    ) -> Session:
        """A separate conversation; `headers` are those of another user, `capabilities` what the
        client declares (by default `client_capabilities`), `protocol` a revision of its own."""
        transport, seconds = self.transport, self.settings.timeout
        start = self.start_seconds
        try:
            return open_session(
                transport,
                protocol or self.settings.protocol,
                client_name=client_name,
                deadline=seconds,
                start_deadline=start,
                headers=headers,
                capabilities=self.client_capabilities if capabilities is None else capabilities,
            )
        except NothingAnsweredError as error:
            more = "timeout" if start is None else "launch-timeout"
            line = f"{error} (if it is only slow: {PREFIX}{more}=SECONDS)"
            raise NothingAnsweredError(line, error.reply) from None

    def declare(self, capabilities: Mapping[str, object]) -> None:
        """From now on the shared conversation declares these. One that was opened with others is
        opened anew; where a pipe belongs to it, the server is started anew."""
        if self.client_capabilities == capabilities:
            return
        self.client_capabilities = dict(capabilities)
        if self._session is not None:
            self.stop()

    @property
    def second_user_headers(self) -> Mapping[str, str]:
        """Headers by which the server knows a second user; empty if nobody has named one."""
        return self.settings.second_user_headers or self.known_second_user

    @property
    def start_seconds(self) -> float | None:
        """How long the first answer may take if the server must start first; else None."""
        return None

    def reset(self) -> None:
        """Make the target fresh in the way that the user chose, if any."""
        how = self.settings.reset
        self.effects_watch.forget()
        if how == "restart":
            self.restart()
        elif how is not None:
            self._run_reset(how)

    def _run_reset(self, command: str) -> None:
        seconds = max(30.0, self.settings.timeout)
        try:
            run_command(command, seconds=seconds, directory=self.settings.directory).check()
        except CommandError as error:
            raise TargetError(f"{PREFIX}reset: {error}") from None

    def effects(self) -> EffectsProbe | None:
        """The probe that the user named, or the target's own."""
        named = self.settings.effects or self.default_effects
        if named is None or self.settings.effects_doubt:
            return None
        if named.startswith("tool:"):
            return EffectsProbe.of_tool(named.removeprefix("tool:"), self.session)

        def where() -> str:
            _ = self.transport  # a server that is launched serves it, on a port that is then known
            return self.settings.effects or named

        headers, timeout = dict(self.settings.headers), self.settings.timeout
        return EffectsProbe.of_url(named, headers, timeout, where)

    def doubt_effects(self, why: str) -> None:
        """Do not use the probe, here and in targets made from this one; "" if it is reliable."""
        self.settings = replace(self.settings, effects_doubt=why)

    @property
    def named_page(self) -> str | None:
        """The page that the user's table of a family names: `[FAMILY.page] url`."""
        pages = (table.get("page") for table in self.settings.family_settings.values())
        urls = (page.get("url") for page in pages if isinstance(page, Mapping))
        return next((url for url in urls if isinstance(url, str)), None)

    @property
    def has_page(self) -> bool:
        """Whether `page` returns one; starts nothing."""
        return self.named_page is not None

    def page(self) -> str | None:
        """The URL of the page that people approve on, which is being served; None if there is
        none."""
        if self.named_page is not None and self.speaks_mcp:
            _ = self.transport  # a server that is launched serves it, on a port that is then known
        return self.named_page

    def forget_session(self) -> None:
        self._session = None

    def stop(self) -> None:
        """End the server if it is ours; using it again starts it again."""
        self.remembered.clear()
        self.effects_watch.forget()
        with contextlib.suppress(ClockError):  # a hook may have gone with the server
            self.clock.release()
        if self._session is not None:
            self._session.close()
        if self._transport is not None:
            self._transport.close()
        self._session = self._transport = None

    def close(self) -> None:
        """End everything; leave nothing behind."""
        self.stop()
        self.clock.close()


class HttpTarget(Target):
    """A server that somebody else runs."""

    shared = True

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self.clock = self.choose_clock(lambda: NoClock(NOT_STARTED))

    def make_transport(self) -> Transport:
        return HttpTransport(self.spec.url, dict(self.settings.headers))

    def replica(self) -> Target | None:
        return next(iter(self._others()), None)

    def replicas(self) -> list[Target]:
        return list(self._others())

    def _others(self) -> Iterator[Target]:
        for text in self.settings.targets:
            if text != self.spec.text:
                yield HttpTarget(parse_target(text), self.settings)
