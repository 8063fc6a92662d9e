"""What was kept of a page in a browser: named in the terminal, linked from the HTML report."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import pytest_mcp_approval.report
from pytest_mcp_approval.report.files import write_reports
from pytest_mcp_approval.report.html import render_html
from pytest_mcp_approval.report.json_file import render_json
from pytest_mcp_approval.report.markdown import render_markdown
from pytest_mcp_approval.report.packing import link_to
from pytest_mcp_approval.report.results import ScenarioResult, check_lines
from pytest_mcp_approval.report.terminal import finding_lines
from tests.report import samples

PICTURE, TRACE = ".mcp-approval/evidence/a-1.png", ".mcp-approval/evidence/a-1.zip"


def _found(*files: str) -> ScenarioResult:
    return replace(samples.finding(), files=files)


def _report(start: Path, *files: str):
    return samples.report(_found(*files), facts=replace(samples.FACTS, directory=start))


def test_the_terminal_names_them_above_the_command():
    found = _found(PICTURE, TRACE)
    (one,) = samples.report(found).findings
    in_summary = finding_lines(one, with_fix=False)
    for lines, last in ((check_lines(found, one.rule), -1), (in_summary, -2)):
        told = [line.split() for line in lines]
        assert told[last - 2 : last] == [["picture", PICTURE], ["trace", TRACE]]
        assert told[last][0] == "again"


def test_they_travel_with_the_result():
    one = _found(PICTURE, TRACE)
    assert ScenarioResult.from_json(json.loads(json.dumps(one.to_json()))) == one


def test_json_and_markdown_name_them(tmp_path):
    report = _report(tmp_path, PICTURE, TRACE)
    written = json.loads(render_json(report))
    assert written["scenarios"][0]["files"] == [PICTURE, TRACE]
    schema = Path(pytest_mcp_approval.report.__file__).parent / "schema.json"
    jsonschema.validate(written, json.loads(schema.read_text()))
    assert "| picture | `.mcp-approval/evidence/a-1.png` |" in render_markdown(report)


@pytest.mark.parametrize(
    ("place", "link"),
    [("report.html", PICTURE), ("out/deep/report.html", f"../../{PICTURE}")],
)
def test_the_page_links_to_them_from_where_it_is(tmp_path, opened, place, link):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / PICTURE).parent.mkdir(parents=True)
    (tmp_path / PICTURE).write_bytes(b"a picture")
    assert write_reports(_report(tmp_path, PICTURE, TRACE), [path]) == ([path], [])
    page = opened.show(path)
    links = page.get_by_role("link", name=PICTURE)
    links.first.wait_for()
    for one in links.all():
        whole = one.evaluate("link => link.href")
        assert whole == (tmp_path / PICTURE).as_uri()
        assert one.get_attribute("href").removeprefix("./") == link
    assert links.count() == 2, "under the finding, and in the list of scenarios"


@pytest.mark.parametrize("name", ["javascript:alert(1)", '"><img src=x>', "a b/ü#?.png"])
def test_a_name_cannot_be_more_than_a_name(tmp_path, name):
    page = render_html(_report(tmp_path, name), tmp_path)
    assert '"><img' not in page
    link = link_to(name, "")
    assert link.startswith("./")
    assert not set(link) & set(':"<> #?')
