"""What a user tells the suite of their two-step tools: the table [prepare_confirm], checked.

Nothing in it is needed by a server that keeps to the document's names, but arguments that are safe
to prepare AND to confirm. Knows no server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...config.settings import PREFIX, SettingsError
from ...support.nearest import expected
from ...support.secrets import beginning
from . import vocabulary as words

_IRREVERSIBLE = re.compile(r"delete|remove|destroy|purge|wipe|drop|erase|revoke")
_REVERSIBLE = re.compile(r"close|archive|disable|suspend|deactivate|pause|hide|lock")


PREPARED = {
    "action": words.ACTION,
    "operation": words.OPERATION,
    "items": words.ITEMS,
    "warnings": words.WARNINGS,
    "token": words.TOKEN,
    "expires": words.EXPIRES_AT,
    "next_step": words.NEXT_STEP,
}
"""What the document calls the members of prepare's answer, by their names in the table."""
CONFIRMED = {
    "token_argument": words.TOKEN,
    "success": words.SUCCESS,
    "message": words.MESSAGE,
}
"""What it calls the argument of confirm and the members of its answer."""


@dataclass(frozen=True)
class ToolCall:
    """A call that the user says may be made."""

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class Pair:
    """A prepare tool and its confirm tool."""

    name: str
    prepare: str
    confirm: str
    arguments: Mapping[str, Any] | None = None
    """Safe to prepare and to confirm; None: this pair is never run."""
    forced: Mapping[str, Any] | None = None
    """The same with the force flag, on something that asks for it."""
    sso: Mapping[str, Any] | None = None
    """For a user who signs in elsewhere."""
    awkward: tuple[Mapping[str, Any], ...] = ()
    """On ids with separators, quotes, line breaks and the like."""
    many: Mapping[str, Any] | None = None
    failing: Mapping[str, Any] | None = None
    """On something that the back end will fail to do."""
    restore: tuple[ToolCall, ...] = ()
    """Makes the things that the arguments name as they were."""
    many_before: tuple[ToolCall, ...] = ()
    undo: tuple[ToolCall, ...] = ()
    """What the preview names as the way back."""
    change: tuple[ToolCall, ...] = ()
    """Changes one of the things behind a preview's back."""
    reversible: bool | None = None
    """None: nobody knows."""
    guessed: bool = False
    """Whether that is no more than what the name suggests."""


@dataclass(frozen=True)
class Table:
    """The whole table."""

    pairs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    action: str = words.ACTION
    operation: str = words.OPERATION
    token: str = words.TOKEN
    """Where the token stands in what prepare answers; `result.token` reaches inside."""
    token_argument: str = words.TOKEN
    expires: str = words.EXPIRES_AT
    items: str = words.ITEMS
    warnings: str = words.WARNINGS
    next_step: str = words.NEXT_STEP
    success: str = words.SUCCESS
    message: str = words.MESSAGE
    expiry_minutes: float = words.DEFAULT_EXPIRY_MINUTES
    payload: bool = False
    """Whether tokens are of the documented format, payload|signature."""
    shared_key: bool = False
    """Whether the server is started with a key of the user's: then a twin has it too."""
    held: str = ""
    """A read-only tool that tells how many tokens the server remembers."""
    log: str = ""
    """The file that the server logs to, if it is not its standard error."""
    expiry_setting: str = ""
    key_setting: str = ""
    zone_setting: str = ""
    expiry_environment: str = ""
    """The variable that sets the minutes for a server that the suite starts."""
    key_environment: str = ""
    back_end: Mapping[str, str] = field(default_factory=dict)

    def own_names(self, members: Mapping[str, str]) -> list[str]:
        """What the user says is not called as in the document."""
        own = {name: getattr(self, name) for name in members}
        return [f"{own[name]} for {usual}" for name, usual in members.items() if own[name] != usual]

    @property
    def knows_expiry(self) -> bool:
        return bool(self.expiry_setting or self.expiry_environment)

    @property
    def knows_key(self) -> bool:
        return bool(self.key_setting or self.key_environment)


_TEXTS = (
    "action",
    "operation",
    "token",
    "token-argument",
    "expires",
    "items",
    "warnings",
    "next-step",
    "success",
    "message",
    "held",
    "log",
    "expiry-setting",
    "key-setting",
    "zone-setting",
    "expiry-environment",
    "key-environment",
)
_TRUTHS = ("payload", "shared-key")
_PAIR_ARGUMENTS = ("arguments", "forced", "sso", "many", "failing")
_PAIR_CALLS = ("restore", "many-before", "undo", "change")
_PAIR_KEYS = ("prepare", "confirm", "reversible", "awkward", *_PAIR_ARGUMENTS, *_PAIR_CALLS)


