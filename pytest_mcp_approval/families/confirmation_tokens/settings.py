"""The table [confirmation_tokens] of the user's settings: read once, each mistake in one line.

Knows what can be said and what it means when nothing is said. Does not know a target: `binding`
speaks to one by what stands here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...support.nearest import expected
from . import vocabulary as words
from .outcome import SHAPES, TIMES
from .probes import FORMS, is_look
from .vocabulary import Danger, TokenCode

FAMILY = "confirmation_tokens"

FIELDS = {
    "success": "success",
    "code": "error.code",
    "message": "error.message",
    "details": "error.details",
    "token": "error.details.confirmation_token",
    "quota_token": "error.details.continue_token",
    "expires_at": "error.details.expires_at",
    "operation": "error.details.operation",
    "danger_level": "error.details.danger_level",
    "reasons": "error.details.reasons",
    "confirmation_message": "error.details.confirmation_message",
    "expired_at": "error.details.expired_at",
    "current_time": "error.details.current_time",
    "retry_after": "error.details.retry_after_seconds",
}
"""Places in an answer, as section 3.3 and 4.2 have them."""
SHOWN_IN = {
    "3.3": (
        *("success", "code", "message", "token", "expires_at", "operation", "danger_level"),
        *("reasons", "confirmation_message"),
    ),
    "4.2": ("expired_at", "current_time"),
}
"""The places that the document shows, by section; the others are ours."""
CODES = (
    words.CONFIRMATION_REQUIRED,
    *(str(code) for code in TokenCode),
    words.QUOTA_PAUSED,
    words.RATE_LIMITED,
)
PLACES = {
    "operation_at": "arguments.operation",
    "params_at": "arguments.params",
    "token_at": "arguments.params.confirmation_token",
    "quota_token_at": "arguments.params._quota_continue",
}
"""Places in the params of tools/call."""
INTROSPECTION = {
    "operation": words.INTROSPECT,
    "query_at": "arguments.params.query",
    "token_at": "arguments.params.token",
    "revoke": words.REVOKE_QUERY,
    "status": "",
    "state_at": "data.status",
    "params_hash_at": "data.params_hash",
}
VARIANTS = {
    "tolerance": words.TOLERANCE_SETTING,
    "ttl": "ttl_seconds",
    "store": "store_access",
    "signed": "token_style",
}
"""What can be set otherwise at another start of the target, and how the reference server calls
it."""
LOOKS = ("audit", "log", "store")
_OPERATION_KEYS = (
    "name",
    "params",
    "danger",
    "other_params",
    "metadata",
    "max_uses",
    "quota",
    "crashes",
    "slow",
)
_KEYS = (
    "tool",
    *PLACES,
    "ttl_at",
    "answer",
    "times",
    "operations",
    "fields",
    "codes",
    words.TOLERANCE_SETTING,
    "ttl",
    "variants",
    *LOOKS,
    "plant",
    "introspection",
    "triggers",
    "other_adapter",
    "hook",
    "patience",
    "burst",
)


class TableError(ValueError):
    """One line: where, what was got, what was expected."""


@dataclass(frozen=True)
class NamedOperation:
    """An operation that the user named, with parameters that are safe to run it with."""

    name: str
    danger: Danger
    params: Mapping[str, Any] = field(default_factory=dict)
    other_params: tuple[Mapping[str, Any], ...] = ()
    """Changes of the params that make another call of it: just as safe, and not the same."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """Members that may be added and do not matter: a request id, a timestamp."""
    max_uses: int = 1
    quota: bool = False
    crashes: bool = False
    slow: bool = False

    @property
    def gated(self) -> bool:
        return self.danger >= words.GATED_FROM

    @property
    def usual(self) -> bool:
        """Confirmed once, for one run that ends well."""
        return self.gated and self.max_uses == 1 and not (self.quota or self.crashes or self.slow)


@dataclass(frozen=True)
class Trigger:
    """An operation that is to revoke the caller's tokens (section 5.3)."""

    name: str
    params: Mapping[str, Any]
    why: str


