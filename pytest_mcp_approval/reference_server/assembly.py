"""Puts the reference server together: which families it has, and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .extensions import FAMILIES, extension_class
from .sep2672.extension import Sep2672Extension
from .server.clock import Clock, SystemClock
from .server.effects import RecordedEffects
from .server.extension import Backing, Extension, ExtensionParts
from .server.mcp_server import ReferenceServer


def default_extensions() -> Mapping[str, type[Extension]]:
    """The extension for each family, by the family's name."""
    return {family: extension_class(family) for family in FAMILIES}


def build(
    *,
    extensions: Mapping[str, type[Extension]] | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    backing: Backing | None = None,
    clock: Clock | None = None,
    user_header: str | None = None,
    server_class: type[ReferenceServer] = ReferenceServer,
) -> ReferenceServer:
    """A reference server, with SEP-2672 alone unless `extensions` says more (`default_extensions()`
    for all families).

    `settings` are by family; `backing` is where extensions keep their state.
    """
    chosen = {Sep2672Extension.family: Sep2672Extension} if extensions is None else extensions
    clock = SystemClock() if clock is None else clock
    effects, backing = RecordedEffects(), backing or Backing()
    told = settings or {}
    return server_class(
        [
            extension(ExtensionParts(clock, effects, backing, told.get(name, {})))
            for name, extension in chosen.items()
            if extension.environment_settings.keys() <= told.get(name, {}).keys()
        ],
        user_header=user_header,
        effects=effects,
        backing=backing,
    )
