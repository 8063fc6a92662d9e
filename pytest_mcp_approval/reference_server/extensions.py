"""Which families the reference server has. A family is imported only when it is needed, so that the
command line can say what is missing.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .server.settings import CommandLineOption

if TYPE_CHECKING:
    from .server.extension import Extension

_FIRST = "sep2672"
FAMILIES = sorted(
    (path.parent.name for path in Path(__file__).parent.glob("*/gate.py")),
    key=lambda family: (family != _FIRST, family),
)
"""Each has a folder here."""


@cache
def extension_class(family: str) -> type[Extension]:
    from .server.extension import Extension

    members = vars(importlib.import_module(f".{family}.extension", __package__)).values()
    return next(
        one
        for one in members
        if isinstance(one, type) and issubclass(one, Extension) and one is not Extension
    )


def options_of(family: str) -> Mapping[str, CommandLineOption]:
    """Its settings that are also command-line options, by the name of the setting."""
    module = importlib.import_module(f".{family}.settings", __package__)
    found: Mapping[str, CommandLineOption] = getattr(module, "OPTIONS", {})
    return found
