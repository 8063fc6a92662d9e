"""The reference server as a target: embedded in this process, or as a separate command.

It supports everything beyond the wire (a clock, a twin, a replica, a restart that keeps state), so
that every rule can be checked on it. Knows families only through what the server builds.
"""

from __future__ import annotations

import json
import socket
import sys
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from ..clock import ClockControl, FileClockControl, InjectedClock
from ..config.settings import Settings
from ..reference_server.assembly import build, default_extensions
from ..reference_server.server.clock import Clock, SettableClock, SystemClock
from ..reference_server.server.extension import USER_HEADER, Backing
from ..reference_server.server.mcp_server import ReferenceServer
from ..reference_server.server.serving import ServedApplication, ServingError
from ..reference_server.server.settings import ExtensionSettingError
from ..support.guard import TemporaryFolder
from ..wire import HttpTransport, InProcessTransport, StdioTransport, Transport
from .errors import TargetError
from .grammar import TargetSpec
from .started import StdioTarget
from .targets import Target

SAFE_ARGUMENTS: dict[str, dict[str, Any]] = {
    "place_trade": {"symbol": "ACME", "quantity": 1, "side": "buy"},
    "transfer_funds": {"account": "test-account", "amount": 1, "urgent": False},
    "wipe_cache": {},
    "delete_resource": {"resourceId": "test-1"},
    "restart_service": {"service": "test", "force": False},
    "get_quote": {"symbol": "ACME"},
}
EFFECTS = "tool:list_effects"
SECOND_USER = {USER_HEADER: "second user"}

ExtensionSettings = Mapping[str, Mapping[str, Any]]
"""By family; see `reference_server.extensions`."""


def _trial_settings() -> ExtensionSettings:
    """Settings that the extensions need and nobody has given: secrets, made for one server."""
    given = {name: extension.trial_settings() for name, extension in default_extensions().items()}
    return {name: own for name, own in given.items() if own}


def _known_settings(given: ExtensionSettings) -> ExtensionSettings:
    """The families' tables for the suite, with the secrets that the extensions were given."""
    return {
        name: {
            **extension.suite_settings,
            **{key: given.get(name, {}).get(key) for key in extension.environment_settings},
        }
        for name, extension in default_extensions().items()
    }


def _with(known: ExtensionSettings, more: ExtensionSettings) -> ExtensionSettings:
    return {name: {**own, **more.get(name, {})} for name, own in known.items()}


class _OfReference(Target):
    """What both kinds share: another one is made of the same parts."""

    can_restart = True
    default_effects = EFFECTS
    known_arguments = SAFE_ARGUMENTS
    _extension_settings: ExtensionSettings

    @abstractmethod
    def _another(self, **changes: Any) -> Target:
        """Of this kind, made of the same but for what is named."""

    def twin(self) -> Target | None:
        return self._another()

    def known_tools(self) -> Mapping[str, frozenset[str]]:
        """By a server that is built for this alone: the other may be in another process."""
        server = build(
            extensions=default_extensions(),
            settings=self._extension_settings,
            backing=Backing(None),
            clock=SystemClock(),
            user_header=USER_HEADER,
        )
        try:
            return {
                one.family: frozenset(str(entry["name"]) for entry in one.listings())
                for one in server.extensions
            }
        finally:
            server.stop()

    def variant(self, family: str, setting: str, value: Any) -> Target | None:
        own = {**self._extension_settings.get(family, {}), setting: value}
        return self._another(extension_settings={**self._extension_settings, family: own})


