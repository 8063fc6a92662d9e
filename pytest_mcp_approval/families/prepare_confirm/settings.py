"""What a user tells the suite about their two-step tools: the table [prepare_confirm].

A server that keeps to the document's names needs only arguments here, safe to prepare AND to
confirm. Knows no server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from ...config.reader import Place, Sources, read, setting
from ..base.probes import FORMS, is_probe
from . import vocabulary as words

_IRREVERSIBLE = re.compile(r"delet|remov|destroy|purg|wip(e|ing)|drop|eras|revok")
_REVERSIBLE = re.compile(r"clos|archiv|disabl|suspend|deactivat|paus|hid(e|den)|lock")


PREPARED = ("action", "operation", "items", "warnings", "token", "expires", "next_step")
"""The members of prepare's answer, by their names in the table."""
CONFIRMED = ("token_argument", "success", "message")
"""The argument of confirm, and the members of its answer."""


@dataclass(frozen=True)
class ToolCall:
    """A call that the user says may be made."""

    tool: str = setting(expected="a tool's name")
    arguments: Mapping[str, Any] = setting({})


def _calls() -> Any:
    """One call or a list of them: `{ tool = "reopen", arguments = { ids = ["a"] } }`."""
    return setting(
        (), alone=True, expected='{ tool = "NAME", arguments = { ... } } or a list of such'
    )


@dataclass(frozen=True)
class Pair:
    name: str = setting("", internal=True)
    prepare: str = setting("", expected="a tool's name")
    confirm: str = setting("", expected="a tool's name")
    arguments: Mapping[str, Any] | None = None
    """Safe to prepare and to confirm; None: this pair is never run."""
    forced: Mapping[str, Any] | None = None
    """The same with the force flag, on something that needs it."""
    sso: Mapping[str, Any] | None = None
    """For a user who signs in elsewhere (single sign-on)."""
    awkward: tuple[Mapping[str, Any], ...] = ()
    """On ids with separators, quotes, line breaks and the like."""
    awkward_before: tuple[ToolCall, ...] = _calls()
    """Puts in place what they name, if `restore` does not."""
    many: Mapping[str, Any] | None = None
    failing: Mapping[str, Any] | None = None
    """On something that the back end will fail to do."""
    restore: tuple[ToolCall, ...] = _calls()
    """Restores the things that the arguments name."""
    many_before: tuple[ToolCall, ...] = _calls()
    undo: tuple[ToolCall, ...] = _calls()
    """What the preview names as the way to undo it."""
    change: tuple[ToolCall, ...] = _calls()
    """Changes one of the things behind a preview's back."""
    change_shown: bool = False
    """Whether it changes something that a preview shows: from outside nobody can know."""
    appear: tuple[ToolCall, ...] = _calls()
    """Creates something new that the pair could also act on."""
    reversible: bool | None = None
    """None: not known."""
    guessed: bool = setting(False, internal=True)
    """Whether that is only a guess from the name."""


def is_opposite(word: str, name: str) -> bool:
    """Whether a word says that something is lost and a name that it is not, or the reverse."""
    said, named = _kind_of(word.lower()), _kind_of(name.lower())
    return said is not None and named is not None and said is not named


def _kind_of(name: str) -> bool | None:
    """Whether a name sounds as if it could be undone; None if it says neither."""
    if _IRREVERSIBLE.search(name):
        return False
    return True if _REVERSIBLE.search(name) else None


class CallKind(NamedTuple):
    """A pair with arguments that are safe: with its usual ones, forced, or on an SSO user."""

    name: str
    pair: Pair
    arguments: Mapping[str, Any]


def kinds_of(pairs: Iterable[Pair]) -> list[CallKind]:
    """All that the user named, the usual ones first."""
    ways = {"": "arguments", ", forced": "forced", ", on an SSO user": "sso"}
    return [
        CallKind(f"{pair.name}{name}", pair, arguments)
        for name, member in ways.items()
        for pair in pairs
        if (arguments := getattr(pair, member)) is not None
    ]


def _store(value: Any) -> str:
    if not is_probe(value):
        raise ValueError(f"expected {FORMS}")
    return str(value)


