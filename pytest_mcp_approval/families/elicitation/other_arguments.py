"""Other calls of the same tool: each argument changed, added, dropped, nested, or nearly the same.

Each begins with arguments that the user named as safe, so that nothing else is touched if a broken
server does run it. Knows no verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ..base.hostile_values import pairs_of
from .settings import ElicitingTool

_UNANSWERED = ("another half of a pair", "a number beyond all doubles")
"""No JSON for some parsers: their servers give no answer at all, which is another matter."""


@dataclass(frozen=True)
class OtherCall:
    """What was asked about, and what is called instead."""

    name: str
    asked: Mapping[str, Any]
    called: Mapping[str, Any]
    alike: bool = False
    """Whether a server may lawfully read the second as the first; it must not then act on the
    second as it stands."""


def plain_changes(tool: ElicitingTool) -> Iterator[OtherCall]:
    """What any server must tell apart."""
    given = dict(tool.arguments or {})
    bound = {name: value for name, value in given.items() if name not in tool.exempt}
    if tool.other_arguments is not None and tool.other_arguments != tool.arguments:
        other = dict(tool.other_arguments)
        if any(other.get(name) != given.get(name) for name in {*other, *given} - {*tool.exempt}):
            yield OtherCall("the other arguments of the table", given, other)
    for name, value in bound.items():
        yield OtherCall(f"another {name}", given, {**given, name: another(value)})
        rest = {key: one for key, one in given.items() if key != name}
        yield OtherCall(f"without {name}", given, rest)
        yield OtherCall(f"{name} added", rest, given)
        yield OtherCall(f"{name} null", given, {**given, name: None})
        yield from _inside(name, value, given)
    yield OtherCall("an argument more", given, {**given, "further": "value"}, alike=True)
    yield OtherCall("no arguments", given, {}, alike=not given)
    names = list(bound)
    for first, second in pairwise(names):
        if isinstance(given[first], str) and isinstance(given[second], str):
            swapped = {**given, first: given[second], second: given[first]}
            if swapped != given:
                yield OtherCall(f"{first} and {second} exchanged", given, swapped)


def _inside(name: str, value: Any, given: Mapping[str, Any]) -> Iterator[OtherCall]:
    """One level deeper: each member of an object, each entry of a list."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            changed = {**value, key: another(one)}
            yield OtherCall(f"another {name}.{key}", given, {**given, name: changed})
            rest = {other: kept for other, kept in value.items() if other != key}
            yield OtherCall(f"without {name}.{key}", given, {**given, name: rest})
        more = {**value, "further": "value"}
        yield OtherCall(f"{name}.further more", given, {**given, name: more}, alike=True)
    if isinstance(value, list):
        for at, one in enumerate(value):
            entries = [*value[:at], another(one), *value[at + 1 :]]
            yield OtherCall(f"another {name}[{at}]", given, {**given, name: entries})
        yield OtherCall(f"{name} empty", given, {**given, name: []})


def another(value: Any) -> Any:
    """Another value of the same type, near the first."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return f"{value[:-1]}{'2' if value[-1:] != '2' else '3'}"
    if isinstance(value, list):
        return [*value, "more"]
    return {**value, "more": "value"} if isinstance(value, Mapping) else "another"


def near_changes(tool: ElicitingTool) -> Iterator[OtherCall]:
    """What careless code takes for the same: spellings, types, look-alikes, lengths, depths."""
    given = dict(tool.arguments or {})
    for name, value in given.items():
        if name in tool.exempt:
            continue
        for twins in pairs_of(value):
            if twins.name in _UNANSWERED:
                continue
            yield OtherCall(
                f"{name}: {twins.name}",
                {**given, name: twins.first},
                {**given, name: twins.second},
                alike=twins.alike,
            )
    yield from _empty_or_absent(tool, given)
    # What a tool lists it may check; what it does not list comes through in any type.
    for value in (1, True, False):
        for twins in pairs_of(value):
            if twins.name not in _UNANSWERED:
                one, other = ({**given, "further": it} for it in (twins.first, twins.second))
                yield OtherCall(f"an argument more: {twins.name}", one, other, alike=twins.alike)
    yield OtherCall("an argument more: null", given, {**given, "further": None}, alike=True)
    for twins in pairs_of(given):
        if isinstance(twins.first, Mapping) and isinstance(twins.second, Mapping):
            yield OtherCall(f"the arguments: {twins.name}", twins.first, twins.second, twins.alike)


def _empty_or_absent(tool: ElicitingTool, given: Mapping[str, Any]) -> Iterator[OtherCall]:
    """A member that says nothing, and none at all: a server may have that for its default."""
    for name, value in given.items():
        if name in tool.exempt:
            continue
        rest = {key: one for key, one in given.items() if key != name}
        empty = {**given, name: type(value)() if value is not None else None}
        yield OtherCall(f"{name} empty, then left out", empty, rest, alike=True)
        yield OtherCall(f"{name} left out, then empty", rest, empty, alike=True)


def written(value: Any) -> str:
    """As JSON, whatever the order of its members: to Python true, 1 and 1.0 are one value."""
    return json.dumps(value, sort_keys=True, default=str)


def reordered(value: Any) -> Any:
    """The same with its members in another order, at every depth."""
    if isinstance(value, Mapping):
        return {name: reordered(value[name]) for name in reversed(value)}
    return [reordered(one) for one in value] if isinstance(value, list) else value
