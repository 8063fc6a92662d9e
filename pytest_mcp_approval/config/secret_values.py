"""Headers and variables whose values are secrets: as they stand, or drawn from elsewhere.

A command line is seen by everyone on the machine, and a settings file is committed. So a value can
be drawn from an environment variable or a file: `Authorization: Bearer {env:TOKEN}`. That has
options of its own (`header-from`, `environment-from`), so that no value of `header` and
`environment` is ever read in another way than it is written. Values are never shown, not even in an
error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..support.nearest import meant
from .options import PREFIX, SettingsError

_DRAWN = re.compile(r"\{(env|file):([^{}]+)\}")


def headers(given: Any) -> dict[str, str]:
    """Those of `header`, as they stand."""
    return _pairs("header", given, ":", "'NAME: VALUE'", "'Authorization: Bearer ...'")


def drawn(option: str, given: Any, directory: Path, secrets: list[str]) -> dict[str, str]:
    """Those of `header-from` or `environment-from`; what was put in is added to `secrets`."""
    header = option == "header-from"
    form = "'NAME: VALUE'" if header else "'NAME=VALUE'"
    example = "'Authorization: Bearer {env:TOKEN}'" if header else "'API_KEY={file:key.txt}'"
    found = {}
    for name, text in _pairs(option, given, ":" if header else "=", form, example).items():
        if not _DRAWN.search(text):
            raise SettingsError(
                f"{PREFIX}{option}: got no {{env:NAME}} or {{file:PATH}} for {name!r}, expected "
                f"one; a value as it stands goes to {PREFIX}{option.removesuffix('-from')}"
            )

        def put_in(match: re.Match[str]) -> str:
            kind, where = match[1], match[2].strip()
            value = (
                _of_variable(option, where) if kind == "env" else _of_file(option, where, directory)
            )
            secrets.append(value)
            return value

        found[name] = _DRAWN.sub(put_in, text)
        if header and ("\n" in found[name] or "\r" in found[name]):
            raise SettingsError(f"{PREFIX}{option}: got several lines for {name!r}, expected one")
    return found


def merged(weak: Mapping[str, str], strong: Mapping[str, str]) -> dict[str, str]:
    """Both; where they share a name, in any case, the second."""
    named = {name.lower() for name in strong}
    return {name: value for name, value in weak.items() if name.lower() not in named} | dict(strong)


def _pairs(option: str, given: Any, sign: str, form: str, example: str) -> dict[str, str]:
    if isinstance(given, Mapping):
        return {str(name): str(value) for name, value in given.items()}
    found = {}
    for text in (given,) if isinstance(given, str) else given:
        name, between, value = str(text).partition(sign)
        if not between or not name.strip():
            raise SettingsError(f"{PREFIX}{option}: got no {form}, expected one, e.g. {example}")
        found[name.strip()] = value.strip()
    return found


def _of_variable(option: str, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise SettingsError(
            f"{PREFIX}{option}: there is no environment variable {name!r}{meant(name, os.environ)}"
        )
    if not value.strip():
        raise SettingsError(f"{PREFIX}{option}: the environment variable {name!r} is empty")
    return value


def _of_file(option: str, name: str, directory: Path) -> str:
    path = directory / Path(name).expanduser()
    try:
        value = path.read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SettingsError(f"{PREFIX}{option}: cannot read the file {name!r}: {reason}") from None
    if not value.strip():
        raise SettingsError(f"{PREFIX}{option}: the file {name!r} is empty")
    return value
