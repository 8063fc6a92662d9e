"""In which order the scenarios of a rule look at a mutant: the likeliest to find it out first.

Most mutants are found out by any case of one scenario, so one case of each comes first, then
another one of each. What is noted to have found a mutant out comes before all others, and the rest
of the rule after it, until one finds the defect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest


def search_order(items: list[pytest.Item], first: Sequence[str] = ()) -> list[pytest.Item]:
    """The same items; `first` has the ids of scenarios that did it last."""
    met: Counter[str] = Counter()
    turns = {}
    for item in items:
        turns[item] = met[function_of(item.nodeid)]
        met[function_of(item.nodeid)] += 1
    functions = set(map(function_of, first))

    def place(item: pytest.Item) -> tuple[int, bool, int]:
        noted = first.index(item.nodeid) if item.nodeid in first else len(first)
        return noted, function_of(item.nodeid) not in functions, turns[item]

    return sorted(items, key=place)


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]
