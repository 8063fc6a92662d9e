"""Targets that are not servers: a command that is run for each question, or a callable in this
process. Neither speaks MCP; a driver asks them in its own way.

Knows no family: the driver knows what a question looks like.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..clock import FrozenClock, StoppedClock, faketime_clock
from ..config.settings import Settings
from ..support.guard import TemporaryFolder
from ..wire import Transport
from .errors import TargetError
from .grammar import TargetSpec
from .python_target import load_factory
from .targets import Target


class VerifierTarget(Target):
    """What both share: no conversation, and a folder for what must be kept."""

    speaks_mcp = False
    can_restart = True
    can_reset = True

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._holder = TemporaryFolder("verifier")
        self.folder = Path(self._holder.name)

    def make_transport(self) -> Transport:
        raise TargetError(f"a {self.spec.kind}: target does not speak MCP")

    def effects(self) -> None:
        """None: the driver itself sees what it runs."""

    def reset(self) -> None:
        """Nothing to do: a driver begins with a new folder anyway."""
        if self.settings.reset not in (None, "restart"):
            super().reset()
        self.clock.release()

    def restart(self) -> None:
        """Nothing to do: nothing runs between two questions, or the driver starts it again."""

    def close(self) -> None:
        super().close()
        self._holder.cleanup()


class CommandTarget(VerifierTarget):
    """A command, run for each question; so each question goes to a restarted verifier."""

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self.clock = self.choose_clock(faketime_clock, starts_a_process=True)

    @property
    def directory(self) -> Path:
        return self.settings.server_directory or self.settings.directory

    def environment(self) -> dict[str, str]:
        """All of it: our environment, the user's variables, and what a moved clock needs.

        Each question has its own process, so that libfaketime affects no other question.
        """
        own = {**os.environ, **self.settings.environment}
        return {**own, **self.clock.environment(own)} if self.clock_moved else own

    @property
    def clock_moved(self) -> bool:
        return isinstance(self.clock, StoppedClock) and self.clock.stopped

    def with_environment(self, variables: Mapping[str, str]) -> Target | None:
        return CommandTarget(
            self.spec,
            replace(self.settings, environment={**self.settings.environment, **variables}),
        )


class CallableTarget(VerifierTarget):
    """The user's callable, in this process. To restart it, its module is imported again."""

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._callable: Any = None
        self.clock = self.choose_clock(FrozenClock)

    @property
    def callable(self) -> Any:
        if self._callable is None:
            self._callable = load_factory(self.spec, self.settings)
            if not callable(self._callable):
                raise TargetError(f"{self.spec.text}: not a callable")
        return self._callable

    def close(self) -> None:
        super().close()
        self._drop()

    def restart(self) -> None:
        super().restart()
        self._drop()

    def _drop(self) -> None:
        # What the module kept in memory is gone, as after the end of a process.
        sys.modules.pop(self.spec.module, None)
        self._callable = None
