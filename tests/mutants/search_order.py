"""In which order the scenarios of a rule look at a mutant: the likeliest to find it out first.

Most mutants are found out by any case of one scenario, so one case of each comes first, then
another one of each. Where there is a note of what found a mutant out, that comes before all others,
and the rest of the rule after it, until one finds the defect.
"""

from __future__ import annotations

from collections import Counter

import pytest


def search_order(items: list[pytest.Item], found_by: str | None = None) -> list[pytest.Item]:
    """The same items; `found_by` is the id of the scenario that did it last."""
    met: Counter[str] = Counter()
    turns = {}
    for item in items:
        turns[item] = met[function_of(item.nodeid)]
        met[function_of(item.nodeid)] += 1

    def place(item: pytest.Item) -> tuple[bool, bool, int]:
        other = found_by is None or function_of(item.nodeid) != function_of(found_by)
        return item.nodeid != found_by, other, turns[item]

    return sorted(items, key=place)


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]
