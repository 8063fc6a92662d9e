"""Values that careless code takes for others: the pairs that a binding must keep apart.

Each pair begins with a value that the user named, or extends it, so that nothing else is touched if
a broken server does run it. Knows no specification and no verdicts.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...wire import RawJson
from .look_alikes import (
    BLANK_BEFORE,
    BLANK_BEHIND,
    IN_ANOTHER_CASE,
    LINE_END_BEHIND,
    nearly,
    some,
)

A_FEW_NAMES = (
    *("__proto__", "constructor", "hasOwnProperty", "toString", "length"),
    *("__class__", "$type", "$ne", "a[b]", "'; --", ""),
)
SPECIAL_NAMES = (
    *A_FEW_NAMES,
    # JavaScript
    *("prototype", "valueOf", "toJSON", "__defineGetter__", "undefined"),
    # Python, Java, .NET
    *("__dict__", "self", "class", "@type", "$ref", "$schema"),
    # PHP, Ruby, query strings, templates, SQL
    *("a[]", "a.b", "a/b", "*", "%s", "${a}", "{{a}}", "a'b", 'a"b', "a`b"),
    # numbers and blanks
    *(" ", "0", "-1", "1e0", "NaN", "null", "true", "a ", " a", "A", "a\0", "\ufeffa"),
)
"""Names of members that some language, library or database treats in a way of its own; the few are
for places where the whole table would take too long."""
TRIMMED_OR_FOLDED = some(
    *(BLANK_BEHIND, BLANK_BEFORE, LINE_END_BEHIND, IN_ANOTHER_CASE),
    "with a zero-width space behind it",
)
SEPARATORS = ("", "/", ",", "|", "&", ":", ";", " ", "\0", "\n")
"""With which careless code puts values together before it hashes them."""
_LONG = 3000
_DEEP = 60
_MANY = 300
_UUID = "5b0c4d3e-8f21-4a67-9c15-3d2e1f0a9b8"


@dataclass(frozen=True)
class Twins:
    """Two values that differ."""

    name: str
    """What the difference is, in words."""
    first: Any
    second: Any
    alike: bool = False
    """Whether a server may lawfully read the second as the first: it trims, folds case, or makes
    one type of another. It must not then act on the second as it stands."""


def pairs_of(value: Any) -> list[Twins]:
    """The pairs for a value of this type."""
    if isinstance(value, bool):
        return list(_of_truth(value))
    if isinstance(value, str):
        return list(_of_text(value))
    if isinstance(value, (int, float)):
        return list(_of_number(value))
    if isinstance(value, list):
        return list(_of_list(value))
    return list(_of_object(value)) if isinstance(value, Mapping) else []


def _of_text(text: str) -> Iterator[Twins]:
    """The second one is never in the form that a server would normalise to."""
    for name, near in nearly(text, TRIMMED_OR_FOLDED).items():
        yield Twins(name, text, near, alike=True)
    accent = "\u00e9"
    decomposed = unicodedata.normalize("NFD", accent)
    yield Twins("an accent in two characters", text + accent, text + decomposed, alike=True)
    yield Twins("a ligature for two letters", f"{text}fi", f"{text}\ufb01", alike=True)
    yield Twins("wide digits", f"{text}1", f"{text}\uff11", alike=True)
    yield Twins("a percent escape", f"{text}-", f"{text}%2d", alike=True)
    yield Twins("another half of a pair", f"{text}\ud83d", f"{text}\ud83e", alike=True)
    yield Twins("text after a zero byte", f"{text}\0one", f"{text}\0two")
    yield Twins("a Cyrillic letter", f"{text}a", f"{text}\u0430")
    yield Twins("another character beyond 16 bits", f"{text}\U0001f511", f"{text}\U0001f512")
    yield Twins("texts of one hash code", f"{text}Aa", f"{text}BB")
    yield Twins("another UUID", f"{_UUID}1", f"{_UUID}2")
    yield Twins("another instant", "2026-01-28T12:00:01Z", "2026-01-28T12:00:02Z")
    yield Twins("text after a comment sign", f"{text}'; --one", f"{text}'; --two")
    yield Twins("text after a hash sign", f"{text}#one", f"{text}#two")
    for name, place in {"beginning": 0, "middle": _LONG // 2, "end": _LONG}.items():
        long = "a" * _LONG
        first, second = (f"{text}{long[:place]}{one}{long[place:]}" for one in "12")
        yield Twins(f"one character at the {name} of a long text", first, second)


def _of_number(number: float) -> Iterator[Twins]:
    yield Twins("a number as text", number, str(number), alike=True)
    yield Twins("a number in a list", number, [number], alike=True)
    for name, more in {"half more": 0.5, "a billionth more": 1e-9}.items():
        if number + more != number:  # a large number is the same double
            yield Twins(name, number, number + more, alike=True)
    if number:
        yield Twins("the other sign", number, -number)
    if isinstance(number, int):
        yield Twins("2^32 more", number, number + 2**32)
        yield Twins("2^64 more", number, number + 2**64)
        if number:
            yield Twins("a number beyond all doubles", number, RawJson(f"{abs(number)}e400"))


def _of_truth(value: bool) -> Iterator[Twins]:
    yield Twins("a truth value as text", value, str(value).lower(), alike=True)
    yield Twins("a truth value as a number", value, int(value), alike=True)
    yield Twins("a truth value in a list", value, [value], alike=True)
    if not value:
        yield Twins("an empty text for false", value, "", alike=True)


def _of_list(value: list[Any]) -> Iterator[Twins]:
    yield Twins("a list in a list", value, [value], alike=True)
    as_object = {str(n): one for n, one in enumerate(value)}
    yield Twins("a list as an object", value, as_object, alike=True)
    if value:
        yield Twins("its last entry twice", value, [*value, value[-1]], alike=True)
        yield Twins("its last entry left out", value, value[:-1])
        yield Twins("its entries as one text", value, ",".join(map(str, value)), alike=True)
    if len(value) > 1:
        yield Twins("its entries in another order", value, value[::-1], alike=True)
        first, second = str(value[0]), str(value[1])
        joined = [f"{first},{second}", *value[2:]]
        yield Twins("two entries as one", value, joined)
    filled = [*value, *(f"more-{number}" for number in range(_MANY))]
    yield Twins("the last entry of a long list", [*filled, "one"], [*filled, "two"])


def _of_object(value: Mapping[str, Any]) -> Iterator[Twins]:
    for name in A_FEW_NAMES:
        more = {**value, name: {"one": 1}}
        yield Twins(f"a member {name!r} more", dict(value), more, alike=True)
    for name in A_FEW_NAMES[:3]:
        one, two = ({**value, name: {"a": number}} for number in (1, 2))
        yield Twins(f"what is in a member {name!r}", one, two, alike=True)
    yield Twins("a dot for a level", {**value, "a.b": 1}, {**value, "a": {"b": 1}})
    yield Twins("a bracket for a level", {**value, "a[b]": 1}, {**value, "a": {"b": 1}})
    one, two = ({**value, "more": _nested(number)} for number in (1, 2))
    yield Twins("what is deep inside", one, two)
    last = list(value)[-1] if value else ""
    if isinstance(value.get(last), str):
        twice = RawJson(f'"{last}-two","{last}":"{last}-three"')
        yield Twins("a member that stands twice", dict(value), {**value, last: twice}, alike=True)


def _nested(innermost: Any) -> Any:
    for _ in range(_DEEP):
        innermost = {"in": innermost}
    return innermost


def shifted(first: tuple[str, str], second: tuple[str, str]) -> list[Twins]:
    """For two texts, each with its name: pairs of values for both that come to the same when they
    are written one after the other."""
    (_, one), (name, two) = first, second
    between = (*SEPARATORS, f'","{name}":"', f"&{name}=", f"{name}")
    return [
        Twins(
            f"text on the other side of {separator!r}",
            (f"{one}{separator}x", two),
            (one, f"x{separator}{two}"),
        )
        for separator in between
    ]
