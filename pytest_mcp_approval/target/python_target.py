"""A target that is imported: an ASGI application, or a factory for one, in this process.

Knows no family.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..clock import FrozenClock
from ..config.settings import PREFIX, Settings, SettingsError
from ..config.user_code import imported
from ..support.guard import TemporaryFolder
from ..wire import InProcessTransport, Transport
from .errors import TargetError
from .grammar import TargetSpec
from .targets import Target

KIND = "mcp_approval_target"
"""The attribute by which a factory can name another kind of target that it is made for."""


class PythonTarget(Target):
    """The user's ASGI application (or MCP server object), in this process."""

    can_restart = True

    def __init__(self, spec: TargetSpec, settings: Settings, factory: Any) -> None:
        super().__init__(spec, settings)
        self._factory = factory
        # Like {state} for a command: a factory that takes `state` gets a folder, which is kept over
        # restarts and not shared with a twin.
        self._state = _state_for(factory)
        self.clock = self.choose_clock(FrozenClock)

    def make_transport(self) -> Transport:
        try:
            made = self._factory(state=Path(self._state.name)) if self._state else self._factory()
            # The SDK's server objects create their application themselves.
            app = made.streamable_http_app() if hasattr(made, "streamable_http_app") else made
        except Exception as error:
            raise TargetError(f"{self.spec.text}: the factory failed: {error!r}") from error
        return InProcessTransport(app, headers=dict(self.settings.headers))

    def restart(self) -> None:
        self.stop()

    def renew(self) -> None:
        self.restart()
        if self._state is not None:
            self._state.cleanup()
            self._state = _state_for(self._factory)

    def twin(self) -> Target | None:
        return type(self)(self.spec, self.settings, self._factory)

    def close(self) -> None:
        super().close()
        if self._state is not None:
            self._state.cleanup()


def _state_for(factory: Any) -> TemporaryFolder | None:
    try:
        takes_it = "state" in inspect.signature(factory).parameters
    except (TypeError, ValueError):  # not a callable, or one without a signature
        return None
    return TemporaryFolder("state") if takes_it else None


def open_python_target(spec: TargetSpec, settings: Settings) -> Target:
    """The target that `python:<module>:<factory>` names, of the kind that the factory asks for."""
    factory = load_factory(spec, settings)
    kind: Callable[[TargetSpec, Settings, Any], Target] = getattr(factory, KIND, PythonTarget)
    return kind(spec, settings, factory)


def load_factory(spec: TargetSpec, settings: Settings) -> Any:
    """What `python:<module>:<factory>` names."""
    name = f"{spec.module}:{spec.factory}"
    try:
        return imported(f"{PREFIX}target", name, settings.directory)
    except SettingsError as error:
        raise TargetError(str(error)) from error
