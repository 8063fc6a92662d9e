"""What is left behind for people: the HTML page, and hostile text in it."""

from __future__ import annotations

from html.parser import HTMLParser

from pytest_mcp_approval.catalogue import Finding, Verdict, catalogue
from pytest_mcp_approval.report.html import render_html
from pytest_mcp_approval.report.results import Results, ScenarioResult
from pytest_mcp_approval.report.terminal import summary_lines

RULE = "sep2672/4.8-11-counter"
RULES = list(catalogue("sep2672"))


class Page(HTMLParser):
    """The text of a page, and every tag and address in it."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text += data


def result(verdict: Verdict = Verdict.PASSED, rule: str = RULE) -> ScenarioResult:
    return ScenarioResult(rules=(rule,), scenario="mcp-approval/x.py::test_y", verdict=verdict)


def found(got: str) -> ScenarioResult:
    finding = Finding(sent="tools/call, signCount 7", expected="-32001", got=got)
    return result().with_finding(finding)


def test_a_run_leaves_a_page(suite):
    run = suite.run(
        "--mcp-approval-select=sep2672/4.8-03-method", "--mcp-approval-report=found.html"
    )
    assert run.ret == 0
    run.stdout.fnmatch_lines(["report *found.html"])
    page = Page((suite.pytester.path / "found.html").read_text(encoding="utf-8"))
    assert "sep2672/4.8-03-method" in page.text
    assert "1 passed" in page.text


def test_the_page_needs_nothing_from_elsewhere():
    page = Page(render_html(Results(scenarios=[result()]), RULES, [("target", "x")]))
    assert page.addresses == []
    assert "script" not in page.tags


def test_hostile_text_is_text():
    hostile = "<script>alert(1)</script><img src=x onerror=y>\"'&"
    page = Page(render_html(Results(scenarios=[found(hostile)]), RULES, [("target", hostile)]))
    assert {"script", "img"} & page.tags == set()
    assert page.text.count("<script>alert(1)</script>") >= 2


def test_the_worst_scenario_decides_about_a_rule():
    order = [
        Verdict.NOT_APPLICABLE,
        Verdict.PASSED,
        Verdict.NOT_VERIFIED,
        Verdict.WARNING,
        Verdict.FAILED,
        Verdict.HARNESS_ERROR,
    ]
    for worse in range(1, len(order)):
        results = Results(scenarios=[result(order[worse]), result(order[worse - 1])])
        assert results.verdict_of(RULE) is order[worse]
    assert Results().verdict_of(RULE) is None


def test_a_result_survives_the_way_from_a_worker():
    one = found("a result, tool run")
    assert ScenarioResult.from_json(one.to_json()) == one


def test_the_end_of_a_run_counts_rules_and_tells_what_was_not_judged():
    results = Results(
        scenarios=[
            found("a result, tool run"),
            result(),
            result(rule="sep2672/4.8-12-argument-hash"),
            result(rule="sep2672/4.8-06-challenge-unexpired").with_verdict(
                Verdict.NOT_VERIFIED, "needs a clock"
            ),
        ]
    )
    lines = "\n".join(summary_lines(results, RULES))
    assert "FAIL sep2672/4.8-11-counter" in lines
    assert "not verified  needs a clock" in lines
    assert "4.8-06-challenge-unexpired" in lines
    assert "§4.8 ○✗●" in lines
    assert "1 passed · 1 failed (MUST) · 1 not verified      4 checks" in lines
