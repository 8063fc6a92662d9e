"""Figures on our pages are those that benchmarks have written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mutants.registry import load_mutants

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def figures(name: str) -> dict[str, str]:
    """What was measured, by the first words of its row."""
    rows = re.findall(
        r"^\| (.+?) \| (.+?) \|", (RESULTS / name).read_text(encoding="utf-8"), re.MULTILINE
    )
    return dict(rows)


def test_the_picture_of_a_run_shows_what_its_caption_says():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    run = (ROOT / "docs" / "images" / "run.txt").read_text(encoding="utf-8")
    assert "the same yes, sent eight times at once, ran the tool eight times](" in page
    assert "the same yes 8 times at once" in run
    assert "8 successes, run 8 times" in run
    checks = re.findall(r"([0-9]+) checks (?:of|in)", run)
    assert len(checks) == 2
    assert len(set(checks)) == 1


def test_pages_tell_as_many_checks_of_elicitation_as_the_run_in_the_picture():
    run = (ROOT / "docs" / "images" / "run.txt").read_text(encoding="utf-8")
    made = set(re.findall(r"in ([0-9]+) checks of", run))
    pages = [*(ROOT / "docs").glob("tutorial-*.md"), ROOT / "docs" / "elicitation.md"]
    assert len(made) == 1
    for page in pages:
        told = set(re.findall(r"in ([0-9]+) checks of", page.read_text(encoding="utf-8")))
        assert told == made, page.name


def test_there_are_as_many_rules_as_the_readme_says():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.search(r"more than ([0-9]+) rules", page)
    broken = {one.kills for one in load_mutants().values()}
    assert told is not None
    assert int(told[1]) < len(broken) <= int(told[1]) + 50


def test_there_are_as_many_broken_servers_as_the_readme_says():
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.search(r"more than ([0-9]+) in all", page)
    assert told is not None
    assert int(told[1]) < len(load_mutants()) < int(told[1]) + 1000


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
