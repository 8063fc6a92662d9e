"""The effects probe: what shows, from outside, whether a gated tool ran.

A URL that answers JSON, or a read-only tool. A list is counted, a number is taken as a count, and
anything else can only be seen to change. Knows nothing of what the tools do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..support.fetch import FetchError
from ..support.json_reading import JsonError, read_json
from ..wire import Outcome, Session
from ..wire.beside import fetch_beside
from ..wire.recording import note
from ..wire.text import neutralise

_LIMIT = 8 * 1024 * 1024


class EffectsError(Exception):
    """The probe could not be read; one line says why."""


@dataclass(frozen=True)
class Effects:
    """What the probe showed at one moment."""

    count: int | None
    digest: str
    entries: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The list itself, where the probe shows one."""

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
        count = _count(value)
        note("effects", "looked", count=count, digest=digest[:8])
        return Effects(count, digest, _entries(value))

    @classmethod
    def of_url(
        cls,
        named: str,
        headers: dict[str, str],
        timeout: float,
        where: Callable[[], str] | None = None,
    ) -> EffectsProbe:
        """`where` makes sure that somebody serves it, and says its address of the moment."""

        def read() -> Any:
            url = where() if where is not None else named
            shown = neutralise(url)
            try:
                answer = fetch_beside(
                    "effects", url, seconds=timeout, headers=headers, limit=_LIMIT
                )
                return read_json(answer.body)
            except (FetchError, JsonError) as error:
                raise EffectsError(f"effects at {shown}: {error}") from None

        return cls(named, read)

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


def _entries(value: Any) -> tuple[Any, ...] | None:
    value = _inside(value)
    return tuple(value) if isinstance(value, list) else None


def _inside(value: Any) -> Any:
    """Without an object around the one thing there is."""
    return next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else value


def _count(value: Any) -> int | None:
    value = _inside(value)
    if isinstance(value, list):
        return len(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None
