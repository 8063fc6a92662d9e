"""Merges what the command line says into what the file says.

A table on the command line (a tool, a header, a variable) adds to the file's table, and the header
of the run says so. If both have an entry, the command line's counts. Knows where values are, not
what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .files import Tables, put_at, value_at
from .options import CLIENT, LAUNCH, OF_WHOLE_RUNS, OPTIONS, PREFIX, SET, Option
from .reader import Keys, Place, SettingsError, Sources, shown
from .registry import families

_FROM = "-from"


def drop_other_runs(tables: Tables, given: Mapping[str, Any]) -> None:
    """Drop what the file says about a different run."""
    if given.get(CLIENT) or given.get("client-page"):
        tables.pop("target", None)
    client = tables.get(CLIENT, {})
    if given.get("target") or given.get("client-page"):
        client.pop("command", None)
    if (given.get("target") or given.get(CLIENT)) and isinstance(client.get("page"), dict):
        client["page"].pop("url", None)
    if given.get("target"):
        # The target is not the file's, so how to start the file's target does not apply.
        tables.get(LAUNCH, {}).pop("command", None)
        for option in OPTIONS:
            value = value_at(tables, option.place)
            inside = len(option.place) > 1 and option.place[0] != LAUNCH
            if inside and isinstance(value, str) and ("{state}" in value or "{port}" in value):
                value_at(tables, option.place[:-1]).pop(option.place[-1])
    if given.get("replay"):
        for name in OF_WHOLE_RUNS:
            tables.pop(name, None)


def add_command_line(
    tables: Tables, sources: Sources, given: Mapping[str, Any]
) -> tuple[Sources, tuple[tuple[str, str], ...]]:
    """Changes the tables; returns where each value came from, and which tables were added to."""
    line: dict[Keys, str] = {}
    additions = []
    for option in OPTIONS:
        value, label = given.get(option.name), f"{PREFIX}{option.name}"
        if option.example:
            own = read_pairs(option, value_at(tables, option.place), Place(option.place, sources))
            said = read_pairs(option, value, label)
            rest = _without(option, own, said)
            if rest and said:
                names, more = ", ".join(said), len(rest)
                additions.append(
                    (option.name, f"{names} from the command line, {more} more from {sources.file}")
                )
            line |= {(*option.place, name): label for name in said}
            if own or said:
                put_at(tables, option.place, rest | said)
            if said:
                _drop_from_the_other(tables, option, said)
        elif value not in (None, [], False) and option is not SET:
            put_at(tables, option.place, value)
            line[option.place] = label
    for text in given.get(SET.name) or ():
        keys, value = _read_set(text)
        try:
            put_at(tables, keys, value)
        except KeyError as error:
            raise SettingsError(
                f"{PREFIX}{SET.name}: got {text!r}, but {error} is no table"
            ) from None
        line[keys] = f"{PREFIX}{SET.name} {'.'.join(keys)}"
    return replace(sources, line=line), tuple(additions)


def read_pairs(option: Option, given: Any, label: str | Place) -> dict[str, Any]:
    """The table that these words stand for; a table is returned unchanged."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, (str, list, tuple)):
        raise SettingsError(f"{label}: got {shown(given)}, expected a table")
    form = option.metavar or ""
    as_json, sign = form.endswith("JSON"), ":" if ":" in form else "="
    found: dict[str, Any] = {}
    for word in (given,) if isinstance(given, str) else given:
        name, between, value = str(word).partition(sign)
        name, value = name.strip(), value.strip() if sign == ":" else value
        try:
            if not between or not name:
                raise ValueError
            found[name] = json.loads(value) if as_json else value
            if as_json and not isinstance(found[name], dict):
                raise ValueError
        except ValueError:
            # Only a tool's arguments are shown: any other value may be a secret.
            told = f"got {word!r}, expected {form} object" if as_json else f"got no {form!r}"
            one = "" if as_json else ", expected one"
            raise SettingsError(f"{label}: {told}{one}, e.g. {option.example}") from None
    return found


def _without(option: Option, weak: Mapping[str, Any], strong: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that the other does not have; header names are compared without case."""
    same = str.lower if "header" in option.name else str
    named = {same(name) for name in strong}
    return {name: value for name, value in weak.items() if same(name) not in named}


def _drop_from_the_other(tables: Tables, option: Option, said: Mapping[str, Any]) -> None:
    """A header may be given literally or drawn from elsewhere: the command line takes
    precedence."""
    name = option.place[-1]
    other = name.removesuffix(_FROM) if name.endswith(_FROM) else name + _FROM
    keys = (*option.place[:-1], other)
    found = value_at(tables, keys)
    if isinstance(found, Mapping):
        put_at(tables, keys, _without(option, found, said))


def _read_set(text: str) -> tuple[Keys, Any]:
    """Read `TABLE.KEY=VALUE`, with the value written as in TOML."""
    known = (LAUNCH, CLIENT, *families())
    place, equals, value = text.partition("=")
    table, *keys = place.strip().split(".")
    if not equals or not keys or not all(keys) or table not in known:
        raise SettingsError(
            f"{PREFIX}{SET.name}: got {text!r}, expected TABLE.KEY=VALUE with a table of "
            f"{', '.join(known)}"
        )
    return (table, *keys), _toml_value(value.strip())


def _toml_value(text: str) -> Any:
    """`30`, `true` and `["a"]` as TOML reads them; anything else is plain text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
