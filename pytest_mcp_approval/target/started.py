"""Servers that the suite starts as processes: over stdio, or launched and reached over HTTP.

Each is an instance with a port, a state and a clock of its own. Knows no family.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
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
from .targets import HttpTarget, Target

_OTHER_PORTS = 3
"""How often a free port may be gone when the server comes to take it."""


class StartedTarget(Target):
    """What both kinds share: an instance, an environment, a clock that reaches the process."""

    can_restart = True

    def __init__(
        self,
        spec: TargetSpec,
        settings: Settings,
        *,
        replica_of: StartedTarget | None = None,
    ) -> None:
        self._given = (spec, settings)
        texts = (spec.url, *spec.command, settings.launch or "", *settings.environment.values())
        self.instance: Instance = Instance(texts, replica_of.instance if replica_of else None)
        super().__init__(self.instance.fill_spec(spec), self.instance.fill_settings(settings))
        # One clock for all that share a state, unless it is told of by the port.
        self._owns_clock = replica_of is None or PORT in settings.clock
        self.clock = self.own_clock() if self._owns_clock or not replica_of else replica_of.clock

    def own_clock(self) -> ClockControl:
        return self.choose_clock(faketime_clock, starts_a_process=True)

    def environment(self) -> dict[str, str]:
        """What is added to our own: what the user said, and what the clock needs."""
        own = dict(self.settings.environment)
        return {**own, **self.clock.environment({**os.environ, **own})}

    @property
    def uses_state(self) -> bool:
        """Whether the user gave the server a place for its state, so that two can share it."""
        return self.instance.has_state

    def restart(self) -> None:
        self._start_anew(lambda: None)

    def renew(self) -> None:
        self._start_anew(self.instance.empty_state)

    def reset(self) -> None:
        if self.settings.reset == "restart":
            self.renew()
        else:
            super().reset()

    def _start_anew(self, between: Callable[[], None]) -> None:
        """Ends what runs. It runs again, and answers, when this returns; nobody looks earlier."""
        was_reached, was_spoken_to = self._transport is not None, self._session is not None
        self.stop()
        between()
        if was_reached:
            _ = self.transport
        # Not if nobody spoke: a pipe may belong to the one client that opens it first.
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
        if not self.uses_state:
            return None
        return type(self)(*self._given, replica_of=self)

    def doubt_effects(self, why: str) -> None:
        super().doubt_effects(why)
        spec, settings = self._given
        self._given = (spec, replace(settings, effects_doubt=why))

    def close(self) -> None:
        try:
            self.stop()
        finally:
            if self._owns_clock:
                self.clock.close()
            self.instance.close()


class StdioTarget(StartedTarget):
    """A command that speaks on its standard input and output."""

    def make_transport(self) -> Transport:
        return StdioTransport(
            self.spec.command,
            self.environment(),
            self.settings.server_directory or self.settings.directory,
        )

    @property
    def start_seconds(self) -> float | None:
        running = isinstance(self._transport, StdioTransport) and self._transport.running
        return None if running else self.settings.launch_timeout

    def kill(self) -> bool:
        return isinstance(self._transport, StdioTransport) and self._transport.kill()


class LaunchedTarget(StartedTarget):
    """A command that serves the URL of the target."""

    def __init__(
        self,
        spec: TargetSpec,
        settings: Settings,
        *,
        replica_of: StartedTarget | None = None,
    ) -> None:
        self._process: ServerProcess | None = None
        self._ran_before = False
        super().__init__(spec, settings, replica_of=replica_of)

    def make_transport(self) -> Transport:
        if self._process is None:
            self._process = self._launch()
            self._ran_before = True
        return HttpTransport(self.spec.url, dict(self.settings.headers))

    def kill(self) -> bool:
        return self._process is not None and self._process.kill()

    def _launch(self) -> ServerProcess:
        for left in range(_OTHER_PORTS, -1, -1):
            try:
                return self._launch_once()
            except PortTakenError:
                if self.instance.port is None or self._ran_before or not left:
                    raise
                self._take_another_port()  # free when it was looked for, and taken since
        raise AssertionError("the last try returns or raises")

    def _take_another_port(self) -> None:
        spec, settings = self._given
        self.instance.take_another_port()
        self.spec, self.settings = (
            self.instance.fill_spec(spec),
            self.instance.fill_settings(settings),
        )
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
        """The effects URL, if the server itself serves it."""
        named = self.settings.effects or ""
        return named if urlsplit(named).netloc == urlsplit(self.spec.url).netloc else None

    def new_session(self, client_name: str = "pytest-mcp-approval") -> Session:
        try:
            return super().new_session(client_name)
        except WireError as error:
            process = self._process
            if process is None or not process.ended_within(0):
                raise
            why = process.explain_exit(Deadline(1.0))
            raise TargetError(f"the server that was launched is gone: {why} ({error})") from None

    def twin(self) -> Target | None:
        # Two cannot listen in one place.
        return super().twin() if PORT in self._given[0].url else None

    def replica(self) -> Target | None:
        spec, settings = self._given
        others = [text for text in settings.targets if text != spec.text]
        if others:
            # The command starts them all.
            return HttpTarget(
                replace(spec, text=others[0], url=self.instance.fill(others[0])),
                replace(self.settings, launch=None),
            )
        return super().replica() if PORT in spec.url else None

    def stop(self) -> None:
        try:
            super().stop()
        finally:
            process, self._process = self._process, None
            if process is not None:
                process.stop()