@dataclass(frozen=True)
class PrepareConfirmTable:
    pairs: Mapping[str, Pair] = setting({})
    """What can be done with each pair, by its name; pairs are found by their tools' names."""
    action: str = words.ACTION
    """Where prepare's answer names the action."""
    operation: str = words.OPERATION
    """Where it names the operation."""
    token: str = words.TOKEN
    """Where the token is in prepare's answer; `result.token` reaches inside."""
    token_argument: str = words.TOKEN
    """What confirm calls the token."""
    expires: str = words.EXPIRES_AT
    """Where prepare's answer says until when the token is good."""
    items: str = words.ITEMS
    """Where it lists what is about to be changed."""
    warnings: str = words.WARNINGS
    """Where it lists what to think of."""
    next_step: str = words.NEXT_STEP
    """Where it says what to do next."""
    success: str = words.SUCCESS
    """Where an answer says whether it was done."""
    message: str = words.MESSAGE
    """Where an answer says why not."""
    expiry_minutes: float = setting(
        words.DEFAULT_EXPIRY_MINUTES, above=0, most=1440, expected="minutes up to 1440"
    )
    """How long tokens live."""
    payload: bool = False
    """Whether tokens are of the documented format, payload|signature."""
    shared_key: bool = False
    """Whether the server is started with the user's own key: then a twin has it too."""
    held: str = ""
    """A read-only tool that tells how many tokens the server remembers."""
    store: str = setting("", parse=_store)
    """Where all that the server keeps can be read."""
    log: str = ""
    """The file that the server logs to, if it is not its standard error."""
    expiry_setting: str = ""
    """The setting of the reference server for these minutes, for its own tests."""
    key_setting: str = ""
    """The same for its key."""
    zone_setting: str = ""
    """The same for the time zone of previews."""
    expiry_environment: str = ""
    """The variable that sets the minutes for a server that the suite starts."""
    key_environment: str = ""
    """The variable that sets the key for a server that the suite starts."""
    back_end: Mapping[str, str] = setting({})
    """Settings of the reference server that make its back end misbehave, by how."""

    def own_names(self, members: Iterable[str]) -> list[str]:
        """Where the user's names differ from the document's."""
        usual = {one.name: one.default for one in fields(self)}
        own = {name: getattr(self, name) for name in members}
        return [f"{own[name]} for {usual[name]}" for name in own if own[name] != usual[name]]

    def named_pairs(self) -> dict[str, Pair]:
        """The pairs of the table; by default their tools have the document's names."""
        return {
            name: replace(
                pair,
                name=name,
                prepare=pair.prepare or words.PREPARE + name,
                confirm=pair.confirm or words.CONFIRM + name,
            )
            for name, pair in self.pairs.items()
        }


TABLE_CLASS = PrepareConfirmTable


def read_table(given: Mapping[str, Any], sources: Sources | None = None) -> PrepareConfirmTable:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    return read(PrepareConfirmTable, given, Place((words.FAMILY,), sources or Sources()))


def find_pairs(
    table: PrepareConfirmTable, listed: Sequence[str], safe_arguments: Mapping[str, Any]
) -> list[Pair]:
    """The pairs that the table names, and those that follow from the tools' names.

    `safe_arguments` are those of prepare tools by their names (--mcp-approval-tool).
    """
    found = table.named_pairs()
    for tool in listed:
        partner = words.confirm_name(tool)
        named = any(pair.prepare == tool for pair in found.values())
        if partner and partner in listed and not named:
            name = tool.removeprefix(words.PREPARE)
            found[name] = Pair(name=name, prepare=tool, confirm=partner)
    pairs = [
        _complete(pair, safe_arguments)
        for pair in found.values()
        if pair.prepare in listed and pair.confirm in listed
    ]
    # What can be undone first: most scenarios use the first pair that may be run.
    return sorted(pairs, key=lambda pair: (pair.arguments is None, pair.reversible is not True))


def missing_tools(table: PrepareConfirmTable, listed: Sequence[str]) -> list[str]:
    """Tools that the table names and the server does not list."""
    wanted = [
        tool for pair in table.named_pairs().values() for tool in (pair.prepare, pair.confirm)
    ]
    return [tool for tool in wanted if tool not in listed]


def _complete(pair: Pair, safe_arguments: Mapping[str, Any]) -> Pair:
    if pair.arguments is None:
        pair = replace(pair, arguments=safe_arguments.get(pair.prepare))
    if pair.reversible is None:
        pair = replace(pair, reversible=_kind_of(pair.name), guessed=True)
    return pair
