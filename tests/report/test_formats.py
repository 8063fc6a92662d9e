"""The machine formats: each is what its readers expect."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml

import pytest_mcp_approval.report
from pytest_mcp_approval.catalogue import Verdict, catalogue, families
from pytest_mcp_approval.catalogue.requirements import covered
from pytest_mcp_approval.config.registry import registered
from pytest_mcp_approval.config.report_files import FORMATS
from pytest_mcp_approval.report.badge import render_badge
from pytest_mcp_approval.report.files import append_step_summary, write_reports
from pytest_mcp_approval.report.html import render_html
from pytest_mcp_approval.report.json_file import render_json
from pytest_mcp_approval.report.markdown import MOST_BYTES, render_markdown
from pytest_mcp_approval.report.model import make_report
from pytest_mcp_approval.report.results import Results, ScenarioResult
from pytest_mcp_approval.report.sarif import render_sarif
from pytest_mcp_approval.report.shown import SHOWN
from pytest_mcp_approval.report.traceability import render_traceability
from tests.report import samples
from tests.report.samples import earlier_of

SCHEMA = json.loads((Path(pytest_mcp_approval.report.__file__).parent / "schema.json").read_text())
HOSTILE = "```\n</details><script>alert(1)</script> | `x` **b** [a](javascript:b) \x1b[31m\u202e"


def test_every_verdict_has_a_look():
    assert set(SHOWN) == set(Verdict)
    assert sorted(shown.rank for shown in SHOWN.values()) == list(range(len(Verdict)))


# ---- JSON


@pytest.mark.parametrize(
    "report",
    [
        samples.report(samples.result()),
        samples.typical(),
        samples.report(
            samples.finding(),
            earlier=earlier_of({samples.COUNTER: Verdict.PASSED, "a/b": Verdict.FAILED}),
        ),
    ],
    ids=["healthy", "typical", "compared"],
)
def test_the_json_report_keeps_to_its_schema(report):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(render_json(report)))


def test_the_schema_would_notice():
    good = json.loads(render_json(samples.typical()))
    for spoil in (
        lambda report: report.pop("rules"),
        lambda report: report.update(version=3),
        lambda report: report["rules"][0].update(verdict="splendid"),
        lambda report: report["scenarios"][0].pop("again"),
        lambda report: report["summary"]["rules"].update(passed=-1),
        lambda report: report["findings"][0].pop("variants"),
        lambda report: report["bodies"].update(x={"text": "a body under no digest"}),
    ):
        bad = json.loads(json.dumps(good))
        spoil(bad)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(bad)


def test_the_json_report_tells_what_there_was():
    told = json.loads(render_json(samples.typical()))
    assert told["summary"]["rules"] == {str(verdict): 1 for verdict in SHOWN}
    assert told["summary"]["checks"]["passed"] == 2
    by_name = {one["id"].partition("::")[2]: one for one in told["scenarios"]}
    assert by_name["test_found"]["evidence"]["got"] == "a result, tool run"
    assert by_name["test_found"]["conversation"]["steps"]
    assert by_name["test_fine"]["conversation"] is None


def test_every_format_has_one_entry_a_finding():
    shapes = [
        samples.finding(f"error -32603 row {number} is locked", name=f"test_it[{number}]")
        for number in range(40)
    ]
    whole = samples.report(*shapes, samples.finding("a result, tool run", name="test_other"))
    told = json.loads(render_json(whole))
    jsonschema.Draft202012Validator(SCHEMA).validate(told)
    assert [len(one["variants"]) for one in told["findings"]] == [39, 0]
    assert told["summary"]["findings"]["failed"] == 2
    first = told["findings"][0]
    assert {first["example"], *first["variants"]} == {one.scenario for one in shapes}
    (run,) = json.loads(render_sarif(whole))["runs"]
    assert [one["occurrenceCount"] for one in run["results"]] == [40, 1]
    assert len(run["results"][0]["relatedLocations"]) == 41  # the rule, and the checks
    text = render_markdown(whole)
    assert text.count("| sent |") == 2
    assert "39 more like it" in text
    assert render_html(whole).count("<dt>sent</dt>") == 2


def test_every_format_for_people_says_a_cascade_first():
    lost = [
        samples.result(rule.id, Verdict.NOT_VERIFIED, f"test_{place}", why="error -32603 `no` <b>")
        for place, rule in enumerate(samples.RULES[:30])
    ]
    whole = samples.report(*lost)
    said = "30 checks are not in order, 30 of them for one reason"
    assert render_markdown(whole).splitlines()[2] == f"**{said}**: `` error -32603 `no` <b> ``"
    page = render_html(whole)
    assert page.index(said) < page.index("<main>")
    assert "<b>" not in page[page.index(said) :][:200]
    assert json.loads(render_json(whole))["summary"]["cascade"].startswith(said)


# ---- sizes

CHECKS = 1000


def many(of: str) -> list[ScenarioResult]:
    """A thousand checks, none in order: what a report of one run may have to hold at worst."""
    noise = random.Random(7)

    def told(number: int) -> str:
        if of == "large answers":
            text = "".join(noise.choices("abcdefghijklmnopqrstuvwxyz", k=2_000)) * 8
            return samples.steps(*(samples.exchange(text, text[::-1]) for _ in range(4)))
        return samples.real_conversation().replace("2026-", f"{number}-")

    return [
        samples.finding(
            f"error -32603 {number}", name=f"test_it[{number}]", conversation=told(number)
        )
        for number in range(CHECKS)
    ]


@pytest.mark.parametrize("of", ["ceremonies", "large answers"])
def test_a_run_of_a_thousand_failures_can_still_be_opened(of):
    whole = samples.report(*many(of))
    page, data = render_html(whole), render_json(whole)
    assert len(page) < 3_000_000
    assert len(data) < 8_000_000
    told = json.loads(data)
    jsonschema.Draft202012Validator(SCHEMA).validate(told)
    kept = {one["id"] for one in told["scenarios"] if one["conversation"]}
    assert told["findings"][0]["example"] in kept
    assert len(kept) + told["summary"]["conversationsLeftOut"] == CHECKS
    if of == "large answers":
        assert told["summary"]["conversationsLeftOut"] > 0


def test_bodies_that_repeat_are_kept_once_under_their_digest():
    answer, binary = "the same long answer " * 20, base64.b64encode(bytes(range(200)) * 2).decode()
    headers = [["content-type", "application/json"], ["x-long", "y" * 200]]
    step = samples.exchange("{}", answer, requestHeaders=headers)
    other = {**samples.exchange("{}", ""), "received": {"bytes": 400, "base64": binary}}
    told = json.loads(
        render_json(
            samples.report(
                *(
                    samples.finding(name=f"test_{n}", conversation=samples.steps(step, other))
                    for n in range(5)
                )
            )
        )
    )
    jsonschema.Draft202012Validator(SCHEMA).validate(told)
    text = json.dumps(told)
    assert text.count(answer) == text.count(binary) == text.count("y" * 200) == 1
    digest = f"sha256:{hashlib.sha256(answer.encode()).hexdigest()}"
    assert told["bodies"][digest] == {"text": answer}
    for scenario in told["scenarios"]:
        first, second = scenario["conversation"]["steps"]
        assert first["received"] == {"bytes": len(answer), "ref": digest}
        assert told["bodies"][second["received"]["ref"]] == {"base64": binary}
        assert told["headers"][first["requestHeaders"]["ref"]] == headers
        assert first["sent"] == {"bytes": 2, "text": "{}"}


# ---- Markdown


def test_markdown_tells_the_verdict_first_and_the_evidence():
    text = render_markdown(samples.typical())
    assert text.startswith("## ❌ 1 of 6 rules broken\n")
    assert "| got | `a result, tool run` |" in text
    assert "| again | `pytest mcp-approval/sep2672/test_x.py::test_found` |" in text
    assert "- `needs a clock: none`: `4.8-06-challenge-unexpired`" in text


def test_hostile_text_stays_inside_its_code():
    facts = replace(samples.FACTS, target=HOSTILE, header=(("target", HOSTILE),))
    text = render_markdown(
        samples.report(
            samples.finding(got=HOSTILE),
            samples.result(samples.HASH, Verdict.NOT_VERIFIED, why=HOSTILE),
            facts=facts,
        )
    )
    # Whatever stands between fences of equal length is code; the rest is ours.
    outside = re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", text)
    for word in ("script", "javascript", "alert", "**b**"):
        assert word not in outside
    assert all(
        line.count("|") - line.count("\\|") == 3
        for line in text.splitlines()
        if line.startswith("| got")
    )


def test_a_summary_that_is_too_large_is_cut():
    many = [
        samples.finding(got="x" * 600, rule=rule.id, name=f"test_{number}")
        for number, rule in enumerate(samples.RULES)
    ]
    assert len(render_markdown(samples.report(*many)).encode()) <= MOST_BYTES + 100


@pytest.mark.parametrize("less", range(40))
def test_a_summary_is_not_cut_inside_of_code(monkeypatch, less):
    """What is cut open is code no more: then a link, a picture or HTML of the target's is one."""
    report = samples.report(samples.finding(got="![x](http://evil.example/x) <img src=x> [y](z)"))
    text = render_markdown(report)
    size = len(text.partition("<img")[0].encode()) + 15 - less
    monkeypatch.setattr("pytest_mcp_approval.report.markdown.MOST_BYTES", size)
    outside = re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", render_markdown(report))
    assert "evil" not in outside
    assert "<img" not in outside


