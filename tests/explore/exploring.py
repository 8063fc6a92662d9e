"""Explorations for tests, of servers in this process: so many walks, however long they take."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_mcp_approval.config.options import OPTIONS
from pytest_mcp_approval.config.settings import settings_of_line
from pytest_mcp_approval.explore.budget import Budget
from pytest_mcp_approval.explore.engine import Explorer
from pytest_mcp_approval.explore.findings import model_of
from pytest_mcp_approval.target import Target, open_target
from tests.mutants.registry import load_mutants

_LONG = 100.0
"""Seconds: walks end an exploration, not time."""


@contextlib.contextmanager
def opened(name: str = "reference", protocol: str | None = None) -> Iterator[Target]:
    given: dict[str, Any] = {option.name: None for option in OPTIONS}
    given |= {"target": [name], "protocol": protocol}
    target = open_target(name, settings_of_line(given, Path()))
    try:
        yield target
    finally:
        target.close()


def mutant(name: str) -> str:
    """The target of a broken server."""
    return load_mutants()[name].target_in(Path())


def explored(target: Target, family: str, walks: int, *, seed: int = 1) -> Explorer:
    explorer = Explorer(
        model_of(family),
        target,
        Budget(_LONG),
        seed,
        stop_at_first=True,
        most_walks=walks,
        most_shrinking=0.0,  # what follows is enough
    )
    explorer.run()
    return explorer
