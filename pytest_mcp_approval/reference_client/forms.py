"""The members of a form: what a typed text means under a schema, and what is wrong with it.

For the flat schemas that elicitation has: text, numbers, true or false, one of several, several of
several. Knows no screen.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_YES, _NO = ("true", "yes", "y"), ("false", "no", "n")


class WrongValue(Exception):  # noqa: N818  # of a person's, not of ours
    """What was typed breaks the schema; the text says what is expected."""


def members_of(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The members that a form has, each with its own schema."""
    found = schema.get("properties")
    listed = found if isinstance(found, Mapping) else {}
    return {str(name): one for name, one in listed.items() if isinstance(one, Mapping)}


def is_required(schema: Mapping[str, Any], name: str) -> bool:
    required = schema.get("required")
    return isinstance(required, list) and name in required


def choices_of(member: Mapping[str, Any]) -> list[Any]:
    """The values of an enumeration, single or multiple, with or without titles."""
    source = member.get("items") if member.get("type") == "array" else member
    if not isinstance(source, Mapping):
        return []
    for key in ("oneOf", "anyOf"):
        if isinstance(source.get(key), list):
            return [one.get("const") for one in source[key] if isinstance(one, Mapping)]
    found = source.get("enum")
    return found if isinstance(found, list) else []


def read_value(member: Mapping[str, Any], typed: str) -> Any:
    """The value that was typed; `WrongValue` if the schema does not allow it."""
    kind = member.get("type")
    if kind == "array":
        return _several(member, [one.strip() for one in typed.split(",") if one.strip()])
    if choices := choices_of(member):
        return _one_of(choices, typed)
    if kind == "boolean":
        return _truth(typed)
    if kind in ("number", "integer"):
        return _number(member, typed)
    return _text(member, typed)


def _one_of(choices: Sequence[Any], typed: str) -> Any:
    if typed not in choices:
        raise WrongValue(f"expected one of {', '.join(map(str, choices))}")
    return typed


def _several(member: Mapping[str, Any], typed: list[str]) -> list[Any]:
    choices = choices_of(member)
    least, most = member.get("minItems", 0), member.get("maxItems", len(typed))
    if not least <= len(typed) <= most:
        raise WrongValue(f"expected {least} to {most} of {', '.join(map(str, choices))}")
    return [_one_of(choices, one) for one in typed]


def _truth(typed: str) -> bool:
    if typed.lower() not in (*_YES, *_NO):
        raise WrongValue("expected true or false")
    return typed.lower() in _YES


def _number(member: Mapping[str, Any], typed: str) -> float:
    whole = member.get("type") == "integer"
    try:
        value: float = int(typed) if whole else float(typed)
    except ValueError:
        raise WrongValue(f"expected a {'whole ' if whole else ''}number") from None
    if not math.isfinite(value):
        raise WrongValue("expected a number")
    least, most = member.get("minimum", value), member.get("maximum", value)
    if not least <= value <= most:
        raise WrongValue(f"expected a number from {least} to {most}")
    return value


def _text(member: Mapping[str, Any], typed: str) -> str:
    least, most = member.get("minLength", 0), member.get("maxLength", len(typed))
    if not least <= len(typed) <= most:
        raise WrongValue(f"expected {least} to {most} characters")
    pattern = member.get("pattern")
    if isinstance(pattern, str) and not re.search(pattern, typed):
        raise WrongValue(f"expected text like {pattern}")
    _check_format(member.get("format"), typed)
    return typed


def _check_format(form: Any, typed: str) -> None:
    try:
        if form == "email" and not _EMAIL.fullmatch(typed):
            raise ValueError
        if form == "uri" and not urlsplit(typed).scheme:
            raise ValueError
        if form == "date":
            datetime.date.fromisoformat(typed)
        if form == "date-time" and datetime.datetime.fromisoformat(typed).tzinfo is None:
            raise ValueError
    except ValueError:
        raise WrongValue(f"expected {form}") from None