def test_the_summary_of_a_job_is_added_to(tmp_path):
    path = tmp_path / "summary.md"
    path.write_text("what was there\n")
    assert append_step_summary(samples.typical(), {"GITHUB_STEP_SUMMARY": str(path)}) is None
    assert path.read_text().startswith("what was there\n## ❌ 1 of 6 rules broken")
    assert append_step_summary(samples.typical(), {}) is None
    missing = str(tmp_path / "no" / "summary.md")
    said = append_step_summary(samples.typical(), {"GITHUB_STEP_SUMMARY": missing})
    assert said == "GITHUB_STEP_SUMMARY: not written: No such file or directory"


# ---- SARIF


def test_sarif_has_what_a_code_scanning_upload_asks_for():
    log = json.loads(render_sarif(samples.typical()))
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", driver["semanticVersion"])
    rules = driver["rules"]
    assert [rule["id"] for rule in rules] == [one.rule.id for one in samples.typical().rules]
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert 0 < float(rule["properties"]["security-severity"]) <= 10
        assert rule["helpUri"] == catalogue("sep2672").link
    assert {result["ruleId"] for result in run["results"]} == {
        samples.COUNTER,
        samples.DEFAULT,
        "sep2672/4.8-09-class",
    }
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert not place["artifactLocation"]["uri"].startswith(("/", "file:", ".."))
        assert place["region"]["startLine"] >= 1
        assert result["partialFingerprints"]["primaryLocationLineHash"]
    known = next(one for one in run["results"] if one["ruleId"] == "sep2672/4.8-09-class")
    assert known["suppressions"] == [{"kind": "external", "justification": "ticket 12"}]
    assert run["invocations"][0]["executionSuccessful"] is False  # the suite stumbled once


