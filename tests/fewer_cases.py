"""A pytest plugin for runs of the suite that need not run every case of a scenario.

It keeps a few cases of each parametrised test, evenly spread: the first, or the first and the last,
or more in between. Knows nothing about the suite, so that it can be copied next to the server under
test.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cases-of-each", type=int, default=1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--cases-of-each")
    groups: dict[tuple[object, ...], list[pytest.Item]] = {}
    for item in items:
        # Cases of one test that are tied to different rules are separate groups.
        tied = tuple(sorted(map(repr, item.user_properties)))
        groups.setdefault((item.nodeid.partition("[")[0], tied), []).append(item)
    kept = {item for group in groups.values() for item in spread(group, wanted)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def spread(group: list[pytest.Item], wanted: int) -> list[pytest.Item]:
    """The wanted number of them, evenly from the first to the last."""
    if len(group) <= wanted:
        return group
    if wanted == 1:
        return group[:1]
    return [group[number * (len(group) - 1) // (wanted - 1)] for number in range(wanted)]
