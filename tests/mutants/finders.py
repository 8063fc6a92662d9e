"""Which scenario found a mutant out when that was last looked at: of its rule's, it is tried first.

It spares the kill matrix thousands of scenarios that find nothing, and is no part of what is
proved: the others of the rule come next, until one finds the defect. A line that is out of date
costs time, and a mutant without a line is looked at in the usual order.

    pytest tests/mutants/test_kill_matrix.py --junitxml=REPORT
    python -m tests.mutants.finders REPORT      writes finders.toml anew
"""

from __future__ import annotations

import json
import sys
import tomllib
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

FILE = Path(__file__).with_name("finders.toml")
PROPERTY = "found_by"
"""Under this name the kill matrix tells it in JUnit's XML."""


@cache
def finders() -> dict[str, str]:
    """Scenarios by mutant."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


class TriedFirst:
    """Sits in an inner run: first one scenario, then other cases of it, then all else."""

    def __init__(self, scenario: str | None) -> None:
        self.scenario = scenario

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.scenario is not None:
            items.sort(key=self._place)

    def _place(self, item: pytest.Item) -> int:
        assert self.scenario is not None
        if item.nodeid == self.scenario:
            return 0
        return 1 if item.nodeid.partition("[")[0] == self.scenario.partition("[")[0] else 2


def read_report(path: Path) -> dict[str, str]:
    """What a run of the kill matrix tells."""
    found = {}
    for case in ElementTree.parse(path).iter("testcase"):
        for told in case.iterfind(f"./properties/property[@name='{PROPERTY}']"):
            found[case.attrib["name"].partition("[")[2].removesuffix("]")] = told.attrib["value"]
    return found


def write(found: dict[str, str]) -> None:
    head = "# Written by python -m tests.mutants.finders, which tells what this is for.\n"
    lines = [f"{name} = {json.dumps(found[name])}\n" for name in sorted(found)]
    FILE.write_text(head + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write(read_report(Path(sys.argv[1])))
