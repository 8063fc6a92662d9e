"""Figures on our pages are those that benchmarks have written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def figures(name: str) -> dict[str, str]:
    """What was measured, by the first words of its row."""
    rows = re.findall(
        r"^\| (.+?) \| (.+?) \|", (RESULTS / name).read_text(encoding="utf-8"), re.MULTILINE
    )
    return dict(rows)


def test_the_example_of_a_run_has_the_checks_and_the_speed_that_were_measured():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    measured = figures("suite.md")
    checks = measured["checks of sep2672 over HTTP"]
    told = re.findall(r"([0-9]+) checks (?:of|in ([0-9.]+) s)", page)
    assert len(told) == 2
    assert {one[0] for one in told} == {checks}
    assert round(int(checks) / float(told[1][1])) == int(measured["checks per second"])


@pytest.mark.parametrize("ending", ["html", "json"])
def test_reports_are_as_small_as_their_page_says(ending: str):
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    words = {"html": "the page of a thousand checks stays below", "json": "the JSON below"}
    limit = re.search(rf"{words[ending]} ([0-9]+) MB", page)
    assert limit is not None
    sizes = [
        float(value.split()[-2])
        for name, value in figures("report.md").items()
        if name.startswith(f".{ending}, 1000 checks")
    ]
    assert len(sizes) == 2
    assert max(sizes) < int(limit[1])


def test_every_results_file_that_a_page_names_is_there():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    named = {
        name
        for page in pages
        for name in re.findall(r"benchmarks/results/(\w+\.md)", page.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= {path.name for path in RESULTS.iterdir()}
