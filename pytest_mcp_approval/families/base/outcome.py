"""The outcome of a call: what the server said, whether anything ran, and both in one line.

A family's outcome says how its answers are read. Knows no specification and no verdicts: anything
missing is None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ...support.json_reading import JsonError, read_json
from ...wire import Outcome, Reply

_LARGEST_TEXT = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class ObservedOutcome(ABC):
    """The outcome of a call that was watched."""

    thing: ClassVar[str] = "tool"
    """A word for what runs or does not run."""

    runs: int | None = None
    """How often it ran, by the effects probe; None if there is none or it cannot count."""
    probed: bool = False
    """Whether there was an effects probe to look at."""

    @property
    @abstractmethod
    def succeeded(self) -> bool:
        """Whether the answer claims success."""

    @property
    @abstractmethod
    def said(self) -> str:
        """What came back, in one line that is safe to print."""

    @property
    def reason(self) -> str | None:
        """Why it was refused, in the answer's own word."""
        return None

    @property
    def executed(self) -> bool:
        """Whether it ran: by its effect if that is visible, else by what the answer claims."""
        return self.runs != 0 if self.probed else self.succeeded

    @property
    def served(self) -> bool:
        """It ran, and the answer says so."""
        return self.executed and self.succeeded

    @property
    def served_once(self) -> bool:
        """The same, and it ran only once, as far as runs can be counted."""
        return self.served and self.runs in (None, 1)

    @property
    def refused(self) -> bool:
        """Refused in the words of the specification, and nothing ran."""
        return self.reason is not None and not self.executed

    def refused_because(self, reason: str) -> bool:
        return self.refused and self.reason == reason

    @property
    def ran_in_words(self) -> str:
        """What to add to the answer, if the effects were looked at."""
        ran = {0: "not run", 1: "run", None: "run (its effect changed)"}
        return f", {self.thing} {ran.get(self.runs, f'run {self.runs} times')}"

    def describe(self) -> str:
        """One line for a finding."""
        return f"{self.said}{self.ran_in_words}" if self.probed else self.said


# ---- what a tool answered


def is_result(reply: Reply) -> bool:
    """Whether a call was answered with a result that does not say it is an error."""
    return reply.outcome is Outcome.RESULT and isinstance(reply.result, dict) and not errs(reply)


def errs(reply: Reply) -> bool:
    """Whether a result says that it is a tool error."""
    return isinstance(reply.result, dict) and reply.result.get("isError") is True


def data_of(reply: Reply) -> Mapping[str, Any]:
    """The data of a JSON-RPC error; empty if there is none."""
    data = reply.error.data if reply.error is not None else None
    return data if isinstance(data, dict) else {}


def texts_in(result: Any) -> list[str]:
    """The texts of a tool's content."""
    content = result.get("content") if isinstance(result, dict) else None
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return [text for text in texts if isinstance(text, str)]


def objects_in(result: Any, *, structured: bool = True) -> Iterator[dict[str, Any]]:
    """What a tool answered as an object: structured content first, then texts that are JSON."""
    given = result.get("structuredContent") if isinstance(result, dict) and structured else None
    for one in (given, *texts_in(result)):
        found: Any = one
        if isinstance(one, str):
            try:
                found = read_json(one) if len(one) <= _LARGEST_TEXT else None
            except JsonError:
                continue
        if isinstance(found, dict):
            yield found


def object_in(result: Any) -> dict[str, Any] | None:
    return next(objects_in(result), None)
