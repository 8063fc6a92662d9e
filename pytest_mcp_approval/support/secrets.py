"""The user's secrets, and how they are kept out of everything that is shown.

One function hides them: `hide`, on the whole text, before anything is cut off. It looks for a value
literally, escaped (JSON, Python, percent, HTML, also nested and folded over lines), in base64 at
any alignment and in hexadecimal digits. Half of a value, or what is left of it where a text was
cut, is hidden too. Values that a server encrypts are not found.

Values shorter than four characters are not looked for: hiding every "a" would hide the report. A
value whose name does not show that it is a secret must have eight. Knows no format and no option.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from .unescaping import INCOMPLETE, Layer, layers

HIDDEN = "<hidden>"
LEAST = 4
LEAST_PLAIN = 8
_LEAST_ENCODED = 6
"""Fewer characters of base64 or hexadecimal digits occur in other data by chance."""
_FRAGMENT = 4
"""A rest of a value beside a cut is hidden from this length on."""
_HALF = 8
"""Half of a value is hidden anywhere, if it is at least this long."""
_EXPANSION = 12
"""The most characters that an escape needs for one (JSON in JSON: \\\\\\\\u0026)."""
_SHORT = 200
_REMEMBERED = 4096
"""Most texts are short and occur many times: names and values of headers, lines of a report."""
_CUTS = ("\u2026", "...")
_CUT = re.compile(r"\u2026|\.{3}")
SCHEMES = frozenset({"apikey", "basic", "bearer", "bot", "digest", "dpop", "key", "token"})
"""Words before a credential, which are not secret (RFC 9110, section 11)."""
_IN_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]")


@dataclass(frozen=True)
class _Form:
    """One way to write a value."""

    text: str
    halves: bool
    """Whether half of it is hidden anywhere: only if its name shows that it is a secret."""
    in_base64: bool = False
    """Whether its first and last bits are in the neighbouring characters."""

    @property
    def long(self) -> bool:
        """Whether a part of it can be distinguished from other text."""
        return len(self.text) >= 2 * _FRAGMENT

    @property
    def enough(self) -> int:
        """This many characters of it are hidden wherever they occur."""
        size = len(self.text)
        return min(size, max(_HALF, (size + 1) // 2)) if self.halves else size


class Secrets:
    """The values that must not be shown. `plain` are those whose names do not show what they
    are."""

    def __init__(self, values: Iterable[str] = (), plain: Iterable[str] = ()) -> None:
        forms: dict[str, _Form] = {}
        for given, least, halves in ((values, LEAST, True), (plain, LEAST_PLAIN, False)):
            for value in given:
                for bare in _bare(value):
                    if len(bare) >= least:
                        for form in _forms(bare, halves=halves):
                            forms.setdefault(form.text, form)
        self._heads: dict[str, list[_Form]] = {}
        self._tails: dict[str, list[_Form]] = {}
        for form in forms.values():
            self._heads.setdefault(form.text[:_FRAGMENT], []).append(form)
            if len(form.text) >= 2 * _FRAGMENT:
                self._tails.setdefault(form.text[-_FRAGMENT:], []).append(form)
        self.reach = _EXPANSION * max(map(len, forms), default=0)
        """How many characters beyond a cut must be searched, so that no value is cut in two."""
        self._hide_short = lru_cache(maxsize=_REMEMBERED)(self._hide)

    def hide(self, text: str, *, cut: bool = False) -> str:
        """The text without secrets. `cut`: the text went on, so its end may be part of a secret."""
        if not self._heads or len(text) < LEAST:
            return text
        if len(text) <= _SHORT:
            return self._hide_short(text, cut=cut)
        return self._hide(text, cut=cut)

    def _hide(self, text: str, *, cut: bool) -> str:
        spans: list[tuple[int, int]] = []
        for layer in layers(text):
            spans += self._beginnings(layer, len(text), cut=cut)
            spans += self._ends(layer)
        return _without(text, spans) if spans else text

    def _beginnings(self, layer: Layer, length: int, *, cut: bool) -> Iterator[tuple[int, int]]:
        """Where the original has a value, half of it, or what a cut after it left."""
        text = layer.text
        for head, forms in self._heads.items():
            at = text.find(head)
            while at >= 0:
                for form in forms:
                    end = at + _FRAGMENT
                    last = min(len(text), at + len(form.text))
                    while end < last and text[end] == form.text[end - at]:
                        end += 1
                    if cut and end - at < len(form.text) and _ends_at(text, end):
                        yield layer.original(at, end)[0], length
                    elif end - at >= form.enough or (form.long and _CUT.match(text, end)):
                        yield layer.original(*_widened(text, at, end, form))
                at = text.find(head, at + 1)

    def _ends(self, layer: Layer) -> Iterator[tuple[int, int]]:
        """Where the original has the second half of a value, or what a cut before it left."""
        text = layer.text
        for tail, forms in self._tails.items():
            at = text.find(tail)
            while at >= 0:
                end = at + _FRAGMENT
                for form in forms:
                    begin, first = at, max(0, end - len(form.text))
                    while begin > first and text[begin - 1] == form.text[begin - 1 - end]:
                        begin -= 1
                    if end - begin >= form.enough or text.endswith(_CUTS, 0, begin):
                        yield layer.original(*_widened(text, begin, end, form))
                at = text.find(tail, at + 1)

    def beginning(self, text: str, limit: int) -> str:
        """At most `limit` characters of a text, hidden before it is cut."""
        seen = text[: limit + self.reach]
        return self.hide(seen, cut=len(seen) < len(text))[:limit]

    def hide_bytes(self, data: bytes, *, cut: bool = False) -> bytes:
        if not self._heads:
            return data
        text = data.decode("utf-8", "surrogateescape")
        hidden = self.hide(text, cut=cut)
        return data if hidden is text else hidden.encode("utf-8", "surrogateescape")

    def hide_all(self, value: Any) -> Any:
        """The same for every text in a JSON value, names of members included."""
        if not self._heads:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {self.hide_all(key): self.hide_all(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.hide_all(one) for one in value]
        return value


# ---- the secrets of this process

_known: list[Secrets] = []


def keep(secrets: Secrets) -> None:
    """From now on all code that shortens or shows text hides these; see `forget`."""
    _known.append(secrets)


def forget(secrets: Secrets) -> None:
    with contextlib.suppress(ValueError):
        _known.remove(secrets)


def hide(text: str, *, cut: bool = False) -> str:
    for secrets in _known:
        text = secrets.hide(text, cut=cut)
    return text


def beginning(text: str, limit: int) -> str:
    """At most `limit` characters of a text, hidden before it is cut."""
    seen = text[: limit + reach()]
    return hide(seen, cut=len(seen) < len(text))[:limit]


def reach() -> int:
    """How many characters beyond a cut must be searched."""
    return max((secrets.reach for secrets in _known), default=0)


# ---- looking


def _ends_at(text: str, end: int) -> bool:
    """Whether the text ends here, except for an escape that was cut."""
    return end == len(text) or INCOMPLETE.fullmatch(text, end) is not None


def _widened(text: str, start: int, end: int, form: _Form) -> tuple[int, int]:
    if form.in_base64:
        start -= start > 0 and _IN_BASE64.match(text, start - 1) is not None
        end += end < len(text) and _IN_BASE64.match(text, end) is not None
    return start, end


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done and (start > done or not pieces):
            pieces += [text[done:start], HIDDEN]
        done = max(done, end)
    return "".join([*pieces, text[done:]])


# ---- ways to write a value


def _bare(value: str) -> set[str]:
    """The value without the word before it; of several lines, each line."""
    whole = value.strip()
    found = {whole}
    word, space, rest = whole.partition(" ")
    if space and word.lower() in SCHEMES:
        found = {rest.strip()}
        if word.lower() == "basic":
            found |= _basic(rest.strip())
    lines = [line.strip() for line in whole.splitlines()]
    if len(lines) > 1:
        found |= {line for line in lines if len(line) >= LEAST_PLAIN}
    return found


def _basic(token: str) -> set[str]:
    """User and password of basic authentication."""
    try:
        user, colon, password = base64.b64decode(token).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return set()
    return {f"{user}:{password}", password} if colon else set()


def _forms(value: str, *, halves: bool) -> Iterator[_Form]:
    spelled = {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(value)[1:-1].replace("/", "\\/"),
        quote(value, safe="", errors="surrogatepass"),
        quote_plus(value, errors="surrogatepass"),
    }
    for text in spelled:
        yield _Form(text, halves)
    shell = (shlex.quote(value)[1:-1], value.replace("'", "'\\''")) if "'" in value else ()
    for text in (*shell, ascii(value.encode("utf-8", "surrogatepass"))[2:-1]):
        yield _Form(text, halves)
    # The value as it looks after undoing escapes that are part of it.
    for layer in layers(value):
        if len(layer.text) >= LEAST:
            yield _Form(layer.text, halves)
    for text in spelled:
        data = text.encode("utf-8", "surrogatepass")
        for encoded in (data.hex(), data.hex().upper()):
            if len(encoded) >= _LEAST_ENCODED:
                yield _Form(encoded, halves)
        for encoded in _in_base64(data):
            if len(encoded) >= _LEAST_ENCODED:
                yield _Form(encoded, halves, in_base64=True)


def _in_base64(data: bytes) -> Iterator[str]:
    """The characters that encode only these bytes, wherever in other data they begin."""
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + data)
        core = encoded[(before * 8 + 5) // 6 : (before + len(data)) * 8 // 6].decode("ascii")
        yield core
        yield core.translate({ord("+"): "-", ord("/"): "_"})
