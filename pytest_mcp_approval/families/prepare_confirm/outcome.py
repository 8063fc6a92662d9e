"""What the tools answer, read without trust: structured content, JSON in a text, or plain words.

The table says where things are. Knows no verdicts.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...support.json_reading import JsonError, read_json
from ...support.secrets import beginning
from ...support.text import neutralise
from ...wire import Reply
from ..base.outcome import ObservedOutcome, errs, objects_in, texts_in
from ..base.paths import value_at
from .settings import Pair, PrepareConfirmTable
from .vocabulary import TwoStepReason, meanings_of

_ID_MEMBERS = ("project_id", "username", "id", "user_id", "uuid", "key", "name")
_SHOWN = 160


@dataclass(frozen=True)
class TwoStepAnswer:
    reply: Reply = field(repr=False)
    value: Mapping[str, Any] | None
    """The object that the tool answered with, if any."""
    text: str
    """All text of the result, or of the error."""
    is_error: bool
    """A JSON-RPC error, or a result that says isError."""

    @classmethod
    def of(cls, reply: Reply) -> TwoStepAnswer:
        if reply.error is not None:
            return cls(reply, None, reply.error.message, True)
        value = next(map(_unwrapped, objects_in(reply.result)), None)
        return cls(reply, value, "\n".join(texts_in(reply.result)), errs(reply))

    @property
    def answered(self) -> bool:
        return self.reply.answered

    def member(self, path: str) -> Any:
        """A member of the object; dots reach inside."""
        return value_at(self.value, path)

    def describe(self) -> str:
        if self.value is not None and not self.is_error:
            return neutralise(_short(self.value), _SHOWN)
        if self.is_error and self.reply.error is None:
            return f"a tool error: {neutralise(self.text, _SHOWN)}"
        return self.reply.describe()


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without the object that some SDKs put around a tool's result."""
    inner = value["result"] if set(value) == {"result"} else None
    if isinstance(inner, str):
        with contextlib.suppress(JsonError):
            inner = read_json(inner)
    return _unwrapped(inner) if isinstance(inner, Mapping) else value


def _short(value: Mapping[str, Any]) -> str:
    """The informative members, without long lists."""
    parts = []
    for name, one in value.items():
        if isinstance(one, (list, dict)) and len(one) > 3:
            parts.append(f"{name}: {len(one)} of them")
        else:
            parts.append(f"{name}: {beginning(str(one), _SHOWN)}")
    return ", ".join(parts)


@dataclass(frozen=True)
class Preview:
    pair: Pair
    arguments: Mapping[str, Any]
    answer: TwoStepAnswer
    table: PrepareConfirmTable = field(repr=False)

    @property
    def token(self) -> str:
        return str(self.answer.member(self.table.token))

    @property
    def items(self) -> list[Any]:
        found = self.answer.member(self.table.items)
        return found if isinstance(found, list) else []

    @property
    def warnings(self) -> list[str]:
        found = self.answer.member(self.table.warnings)
        return [str(one) for one in found] if isinstance(found, list) else []

    @property
    def ids(self) -> list[str]:
        """The ids of the items."""
        return [item_id(one) for one in self.items]

    @property
    def expires_at(self) -> datetime.datetime:
        """As shown; ValueError if it is no instant with a time zone."""
        value = self.answer.member(self.table.expires)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.datetime.fromtimestamp(value, datetime.UTC)
        if not isinstance(value, str):
            raise ValueError(f"{self.table.expires}: got {value!r}, expected ISO 8601 text")
        shown = datetime.datetime.fromisoformat(value)
        if shown.tzinfo is None:
            raise ValueError(f"{self.table.expires}: got {value!r} without a time zone")
        return shown


def item_id(item: Any) -> str:
    """The id of an item in a preview."""
    if isinstance(item, Mapping):
        for name in _ID_MEMBERS:
            if isinstance(item.get(name), (str, int)):
                return str(item[name])
    return str(item)


@dataclass(frozen=True)
class TwoStepOutcome(ObservedOutcome):
    """What came of a confirm call; `runs` counts the things that were done."""

    pair: Pair
    answer: TwoStepAnswer
    table: PrepareConfirmTable = field(repr=False)
    entries: tuple[Any, ...] | None = None
    """The new entries of the probe, if it shows a list."""

    @property
    def succeeded(self) -> bool:
        return not self.answer.is_error and self.answer.member(self.table.success) is True

    @property
    def contradicts_itself(self) -> bool:
        """Whether one part of the answer says success and another says none: a client may read
        either, its text or its structured content."""
        told = [
            value_at(_unwrapped(one), self.table.success)
            for one in objects_in(self.answer.reply.result)
        ]
        return True in told and (False in told or self.answer.is_error)

    @property
    def refused(self) -> bool:
        """By what the answer says, in any form."""
        return self.answer.is_error or self.answer.member(self.table.success) is False

    @property
    def message(self) -> str:
        found = self.answer.member(self.table.message)
        return found if isinstance(found, str) else self.answer.text

    @property
    def meanings(self) -> frozenset[TwoStepReason]:
        return meanings_of(self.message)

    def refused_because(self, reason: TwoStepReason | str) -> bool:
        return self.refused and not self.executed and reason in self.meanings

    @property
    def claimed_count(self) -> int | None:
        """How many things the answer says were done."""
        for name, value in (self.answer.value or {}).items():
            if name.endswith("count") and isinstance(value, int) and not isinstance(value, bool):
                return value
        return None

    @property
    def claimed_ids(self) -> list[str] | None:
        """What the answer says was done, if it names it."""
        for name, value in (self.answer.value or {}).items():
            if name in ("project_ids", "ids", "done", "usernames") and isinstance(value, list):
                return [str(one) for one in value]
            if name in ("username", "id", "project_id") and isinstance(value, str):
                return [value]
        return None

    @property
    def reason(self) -> str | None:
        return self.message if self.refused else None

    @property
    def said(self) -> str:
        return self.answer.describe()

    @property
    def ran_in_words(self) -> str:
        done = {0: "nothing done", None: "something done"}
        return f"; {done.get(self.runs, f'{self.runs} done')}"
