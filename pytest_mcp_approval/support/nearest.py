"""The known name that somebody most likely meant, for messages about an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_ALIKE = 0.6
"""difflib's ratio, from 0 to 1; below it a guess would only confuse."""


def nearest(name: str, known: Iterable[str], alike: float = _ALIKE) -> str | None:
    """The nearest known name; None if nothing is similar."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=alike)
    return found[0] if found else None


def meant(name: str, known: Iterable[str], alike: float = _ALIKE) -> str:
    """Part of a message: " (did you mean 'page'?)", or nothing."""
    found = nearest(name, known, alike)
    return f" (did you mean {found!r}?)" if found is not None else ""


def expected(name: str, known: Iterable[str]) -> str:
    """The end of a message: "did you mean 'page'? expected one of a, page". The guess comes first:
    a long list may be cut."""
    names = list(known)
    found = nearest(name, names)
    guess = f"did you mean {found!r}? " if found is not None else ""
    return f"{guess}expected one of {', '.join(names)}"
