"""How a verifier is asked, whatever it is: one question, many at once, and what else it can do.

Says what came; whether that is right it does not know.
"""

from __future__ import annotations

import concurrent.futures
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.driver import DriverError
from .outcome import ExecutionOutcome


@dataclass(frozen=True)
class ExecutionRequest:
    """A token as its JSON text, and what is to be done on it."""

    token: bytes = field(repr=False)
    content: bytes
    action: str
    host: str | None = None
    """A URL or a host; None: nothing is said of one."""


def at_once(
    times: int, seconds: float, ask: Callable[[], ExecutionOutcome]
) -> list[ExecutionOutcome]:
    """What as many threads are told that ask at the same moment."""
    start = threading.Barrier(times, timeout=seconds)

    def wait_and_ask(_: int) -> ExecutionOutcome:
        start.wait()
        return ask()

    with concurrent.futures.ThreadPoolExecutor(times) as threads:
        return list(threads.map(wait_and_ask, range(times)))


def seen_in_first(
    answers: Sequence[ExecutionOutcome], ran: tuple[bytes | None, ...] | None
) -> list[ExecutionOutcome]:
    """Who ran what cannot be told apart: it is noted in the first of the answers."""
    first, *others = answers
    unseen = None if ran is None else ()
    return [replace(first, ran=ran), *(replace(one, ran=unseen) for one in others)]


class VerifierError(DriverError):
    """The verifier could not be asked; one line says why."""


class Verifier(ABC):
    quick: bool = True
    """Whether thousands of questions take seconds; else samples are taken."""
    samples: int | None = None
    """How many of many like questions are asked; None: all of them."""
    binary: bool = True
    """Whether content can be any bytes."""
    in_this_process: bool = False
    """Whether there is no process of its own, to be killed or put in another time zone."""

    def takes(self, name: str) -> bool:  # noqa: ARG002
        """Whether an action or a host can be told to it, as far as that shows."""
        return True

    @abstractmethod
    def ask(self, request: ExecutionRequest) -> ExecutionOutcome: ...

    def ask_each(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        """One after the other, or a few at a time where that is no matter."""
        return [self.ask(request) for request in requests]

    @abstractmethod
    def ask_together(self, request: ExecutionRequest, times: int) -> list[ExecutionOutcome]:
        """The same question by many at the same moment; what ran is in the first answer."""

    @abstractmethod
    def another(self) -> Verifier | None:
        """Another process, or another conversation, over the same memory of spent nonces."""

    @abstractmethod
    def restart(self, *, kill: bool = False) -> None:
        """Ended and started again; `kill`: without any warning. What it keeps on disk is kept."""

    def approve(
        self, content: bytes, action: str, hosts: list[str], seconds: float
    ) -> dict[str, Any] | None:
        """A token from the arbiter that the target brings; None if it brings none."""
        del content, action, hosts, seconds
        return None

    @abstractmethod
    def with_secret(self, secret: str | None) -> Verifier | None:
        """The same verifier with another secret (None: without any); None where that cannot be
        said. Whether it starts shows when it is asked."""

    def in_zone(self, zone: str) -> Verifier | None:
        """The same verifier in another time zone."""
        del zone
        return None

    def close(self) -> None:  # noqa: B027  # most have nothing to leave
        """The end: leave nothing behind."""