class ReferenceTarget(_OfReference):
    """In this process, called directly or over HTTP on loopback. `build` may create a broken
    one."""

    can_reset = True
    known_second_user = SECOND_USER

    def __init__(
        self,
        spec: TargetSpec,
        settings: Settings,
        build: Callable[..., ReferenceServer] = build,
        *,
        sibling: ReferenceTarget | None = None,
        clock_of_its_own: bool = False,
        extension_settings: ExtensionSettings | None = None,
    ) -> None:
        """The state is shared with `sibling`, and the clock too unless it has its own."""
        super().__init__(spec, settings)
        self._extension_settings = (
            _trial_settings() if extension_settings is None else extension_settings
        )
        self.known_settings = _known_settings(self._extension_settings)
        self._build = build
        self._sibling = sibling
        self._backing: Backing | None = None
        self._folder: TemporaryFolder | None = None
        self._store_url: str | None = sibling._store_url if sibling else None
        if spec.store == "sqlite" and sibling is None:
            self._folder = TemporaryFolder()
            self._store_url = f"sqlite:///{Path(self._folder.name) / 'store.db'}"
        follows = sibling if not clock_of_its_own else None
        self._moved: SettableClock = follows._moved if follows else SettableClock()
        self.clock = (
            follows.clock if follows else self.choose_clock(lambda: InjectedClock(self._moved))
        )
        self._server: ReferenceServer | None = None
        self._served: ServedApplication | None = None
        self._page_port = 0

    @property
    def server(self) -> ReferenceServer:
        """The server object itself, for tests of the suite."""
        _ = self.transport
        assert self._server is not None
        return self._server

    def make_transport(self) -> Transport:
        # A clock that is not moved must run by itself.
        injected = isinstance(self.clock, InjectedClock)
        clock: Clock = self._moved if injected else SystemClock()
        try:
            self._server = self._build(
                extensions=default_extensions(),
                settings=self._extension_settings,
                backing=self.backing(),
                clock=clock,
                user_header=USER_HEADER,
            )
        except ExtensionSettingError as error:
            raise TargetError(f"the reference server does not start: {error}") from None
        self.known_settings = _with(
            self.known_settings,
            {one.family: one.running_suite_settings() for one in self._server.extensions},
        )
        app = self._server.asgi_app()
        if self.spec.transport == "in-process":
            self._server.has_quick_calls = self.spec.store == "memory"
            return InProcessTransport(app, headers=dict(self.settings.headers))
        self._served = _served(app, self._page_port)
        url = f"http://localhost:{self._served.port}/mcp"
        return HttpTransport(url, dict(self.settings.headers))

    def backing(self) -> Backing:
        """What the server remembers; siblings in memory share the same object."""
        if self.spec.store == "memory" and self._sibling is not None:
            return self._sibling.backing()
        if self._backing is None:
            self._backing = Backing(self._store_url)
        return self._backing

    @property
    def has_page(self) -> bool:
        return True

    def page(self) -> str | None:
        """The server's own page, served by the same server; served from the first call on."""
        if self.named_page is not None:
            return super().page()
        server = self.server
        if self._served is None:
            self._served = _served(server.asgi_app(), self._page_port)
        self._page_port = self._served.port  # so that an open page finds it after a restart
        # By name, not by IP address: browsers have no passkeys for addresses.
        origin = f"http://localhost:{self._served.port}"
        for extension in server.extensions:
            extension.served_at(origin)
        return f"{origin}/"

    def reset(self) -> None:
        self.clock.release()
        self.effects_watch.forget()
        if self._server is not None:
            self._server.reset()

    def restart(self) -> None:
        """A new server over the old one's store; a file is closed and opened again."""
        self.stop()
        if self.spec.store == "sqlite":
            self._close_backing()

    def _close_backing(self) -> None:
        if self._backing is not None:
            self._backing.close()
            self._backing = None

    def _another(self, **changes: Any) -> Target:
        changes = {"extension_settings": self._extension_settings, **changes}
        return ReferenceTarget(self.spec, self.settings, build=self._build, **changes)

    def replica(self) -> Target | None:
        return self._another(sibling=self)

    def replica_with_clock(self) -> Target | None:
        return self._another(sibling=self, clock_of_its_own=True)

    def stop(self) -> None:
        super().stop()
        if self._served is not None:
            self._served.stop()
            self._served = None
        if self._server is not None:
            self._server.stop()
        self._server = None

    def close(self) -> None:
        super().close()
        self._close_backing()
        if self._folder is not None:
            self._folder.cleanup()


