"""How pytest's items are tied to rules: what a scenario's markers say, and what it noted.

Families read it while a scenario runs, the session after it has run. Knows no target and no
verdict.
"""

from __future__ import annotations

import pytest

from ..config.markers import MARKER
from .requirements import Requirement, UnknownRequirementError, catalogue

WARNINGS: pytest.StashKey[list[str]] = pytest.StashKey()
"""What a scenario noted that is not a failure."""


def rules_of(item: pytest.Item) -> list[Requirement]:
    """The rules that a scenario is tied to, by its markers."""
    found = []
    for marker in item.iter_markers(MARKER):
        for full_id in marker.args:
            try:
                found.append(catalogue(full_id.partition("/")[0])[full_id])
            except UnknownRequirementError as error:
                raise pytest.UsageError(f"{item.nodeid}: {error}") from None
    return found


def family_of(item: pytest.Item) -> str | None:
    """The family of a scenario; None for a user's own test."""
    marker = item.get_closest_marker(MARKER)
    return str(marker.args[0]).partition("/")[0] if marker is not None else None
