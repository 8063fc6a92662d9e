"""Servers that the suite starts as processes: over stdio, or launched and reached over HTTP.

Each is an instance with its own port, state and clock. Knows no family.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from ..clock import ClockControl, FaketimeClock, HookClock, faketime_clock
from ..config.settings import PREFIX, Settings
from ..support.deadline import Deadline
from ..wire import HttpTransport, Session, StdioTransport, Transport, WireError
from .errors import TargetError
from .grammar import PORT, TargetSpec
from .instance import Instance
from .launching import PortTakenError, ServerProcess, launch
from .next_server import NextServer
from .targets import HttpTarget, Target

_OTHER_PORTS = 3
"""How often to retry if a free port is taken before the server can use it."""


class StartedTarget(Target):
    """What both kinds share: an instance, an environment, a clock that works in the process."""

    can_restart = True

    def __init__(
        self,
        spec: TargetSpec,
        settings: Settings,
        *,
        replica_of: StartedTarget | None = None,
        clock_of_its_own: bool = False,
    ) -> None:
        self._given = (spec, settings)
        texts = (spec.url, *spec.command, settings.launch or "", *settings.environment.values())
        self.instance: Instance = Instance(texts, replica_of.instance if replica_of else None)
        super().__init__(self.instance.fill_spec(spec), self.instance.fill_settings(settings))
        # One clock for all that share a state, unless its hook contains the port.
        self._owns_clock = replica_of is None or PORT in settings.clock or clock_of_its_own
        self.clock = self.own_clock() if self._owns_clock or not replica_of else replica_of.clock
        self._next: NextServer[StartedTarget] | None = None
        self._was_reset = False
        self._starting = False

    def own_clock(self) -> ClockControl:
        return self.choose_clock(faketime_clock, starts_a_process=True)

    def environment(self) -> dict[str, str]:
        """What is added to our own environment: the user's variables, and what the clock needs."""
        own = dict(self.settings.environment)
        return {**own, **self.clock.environment({**os.environ, **own})}

    def restart(self) -> None:
        self._start_anew(lambda: None)

    def renew(self) -> None:
        self._start_anew(self.instance.empty_state)

    def reset(self) -> None:
        if self.settings.reset != "restart":
            super().reset()
            return
        following, self._next = self._next, None
        ready = following.take() if following is not None else None
        if ready is not None:
            self._become(ready)
        else:
            self.renew()
        # Not for a run of one scenario: it would start a server for nobody.
        if self._was_reset and self._can_start_ahead():
            self._next = self._start_ahead()
        self._was_reset = True

    def _can_start_ahead(self) -> bool:
        """Whether the next server can start while this one is judged.

        One without `{state}` may keep a file in a fixed place and empty it when it starts; a clock
        hook without `{port}` moves the time of all servers.
        """
        shares_clock = isinstance(self.clock, HookClock) and not self._owns_hook
        return self.instance.has_state and self._session is not None and not shares_clock

    def _start_ahead(self) -> NextServer[StartedTarget] | None:
        twin = self.twin()
        if not isinstance(twin, type(self)):
            return None
        if type(twin.clock) is not type(self.clock):
            twin.close()  # this one's was found not to move, and was replaced
            return None
        return NextServer(twin)

    def _become(self, other: StartedTarget) -> None:
        """Put a server that was started ahead in the place of this one."""
        self.stop()
        self.instance.close()
        self._take_over(other)
        self._starting = True  # it may not have answered yet
        try:
            self.session()
        finally:
            self._starting = False

    def _take_over(self, other: StartedTarget) -> None:
        self.instance, self.spec, self.settings = other.instance, other.spec, other.settings
        self._transport = other._transport
        if isinstance(self.clock, (FaketimeClock, HookClock)):  # bound to the one server
            self.clock.close()
            self.clock = other.clock

    def _start_anew(self, between: Callable[[], None]) -> None:
        """Ends the server. If it was in use, starts it again; it answers when this returns."""
        was_reached, was_spoken_to = self._transport is not None, self._session is not None
        self.stop()
        between()
        if was_reached:
            _ = self.transport
        # Not if it was not used yet: a pipe may belong to the first client that opens it.
        if was_spoken_to:
            self.session()

    def twin(self) -> Target | None:
        return type(self)(*self._given)

    def with_environment(self, variables: Mapping[str, str]) -> Target | None:
        spec, settings = self._given
        return type(self)(
            spec, replace(settings, environment={**settings.environment, **variables})
        )

    def replica(self) -> Target | None:
        return type(self)(*self._given, replica_of=self) if self._can_share else None

    def replica_with_clock(self) -> Target | None:
        # A hook without the port moves the time of all servers.
        if not self._can_share or (isinstance(self.clock, HookClock) and not self._owns_hook):
            return None
        return type(self)(*self._given, replica_of=self, clock_of_its_own=True)

    @property
    def _can_share(self) -> bool:
        """Two servers share what `{state}` stands for, or what the user says they share."""
        return self.instance.has_state or self.settings.replicas is not None

    @property
    def _owns_hook(self) -> bool:
        return PORT in self._given[1].clock

    def doubt_effects(self, why: str) -> None:
        super().doubt_effects(why)
        spec, settings = self._given
        self._given = (spec, replace(settings, effects_doubt=why))

    def close(self) -> None:
        try:
            if self._next is not None:
                self._next.close()
            self.stop()
        finally:
            if self._owns_clock:
                self.clock.close()
            self.instance.close()