@pytest.mark.parametrize(
    "said",
    [
        "[click](http://evil.example/)",
        "\\[click\\](http://evil.example/)",
        "\\\\[click\\\\](http://evil.example/)",
        "[a [b](http://evil.example/) c](1)",
        "{0} and {1} {{2}}",
    ],
)
def test_a_target_writes_no_links_and_no_placeholders_into_sarif(said):
    """SARIF 2.1.0, sections 3.11.5 and 3.11.6."""
    stumbled = samples.result(samples.HASH, Verdict.HARNESS_ERROR, why=said)
    log = json.loads(render_sarif(samples.report(samples.finding(got=said), stumbled)))
    (run,) = log["runs"]
    told = [run["results"][0], run["invocations"][0]["toolExecutionNotifications"][0]]
    for text in [one["message"]["text"] for one in told]:
        # With and without a reading in which two backslashes are one.
        for unescaped in (text, text.replace("\\\\", "")):
            assert not re.search(r"(?<!\\)\]\(", unescaped)
        assert not re.search(r"(?<!\\)[\[\]]", text)
        assert not re.search(r"(?<!\{)(?:\{\{)*\{[0-9]", text)
        plain = text.replace("{{", "{").replace("}}", "}").replace("\\[", "[").replace("\\]", "]")
        assert said.replace("](", "] (") in plain


