"""A gateway with all tools behind one, its own codes and native dialogs needs only its table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict, catalogue
from tests.families.gateway_consent.other_makes import judge_program

HERE = Path(__file__).parent
TABLE = (HERE / "exec_gateway.toml").read_text(encoding="utf-8")
COMMAND = f"{sys.executable} {HERE / 'exec_gateway.py'}"
RULES = {rule.name for rule in catalogue("gateway_consent") if rule.party == "server"}
WAYS_IN = {
    *("two-layers", "oauth-authorize", "oauth-callback", "oauth-pkce", "oauth-token"),
    *("aai-tools-only-consented", "api-key", "app-credential", "cookie", "never-logged"),
    *("credential-shape", "credential-dialog", "key-store", "token-request", "app-token-request"),
}
"""Rules about ways to authorise, of which this gateway has none."""
PAGES = {"dialog-injection"}
UNSEEN = {"consent-key-store"}
"""It has a file, and shows no key store."""
IN_A_DIALOG = 'asks = "dialog"\nperson = '


def judge(pytester: pytest.Pytester, *options: str, table: str = TABLE, flags: str = ""):
    """What the suite says about it, and how the run ended."""
    return judge_program(pytester, COMMAND, table, *options, flags=flags)


def of_rules(found, *verdicts: Verdict) -> dict[str, list[str]]:
    told: dict[str, list[str]] = {}
    for one in found:
        if one["verdict"] in verdicts:
            for rule in one["rules"]:
                told.setdefault(rule.partition("/")[2], []).append(
                    f"{one['scenario']}: {one['why']}"
                )
    return told


SHAPES = {
    "asked after a refusal": (TABLE, ""),
    "asked while the call waits": (TABLE.replace("person = ", IN_A_DIALOG, 1), "--waits"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_it_is_judged_by_its_table_and_a_hook_for_dialogs(pytester: pytest.Pytester, shape: str):
    table, flags = SHAPES[shape]
    result, found = judge(pytester, table=table, flags=flags)
    assert of_rules(found, Verdict.FAILED, Verdict.HARNESS_ERROR) == {}
    assert result.ret == 0
    assert set(of_rules(found, Verdict.PASSED)) == RULES - WAYS_IN - PAGES - UNSEEN
    # No other server of ours asks in dialogs.
    assert "test_a_dialog_shows_what_is_asked" in str(of_rules(found, Verdict.PASSED))
    assert set(of_rules(found, Verdict.NOT_VERIFIED)) == UNSEEN
    # Its shape is reported once, by the rule about the form.
    warnings = of_rules(found, Verdict.WARNING)
    assert set(warnings) == {"consent-required"}
    told = "\n".join(warnings["consent-required"])
    if flags:
        assert "asked while the call waits; the document answers CONSENT_REQUIRED" in told
    else:
        assert "'-32010' at error.code; the document's code is CONSENT_REQUIRED" in told
        assert "application.id for appId" in told
        assert "no consentUrl" in told


FAULTS = {
    "runs-first": "consent-required",
    "bypasses-commands": "all-platforms",
    "caller-from-exec": "caller-identity",
    "keyed-by-app": "caller-isolation",
    "joins-names": "key-collision",
    "opens-the-app": "tool-isolation",
    "opens-everything": "authorize-all",
    "forgets-denials": "deny",
    "keeps-always": "remember",
    "hides-the-app-id": "dialog-fields",
    "lacks-deny": "dialog-fields",
    "plain-file": "stored-encrypted",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fault", FAULTS)
def test_its_faults_are_found_too(pytester: pytest.Pytester, shape: str, fault: str):
    table, flags = SHAPES[shape]
    result, found = judge(
        pytester,
        "-x",  # the first scenario that fails is enough
        f"--mcp-approval-select={FAULTS[fault]}",
        table=table,
        flags=f"{flags} --{fault}",
    )
    assert set(of_rules(found, Verdict.FAILED)) == {FAULTS[fault]}
    assert result.ret == 1


def test_another_form_of_storage_is_a_warning(pytester: pytest.Pytester):
    result, found = judge(pytester, "--mcp-approval-select=storage-shape", flags="--flat-export")
    assert of_rules(found, Verdict.FAILED) == {}
    assert "caller \u2192 app \u2192 record" in "\n".join(
        of_rules(found, Verdict.WARNING)["storage-shape"]
    )
    assert result.ret == 0


def test_an_empty_name_may_be_a_name(pytester: pytest.Pytester):
    _, found = judge(pytester, "--mcp-approval-select=caller-identity", flags="--empty-names")
    assert of_rules(found, Verdict.FAILED) == {}
    warned = of_rules(found, Verdict.WARNING)["caller-identity"]
    assert "with an empty name is a caller of its own" in "\n".join(warned)


ONE_TOOL = TABLE.partition('"mail:read"')[0].replace("descriptors-environment", "# ")


def test_what_it_need_not_have_does_not_apply(pytester: pytest.Pytester):
    """One app with one tool, no way to authorise: nothing of that is left to verify."""
    rules = ("all-platforms", "authorize-all", "tool-isolation", "two-layers", "api-key")
    _, found = judge(pytester, *(f"--mcp-approval-select={rule}" for rule in rules), table=ONE_TOOL)
    assert of_rules(found, Verdict.FAILED, Verdict.HARNESS_ERROR) == {}
    told = "\n".join(
        line for lines in of_rules(found, Verdict.NOT_APPLICABLE).values() for line in lines
    )
    assert "no tool of a desktop app is named; if the gateway has one: kind = 'desktop'" in told
    assert "the gateway has no second tool of mail" in told
    assert "the gateway has no tool of a second app" in told
    assert "the gateway has no apps with apiKey (auth in [gateway_consent])" in told
    missing = of_rules(found, Verdict.NOT_VERIFIED)
    assert set(missing) == {"tool-isolation"}, "lookalikes need apps of the suite's own"
    assert all("descriptors-environment" in line for line in missing["tool-isolation"])


def test_a_second_run_on_the_same_state_needs_no_reset(pytester: pytest.Pytester):
    """What has one name in every run (Unknown Client, __proto__) is not decided on for good."""
    folder = pytester.mkdir("kept")
    table = TABLE.replace("{state}", str(folder))
    for _ in range(2):
        result, found = judge(pytester, "--mcp-approval-select=caller-i*", table=table)
        assert result.ret == 0
        assert {one["verdict"] for one in found} == {Verdict.PASSED}
    assert (folder / "decisions").exists()


def test_a_question_that_is_not_understood_leads_to_the_codes(pytester: pytest.Pytester):
    table = TABLE.replace("CONSENT_REQUIRED = -32010", "")
    result, _ = judge(pytester, "--mcp-approval-select=deny", table=table)
    result.stdout.fnmatch_lines(["*if that is how it asks a person: codes.CONSENT_REQUIRED in*"])
