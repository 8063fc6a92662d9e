"""What an authenticator did, in order, for reports and tests. Contains no secrets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

KEPT = 1_000
"""Few enough that writing them does not push the signing tables out of the processor's cache."""
_NAMES = {
    "registered": ("rp_id", "credential", "algorithm", "count", "faults"),
    "asserted": ("rp_id", "credential", "count", "verified", "faults"),
}


class Entry(NamedTuple):
    """One thing that happened."""

    time: float
    what: str
    details: dict[str, Any]

    def __str__(self) -> str:
        shown = " ".join(
            f"{name}={value.hex() if isinstance(value, bytes) else value}"
            for name, value in self.details.items()
        )
        return f"{self.what} {shown}".rstrip()


class Journal:
    """The last thousand entries, oldest first."""

    def __init__(self) -> None:
        self._entries: deque[tuple[Any, ...]] = deque(maxlen=KEPT)
        self.append = self._entries.append
        """Takes a (time, what, details) tuple. Frequent entries have the values of `_NAMES` instead
        of details; they get their names on reading."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter([_entry(recorded) for recorded in list(self._entries)])

    def __getitem__(self, index: int) -> Entry:
        return _entry(self._entries[index])

    @property
    def entries(self) -> list[tuple[Any, ...]]:
        """As they were recorded, to be given to another journal."""
        return list(self._entries)

    @entries.setter
    def entries(self, recorded: list[tuple[Any, ...]]) -> None:
        self._entries.clear()
        self._entries.extend(recorded)

    def clear(self) -> None:
        self._entries.clear()


def _entry(recorded: tuple[Any, ...]) -> Entry:
    time, what, *values = recorded
    names = _NAMES.get(what)
    return Entry(time, what, dict(zip(names, values, strict=True)) if names else values[0])
