"""The defects that the checks of a rule are known to find, in words: `known_defects.json`, beside
the family's rules. It is written from the broken servers of the project's own tests (`make docs`);
a family of another distribution may have none. Knows no server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from ..config.registry import FamilyError, registered

DEFECTS = "known_defects.json"


@cache
def known_defects(family: str) -> Mapping[str, tuple[str, ...]]:
    """By rule; `FamilyError` if the file is wrong."""
    path = registered(family).scenarios / DEFECTS
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {str(rule): tuple(map(str, told)) for rule, told in data.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FamilyError(f"{path}: cannot be used: {error}") from None
