"""How the reference server can be run: every transport, store and era of MCP."""

from __future__ import annotations

from tests.inner_runs import WHOLE

NEW, OLD = "2026-07-28", "2025-11-25"

Combination = tuple[str, str, str]
"""Transport, store and revision."""


def chosen(*few: Combination) -> list[Combination]:
    """These, or all twelve in `make matrix`: the others take many minutes more."""
    if not WHOLE:
        return list(few)
    return [
        (transport, store, era)
        for transport in ("in-process", "http", "stdio")
        for store in ("memory", "sqlite")
        for era in (NEW, OLD)
    ]
