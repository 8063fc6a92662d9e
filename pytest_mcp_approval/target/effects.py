"""The effects probe: what shows, from outside, whether a gated tool ran.

A URL that answers JSON, or a read-only tool. A list is counted, a number is taken as a count, and
anything else can only be seen to change. Knows nothing of what the tools do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from ..wire import Outcome, Session

_LIMIT = 8 * 1024 * 1024


class EffectsError(Exception):
    """The probe could not be read; one line says why."""


@dataclass(frozen=True)
class Effects:
    """What the probe showed at one moment."""

    count: int | None
    digest: str

    def runs_since(self, before: Effects) -> int | None:
        """How many runs there were since then; None if something changed that cannot be counted."""
        if self.digest == before.digest:
            return 0
        if self.count is not None and before.count is not None:
            return self.count - before.count
        return None


class EffectsProbe:
    """Reads the effects in one of the ways that the user named."""

    def __init__(self, description: str, read: Callable[[], Any]) -> None:
        self.description = description
        self._read = read

    def look(self) -> Effects:
        value = self._read()
        digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
        return Effects(_count(value), digest)

    @classmethod
    def of_url(cls, url: str, headers: dict[str, str], timeout: float) -> EffectsProbe:
        def read() -> Any:
            try:
                with urlopen(Request(url, headers=headers), timeout=timeout) as answer:
                    return json.loads(answer.read(_LIMIT))
            except (URLError, OSError, ValueError) as error:
                raise EffectsError(f"effects at {url}: {error}") from None

        return cls(url, read)

    @classmethod
    def of_tool(cls, name: str, session: Callable[[], Session]) -> EffectsProbe:
        def read() -> Any:
            reply = session().call("tools/call", {"name": name, "arguments": {}})
            result = reply.result
            if reply.outcome is not Outcome.RESULT or not isinstance(result, dict):
                raise EffectsError(f"effects by tool {name}: {reply.describe()}")
            if result.get("isError"):
                raise EffectsError(f"effects by tool {name}: it answered with an error")
            if "structuredContent" in result:
                return result["structuredContent"]
            return result.get("content")

        return cls(f"tool {name}", read)


def _count(value: Any) -> int | None:
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))  # an object around the one thing there is
    if isinstance(value, list):
        return len(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None
