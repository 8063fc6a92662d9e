"""The target of a run: one server that can be spoken to, and what else can be done with it.

Each kind of target knows how its server is started, reached, restarted and doubled; what it cannot
do it says, with the option that would help. Knows no family.
"""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..clock import ClockControl, FrozenClock, NoClock
from ..settings import PREFIX, Settings
from ..wire import (
    HttpTransport,
    InProcessTransport,
    Session,
    StdioTransport,
    Transport,
    open_session,
)
from .effects import EffectsProbe
from .grammar import TargetSpec, parse_target


class TargetError(Exception):
    """The target cannot be judged; one line says what is wrong and what to do."""


class Target(ABC):
    """A server under test."""

    can_reset = False
    """Whether `reset` makes it as new, cheaply enough to do so before every scenario."""
    can_restart = False
    default_effects: str | None = None
    default_origin: str | None = None
    known_arguments: Mapping[str, Any] = {}
    """Safe arguments by gated tool, where the target itself is known to the suite."""
    known_server_id: str | None = None

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        self.spec = spec
        self.settings = settings
        self.clock: ClockControl = NoClock("no clock can be moved in this kind of target")
        self.remembered: dict[str, Any] = {}
        """What a driver has learned of the server and need not ask again while it runs."""
        self._transport: Transport | None = None
        self._session: Session | None = None

    # ---- what each kind does in its own way

    @abstractmethod
    def make_transport(self) -> Transport:
        """A new way to the server, starting it if that is how it is reached."""

    def twin(self) -> Target | None:
        """Another server of the same kind, with a state of its own; None if there can be none."""
        return None

    def replica(self) -> Target | None:
        """Another process over the same state; None if there is none."""
        return None

    def undeclared(self) -> Target | None:
        """The same server without the capability of its family; None if there is none."""
        return None

    def variant(self, family: str, setting: str, value: Any) -> Target | None:  # noqa: ARG002
        """The same server with one setting of a family changed; None if there is no way to say so.

        What the server thinks of the value shows when it is spoken to.
        """
        return None

    def restart(self) -> None:
        """End the server and start it again; what it keeps on disk is kept."""
        raise TargetError(f"a {self.spec.kind} target cannot be restarted")

    # ---- what they share

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

    def new_session(self, client_name: str = "pytest-mcp-approval") -> Session:
        """A conversation of its own."""
        return open_session(
            self.transport,
            self.settings.protocol,
            client_name=client_name,
            deadline=self.settings.timeout,
        )

    def reset(self) -> None:
        """Make the target fresh in the way that the user named, if any."""
        how = self.settings.reset
        if how == "restart":
            self.restart()
        elif how is not None:
            self._run_reset(how)

    def _run_reset(self, command: str) -> None:
        try:
            done = subprocess.run(
                shlex.split(command),
                cwd=self.settings.directory,
                capture_output=True,
                timeout=max(30.0, self.settings.timeout),
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise TargetError(f"{PREFIX}reset: {error}") from None
        if done.returncode:
            tail = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise TargetError(f"{PREFIX}reset: exit code {done.returncode} {' '.join(tail)}")

    def effects(self) -> EffectsProbe | None:
        """The probe that the user named, or that the target brings."""
        named = self.settings.effects or self.default_effects
        if named is None:
            return None
        if named.startswith("tool:"):
            return EffectsProbe.of_tool(named.removeprefix("tool:"), self.session)
        return EffectsProbe.of_url(named, dict(self.settings.headers), self.settings.timeout)

    def forget_session(self) -> None:
        self._session = None

    def stop(self) -> None:
        """End the server if it is ours; speaking to it again starts it again."""
        self.remembered.clear()
        self.clock.release()
        if self._session is not None:
            self._session.close()
        if self._transport is not None:
            self._transport.close()
        self._session = self._transport = None

    def close(self) -> None:
        """The end: leave nothing behind."""
        self.stop()


class HttpTarget(Target):
    """A server that somebody else runs."""

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self.clock = NoClock("the suite did not start this server")

    def make_transport(self) -> Transport:
        return HttpTransport(self.spec.url, dict(self.settings.headers))

    def replica(self) -> Target | None:
        others = [text for text in self.settings.targets if text != self.spec.text]
        return open_target(others[0], self.settings) if others else None


class StdioTarget(Target):
    """A command that the suite runs."""

    can_restart = True

    def __init__(
        self, spec: TargetSpec, settings: Settings, environment: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(spec, settings)
        self._environment = environment
        self.clock = NoClock("moving the clock of a command is not possible yet")

    def make_transport(self) -> Transport:
        return StdioTransport(self.spec.command, self._environment, self.settings.directory)

    def restart(self) -> None:
        self.stop()

    def twin(self) -> Target | None:
        return type(self)(self.spec, self.settings, self._environment)


class PythonTarget(Target):
    """An ASGI application (or an MCP server object) of the user's, in this process."""

    can_restart = True

    def __init__(self, spec: TargetSpec, settings: Settings, factory: Any) -> None:
        super().__init__(spec, settings)
        self._factory = factory
        self.clock = FrozenClock()

    def make_transport(self) -> Transport:
        try:
            made = self._factory()
            # The SDK's server objects make their application themselves.
            app = made.streamable_http_app() if hasattr(made, "streamable_http_app") else made
        except Exception as error:
            raise TargetError(f"{self.spec.text}: the factory failed: {error!r}") from error
        return InProcessTransport(app)

    def restart(self) -> None:
        self.stop()

    def twin(self) -> Target | None:
        return type(self)(self.spec, self.settings, self._factory)


def open_target(text: str, settings: Settings) -> Target:
    """The target of that name. Nothing is started before it is spoken to."""
    spec = parse_target(text)
    if spec.kind == "http":
        return HttpTarget(spec, settings)
    if spec.kind == "stdio":
        return StdioTarget(spec, settings)
    if spec.kind == "python":
        factory = load_factory(spec, settings)
        if not getattr(factory, "mcp_approval_reference", False):
            return PythonTarget(spec, settings, factory)
    # The reference server needs packages that a user of the suite may not have.
    try:
        from .reference import ReferenceStdioTarget, ReferenceTarget
    except ModuleNotFoundError as error:
        raise TargetError(
            f"the reference server needs {error.name!r}: "
            "pip install 'pytest-mcp-approval[reference]'"
        ) from None
    if spec.kind == "python":
        return ReferenceTarget(spec, settings, build=factory)
    if spec.transport == "stdio":
        return ReferenceStdioTarget(spec, settings)
    return ReferenceTarget(spec, settings)


def load_factory(spec: TargetSpec, settings: Settings) -> Any:
    """What `python:<module>:<factory>` names."""
    directory = str(settings.directory)
    if directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        return getattr(importlib.import_module(spec.module), spec.factory)
    except ModuleNotFoundError as error:
        raise TargetError(f"{PREFIX}target: no module {error.name!r} for {spec.text}") from None
    except AttributeError:
        raise TargetError(f"{PREFIX}target: {spec.module} has no {spec.factory!r}") from None
    except Exception as error:
        raise TargetError(f"{PREFIX}target: importing {spec.module} failed: {error!r}") from error