@dataclass(frozen=True)
class Table:
    """The settings, checked."""

    tool: str
    places: Mapping[str, str]
    ttl_at: str
    answer: str
    times: str
    operations: tuple[NamedOperation, ...]
    fields: Mapping[str, str]
    codes: Mapping[str, tuple[str, ...]]
    """The document's codes by the target's own; a target may have one for several."""
    tolerance: float | None
    """None: not declared, so that up to 30 seconds are fair."""
    ttl: Mapping[str, float]
    ttl_declared: bool
    variants: Mapping[str, str]
    looks: Mapping[str, str]
    plant: str
    introspection: Mapping[str, str]
    """Empty: the target has none, as far as the user says."""
    triggers: tuple[Trigger, ...]
    other_adapter: Mapping[str, str]
    hook: str
    patience: float
    burst: int

    def own_shape(self, section: str) -> list[str]:
        """What the user says is not as the document writes it in this section."""
        told = [
            f"{name} at {self.fields[name]}, not {FIELDS[name]}"
            for name in SHOWN_IN[section]
            if self.fields[name] != FIELDS[name]
        ]
        if section == "3.3" and self.times != TIMES[0]:
            told.append(f"instants in {self.times}, not in ISO 8601")
        return told


def read_table(given: Mapping[str, Any]) -> Table:
    """The table; `TableError` for what cannot be followed."""
    _known_keys("", given, _KEYS)
    tolerance = given.get(words.TOLERANCE_SETTING)
    if tolerance is not None:
        try:
            tolerance = words.read_tolerance(tolerance)
        except ValueError as error:
            raise TableError(f"{words.TOLERANCE_SETTING}: {error}") from None
    introspection = given.get("introspection", {})
    return Table(
        tool=_text(given, "tool", "mcp_aql"),
        places={name: _text(given, name, usual) for name, usual in PLACES.items()},
        ttl_at=_text(given, "ttl_at", ""),
        answer=_one_of(given, "answer", SHAPES),
        times=_one_of(given, "times", TIMES),
        operations=_operations(given.get("operations", [])),
        fields={**FIELDS, **_texts(given, "fields", tuple(FIELDS))},
        codes=_codes(given.get("codes", {})),
        tolerance=tolerance,
        ttl={**words.DEFAULT_TTL, **_lives(given.get("ttl", {}))},
        ttl_declared="ttl" in given,
        variants=_texts(given, "variants", tuple(VARIANTS)),
        looks={name: _look(given, name) for name in LOOKS if name in given},
        plant=_text(given, "plant", ""),
        introspection={
            **INTROSPECTION,
            **_texts(given, "introspection", tuple(INTROSPECTION)),
        }
        if introspection
        else {},
        triggers=_triggers(given.get("triggers", [])),
        other_adapter=_texts(given, "other_adapter", ("tool", "target")),
        hook=_text(given, "hook", ""),
        patience=_number(given, "patience", 0, 600),
        burst=int(_number(given, "burst", 500, 100_000)),
    )