def test_an_alert_is_at_the_users_settings_file():
    facts = replace(samples.FACTS, settings_place=("servers/shop 1/mcp-approval.toml", 4))
    whole = samples.report(samples.finding(), samples.finding("x", name="test_b"), facts=facts)
    (run,) = json.loads(render_sarif(whole))["runs"]
    for result in run["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "servers/shop%201/mcp-approval.toml"
        assert place["region"] == {"startLine": 4}
        check = result["relatedLocations"][1]["physicalLocation"]["artifactLocation"]["uri"]
        assert check == "scenarios/sep2672/test_x.py"
    # One place, and still one alert for each finding.
    assert len({str(one["partialFingerprints"]) for one in run["results"]}) == 2


def test_sarif_points_at_the_line_of_the_rule():
    log = json.loads(render_sarif(samples.report(samples.finding())))
    related = log["runs"][0]["results"][0]["relatedLocations"][0]["physicalLocation"]
    path = registered("sep2672").scenarios.parents[1] / related["artifactLocation"]["uri"]
    line = path.read_text().splitlines()[related["region"]["startLine"] - 1]
    assert line == 'id = "4.8-11-counter"'


def test_an_alert_stays_the_same_alert():
    def prints(*results):
        log = json.loads(render_sarif(samples.report(*results)))
        return [one["partialFingerprints"] for one in log["runs"][0]["results"]]

    one, other = samples.finding(got="this"), samples.finding(got="that")
    assert prints(one) == prints(replace(other, line=99))
    assert prints(one) != prints(samples.finding(name="test_other"))


# ---- traceability


def test_every_must_and_should_is_a_check_or_a_stated_exclusion():
    told = yaml.safe_load(render_traceability(samples.typical()))
    assert told["sep"] == 2672
    assert told["spec_url"].startswith("https://")
    owed = [rule for rule in catalogue("sep2672") if rule.level in ("MUST", "SHOULD")]
    rows = told["requirements"]
    assert len(rows) == len(owed)
    checks = [row["check"] for row in rows if "check" in row]
    assert len(set(checks)) == len(checks)
    assert all(re.fullmatch(r"sep-2672-[a-z0-9-]+", check) for check in checks)
    # A client's rules are checked on a page.
    assert any("client" in check for check in checks)
    for row in rows:
        assert row["text"]
        assert set(row) in ({"check", "text"}, {"text", "excluded"})
        assert row.get("excluded", "x")
    # First what is checked, then what is not, as that form wants it.
    order = ["check" in row for row in rows]
    assert order == sorted(order, reverse=True)


def test_several_families_are_several_documents():
    others = [name for name in families() if name != "sep2672"]
    rules = [rule for name in ("sep2672", *others) for rule in catalogue(name)]
    first = {rule.family: rule.id for rule in reversed(rules) if rule.party == "server"}
    results = [samples.result(rule, name=f"test_{family}") for family, rule in first.items()]
    whole = make_report(Results(results), rules, samples.FACTS)
    documents = list(yaml.safe_load_all(render_traceability(whole)))
    assert [one.get("document", "SEP-2672") for one in documents] == [
        catalogue(name).document for name in ("sep2672", *others)
    ]
    assert all(row["text"] for one in documents for row in one["requirements"])
    judged = {rule.id for name in families() for rule in catalogue(name)} & {
        rule for name in families() for rule in covered(name)
    }
    told = [row for one in documents for row in one["requirements"]]
    excluded = [row for row in told if "excluded" in row]
    owed = [rule for rule in rules if rule.level in ("MUST", "SHOULD")]
    assert len(excluded) == sum(rule.id not in judged for rule in owed) > 0


# ---- badge


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (samples.report(samples.result()), "SEP-2672: 1 of 1 hold"),
        (samples.report(samples.finding()), "SEP-2672: 1 of 1 broken"),
        (samples.report(samples.result(verdict=Verdict.NOT_VERIFIED)), "SEP-2672: 0 of 1 hold"),
        (
            samples.report(samples.result(verdict=Verdict.WARNING)),
            "SEP-2672: 0 of 1 hold, 1 warned",
        ),
    ],
)
def test_a_badge_says_what_it_shows(report, words):
    picture = ElementTree.fromstring(render_badge(report))
    assert picture.get("aria-label") == words
    texts = [one.text or "" for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert ": ".join(texts) == words


# ---- files


def test_a_report_that_cannot_be_written_does_not_cost_the_others(tmp_path, monkeypatch):
    def stumbles(report):
        raise KeyError("x")

    monkeypatch.setattr("pytest_mcp_approval.report.sarif.render_sarif", stumbles)
    paths = [
        tmp_path / "no" / "a.html",
        tmp_path / "a.sarif",
        tmp_path / "a.json",
        tmp_path / "a.md",
    ]
    written, problems = write_reports(samples.typical(), paths)
    assert written == paths[2:]
    assert problems == [
        f"{paths[0]}: not written: No such file or directory",
        f"{paths[1]}: not written: KeyError: 'x'",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "a.md"]


def test_every_ending_has_a_renderer(tmp_path):
    paths = [tmp_path / f"a{ending}" for ending in FORMATS]
    written, problems = write_reports(samples.typical(), paths)
    assert problems == []
    assert written == paths
    assert all(path.stat().st_size > 100 for path in paths)
