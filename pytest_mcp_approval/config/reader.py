"""The one reader of settings: turns a table from TOML or the command line into a dataclass.

A field's type says what its value may be, `setting(...)` says the rest. A key is the field's name
in kebab-case; the name with underscores is an old spelling, which is accepted and noted. An error
is one line: the place of the key, what was got, what was expected. Knows no option and no family.
"""

from __future__ import annotations

import dataclasses
import hashlib
import marshal
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ..support.nearest import expected

Kind = TypeVar("Kind")
Keys = tuple[str, ...]
"""The place of a value: the names of the tables around it, and its own name."""
_SHOWN = 60
_BARE = re.compile(r"[A-Za-z0-9_-]+(?:\[\d+\])?")
_RULE = "setting"


class SettingsError(Exception):
    """One line: what is wrong, and what to do."""


@dataclass(frozen=True)
class Sources:
    """Where the settings of a run came from, for messages about them."""

    file: str = ""
    """The name of the file; "" if there is none."""
    root: Keys = ()
    """Our table in the file, if the whole file is not ours."""
    line: Mapping[Keys, str] = field(default_factory=dict)
    """What came from the command line, and how it is written there."""
    old: list[str] = field(default_factory=list, compare=False)
    """Old spellings that were found, each with what to write now."""

    def tell_old(self, told: str) -> None:
        if told not in self.old:
            self.old.append(told)


@dataclass(frozen=True)
class Place:
    """One key or one table. Its text is what the user would look for."""

    keys: Keys = ()
    sources: Sources = field(default_factory=Sources)

    def __truediv__(self, key: str) -> Place:
        return Place((*self.keys, key), self.sources)

    def __str__(self) -> str:
        return self._on_the_line() or self._written(self.keys[:-1], self.keys[-1:])

    @property
    def table(self) -> str:
        return self._written(self.keys, ())

    def of_unknown(self, key: str) -> str:
        """The place of this table, for a message about an unknown key in it."""
        return (self / key)._on_the_line() or self.table

    def _on_the_line(self) -> str:
        own = tuple(key.replace("_", "-") for key in self.keys)
        for keys, option in self.sources.line.items():
            shorter = min(len(keys), len(own))
            said = tuple(key.replace("_", "-") for key in keys[:shorter])
            if shorter and said == own[:shorter]:
                return ".".join((option, *self.keys[shorter:]))
        return ""

    def _written(self, table: Keys, key: Keys) -> str:
        listed = next((n for n, one in enumerate(table) if "[" in one), len(table))
        header = ".".join(map(_quoted, (*self.sources.root, *table[:listed])))
        rest = ".".join(map(_quoted, (*table[listed:], *key)))
        parts = (self.sources.file, f"[{header}]" if header else "", rest)
        return " ".join(part for part in parts if part)


def _quoted(key: str) -> str:
    return key if _BARE.fullmatch(key) else f"'{key}'"


@dataclass(frozen=True)
class Rule:
    """What a field's type does not say."""

    key: str = ""
    """Its key, if that is not its name."""
    table: str = ""
    """The table that it is in, if that is not the dataclass's own."""
    expected: str = ""
    """What it may be, in words."""
    parse: Callable[[Any], Any] | None = None
    """Reads the whole value; raises `ValueError` with "expected ...", or the whole error."""
    each: Callable[[Any], Any] | None = None
    """The same for the members of a list or a table."""
    form: Mapping[str, Any] | None = None
    """What `parse` takes, as JSON Schema, if the field's type does not say it."""
    each_form: Mapping[str, Any] | None = None
    """The same for `each`."""
    choices: tuple[str, ...] = ()
    names: Mapping[str, Any] | None = None
    """The keys that a table may have, each with its default; None: no default."""
    verbatim: bool = False
    """Whether those keys are names defined elsewhere, and not in kebab-case."""
    above: float | None = None
    least: float | None = None
    most: float | None = None
    filled: bool = False
    """Whether a text must not be empty; empty texts in a list are left out."""
    alone: bool = False
    """Whether a single table may be given instead of a list of one; a single text always may."""
    secret: bool = False
    """Whether its value is never shown."""
    internal: bool = False
    """Whether the field is not a setting at all."""
    option: Any = None
    """Its option on the command line."""


