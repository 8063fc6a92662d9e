"""Which scenario found each mutant out, where others would come before it in the search.

    make pytest PYTEST_ARGS="tests/mutants/test_kill_matrix.py --junitxml=REPORT"
    python -m tests.mutants.notes REPORT

The second command writes found_by.json anew. With these notes a first run on a machine is as quick
as any other. A note that is missing or out of date costs time and nothing else.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

NOTES = Path(__file__).with_name("found_by.json")
FEW = 2
"""A mutant that as many scenarios find out needs no note."""
TRIED, FINDER = "scenarios", "found by"
"""Properties of a test in the report."""


@cache
def found_by() -> dict[str, str]:
    """The id of a scenario, by the name of the mutant."""
    notes: dict[str, str] = json.loads(NOTES.read_text(encoding="utf-8"))
    return notes


def renewed(old: dict[str, str], report: ElementTree.Element) -> dict[str, str]:
    """The notes after a run: right ones stay, new ones come, those of mutants not met go."""
    notes = {}
    for case in report.iter("testcase"):
        told = {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}
        mutant = case.attrib["name"].partition("[")[2].removesuffix("]")
        if FINDER in told and (mutant in old or int(told[TRIED]) > FEW):
            notes[mutant] = told[FINDER]
    return notes


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("notes: expected one argument, JUnit's XML of a run of the kill matrix")
    notes = renewed(found_by(), ElementTree.parse(sys.argv[1]).getroot())
    text = json.dumps(notes, indent=1, sort_keys=True, ensure_ascii=True)
    NOTES.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
