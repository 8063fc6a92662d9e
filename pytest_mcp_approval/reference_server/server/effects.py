"""What the demonstration tools have done: the proof of how often something ran.

Knows no approval: every run is recorded, whoever allowed it.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator, Mapping
from typing import Any


class RecordedEffects:
    """A list of executions, oldest first, that any thread may add to."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: list[dict[str, Any]] = []

    def record(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Record one execution, with the arguments exactly as they came."""
        with self._lock:
            number = len(self._entries) + 1
            entry = {"number": number, "tool": tool, "arguments": copy.deepcopy(dict(arguments))}
            self._entries.append(entry)
            return copy.deepcopy(entry)

    def to_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return copy.deepcopy(self._entries)

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.to_json())