def setting(default: Any = dataclasses.MISSING, *, repr: bool = True, **rule: Any) -> Any:
    """A field of a dataclass that `read` creates; without a default it is required. If the default
    is a class, it is called to make the value."""
    metadata = {_RULE: Rule(**rule)}
    visible = repr and not rule.get("secret")
    if isinstance(default, (dict, type)):
        make = default if isinstance(default, type) else lambda: default
        return field(default_factory=make, repr=visible, metadata=metadata)
    return field(default=default, repr=visible, metadata=metadata)


def rule_of(one: dataclasses.Field[Any]) -> Rule:
    found: Rule = one.metadata.get(_RULE, Rule())
    return found


def key_of(one: dataclasses.Field[Any]) -> str:
    return rule_of(one).key or one.name.replace("_", "-")


def read(kind: type[Kind], given: Any, place: Place) -> Kind:
    """The dataclass; `SettingsError` if a value cannot be used.

    What was read before, in the same place and the same values, is not read again: every check
    reads its family's table, and tables are large. They are frozen.
    """
    key = _key_of(kind, given, place)
    if key in _TABLES:
        return cast(Kind, _TABLES[key])
    found = _read(kind, given, place)
    if key is not None and not place.sources.old:  # else another run must be told, too
        if len(_TABLES) >= _MOST_TABLES:
            _TABLES.clear()
        _TABLES[key] = found
    return found


_TABLES: dict[tuple[Any, ...] | None, Any] = {}
_MOST_TABLES = 200
_LARGE: dict[int, tuple[Any, bytes]] = {}
"""Large values by their ids, which are theirs as long as they are kept here: the bytes of a list of
ten thousand take milliseconds."""
_LARGE_BYTES, _MOST_LARGE = 100_000, 20


def _key_of(kind: type[Any], given: Any, place: Place) -> tuple[Any, ...] | None:
    """None for what has no bytes. By bytes: 1 and true are equal, and are not the same setting."""
    values = given if isinstance(given, Mapping) else {"": given}
    try:
        return kind, place.keys, *values, *map(_digest, values.values())
    except ValueError:
        return None


def _digest(value: Any) -> bytes:
    if id(value) in _LARGE:
        return _LARGE[id(value)][1]
    text = marshal.dumps(value, 2)
    digest = hashlib.sha256(text).digest()
    if len(text) >= _LARGE_BYTES:
        if len(_LARGE) >= _MOST_LARGE:
            _LARGE.clear()
        _LARGE[id(value)] = value, digest
    return digest


def _read(kind: type[Kind], given: Any, place: Place) -> Kind:
    values = read_fields(kind, given, place)
    try:
        return kind(**values)
    except ValueError as error:
        raise SettingsError(f"{place.table}: {error}") from None


def read_fields(kind: Any, given: Any, place: Place, *, table: str = "") -> dict[str, Any]:
    """The values of its fields in this table, as far as they are given."""
    if not isinstance(given, Mapping):
        raise wrong(place, given, "expected a table")
    known = _known(kind, table)
    values: dict[str, Any] = {}
    for key, value in canonical(given, known, place).items():
        one, hint = known[key]
        rule = rule_of(one)
        if (rule.names is not None and value == {}) or (value is None and _is_optional(hint)):
            continue
        values[one.name] = _value(hint, rule, value, place / key)
    for key, (one, _) in known.items():
        needed = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        if needed and one.name not in values:
            told = rule_of(one).expected or "it there"
            raise SettingsError(f"{place.table}: got no {key!r}, expected {told}")
    return values


def canonical(given: Mapping[str, Any], known: Iterable[str], place: Place) -> dict[str, Any]:
    """The same with every key in its current spelling; an unknown key is an error."""
    names = [str(name) for name in known]
    found: dict[str, Any] = {}
    for key, value in given.items():
        name = key if key in names else str(key).replace("_", "-")
        if name not in names:
            raise SettingsError(
                f"{place.of_unknown(key)}: got {shown(key)}, {expected(str(key), names)}"
            )
        if name in found:
            raise SettingsError(f"{place.table}: got {name!r} twice, expected it once")
        if name != key:
            place.sources.tell_old(f"{place / name} for {key}")
        found[name] = value
    return found


def wrong(place: Place, value: Any, problem: str, *, secret: bool = False) -> SettingsError:
    """The error about a value, in the one form that all have."""
    if not problem.startswith(("expected", "did you mean")):
        return SettingsError(f"{place}: {problem}")
    got = "" if secret else f"got {shown(value)}, "
    return SettingsError(f"{place}: {got}{problem}")


