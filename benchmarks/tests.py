"""Where processor time goes in our own tests, by part.

    make pytest PYTEST_ARGS="-p benchmarks.processor_time --junitxml=REPORT"
    python -m benchmarks.tests REPORT

Writes benchmarks/results/tests.md. A part is a folder of tests, or a single file that takes a
twentieth of the total. It is processor time, so that other jobs on the machine matter less.
"""

from __future__ import annotations

import platform
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from xml.etree import ElementTree

from benchmarks import sanity
from benchmarks.processor_time import PROPERTY

RESULTS = Path(__file__).parent / "results" / "tests.md"
LARGE = 0.05
SLOWEST = 15


def read(path: Path) -> dict[tuple[str, str], float]:
    """Processor seconds by file and test. Every test in the report must have them."""
    suites = list(ElementTree.parse(path).iter("testsuite"))
    cases = [case for suite in suites for case in suite.iter("testcase")]
    found: dict[tuple[str, str], float] = {}
    for case in cases:
        told = case.find(f"./properties/property[@name='{PROPERTY}']")
        if told is not None:
            place = case.attrib["classname"].replace(".", "/")
            found[place, case.attrib["name"]] = float(told.attrib["value"])
    counted = sum(int(suite.attrib["tests"]) for suite in suites)
    sanity.count(len(found), counted, "tests with their processor seconds")
    for (place, name), seconds in found.items():
        if seconds < 0:
            sanity.measured(seconds, f"processor seconds of {place}::{name}")
    return found


def parts(found: Mapping[tuple[str, str], float]) -> dict[str, tuple[int, float]]:
    """How many tests each part has, and their seconds; the largest part first."""
    whole = sum(found.values())
    of_files: dict[str, float] = defaultdict(float)
    for (place, _), seconds in found.items():
        of_files[place] += seconds
    sums: dict[str, list[float]] = defaultdict(list)
    for (place, _), seconds in found.items():
        large = of_files[place] >= LARGE * whole
        sums[f"{place}.py" if large else f"{Path(place).parent}/"].append(seconds)
    return {
        name: (len(all_of_it), sum(all_of_it))
        for name, all_of_it in sorted(sums.items(), key=lambda one: -sum(one[1]))
    }


def rows(found: Mapping[tuple[str, str], float]) -> Iterable[str]:
    whole = sanity.measured(sum(found.values()), "processor seconds")
    for name, (tests, seconds) in parts(found).items():
        part = sanity.share(seconds / whole, name)
        yield f"| {name} | {tests} | {seconds / 60:.2f} | {part:.1%} |"


def render(found: Mapping[tuple[str, str], float]) -> str:
    slowest = sorted(found.items(), key=lambda one: -one[1])[:SLOWEST]
    return "\n".join(
        [
            "# Where the time of the tests goes",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}. {len(found)} "
            f"tests took {sum(found.values()) / 60:.1f} minutes of the processor. Made by "
            "`python -m benchmarks.tests`.",
            "",
            "| part | tests | processor minutes | share |",
            "|---|---|---|---|",
            *rows(found),
            "",
            "| test | processor seconds |",
            "|---|---|",
            *(f"| {place}.py::{name} | {seconds:.1f} |" for (place, name), seconds in slowest),
            "",
        ]
    )


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("benchmark: expected one argument, JUnit's XML of a run of the tests")
    report = render(read(Path(sys.argv[1])))
    RESULTS.write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
