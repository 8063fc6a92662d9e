"""Headers and variables whose values are secrets: given literally, or drawn from elsewhere.

Everyone on the machine can see a command line, and a settings file is committed. So a value can be
drawn from an environment variable or a file: `Authorization: Bearer {env:TOKEN}`. This has its own
options (`header-from`, `environment-from`), so that values of `header` and `environment` are always
taken literally. Values are never shown, not even in an error.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ..support.nearest import meant
from .options import PREFIX
from .reader import Place, SettingsError

_DRAWN = re.compile(r"\{(env|file):([^{}]+)\}")


def draw(values: dict[str, Any], place: Place, directory: Path) -> tuple[str, ...]:
    """Adds the headers and variables that are drawn from elsewhere, by field name; returns the
    secrets that were inserted. One that is also given literally takes precedence."""
    secrets: list[str] = []
    for name, keys in (
        ("headers", ("header-from",)),
        ("second_user_headers", ("second-user-header-from",)),
        ("environment", ("launch", "environment-from")),
    ):
        templates = values.get(f"{name}_from", {})
        where = Place(keys, place.sources)
        drawn = {
            key: _filled(where / key, text, directory, secrets) for key, text in templates.items()
        }
        literal = values.get(name, {})
        named = {key.lower() for key in literal}
        values[name] = {k: v for k, v in drawn.items() if k.lower() not in named} | dict(literal)
    return tuple(secrets)


def _filled(place: Place, text: str, directory: Path, secrets: list[str]) -> str:
    *_, option, name = place.keys
    if not _DRAWN.search(text):
        raise SettingsError(
            f"{place}: got no {{env:NAME}} or {{file:PATH}} for {name!r}, expected one; a value as "
            f"it stands goes to {PREFIX}{option.removesuffix('-from')}"
        )

    def put_in(match: re.Match[str]) -> str:
        kind, where = match[1], match[2].strip()
        value = _of_variable(place, where) if kind == "env" else _of_file(place, where, directory)
        secrets.append(value)
        return value

    found = _DRAWN.sub(put_in, text)
    if option.endswith("header-from") and ("\n" in found or "\r" in found):
        raise SettingsError(f"{place}: got several lines for {name!r}, expected one")
    return found


def _of_variable(place: Place, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise SettingsError(
            f"{place}: there is no environment variable {name!r}{meant(name, os.environ)}"
        )
    if not value.strip():
        raise SettingsError(f"{place}: the environment variable {name!r} is empty")
    return value


def _of_file(place: Place, name: str, directory: Path) -> str:
    path = directory / Path(name).expanduser()
    try:
        value = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingsError(f"{place}: cannot read the file {name!r}: {reason}") from None
    if not value.strip():
        raise SettingsError(f"{place}: the file {name!r} is empty")
    return value