def _known_keys(place: str, given: Any, known: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise TableError(f"{place}: got {given!r}, expected a table")
    for key in given:
        if key not in known:
            where = f"{place}.{key}" if place else key
            raise TableError(f"{where}: unknown, {expected(key, known)}")


def _text(given: Mapping[str, Any], name: str, usual: str) -> str:
    value = given.get(name, usual)
    if not isinstance(value, str) or (name in PLACES and not value):
        raise TableError(f"{name}: got {value!r}, expected text")
    return value


def _one_of(given: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = given.get(name, known[0])
    if value not in known:
        raise TableError(f"{name}: got {value!r}, expected one of {', '.join(known)}")
    return str(value)


def _texts(given: Mapping[str, Any], name: str, known: tuple[str, ...]) -> dict[str, str]:
    table = given.get(name, {})
    _known_keys(name, table, known)
    for key, value in table.items():
        if not isinstance(value, str):
            raise TableError(f"{name}.{key}: got {value!r}, expected text")
    return dict(table)


def _number(given: Mapping[str, Any], name: str, usual: float, most: float) -> float:
    value = given.get(name, usual)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise TableError(f"{name}: got {value!r}, expected a number from 0 to {most:g}")
    return value


def _look(given: Mapping[str, Any], name: str) -> str:
    if not is_look(given[name]):
        raise TableError(f"{name}: got {given[name]!r}, expected {FORMS}")
    return str(given[name])


def _codes(given: Any) -> dict[str, tuple[str, ...]]:
    _known_keys("codes", given, CODES)
    own: dict[str, list[str]] = {code: [code] for code in CODES if code not in given}
    for code, value in given.items():
        values = value if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, bool) or not isinstance(one, (str, int)):
                raise TableError(f"codes.{code}: got {one!r}, expected text or a number")
            meanings = own.setdefault(str(one), [])
            if code not in meanings:
                meanings.append(code)
    return {name: tuple(meanings) for name, meanings in own.items()}


def _lives(given: Any) -> dict[str, float]:
    _known_keys("ttl", given, tuple(words.DEFAULT_TTL))
    for name, value in given.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:
            raise TableError(f"ttl.{name}: got {value!r}, expected seconds")
    return dict(given)


def _operations(given: Any) -> tuple[NamedOperation, ...]:
    if not isinstance(given, list):
        raise TableError(f"operations: got {given!r}, expected a list of tables")
    return tuple(_operation(f"operations[{number}]", one) for number, one in enumerate(given))


def _operation(place: str, given: Any) -> NamedOperation:
    _known_keys(place, given, _OPERATION_KEYS)
    name = given.get("name")
    if not isinstance(name, str) or not name:
        raise TableError(f"{place}.name: got {name!r}, expected the operation's name")
    if "danger" not in given:
        raise TableError(
            f"{place}.danger: {name!r} has no danger level, expected 0 (safe) to 4 (forbidden)"
        )
    try:
        danger = Danger.read(given["danger"])
    except ValueError as error:
        raise TableError(f"{place}.danger: {error}") from None
    others = given.get("other_params", [])
    if not isinstance(others, list):
        raise TableError(f"{place}.other_params: got {others!r}, expected a list of tables")
    uses = given.get("max_uses", 1)
    if isinstance(uses, bool) or not isinstance(uses, int) or uses < 1:
        raise TableError(f"{place}.max_uses: got {uses!r}, expected a number of at least 1")
    return NamedOperation(
        name,
        danger,
        _table(f"{place}.params", given.get("params", {})),
        tuple(_table(f"{place}.other_params", one) for one in others),
        _table(f"{place}.metadata", given.get("metadata", {})),
        uses,
        *(_truth(f"{place}.{key}", given.get(key, False)) for key in ("quota", "crashes", "slow")),
    )


def _table(place: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TableError(f"{place}: got {value!r}, expected a table")
    return dict(value)


def _truth(place: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TableError(f"{place}: got {value!r}, expected true or false")
    return value


def _triggers(given: Any) -> tuple[Trigger, ...]:
    if not isinstance(given, list):
        raise TableError(f"triggers: got {given!r}, expected a list of tables")
    found = []
    for number, one in enumerate(given):
        place = f"triggers[{number}]"
        _known_keys(place, one, ("name", "params", "why"))
        name = one.get("name")
        if not isinstance(name, str) or not name:
            raise TableError(f"{place}.name: got {name!r}, expected the operation's name")
        params = _table(f"{place}.params", one.get("params", {}))
        found.append(Trigger(name, params, str(one.get("why", name))))
    return tuple(found)