def read_table(given: Mapping[str, Any]) -> Table:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if key in _TEXTS:
            values[name] = _checked(key, value, str, "text")
        elif key in _TRUTHS:
            values[name] = _checked(key, value, bool, "true or false")
        elif key == "expiry-minutes":
            values[name] = _minutes(value)
        elif key in ("pairs", "back-end"):
            values[name] = _checked(key, value, Mapping, "a table")
        else:
            known = sorted((*_TEXTS, *_TRUTHS, "expiry-minutes", "pairs"))
            raise SettingsError(f"[{words.FAMILY}]: got {key!r}, {expected(key, known)}")
    table = Table(**values)
    for name, own in table.pairs.items():
        _checked(f"pairs.{name}", own, Mapping, "a table")
        for key in own:
            if key not in _PAIR_KEYS:
                raise SettingsError(
                    f"[{words.FAMILY}.pairs.{name}]: got {key!r}, {expected(key, _PAIR_KEYS)}"
                )
    return table


def find_pairs(
    table: Table, listed: Sequence[str], safe_arguments: Mapping[str, Any]
) -> list[Pair]:
    """The pairs that the table names, and those that the tools' names show.

    `safe_arguments` are those of prepare tools by their names (--mcp-approval-tool).
    """
    found: dict[str, dict[str, Any]] = {
        name: {
            "prepare": own.get("prepare", words.PREPARE + name),
            "confirm": own.get("confirm", words.CONFIRM + name),
            **{key: value for key, value in own.items() if key not in ("prepare", "confirm")},
        }
        for name, own in table.pairs.items()
    }
    for tool in listed:
        partner = words.confirm_name(tool)
        named = any(own["prepare"] == tool for own in found.values())
        if partner in listed and not named:
            found[tool.removeprefix(words.PREPARE)] = {"prepare": tool, "confirm": partner}
    pairs = [
        _pair(name, own, safe_arguments)
        for name, own in found.items()
        if own["prepare"] in listed and own["confirm"] in listed
    ]
    # What can be taken back first: most scenarios use the first pair that may be run.
    return sorted(pairs, key=lambda pair: (pair.arguments is None, pair.reversible is not True))


def missing_tools(table: Table, listed: Sequence[str]) -> list[str]:
    """Tools that the table names and the server does not list."""
    wanted = []
    for name, own in table.pairs.items():
        wanted += [
            own.get("prepare", words.PREPARE + name),
            own.get("confirm", words.CONFIRM + name),
        ]
    return [tool for tool in wanted if tool not in listed]


def _pair(name: str, own: Mapping[str, Any], safe_arguments: Mapping[str, Any]) -> Pair:
    place = f"pairs.{name}"
    arguments: dict[str, Any] = {
        key: _checked(f"{place}.{key}", own[key], Mapping, "a table of arguments")
        for key in _PAIR_ARGUMENTS
        if key in own
    }
    if "arguments" not in arguments and own["prepare"] in safe_arguments:
        arguments["arguments"] = safe_arguments[own["prepare"]]
    calls: dict[str, Any] = {
        key.replace("-", "_"): _calls(f"{place}.{key}", own[key])
        for key in _PAIR_CALLS
        if key in own
    }
    awkward = own.get("awkward", ())
    if not isinstance(awkward, Sequence) or not all(isinstance(one, Mapping) for one in awkward):
        raise SettingsError(f"{place}.awkward: got {awkward!r}, expected a list of tables")
    reversible = own.get("reversible")
    guessed = reversible is None
    if guessed:
        reversible = _guess_reversible(name)
    return Pair(
        name=name,
        prepare=_checked(f"{place}.prepare", own["prepare"], str, "a tool's name"),
        confirm=_checked(f"{place}.confirm", own["confirm"], str, "a tool's name"),
        reversible=reversible,
        guessed=guessed,
        awkward=tuple(awkward),
        **arguments,
        **calls,
    )


def _guess_reversible(name: str) -> bool | None:
    if _IRREVERSIBLE.search(name):
        return False
    return True if _REVERSIBLE.search(name) else None


def _calls(place: str, given: Any) -> tuple[ToolCall, ...]:
    """One call or a list of them: `{ tool = "reopen", arguments = { ids = ["a"] } }`."""
    listed = [given] if isinstance(given, Mapping) else given
    calls = []
    for one in listed if isinstance(listed, Sequence) else [None]:
        tool = one.get("tool") if isinstance(one, Mapping) else None
        arguments = one.get("arguments", {}) if isinstance(one, Mapping) else None
        if not isinstance(tool, str) or not isinstance(arguments, Mapping):
            raise SettingsError(
                f"[{words.FAMILY}] {place}: got {beginning(str(one), 60)!r}, expected "
                '{ tool = "NAME", arguments = { ... } } or a list of such'
            )
        calls.append(ToolCall(tool, arguments))
    return tuple(calls)


def _checked(name: str, value: Any, kind: Any, expected: str) -> Any:
    if not isinstance(value, kind):
        raise SettingsError(
            f"[{words.FAMILY}] {name}: got {beginning(str(value), 60)!r}, expected {expected} "
            f"(also {PREFIX}set {words.FAMILY}.{name}=...)"
        )
    return value


def _minutes(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1440:
        raise SettingsError(
            f"[{words.FAMILY}] expiry-minutes: got {value!r}, expected minutes up to 1440"
        )
    return float(value)
