"""Known failures in a run: counts, marks, JUnit and exit code, and entries that are stale."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.inner_runs import Verdicts

RULE = "sep2672/4.8-03-method"
OTHER = "sep2672/4.8-01-evidence-present"
BROKEN = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
HEALTHY = "reference"
CHECKS, FAILING = 9, 3
"""Of that rule, and how many of them the broken server fails."""
SELECT = f"--mcp-approval-select={RULE}"
WITH = "--mcp-approval-baseline=known.toml"
STALE = f"baseline: {RULE} no longer fails: remove it from known.toml"


@pytest.fixture
def known(suite):
    """Writes known.toml with these rules."""

    def write(*rules: str, more: str = "") -> None:
        text = "".join(f'[[known]]\nrule = "{one}"\ncomment = "old key"\n{more}' for one in rules)
        (suite.pytester.path / "known.toml").write_text(text, encoding="utf-8")

    return write


def test_a_known_failure_is_counted_apart_and_fails_nothing(suite, known):
    known(RULE)
    listener = Verdicts()
    result = suite.run(SELECT, WITH, "--junitxml=found.xml", target=BROKEN, plugins=[listener])
    assert result.ret == 0
    outcomes = result.parseoutcomes()
    assert outcomes["known"] == FAILING
    assert outcomes["passed"] == CHECKS - FAILING
    assert "failed" not in outcomes
    result.stdout.fnmatch_lines(
        [
            "* baseline known.toml: 1 known",
            f"known failure  {RULE}: old key",
            "sep2672   §4.8 k",
            f"*1 known      {CHECKS} checks in *",
        ]
    )
    said = [one for one in listener.found if one["verdict"] == "known"]
    assert len(said) == FAILING
    assert all(one["evidence"] and one["why"] == "old key" for one in said)
    tree = ElementTree.parse(suite.pytester.path / "found.xml")
    assert [one.get("message") for one in tree.iter("skipped")] == [
        "known failure: old key"
    ] * FAILING
    assert list(tree.iter("failure")) == []
    kept = [p for p in tree.iter("property") if "verdict" in str(p.get("name"))]
    verdicts = [str(p.get("value")) for p in kept]
    passed = CHECKS - FAILING
    assert sorted(verdicts) == ["known"] * FAILING + ["passed"] * passed


def test_what_is_not_known_still_fails(suite, known):
    known(OTHER)
    result = suite.run(SELECT, WITH, target=BROKEN)
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] == FAILING


def test_a_stale_entry_fails_the_run(suite, known):
    known(RULE)
    result = suite.run(SELECT, WITH, "--junitxml=found.xml", target=HEALTHY)
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"]) == (CHECKS, 1)
    assert STALE in result.outlines
    tree = ElementTree.parse(suite.pytester.path / "found.xml")
    assert [one.get("message") for one in tree.iter("failure")] == [STALE]


def test_an_entry_of_a_rule_of_which_only_a_part_ran_is_left_alone(suite, known):
    known(RULE)
    for narrower in (
        ("-k", "totp"),
        ("mcp-approval/sep2672/test_4_8_verification.py::test_only_webauthn_is_a_method[totp]",),
    ):
        result = suite.run(SELECT, WITH, *narrower, target=BROKEN)
        assert result.ret == 0
        result.stdout.fnmatch_lines([f"baseline  not checked in this run, so left alone: {RULE}"])


def test_an_entry_outside_the_selection_is_not_even_mentioned(suite, known):
    known(OTHER, RULE)
    result = suite.run(SELECT, WITH, target=BROKEN)
    assert result.ret == 0
    assert OTHER not in result.stdout.str()


def test_an_expired_entry_counts_as_absent(suite, known):
    known(RULE, more="expires = 2020-02-29\n")
    result = suite.run(SELECT, WITH, target=BROKEN)
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] == FAILING
    result.stdout.fnmatch_lines(
        [
            "* baseline known.toml: 0 known, 1 expired",
            f"baseline  {RULE} expired on 2020-02-29: its failures count again",
        ]
    )


def test_x_does_not_stop_at_a_known_failure(suite, known):
    known(RULE)
    result = suite.run(SELECT, WITH, "-x", target=BROKEN)
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == CHECKS - FAILING


def last_failed(suite) -> list[str]:
    """What pytest remembers for --lf."""
    return [one.read_text() for one in suite.pytester.path.glob(".pytest_cache/**/lastfailed")]


def test_last_failed_does_not_remember_a_stale_entry(suite, known):
    known(RULE)
    assert suite.run(SELECT, WITH, target=HEALTHY, remembers=True).ret == 1
    assert last_failed(suite) == []


def test_last_failed_forgets_what_has_become_known(suite, known):
    known()
    assert suite.run(SELECT, WITH, target=BROKEN, remembers=True).ret == 1
    assert "test_only_webauthn_is_a_method" in last_failed(suite)[0]
    known(RULE)
    result = suite.run(SELECT, WITH, "--lf", target=BROKEN, remembers=True)
    assert result.ret == 0
    assert result.parseoutcomes()["known"] == FAILING
    assert "passed" not in result.parseoutcomes()
    assert "test_only_webauthn_is_a_method" not in "".join(last_failed(suite))


@pytest.mark.parametrize(("target", "code"), [(BROKEN, 0), (HEALTHY, 1)])
def test_workers_find_the_same(suite, known, target, code):
    known(RULE)
    result = suite.run(SELECT, WITH, "-n", "2", target=target)
    assert result.ret == code
    assert (STALE in result.outlines) is bool(code)
    assert result.parseoutcomes().get("known", 0) == (0 if code else FAILING)


def test_a_should_is_known_under_strict_and_stale_without(suite, known):
    rule = "sep2672/4.4.3-ttl"
    broken = "python:tests.mutants.sep2672.challenge:LivesForAnHour"
    known(rule)
    select = f"--mcp-approval-select={rule}"
    strict = suite.run(select, WITH, "--mcp-approval-strict", target=broken)
    assert strict.ret == 0
    assert strict.parseoutcomes()["known"] > 0
    lax = suite.run(select, WITH, target=broken)
    assert lax.ret == 1
    line = f"baseline: {rule} no longer fails (it only warns): remove it from known.toml"
    assert line in lax.outlines


def test_a_baseline_is_written_edited_and_used(suite):
    first = suite.run(SELECT, "--mcp-approval-write-baseline=known.toml", target=BROKEN)
    assert first.ret == 1
    first.stdout.fnmatch_lines(["baseline  known.toml written: say in each comment why *"])
    text = (suite.pytester.path / "known.toml").read_text(encoding="utf-8")
    assert f'rule = "{RULE}"' in text
    assert 'comment = "expected -32001 unsupported_method, tool not run, got a result' in text
    again = suite.run(SELECT, WITH, target=BROKEN)
    assert again.ret == 0


def test_a_baseline_that_is_read_can_be_renewed(suite, known):
    known(RULE)
    renew = "--mcp-approval-write-baseline=known.toml"
    assert suite.run(SELECT, WITH, renew, target=BROKEN).ret == 0
    assert "old key" in (suite.pytester.path / "known.toml").read_text(encoding="utf-8")
    # Its stale entries are taken out by the run that finds them.
    result = suite.run(SELECT, WITH, renew, target=HEALTHY)
    assert result.ret == 0
    assert "[[known]]" not in (suite.pytester.path / "known.toml").read_text(encoding="utf-8")


def test_a_file_with_somebodys_comments_is_not_overwritten(suite, known):
    known(RULE)
    result = suite.run(SELECT, "--mcp-approval-write-baseline=known.toml", target=BROKEN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*write-baseline: 'known.toml' is there already: name another*"])
    result = suite.run(SELECT, "--mcp-approval-write-baseline=none/known.toml", target=BROKEN)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*write-baseline: there is no folder 'none'*"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[known]]\nrule = "sep2672/x"\ncomment = "y"', "*known.toml: entry 1: rule: got*"),
        (f'[[known]]\nrule = "{RULE}"', "*known.toml: entry 1: comment: got none, expected*"),
        ("[[", "*known.toml: no TOML: *"),
        (None, "*known.toml: cannot be read: no such file or directory*"),
    ],
)
def test_a_bad_file_is_told_before_anything_runs(suite, text, message):
    if text is not None:
        (suite.pytester.path / "known.toml").write_text(text)
    result = suite.run(SELECT, WITH, target="http://127.0.0.1:9/mcp")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: --mcp-approval-baseline: {message}"])
    assert "Traceback" not in result.stderr.str()


def test_the_page_shows_a_known_failure_with_its_comment_and_its_evidence(suite, known):
    known(RULE)
    suite.run(SELECT, WITH, "--mcp-approval-report=found.html", target=BROKEN)
    page = (suite.pytester.path / "found.html").read_text(encoding="utf-8")
    for told in ("known", "old key", "-32001 unsupported_method"):
        assert told in page
    assert "1 passed" not in page
