"""Writes values as TOML on one line. Text may come from a server: nothing in it can end a string
or a comment. Standard library has no writer for TOML."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_key(name: str) -> str:
    """A key, in quotes if it needs them."""
    return name if _BARE.fullmatch(name) else toml_string(name)


def toml_string(text: str) -> str:
    """A basic string."""
    return f'"{"".join(map(_escaped, text))}"'


def toml_value(value: Any) -> str:
    """A value as JSON has them; `ValueError` for null, which TOML does not have."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return toml_string(value)
        case list() | tuple():
            return f"[{', '.join(map(toml_value, value))}]"
        case Mapping():
            members = (f"{toml_key(str(key))} = {toml_value(one)}" for key, one in value.items())
            inside = ", ".join(members)
            return f"{{ {inside} }}" if inside else "{}"
    raise ValueError(f"TOML has no {type(value).__name__}")


def _escaped(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return f"\\{character}"
    if 0xD800 <= code < 0xE000:  # a lone surrogate, which TOML cannot write
        return "\ufffd"
    if character.isprintable():
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
