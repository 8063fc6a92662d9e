"""The effects: what shows, from outside, whether a gated tool ran.

The probe is a URL that answers JSON, or a read-only tool, whose JSON may also come as text. The
entries of a list are counted, a number is taken as a count, and with anything else only a change
can be seen. The watch looks before and after something is done, even if others are active too.
Knows no family and not what the tools do.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..support.fetch import FetchError
from ..support.json_reading import JsonError, read_json
from ..support.recording import note
from ..support.text import neutralise
from ..wire import Outcome, Session
from ..wire.beside import fetch_beside

_LIMIT = 8 * 1024 * 1024
_A_SECOND = 1.1
Given = TypeVar("Given")


class EffectsError(Exception):
    """The probe could not be read; one line says why."""


@dataclass(frozen=True)
class Effects:
    """What the probe showed at one moment."""

    count: int | None
    digest: str
    entries: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The list itself, if the probe shows one."""
    parts: int | None = None
    """How many items the content of a tool's answer has. Some frameworks make one item of each
    entry of a list; a list of one entry then looks like the entry itself."""

    def runs_since(self, before: Effects) -> int | None:
        """How many runs there were since then; None if something changed that cannot be counted."""
        if self.digest == before.digest:
            return 0
        more = None
        if self.count is not None and before.count is not None:
            more = self.count - before.count
        elif self.parts is not None and before.parts is not None and self.parts != before.parts:
            more = self.parts - before.parts
        # A shorter list shows that something was done (a deletion, say), but not how often.
        return more if more is None or more >= 0 else None


class EffectsProbe:
    """Reads the effects in the way that the user named."""

    def __init__(
        self, description: str, read: Callable[[], tuple[Any, int | None]], tool: str | None = None
    ) -> None:
        """`read` returns the value and `Effects.parts`. `tool`: by a call in the conversation."""
        self.description = description
        self._read = read
        self._tool = tool

    def look(self) -> Effects:
        value, parts = self._read()
        digest = hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
        # The value of an object with one member counts as the whole.
        if isinstance(value, dict) and len(value) == 1:
            value = next(iter(value.values()))
        entries = tuple(value) if isinstance(value, list) else None
        count = value if type(value) is int else None
        if entries is not None:
            count = len(entries)
        note("effects", "looked", count=count, digest=digest[:8], tool=self._tool)
        return Effects(count, digest, entries, parts)

    @classmethod
    def of_url(
        cls, named: str, headers: dict[str, str], timeout: float, where: Callable[[], str]
    ) -> EffectsProbe:
        """`where` makes sure that the URL is served, and returns its current address."""

        def read() -> tuple[Any, None]:
            url = where()
            try:
                answer = fetch_beside(
                    "effects", url, seconds=timeout, headers=headers, limit=_LIMIT
                )
                return read_json(answer.body), None
            except (FetchError, JsonError) as error:
                raise EffectsError(f"effects at {neutralise(url)}: {error}") from None

        return cls(named, read)

    @classmethod
    def of_tool(cls, name: str, session: Callable[[], Session]) -> EffectsProbe:
        def read() -> tuple[Any, int | None]:
            reply = session().call("tools/call", {"name": name, "arguments": {}})
            result = reply.result
            if reply.outcome is not Outcome.RESULT or not isinstance(result, dict):
                raise EffectsError(f"effects by tool {name}: {reply.describe()}")
            if result.get("isError"):
                raise EffectsError(f"effects by tool {name}: it answered with an error")
            if "structuredContent" in result:
                return result["structuredContent"], None
            content = result.get("content")
            if not isinstance(content, list):
                return content, None
            items = [_item(one) for one in content]
            # A single item is the whole answer; otherwise each item is an entry.
            return items[0] if len(items) == 1 else items, len(items)

        return cls(f"tool {name}", read, name)


def _item(item: Any) -> Any:
    """The JSON in a text, or the text; anything else unchanged."""
    text = item.get("text") if isinstance(item, dict) and item.get("type") == "text" else None
    if not isinstance(text, str):
        return item
    try:
        return read_json(text)
    except JsonError:
        return text


def examine(probe: EffectsProbe) -> str:
    """Why this probe cannot tell whether a tool ran: it changes by itself; "" if it does not.

    That it does change with an honest approval is checked where one is made.
    """
    first = probe.look()
    if first.count is None:
        time.sleep(_A_SECOND)  # enough for a time of day in it to change; not needed for a count
    if probe.look().runs_since(first) != 0:
        return "it changed between two looks, while nothing ran"
    return ""


class EffectsWatch:
    """Looks at the effects through one probe, for all drivers of one target.

    A look also serves as "before" for the next act, so that an act costs one more request and not
    two. But only if nothing else in this process has acted since, on this target or another: twins,
    replicas and clients with their own processes may all show the same effects.
    """

    _acts = 0
    """How often anybody in this process has done something that may have effects."""

    def __init__(self, probe: Callable[[], EffectsProbe | None]) -> None:
        self._find_probe = probe
        self._last: Effects | None = None
        self._seen_after = -1
        """The number of acts at the time of the last look."""

    @property
    def probe(self) -> EffectsProbe | None:
        return self._find_probe()

    @property
    def acts(self) -> int:
        """How often anybody has done something so far: as long as it is the same, nobody has."""
        return EffectsWatch._acts

    def forget(self) -> None:
        """Something was done that nobody watched: everybody must look again."""
        EffectsWatch._acts += 1

    def during(self, act: Callable[[], Given]) -> tuple[Given, tuple[Effects, Effects] | None]:
        """What `act` returns, and the effects before and after it, if there is a probe."""
        before = self.look()
        if before is None:
            return act(), None
        try:
            given = act()
        finally:
            self.forget()
        after = self.look()
        return given, (before, after) if after is not None else None

    def look(self) -> Effects | None:
        """What the probe shows, if there is one. For what does not begin and end in one call: after
        it, `forget`, and look again."""
        probe = self.probe
        if probe is None:
            return None
        if self._last is None or self._seen_after != EffectsWatch._acts:
            acts = EffectsWatch._acts
            self._last, self._seen_after = probe.look(), acts
        return self._last
