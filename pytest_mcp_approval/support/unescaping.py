"""A text with its escapes undone: JSON, Python, percent, HTML, folded lines.

A place in the unescaped text can be mapped back to the original. Escapes may be nested and mixed.
Everything takes time in proportion to the text. Does not know what is searched for.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

_DEEPEST = 3
"""How often all escapes are undone: logs can contain JSON in JSON in JSON."""
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_KINDS: dict[str, str] = {
    "\\": rf"{_PAIR}|\\u[0-9a-fA-F]{{4}}|\\U[0-9a-fA-F]{{8}}|\\x[0-9a-fA-F]{{2}}"
    r"|\\(?!u[0-9a-fA-F]{0,3}\Z|U[0-9a-fA-F]{0,7}\Z|x[0-9a-fA-F]?\Z)[\s\S]",
    "%": r"%[0-7][0-9a-fA-F]|(?:%[89a-fA-F][0-9a-fA-F])+",
    "&": r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?",
    "\n": r"\r?\n[ \t]*",
}
"""The patterns, by the character that every escape of the kind contains."""
_ONE = {mark: re.compile(pattern) for mark, pattern in _KINDS.items()}
_ALL = re.compile("|".join(_KINDS.values()))
INCOMPLETE = re.compile(
    r"(?:\\(?:u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|x[0-9a-fA-F]?)?|%[0-9a-fA-F]?|&#?\w{0,8}|\r)$"
)
"""The beginning of an escape at the end of a text that was cut there."""


class Layer:
    """A text with some escapes undone, and the way back to the original."""

    def __init__(
        self, text: str, inside: Layer | None = None, undone: re.Pattern[str] | None = None
    ) -> None:
        self.text = text
        self._inside = inside
        self._undone = undone
        self._parts: tuple[list[int], list[int], list[int]] | None = None

    def undo(self, pattern: re.Pattern[str]) -> Layer:
        """The same with the escapes of this pattern undone once."""
        return Layer(pattern.sub(lambda escape: _meant(escape[0]), self.text), self, pattern)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Where the original has a (non-empty) part of this text."""
        if self._inside is None or self._undone is None:
            return start, end
        if self._parts is None:
            # Only now: in most texts there is nothing to map back.
            self._parts = _parts(self._inside.text, self._undone)
        here, begins, ends = self._parts
        first, last = bisect_right(here, start) - 1, bisect_right(here, end - 1) - 1
        begin = begins[first] + (start - here[first] if ends[first] < 0 else 0)
        stop = ends[last] if ends[last] >= 0 else begins[last] + end - here[last]
        return self._inside.original(begin, stop)


def _parts(source: str, pattern: re.Pattern[str]) -> tuple[list[int], list[int], list[int]]:
    """The unescaped text in parts, plain ones and escapes: where each begins; where it begins in
    the source; for an escape, where it ends there, else -1."""
    here, begins, ends = [0], [0], [-1]
    length = done = 0
    for escape in pattern.finditer(source):
        start, end = escape.span()
        meant = _meant(escape[0])
        length += start - done
        if meant:
            here.append(length)
            begins.append(start)
            ends.append(end)
            length += len(meant)
        here.append(length)
        begins.append(end)
        ends.append(-1)
        done = end
    return here, begins, ends


def layers(text: str) -> Iterator[Layer]:
    """The text itself; with each kind of escape undone; with all undone, once and repeatedly."""
    whole = Layer(text)
    yield whole
    kinds = [mark for mark in _KINDS if mark in text]
    if not kinds:
        return
    seen = {text}
    for mark in kinds if len(kinds) > 1 else ():
        one = whole.undo(_ONE[mark])
        if one.text not in seen:
            seen.add(one.text)
            yield one
    for _ in range(_DEEPEST):
        if not any(mark in whole.text for mark in _KINDS):
            return
        whole = whole.undo(_ALL)
        if whole.text not in seen:
            seen.add(whole.text)
            yield whole


@lru_cache(maxsize=4096)
def _meant(escape: str) -> str:
    """What an escape stands for."""
    undo = {"\\": _backslash, "%": _percent, "&": html.unescape}.get(escape[0])
    return undo(escape) if undo is not None else ""  # a folded line


def _backslash(escape: str) -> str:
    letter = escape[1]
    if len(escape) == 12:
        high, low = int(escape[2:6], 16), int(escape[8:12], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if letter in "uUx" and len(escape) > 2:
        code = int(escape[2:], 16)
        return chr(code) if code < 0x110000 else escape
    return _CONTROLS.get(letter, letter)


def _percent(escape: str) -> str:
    return unquote(escape, errors="surrogateescape")