class StdioTarget(StartedTarget):
    """A command that speaks MCP on its standard input and output."""

    def make_transport(self) -> Transport:
        return StdioTransport(
            self.spec.command,
            self.environment(),
            self.settings.server_directory or self.settings.directory,
        )

    @property
    def start_seconds(self) -> float | None:
        running = isinstance(self._transport, StdioTransport) and self._transport.running
        return None if running and not self._starting else self.settings.launch_timeout

    def kill(self) -> bool:
        return isinstance(self._transport, StdioTransport) and self._transport.kill()


class LaunchedTarget(StartedTarget):
    """A command that serves the target's URL."""

    _process: ServerProcess | None = None
    _ran_before = False

    def make_transport(self) -> Transport:
        if self._process is None:
            self._process = self._launch()
            self._ran_before = True
        return HttpTransport(self.spec.url, dict(self.settings.headers))

    def kill(self) -> bool:
        return self._process is not None and self._process.kill()

    def _take_over(self, other: StartedTarget) -> None:
        super()._take_over(other)
        assert isinstance(other, LaunchedTarget)
        self._process, self._ran_before = other._process, True

    def _launch(self) -> ServerProcess:
        for left in range(_OTHER_PORTS, -1, -1):
            try:
                return self._launch_once()
            except PortTakenError:
                if self.instance.port is None or self._ran_before or not left:
                    raise
                self._take_another_port()  # it was free, but is taken now
        raise AssertionError("the last try returns or raises")

    def _take_another_port(self) -> None:
        spec, settings = self._given
        self.instance.take_another_port()
        self.spec = self.instance.fill_spec(spec)
        self.settings = self.instance.fill_settings(settings)
        if isinstance(self.clock, HookClock) and self._owns_clock:
            self.clock = self.own_clock()

    def _launch_once(self) -> ServerProcess:
        words = shlex.split(self._given[1].launch or "")
        hint = ""
        if isinstance(self.clock, FaketimeClock):
            hint = f" (started under libfaketime: {PREFIX}clock=none starts it without)"
        return launch(
            [self.instance.fill(word) for word in words],
            self.spec.url,
            self._effects_of_its_own(),
            environment=self.environment(),
            directory=self.settings.server_directory or self.settings.directory,
            timeout=self.settings.launch_timeout,
            hint=hint,
        )

    def _effects_of_its_own(self) -> str | None:
        """The effects URL, if the server serves it itself."""
        named = self.settings.effects or ""
        return named if urlsplit(named).netloc == urlsplit(self.spec.url).netloc else None

    def new_session(
        self,
        client_name: str = "pytest-mcp-approval",
        *,
        headers: Mapping[str, str] | None = None,
        capabilities: Mapping[str, object] | None = None,
        protocol: str = "",
    ) -> Session:
        try:
            return super().new_session(
                client_name, headers=headers, capabilities=capabilities, protocol=protocol
            )
        except WireError as error:
            process = self._process
            if process is None or not process.ended_within(0):
                raise
            why = process.explain_exit(Deadline(1.0))
            raise TargetError(f"the server that was launched is gone: {why} ({error})") from None

    def twin(self) -> Target | None:
        # Two servers cannot listen on one port.
        return super().twin() if PORT in self._given[0].url else None

    def replica(self) -> Target | None:
        if self._named:
            return next(self._started_with_it())
        return super().replica() if PORT in self._given[0].url else None

    def replicas(self) -> list[Target]:
        return list(self._started_with_it()) if self._named else super().replicas()

    def replica_with_clock(self) -> Target | None:
        alone = not self._named and PORT in self._given[0].url
        return super().replica_with_clock() if alone else None

    @property
    def _named(self) -> list[str]:
        """The other targets that the user named: the one command starts them all."""
        spec, settings = self._given
        return [text for text in settings.targets if text != spec.text]

    def _started_with_it(self) -> Iterator[Target]:
        for text in self._named:
            yield HttpTarget(
                replace(self._given[0], text=text, url=self.instance.fill(text)),
                replace(self.settings, launch=None),
            )

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            process, self._process = self._process, None
            if process is not None:
                process.stop()
