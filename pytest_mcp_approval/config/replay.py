"""Which options a replay takes from a finding, and which the user must give again.

A finding is a file, and may come from somebody else. Anything that runs a program here is never
taken from it alone, nor is the address that the user's own headers would go to: both must also be
on the command line or in the user's own settings. The line under a finding repeats them. Knows no
pytest.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ..support.secrets import HIDDEN
from ..support.text import neutralise
from .settings import NO_BROWSER, OPTIONS, PREFIX, SettingsError

Texts = Callable[[Any], Any]
_LONGEST = 300
_FLAGS = frozenset(option.name for option in OPTIONS if option.flag)
_NEVER = re.compile(r"(?!)")
_HARMLESS = {
    "target": re.compile(r"https?://.*|reference(?::.*)?", re.DOTALL),
    "reset": re.compile("restart"),
    "clock": re.compile("auto|faketime|none|wait(?::[0-9.]+)?"),
    "browser": re.compile(NO_BROWSER),
    "launch": _NEVER,
    "client": _NEVER,
    "directory": _NEVER,
    "set": _NEVER,
    "generate-arguments": _NEVER,
}
"""Options that can run something here, or run gated tools with arguments that nobody chose; each
with the values that are harmless. A family's setting may be a command, whatever its name."""
_CHECKED = ("target", "client", "client-page")
"""Options that name what is checked."""
_HEADERS = ("header", "header-from", "second-user-header", "second-user-header-from")
_REACHED = ("target", "effects", "page", "client-page")
"""Options that can name an address to which the headers of a run are sent."""


def must_be_said(name: str, value: Any, *, with_headers: bool) -> bool:
    """Whether an option is not taken from a finding alone."""
    values = _listed(value)
    if name in _HARMLESS and not all(_is_harmless(name, one) for one in values):
        return True
    if any(HIDDEN in str(one) for one in values):
        return True
    return with_headers and name in _REACHED and any("://" in str(one) for one in values)


def said_again(
    options: Mapping[str, Any], *, with_headers: bool, prefix: str = PREFIX
) -> list[str]:
    """The options of a run that the command for a replay repeats."""
    return [
        word
        for name, value in options.items()
        if must_be_said(name, value, with_headers=with_headers)
        for word in words_of(name, value, prefix)
    ]


def options_of_finding(
    name: str,
    kept: Mapping[str, Any],
    given: Mapping[str, Any],
    own: Mapping[str, Any],
    hide: Texts,
) -> dict[str, Any]:
    """The options taken from a finding, in addition to those `given` now.

    `own` is what the user's settings files say; `hide` turns a value into what a finding keeps of
    it.
    """
    found: dict[str, Any] = {}
    missing: list[str] = []
    with_headers = any(one.get(option) for one in (given, own) for option in _HEADERS)
    another = any(
        given.get(one) and hide(given[one]) != kept.get(one)
        for one in ("target", "client", "client-page")
    )
    for option, value in kept.items():
        if given.get(option):
            continue
        if not must_be_said(option, value, with_headers=with_headers):
            found[option] = value
        elif option in own and _listed(hide(own[option])) == _listed(value):
            found[option] = own[option] if not isinstance(value, list) else _listed(own[option])
        elif not another:  # else it belongs to the finding's own target
            missing += words_of(option, value)
    if missing:
        shown = " ".join(neutralise(shlex.quote(word), _LONGEST) for word in missing)
        raise SettingsError(
            f"{PREFIX}replay: {name} may be somebody else's, so what it runs, and where your "
            f"headers go, is not taken from it. If you want this, add {shown}"
        )
    return found


def _is_harmless(name: str, value: Any) -> bool:
    return isinstance(value, str) and _HARMLESS[name].fullmatch(value) is not None


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def words_of(option: str, value: Any, prefix: str = PREFIX) -> list[str]:
    """The option as it is written on the command line."""
    if option in _FLAGS:
        return [f"{prefix}{option}"]
    return [f"{prefix}{option}={one}" for one in _listed(value)]
