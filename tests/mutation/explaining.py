"""Why some mutations may go unnoticed."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("explained.toml")
KINDS = ("equivalent", "outside")


@dataclass(frozen=True)
class Explanation:
    """A pattern for keys of mutations, and the reason."""

    pattern: str
    kind: str
    why: str


def explanations(text: str) -> list[Explanation]:
    """`ValueError` says what is wrong."""
    found = [Explanation(**one) for one in tomllib.loads(text).get("explained", [])]
    for one in found:
        if one.kind not in KINDS:
            raise ValueError(f"{one.pattern}: got the kind {one.kind!r}, expected one of {KINDS}")
    return found


def explained(key: str, known: list[Explanation]) -> Explanation | None:
    return next((one for one in known if re.fullmatch(one.pattern, key)), None)
