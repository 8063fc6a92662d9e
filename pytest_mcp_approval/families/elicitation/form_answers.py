"""How a person answers a form: which of its members says yes, and how to fill in the others.

A form is a flat object of primitive members (client/elicitation, "Requested schema"). Which member
approves: the user's table says; else the only boolean; else an enumeration whose words mean yes and
no; else none, and accepting alone approves. Knows no wire and no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...support.text import neutralise
from ..base.driver import DriverError
from .settings import ElicitingTool


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_YES = _words(
    "yes y true ok okay approve approved approval confirm confirmed accept accepted allow allowed "
    "proceed continue agree agreed grant granted go run execute do submit send "
    "ja genehmigen bestätigen erlauben oui confirmer accepter approuver autoriser "
    "si sí aceptar confirmar aprobar permitir sim aprovar aceitar sì conferma approva accetta "
    "はい 承認 是 同意 批准 确认 да"
)
_NO = _words(
    "no n false reject rejected decline declined deny denied refuse refused cancel cancelled abort "
    "aborted stop disallow disagree keep skip nein ablehnen abbrechen non refuser annuler rechazar "
    "cancelar denegar não nao recusar rejeitar rifiuta annulla いいえ 拒否 否 拒绝 取消 нет"
)
_LONG = 10_000
"""Characters: longer texts are not filled in."""
_TEXTS = {
    "email": "person@example.com",
    "uri": "https://example.com/",
    "date": "2030-01-31",
    "date-time": "2030-01-31T12:00:00Z",
}


class CannotAnswerError(DriverError):
    """Nobody can fill in this form; one line says why."""


@dataclass(frozen=True)
class Approving:
    """The member of a form that approves."""

    name: str
    yes: Any
    no: Any
    """A value that the form allows and that does not approve; None if there is none."""

    def in_words(self) -> str:
        return f"{self.name} = {str(self.yes).lower() if self.yes is True else self.yes!s}"


def members_of(schema: Any) -> Mapping[str, Mapping[str, Any]]:
    """The members of a form, as far as they are described."""
    found = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(found, Mapping):
        return {}
    return {str(name): one if isinstance(one, Mapping) else {} for name, one in found.items()}


def required_of(schema: Any) -> list[str]:
    found = schema.get("required") if isinstance(schema, Mapping) else None
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def choices_of(member: Mapping[str, Any]) -> list[tuple[Any, str]]:
    """What a single choice offers: each value, with its title or the value as its title."""
    if isinstance(member.get("enum"), list):
        names = member.get("enumNames")
        titles = names if isinstance(names, list) else []
        return [
            (value, str(titles[at]) if at < len(titles) else str(value))
            for at, value in enumerate(member["enum"])
        ]
    options = member.get("oneOf", member.get("anyOf"))
    if not isinstance(options, list):
        return []
    return [
        (one["const"], str(one.get("title", one["const"])))
        for one in options
        if isinstance(one, Mapping) and "const" in one
    ]


def approving_member(schema: Any, tool: ElicitingTool) -> Approving | None:
    """The member that says yes; None if accepting alone does."""
    members = members_of(schema)
    if tool.approves or tool.approve:
        return _as_the_table_says(members, tool)
    truths = [name for name, one in members.items() if one.get("type") == "boolean"]
    if len(truths) == 1:
        return Approving(truths[0], True, False)
    for name in truths:
        if _means(name, _YES) and not _means(name, _NO):
            return Approving(name, True, False)
    for name, one in members.items():
        found = _decides(choices_of(one))
        if found is not None:
            return Approving(name, *found)
    return None


def _as_the_table_says(
    members: Mapping[str, Mapping[str, Any]], tool: ElicitingTool
) -> Approving | None:
    given = tool.approve or {}
    name = tool.approves
    if not name:
        truths = [one for one, value in given.items() if isinstance(value, bool)]
        name = truths[0] if truths else next(iter(given), "")
    if not name:
        return None
    member = members.get(name, {})
    yes = given.get(name)
    if yes is None:
        decided = _decides(choices_of(member))
        yes = decided[0] if decided else True
    others = [value for value, _ in choices_of(member) if value != yes]
    no = (not yes) if isinstance(yes, bool) else next(iter(others), None)
    return Approving(name, yes, no)


def _decides(choices: list[tuple[Any, str]]) -> tuple[Any, Any] | None:
    """Yes and no among some choices, if they are such a choice."""
    yes = [value for value, title in choices if _is(value, title, _YES, _NO)]
    no = [value for value, title in choices if _is(value, title, _NO, _YES)]
    return (yes[0], no[0]) if len(yes) == 1 and no else None


def _is(value: Any, title: str, wanted: frozenset[str], other: frozenset[str]) -> bool:
    texts = (str(value), title)
    return any(_means(one, wanted) for one in texts) and not any(
        _means(one, other) for one in texts
    )


def _means(text: str, words: frozenset[str]) -> bool:
    return any(word in words for word in re.split(r"[\W_]+", text.lower()) if word)


# ---- a whole answer


def honest_content(schema: Any, tool: ElicitingTool) -> dict[str, Any]:
    """What a person who says yes enters: nothing that the form does not ask for."""
    if tool.approve is not None:
        return dict(tool.approve)
    if not isinstance(schema, Mapping):
        raise CannotAnswerError(f"its schema is no object: {neutralise(str(schema), 60)}")
    approving = approving_member(schema, tool)
    members = members_of(schema)
    content: dict[str, Any] = {}
    for name in dict.fromkeys([*members, *required_of(schema)]):
        if approving is not None and name == approving.name:
            content[name] = approving.yes
        elif name in required_of(schema):
            content[name] = _value_for(name, members.get(name, {}))
    return content


def whole_content(schema: Any, tool: ElicitingTool) -> dict[str, Any]:
    """The same with what need not be filled in, as far as it can hardly change what is done: a
    default that would count anyway, and a free text, as long as it may be."""
    content = honest_content(schema, tool)
    for name, member in members_of(schema).items():
        if name not in content and ("default" in member or _is_free_text(member)):
            content[name] = _longest(_value_for(name, member), member)
    return content


def _longest(value: Any, member: Mapping[str, Any]) -> Any:
    longest = member.get("maxLength")
    if "default" in member or type(longest) is not int or not 0 < longest <= _LONG:
        return value
    return str(value)[:longest].ljust(longest, "x")


def _is_free_text(member: Mapping[str, Any]) -> bool:
    bound = ("enum", "oneOf", "anyOf", "format", "pattern")
    return member.get("type") == "string" and not any(word in member for word in bound)


def _value_for(name: str, member: Mapping[str, Any]) -> Any:
    """Something that this member allows, and its default before anything else."""
    if "default" in member:
        return member["default"]
    choices = choices_of(member)
    if choices:
        return choices[0][0]
    kind = member.get("type")
    if kind == "boolean":
        return True
    if kind == "array":
        return _several(member)
    if kind in ("integer", "number"):
        return _number(name, member, whole=kind == "integer")
    if kind == "string":
        return _text(name, member)
    raise CannotAnswerError(
        f"{neutralise(name, 40)} is of the type {neutralise(str(kind), 40)}, which no form has"
    )


def _several(member: Mapping[str, Any]) -> list[Any]:
    items = member.get("items")
    choices = choices_of(items) if isinstance(items, Mapping) else []
    least = member.get("minItems", 0)
    wanted = least if type(least) is int else 0
    if wanted > len(choices):
        raise CannotAnswerError(f"it asks for {wanted} of {len(choices)} choices")
    return [value for value, _ in choices[:wanted]]


def _number(name: str, member: Mapping[str, Any], *, whole: bool) -> float:
    lowest, highest = member.get("minimum"), member.get("maximum")
    low = lowest if isinstance(lowest, (int, float)) else None
    high = highest if isinstance(highest, (int, float)) else None
    value: float = low if low is not None else min(1, high) if high is not None else 1
    if whole and value != int(value):
        value = int(value) + 1
    if high is not None and value > high:
        raise CannotAnswerError(f"{neutralise(name, 40)} is from {low} to {high}")
    return value


def _text(name: str, member: Mapping[str, Any]) -> str:
    text = _TEXTS.get(str(member.get("format", "")), "test")
    least, most = member.get("minLength"), member.get("maxLength")
    if type(least) is int and len(text) < least:
        text += "x" * (min(least, _LONG) - len(text))
    if type(most) is int and len(text) > most:
        if "format" in member or most < 0:
            raise CannotAnswerError(f"{neutralise(name, 40)} has room for {most} characters")
        text = text[:most]
    if type(least) is int and len(text) < least:
        raise CannotAnswerError(f"{neutralise(name, 40)} has {least} characters at least")
    pattern = member.get("pattern")
    if isinstance(pattern, str) and not _fits(pattern, text):
        raise CannotAnswerError(f"{neutralise(name, 40)} follows {neutralise(pattern, 60)}")
    return text


def _fits(pattern: str, text: str) -> bool:
    """A pattern of the server's is only tried if it is short: some take for ever."""
    if len(pattern) > 80 or re.search(r"[*+}]\)?[*+{]", pattern):
        return False
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


