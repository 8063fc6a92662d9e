"""What is no server and can be judged all the same: a command that is run for each question, or a
callable in this process. No MCP is spoken to either; a driver asks them in its own way.

Knows no family: what a question looks like is the driver's matter.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..clock import FrozenClock, faketime_clock
from ..clock.base import StoppedClock
from ..config.settings import Settings
from ..support.guard import TemporaryFolder
from ..wire import Transport
from .errors import TargetError
from .grammar import TargetSpec
from .python_target import load_factory
from .targets import Target


class VerifierTarget(Target):
    """What both share: no conversation, and a folder for whatever is to be kept."""

    speaks_mcp = False
    can_restart = True
    can_reset = True

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._holder = TemporaryFolder("verifier")
        self.folder = Path(self._holder.name)

    def make_transport(self) -> Transport:
        raise TargetError(f"a {self.spec.kind}: target speaks no MCP")

    def effects(self) -> None:
        """What it runs, the driver sees for itself."""

    def reset(self) -> None:
        """A driver begins with a new folder anyway."""
        if self.settings.reset not in (None, "restart"):
            super().reset()
        self.clock.release()

    def restart(self) -> None:
        """Nothing runs between two questions, or the driver starts it anew."""

    def close(self) -> None:
        super().close()
        self._holder.cleanup()


class CommandTarget(VerifierTarget):
    """A command, run anew for each question; so each question is one to a restarted verifier."""

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self.clock = self.choose_clock(faketime_clock, starts_a_process=True)

    @property
    def directory(self) -> Path:
        return self.settings.server_directory or self.settings.directory

    def environment(self) -> dict[str, str]:
        """The whole of it: ours, what the user said, and what a clock needs that was moved.

        Each question has a process of its own, so that nobody else need bear with libfaketime.
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
    """A callable of the user's, in this process. To restart it, its module is imported anew."""

    def __init__(self, spec: TargetSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        self._callable: Any = None
        self.clock = self.choose_clock(FrozenClock)

    @property
    def callable(self) -> Any:
        if self._callable is None:
            self._callable = load_factory(self.spec, self.settings)
            if not callable(self._callable):
                raise TargetError(f"{self.spec.text}: got no callable")
        return self._callable

    def close(self) -> None:
        super().close()
        self._drop()

    def restart(self) -> None:
        super().restart()
        self._drop()

    def _drop(self) -> None:
        # What the module keeps in memory is gone, as it would be with its process.
        sys.modules.pop(self.spec.module, None)
        self._callable = None
