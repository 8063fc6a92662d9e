"""How to ask a verifier of any kind: one question, many at once, and what else it can do.

Reports what came back; does not know whether that is right.
"""

from __future__ import annotations

import concurrent.futures
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.driver import DriverError
from .outcome import ExecutionOutcome

LEFT_OUT = object()
"""For an argument that is not sent."""


@dataclass(frozen=True)
class ExecutionRequest:
    """A token as JSON text, and what to do with it."""

    token: bytes = field(repr=False)
    content: bytes
    action: str
    host: str | None = None
    """A URL or a host; None: none is named."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of a tool, or others in their place (`LEFT_OUT`: none); no other verifier
    has any."""


def at_once(
    seconds: float, questions: Sequence[Callable[[], ExecutionOutcome]]
) -> list[ExecutionOutcome]:
    """The answers that as many threads get when they ask these at the same moment."""
    start = threading.Barrier(len(questions), timeout=seconds)

    def wait_and_ask(ask: Callable[[], ExecutionOutcome]) -> ExecutionOutcome:
        start.wait()
        return ask()

    with concurrent.futures.ThreadPoolExecutor(len(questions)) as threads:
        return list(threads.map(wait_and_ask, questions))


def seen_in_first(
    answers: Sequence[ExecutionOutcome], ran: tuple[bytes | None, ...] | None
) -> list[ExecutionOutcome]:
    """Nobody can tell which question ran what: it is noted in the first of the answers."""
    first, *others = answers
    unseen = None if ran is None else ()
    return [replace(first, ran=ran), *(replace(one, ran=unseen) for one in others)]


class VerifierError(DriverError):
    """The verifier could not be asked; one line says why."""


class Verifier(ABC):
    quick: bool = True
    """Whether thousands of questions take only seconds; if not, samples are taken."""
    samples: int | None = None
    """How many of a set of similar questions are asked; None: all of them."""
    binary: bool = True
    """Whether content can be any bytes."""
    in_this_process: bool = False
    """Whether it has no process of its own that could be killed or started in another time zone."""

    def takes(self, name: str) -> bool:  # noqa: ARG002
        """Whether it can be told an action or a host, as far as is known."""
        return True

    @abstractmethod
    def ask(self, request: ExecutionRequest) -> ExecutionOutcome: ...

    def ask_each(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        """One after the other, or a few at a time if that makes no difference."""
        return [self.ask(request) for request in requests]

    @abstractmethod
    def ask_at_once(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        """At the same moment; what ran is in the first answer. The same object, named several
        times, is the same question."""

    def ask_together(self, request: ExecutionRequest, times: int) -> list[ExecutionOutcome]:
        """The same question, many times at the same moment."""
        return self.ask_at_once([request] * times)

    @abstractmethod
    def another(self) -> Verifier | None:
        """Another process, or another conversation, with the same record of used nonces."""

    @abstractmethod
    def restart(self, *, kill: bool = False) -> None:
        """End it and start it again; `kill`: without any warning. Its files stay."""

    def approve(
        self, content: bytes, action: str, hosts: list[str], seconds: float
    ) -> dict[str, Any] | None:
        """A token from the target's own arbiter; None if it has none."""
        del content, action, hosts, seconds
        return None

    @property
    def approves_for(self) -> bool:
        """Whether its arbiter can be told for how long."""
        return False

    @abstractmethod
    def with_secret(self, secret: str | None) -> Verifier | None:
        """The same verifier with another secret (None: without any); None if that cannot be
        configured. Whether it starts is seen when it is asked."""

    def in_zone(self, zone: str) -> Verifier | None:
        """The same verifier in another time zone."""
        del zone
        return None

    def close(self) -> None:  # noqa: B027  # most have nothing to close
        """Close it, leaving nothing behind."""
