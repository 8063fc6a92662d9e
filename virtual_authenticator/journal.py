"""What an authenticator did, in order, for reports and for a test that asks. Holds no secrets."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

KEPT = 10_000


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
    """The last entries (10 000 of them), oldest first."""

    def __init__(self) -> None:
        self._entries: deque[tuple[float, str, dict[str, Any]]] = deque(maxlen=KEPT)
        self.append = self._entries.append
        """Takes a (time, what, details) tuple."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter([Entry(*entry) for entry in list(self._entries)])

    def __getitem__(self, index: int) -> Entry:
        return Entry(*self._entries[index])

    def clear(self) -> None:
        self._entries.clear()