# ---- answers that are not yes


LEFT_OUT: Any = object()
"""For a content or an action: not there at all."""


@dataclass(frozen=True)
class NotYes:
    """A content that does not approve."""

    name: str
    """What is wrong with it, in words."""
    content: Any
    spelled: bool = False
    """Whether it is a yes in another spelling, which many libraries turn into the right one."""


def without_yes(schema: Any, tool: ElicitingTool) -> Iterator[NotYes]:
    """Contents that do not approve. Empty if accepting alone does."""
    approving = approving_member(schema, tool)
    if approving is None:
        return
    honest = honest_content(schema, tool)
    name, yes = approving.name, approving.yes
    rest = {key: value for key, value in honest.items() if key != name}
    values: dict[str, Any] = {
        "null": None,
        "0": 0,
        "an empty text": "",
        "the text no": "no",
        "an empty object": {},
        "an object with it": {name: yes},
        "an object with value": {"value": yes},
        "an empty list": [],
        "a list with it": [yes],
    }
    spelled: dict[str, Any] = {
        "1": 1,
        "the text yes": "yes",
        "the text on": "on",
        "the text 1": "1",
    }
    if isinstance(yes, bool):
        values |= {
            str(not yes).lower(): not yes,
            "the text false": "false",
            "a number beside 1": 1.5,
            "-1": -1,
        }
        spelled |= {"the text true": "true", "the text True": "True"}
    else:
        text = str(yes)
        values |= {
            "the other choice": approving.no,
            "its first letter": text[:1],
            "a longer word": f"{text}d",
            "a word in front": f"not {text}",
        }
        spelled |= {
            "true": True,
            "in capitals": text.swapcase(),
            "with a blank behind it": f"{text} ",
            "with a blank before it": f" {text}",
        }
    for what, value in (values | spelled).items():
        if type(value) is not type(yes) or value != yes:
            yield NotYes(f"{name} is {what}", {**rest, name: value}, spelled=what in spelled)
    yield NotYes(f"without {name}", rest)
    for near in (f"{name}ed", f"not_{name}", f"content.{name}"):
        yield NotYes(f"{near!r} for {name!r}", {**rest, near: yes})
    for near in (name.upper(), f"{name} "):
        yield NotYes(f"{near!r} for {name!r}", {**rest, near: yes}, spelled=True)
    yield NotYes("without content", LEFT_OUT)
    yield NotYes("content is null", None)
    yield NotYes("content is true", True)
    yield NotYes("content is a text", f'{{"{name}": true}}')
    yield NotYes("content is a list", [honest])
    yield NotYes("content is empty", {})
    yield NotYes("content inside content", {"content": honest})
