"""What the demonstration app was sent: every request, and where in it a credential was.

In memory, bounded, and read over HTTP by a suite. It holds digests of credentials and never their
values. Knows no rule: it only writes down.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...server.secret_text import digest

What = Callable[[str], str | None]

MOST_ENTRIES = 1000
_LONGEST = 2000
_TELLING = ("authorization", "proxy-authorization", "x-api-key", "api-key", "x-auth-token")
"""Headers that are there for credentials, whatever is in them."""


@dataclass(frozen=True)
class Received:
    """A request as it came, for the eyes of the journal."""

    method: str
    host: str
    path: str
    headers: Iterable[tuple[str, str]] = field(repr=False)
    query: Iterable[tuple[str, str]] = field(repr=False)
    cookies: Mapping[str, str] = field(repr=False)
    body: str = field(repr=False)


class Journal:
    """Oldest first; any thread may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: deque[dict[str, Any]] = deque(maxlen=MOST_ENTRIES)
        self._count = 0

    def write(self, received: Received, what: What, **more: Any) -> None:
        """`what` has a word for each secret that the app knows, and None for any other text."""
        entry = {
            "method": received.method,
            "host": received.host[:_LONGEST],
            "path": received.path[:_LONGEST],
            **more,
            "credentials": list(credentials_in(received, what)),
        }
        with self._lock:
            self._count += 1
            self._entries.append({"number": self._count, **entry})

    def to_json(self) -> list[dict[str, Any]]:
        with self._lock:
            return copy.deepcopy(list(self._entries))

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._count = 0

    def __len__(self) -> int:
        with self._lock:
            return self._count


def credentials_in(received: Received, what: What) -> Iterable[dict[str, Any]]:
    """Where a credential stands or seems to: in headers, the query, cookies, the body."""
    for name, value in received.headers:
        if name == "cookie":
            continue
        scheme, _, last = value.rpartition(" ")
        known = what(last) or what(value)
        if known or name in _TELLING:
            yield _found("header", name, last, known, prefix=scheme)
    for name, value in received.query:
        if known := what(value):
            yield _found("query", name, value, known)
    for name, value in received.cookies.items():
        yield _found("cookie", name, value, what(value))
    if known := what(received.body):
        yield _found("body", "", received.body, known)


def _found(place: str, name: str, value: str, what: str | None, **more: str) -> dict[str, Any]:
    told = {"place": place, "name": name[:_LONGEST], "is": what, "sha256": digest(value)}
    return {**told, **more}