class ReferenceStdioTarget(_OfReference, StdioTarget):
    """In its own process; its clock reads a file."""

    program: ClassVar[tuple[str, ...]] = (
        sys.executable,
        "-m",
        "pytest_mcp_approval.reference_server",
    )
    """Tests put a broken one in its place."""

    def __init__(
        self,
        spec: TargetSpec,
        settings: Settings,
        *,
        sibling: ReferenceStdioTarget | None = None,
        clock_of_its_own: bool = False,
        extension_settings: ExtensionSettings | None = None,
    ) -> None:
        self._holder = TemporaryFolder()
        self._own = Path(self._holder.name)
        self._shared: Path = sibling._shared if sibling else self._own
        # A clock is a file: this one's own, or that of the sibling.
        self._clock_file = (self._own if clock_of_its_own else self._shared) / "clock"
        super().__init__(spec, settings, replica_of=sibling, clock_of_its_own=clock_of_its_own)
        self._extension_settings = (
            _trial_settings() if extension_settings is None else extension_settings
        )
        # Given to the server, so that the suite knows it; a sibling over the same store shares it.
        self._instance_settings: ExtensionSettings = (
            sibling._instance_settings
            if sibling
            else {name: one.instance_settings() for name, one in default_extensions().items()}
        )
        self.known_settings = _with(
            _known_settings(self._extension_settings),
            {
                name: {key.replace("_", "-"): value for key, value in own.items()}
                for name, own in self._instance_settings.items()
            },
        )

    def own_clock(self) -> ClockControl:
        return self.choose_clock(lambda: FileClockControl(self._clock_file), starts_a_process=True)

    def make_transport(self) -> Transport:
        command = [*self.program, "--stdio"]
        command += ["--clock-file", str(self._clock_file)]
        if self.spec.store == "sqlite":
            command += ["--store", f"sqlite:{self._shared / 'store.db'}"]
        extensions = default_extensions()
        environment = self.environment()
        told = _with(
            {name: self._extension_settings.get(name, {}) for name in extensions},
            self._instance_settings,
        )
        for family, own in told.items():
            for name, value in own.items():
                variable = extensions[family].environment_settings.get(name)
                if variable and isinstance(value, str):
                    environment[variable] = value
                    command += ["--require", family]
                else:
                    command += ["--set", f"{family}.{name}={json.dumps(value)}"]
        return StdioTransport(command, environment, self.settings.directory)

    def renew(self) -> None:
        self._start_anew(self._empty_store)

    def _empty_store(self) -> None:
        for kept in self._shared.glob("store.db*"):
            kept.unlink()

    def _another(self, **changes: Any) -> Target:
        same = {"settings": self.settings, "extension_settings": self._extension_settings}
        return ReferenceStdioTarget(self.spec, **{**same, **changes})

    def with_environment(self, variables: Mapping[str, str]) -> Target | None:
        environment = {**self.settings.environment, **variables}
        return self._another(settings=replace(self.settings, environment=environment))

    def replica(self) -> Target | None:
        return None if self.spec.store == "memory" else self._another(sibling=self)

    def replica_with_clock(self) -> Target | None:
        if self.spec.store == "memory":
            return None
        return self._another(sibling=self, clock_of_its_own=True)

    def close(self) -> None:
        super().close()
        self._holder.cleanup()


def _served(app: Any, wanted_port: int) -> ServedApplication:
    """Serve it on the wanted port of loopback, or on a free one if that is taken."""
    try:
        return ServedApplication(
            app, _bound(wanted_port), log_level="error", timeout_graceful_shutdown=2
        )
    except ServingError as error:
        raise TargetError(f"the reference server did not start over HTTP: {error}") from None


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError:
        if not port:
            raise
        return socket.create_server(("127.0.0.1", 0))