def shown(value: Any) -> str:
    from ..support.secrets import beginning  # here: a run without a target needs none

    if isinstance(value, str):
        return repr(beginning(value, _SHOWN))
    return beginning(repr(value), _SHOWN)


@cache
def _known(kind: Any, table: str) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    hints = get_type_hints(kind)
    return {
        key_of(one): (one, hints[one.name])
        for one in dataclasses.fields(kind)
        if not rule_of(one).internal and rule_of(one).table == table
    }


def _value(hint: Any, rule: Rule, value: Any, place: Place) -> Any:
    if rule.parse is None:
        return _convert(hint, rule, value, place)
    try:
        return rule.parse(value)
    except ValueError as error:
        raise wrong(place, value, str(error), secret=rule.secret) from None


def _convert(hint: Any, rule: Rule, value: Any, place: Place) -> Any:
    """A value of this type."""
    if _is_optional(hint):
        hint = next(one for one in get_args(hint) if one is not types.NoneType)
    kind, members = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return value
    if dataclasses.is_dataclass(hint):
        return _read(hint, value, place)  # type: ignore[arg-type]
    if kind is tuple:
        return _list(members[0], rule, value, place)
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return _table(members[1], rule, value, place)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(_one_of(tuple(str(one.value) for one in kind), value, place))
    if rule.choices:
        return _one_of(rule.choices, value, place)
    return _plain(hint, rule, value, place)


def _plain(hint: Any, rule: Rule, value: Any, place: Place) -> Any:
    hint = str if hint is Path else hint  # the caller knows which folder it is relative to
    usual = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    kinds = (int, float) if hint is float else hint
    right = isinstance(value, kinds) and (hint is bool or not isinstance(value, bool))
    if right and hint in (int, float):
        right = math.isfinite(value) and not (
            (rule.above is not None and value <= rule.above)
            or (rule.least is not None and value < rule.least)
            or (rule.most is not None and value > rule.most)
        )
    if not right or (rule.filled and value == ""):
        words = rule.expected or usual[hint] + _limits(rule)
        raise wrong(place, value, f"expected {words}", secret=rule.secret)
    return value


def _limits(rule: Rule) -> str:
    if rule.least is not None and rule.most is not None:
        return f" from {rule.least:g} to {rule.most:g}"
    return "" if rule.least is None else f" of at least {rule.least:g}"


def _one_of(choices: tuple[str, ...], value: Any, place: Place) -> str:
    if value not in choices:
        raise wrong(place, value, expected(str(value), choices))
    return str(value)


def _list(hint: Any, rule: Rule, value: Any, place: Place) -> tuple[Any, ...]:
    of_tables = dataclasses.is_dataclass(hint) or get_origin(hint) is not None
    alone = rule.alone if of_tables else isinstance(value, (str, int, float))
    if alone and not isinstance(value, (list, tuple)):
        value = [value]
    if not isinstance(value, (list, tuple)):
        words = rule.expected or f"a list of {'tables' if of_tables else 'texts'}"
        raise wrong(place, value, f"expected {words}", secret=rule.secret)
    one_rule = Rule(
        expected=rule.expected, choices=rule.choices, secret=rule.secret, parse=rule.each
    )
    found = []
    for number, one in enumerate(value):
        inside = Place((*place.keys[:-1], f"{place.keys[-1]}[{number}]"), place.sources)
        if of_tables and not isinstance(one, Mapping):
            raise wrong(inside, one, f"expected {rule.expected or 'a table'}")
        found.append(_value(hint, one_rule, one, inside if of_tables else place))
    return tuple(one for one in found if not (rule.filled and one == ""))


def _table(hint: Any, rule: Rule, value: Any, place: Place) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise wrong(place, value, f"expected {rule.expected or 'a table'}", secret=rule.secret)
    usual = rule.names or {}
    names = {name if rule.verbatim else name.replace("_", "-"): name for name in usual}
    own = value if rule.names is None else canonical(value, names, place)
    one_rule = dataclasses.replace(rule, names=None, parse=rule.each, each=None)
    found = {
        names.get(key, key): _value(hint, one_rule, one, place / str(key))
        for key, one in own.items()
    }
    rest = {key: one for key, one in usual.items() if key not in found and one is not None}
    return rest | found


def _is_optional(hint: Any) -> bool:
    return get_origin(hint) in (types.UnionType, Union) and types.NoneType in get_args(hint)
