"""A server of another shape is checked with nothing but its table."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.inner_runs import Verdicts, plugin_options

TABLE = Path(__file__).with_name("other_shape.toml").read_text(encoding="utf-8")
MODULE = "tests.families.confirmation_tokens.other_shape"


def judge(pytester: pytest.Pytester, factory: str, *options: str, table: str = TABLE):
    """What the suite says about the server, and how the run ended."""
    (pytester.path / "mcp-approval.toml").write_text(table, encoding="utf-8")
    listener = Verdicts()
    result = pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        f"--mcp-approval-target=python:{MODULE}:{factory}",
        "--mcp-approval-family=confirmation_tokens",
        *options,
        plugins=[listener],
    )
    return result, listener.found


OWN_SHAPE = {
    "test_the_answer_is_written_as_in_the_document": "not written as section 3.3 shows it: code at "
    "kind, not error.code, token at ticket",
    "test_the_refusal_tells_both_instants": "not written as section 4.2 shows it: expired_at at "
    "valid_until",
    "test_each_failed_check_has_its_own_code": "codes of its own, where section 4.1 names them: "
    "TOKEN_INVALID is no_such_ticket",
}
"""Where it differs from the document: reported once each, as a warning."""
PARTS = {
    "tokens": (
        ("1*", "2*", "3*"),
        "1.3-flow 2.1-prefix 2.2-syntax 2.2-case-sensitive 3.1-entropy 3.2-bound-operation "
        "3.2-bound-parameters 3.3-required-response",
    ),
    "validation": (
        ("4*", "5.1*", "5.2*", "5.3*", "5.4*"),
        "4.1-exists 4.1-not-expired 4.1-not-consumed 4.1-every-check 4.1-codes 4.2-refusal "
        "6.1-replay 5.1-default-ttl 5.1-maximum-ttl 5.1-skew-window 5.2-single-use "
        "5.2-consumed-before-execution",
    ),
    "storage and security": (
        ("5.5*", "6*", "7*"),
        "4.1-not-consumed 5.5-capacity 5.5-purge 6.1-replay 6.2-tamper 6.3-no-internals "
        "6.3-no-parameter-values "
        "6.3-one-answer-for-unknown 6.4-audit 6.5-rate-limit 7.2-server-side-state",
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_it_is_judged_by_configuration_alone(pytester: pytest.Pytester, part: str):
    patterns, verified = PARTS[part]
    options = [f"--mcp-approval-select=confirmation_tokens/{pattern}" for pattern in patterns]
    result, found = judge(pytester, "make", *options)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*confirmed*drop_table (destructive)*"])
    result.stdout.fnmatch_lines(["*clock*freezegun, moves*"])
    bad = {
        one["scenario"].rpartition("::")[2]: (one["verdict"], one["why"])
        for one in found
        if one["verdict"] in (Verdict.FAILED, Verdict.WARNING, Verdict.HARNESS_ERROR)
    }
    assert set(bad) <= set(OWN_SHAPE)
    for name, (verdict, why) in bad.items():
        assert verdict == Verdict.WARNING
        assert OWN_SHAPE[name] in why
    # What it does not offer (introspection, quota, a store to look at, ...) is not verified.
    assert {
        rule.partition("/")[2]
        for one in found
        if one["verdict"] == Verdict.PASSED
        for rule in one["rules"]
    } == set(verified.split())


def test_what_a_server_need_not_have_leaves_no_rule_unverified(pytester: pytest.Pytester):
    """One operation of one level, nothing configurable: the rules pass by their other checks."""
    lines = [
        line
        for line in TABLE.splitlines()
        if not line.startswith("  { name") or "drop_table" in line
    ]
    table = "\n".join(lines)
    assert table.count("{ name") == 1
    rules = (
        *("1.3-flow", "2.1-prefix", "3.2-bound-parameters", "3.3-required-response"),
        *("4.1-every-check", "5.1-default-ttl", "5.1-maximum-ttl", "5.2-consumed*"),
        *("6.1-replay", "6.2-tamper", "6.3-no-parameter-values", "6.4-audit"),
    )
    options = [f"--mcp-approval-select=confirmation_tokens/{rule}" for rule in rules]
    _, found = judge(pytester, "make", *options, table=table)
    unverified = {
        one["scenario"]: one["why"] for one in found if one["verdict"] == Verdict.NOT_VERIFIED
    }
    assert unverified == {}
    passed = {rule for one in found if one["verdict"] == Verdict.PASSED for rule in one["rules"]}
    told = {rule.partition("/")[2] for rule in passed}
    assert all(any(fnmatch.fnmatch(one, rule) for one in told) for rule in rules)
    why = {one["why"] for one in found if one["verdict"] == Verdict.NOT_APPLICABLE}
    assert "only one gated operation is named ([confirmation_tokens] operations)" in why


ONE_CODE = (
    "[confirmation_tokens.codes]",
    *(f'TOKEN_{one} = "refused"' for one in ("INVALID", "EXPIRED", "ALREADY_USED")),
    'TOKEN_SCOPE_MISMATCH = "refused"',
    'CONFIRMATION_REQUIRED = "confirm_first"',
    'RATE_LIMITED = "slow_down"',
)


def test_one_code_for_all_refusals_is_one_finding(pytester: pytest.Pytester):
    """Declared in the table; everything else is judged by what runs."""
    head = TABLE.partition("[confirmation_tokens.codes]")[0]
    table = "\n".join([head, 'message = "sentence"', "", *ONE_CODE])
    patterns = ("2.2*", "3.2*", "4*", "6.1*", "6.2*")
    options = [f"--mcp-approval-select=confirmation_tokens/{one}" for one in patterns]
    result, found = judge(pytester, "make_with_one_code", *options, table=table)
    assert result.ret == 1
    failed = {one["scenario"]: one["why"] for one in found if one["verdict"] == Verdict.FAILED}
    assert [name.rpartition("::")[2] for name in failed] == [
        "test_each_failed_check_has_its_own_code"
    ]
    (why,) = failed.values()
    assert "this server tells them apart by message: Nobody knows this ticket" in why
    assert "say so in" not in why
    passed = {rule for one in found if one["verdict"] == Verdict.PASSED for rule in one["rules"]}
    assert "confirmation_tokens/4.1-not-consumed" in passed


def test_an_undeclared_code_is_no_run(pytester: pytest.Pytester):
    """The same server, its codes not declared: every finding says that it refused."""
    options = [f"--mcp-approval-select=confirmation_tokens/{one}" for one in ("4.1*", "3.2*")]
    _, found = judge(pytester, "make_with_one_code", *options)
    failed = [one for one in found if one["verdict"] == Verdict.FAILED]
    assert len(failed) > 5
    for one in failed:
        assert "refused, but with another code" in one["why"] or "codes: then the" in one["why"]


def test_a_race_that_shows_in_the_answers_only_breaks_a_must(pytester: pytest.Pytester):
    table = TABLE.replace('effects = "tool:list_done"\n', "")
    select = "--mcp-approval-select=confirmation_tokens/6.1-replay"
    _, found = judge(pytester, "make_that_takes_twice", select, "-k", "at_once", table=table)
    assert {one["verdict"] for one in found} == {Verdict.FAILED}
    assert "got 2 successes" in found[0]["why"]
    _, found = judge(pytester, "make", select, "-k", "at_once", table=table)
    assert {one["verdict"] for one in found} == {Verdict.PASSED}


def test_its_faults_are_found_too(pytester: pytest.Pytester):
    result, found = judge(pytester, "make_broken", "--mcp-approval-select=4.1-not-expired")
    assert result.ret == 1
    assert {one["verdict"] for one in found} >= {Verdict.FAILED}


SKEW = "clock-skew-tolerance-seconds = 0"
MISTAKES = {
    "a place without a token": (
        'token = "ticket"',
        'token = "tikcet"',
        "no token for drop_table: *at tikcet*",
    ),
    "a code that never comes": (
        '"confirm_first"',
        '"confirm_last"',
        "no token for drop_table: *got confirm_first*",
    ),
    "text for a tolerance": (SKEW, f'{SKEW[:-1]}"abc"', "*got 'abc', expected seconds from 0 to*"),
    "a negative tolerance": (SKEW, f"{SKEW[:-1]}-1", "*got -1, expected*"),
    "too high a tolerance": (SKEW, f"{SKEW[:-1]}301", "*got 301, expected*"),
    "NaN for a tolerance": (SKEW, f"{SKEW[:-1]}nan", "*got nan, expected*"),
    "no danger level": (
        "danger = 3, ",
        "",
        "operations[[]2[]]: got no 'danger', expected 0 (safe) to 4*",
    ),
    "a key that there is not": ("times = ", "tmies = ", "got 'tmies', did you mean 'times'*"),
    "a tool that there is not": (
        'operation-at = "name"',
        'tool = "desk"',
        "names tools that the server does not list: desk*",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_table_is_one_line_before_anything_is_judged(
    pytester: pytest.Pytester, mistake: str
):
    line, instead, said = MISTAKES[mistake]
    assert line in TABLE
    result, found = judge(pytester, "make", table=TABLE.replace(line, instead, 1))
    assert result.ret == 10
    assert found == []
    result.stdout.fnmatch_lines([f"mcp-approval  *[[]confirmation_tokens[]]*{said}"])


def test_without_a_table_nothing_is_done(pytester: pytest.Pytester):
    """Nothing is called on a server for which nothing is named as safe."""
    result, found = judge(pytester, "make", table="")
    assert result.ret == 10
    assert found == []
    result.stdout.fnmatch_lines(["*no operation that needs confirmation is named*"])
