"""Things that are gone after the first confirmation: put back, or reported as missing."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.inner_runs import Verdicts, plugin_options

MODULE = "tests.families.prepare_confirm.small_desk"
WITHOUT = """
effects = "tool:list_done"
tool.prepare_delete_orders = { ids = ["o-1", "o-2"] }
"""
RESTORED = (
    WITHOUT
    + """
[prepare_confirm.pairs.delete_orders]
restore = { tool = "create_orders", arguments = { ids = ["o-1", "o-2"] } }
"""
)


def judge(
    pytester: pytest.Pytester, factory: str, table: str, *options: str
) -> list[dict[str, Any]]:
    (pytester.path / "mcp-approval.toml").write_text(table, encoding="utf-8")
    listener = Verdicts()
    pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        f"--mcp-approval-target=python:{MODULE}:{factory}",
        "--mcp-approval-family=prepare_confirm",
        "--mcp-approval-findings=none",
        *options,
        plugins=[listener],
    )
    return listener.found


def failed(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(one["scenario"], one["why"]) for one in found if one["verdict"] == Verdict.FAILED}


def test_without_restore_nothing_is_held_against_the_server(pytester: pytest.Pytester):
    found = judge(pytester, "deletes", WITHOUT)
    assert failed(found) == set()
    unverified = [one["why"] for one in found if one["verdict"] == Verdict.NOT_VERIFIED]
    named = [why for why in unverified if "needs restore in [prepare_confirm] pairs" in why]
    assert len(named) > 15


def test_with_restore_the_same_server_is_judged(pytester: pytest.Pytester):
    found = judge(pytester, "deletes", RESTORED)
    assert failed(found) == set()
    assert not [one for one in found if "needs restore" in one["why"]]
    passed = {rule for one in found if one["verdict"] == Verdict.PASSED for rule in one["rules"]}
    assert {f"prepare_confirm/{one}" for one in ("one-time", "concurrent", "signature")} <= passed


@pytest.mark.parametrize(("factory", "table"), [("burns", RESTORED), ("keeps_and_burns", WITHOUT)])
def test_a_fault_is_still_told(pytester: pytest.Pytester, factory: str, table: str):
    """If the same could be done on a fresh preview, nothing was missing."""
    found = judge(pytester, factory, table, "--mcp-approval-select=prepare_confirm/signature")
    said = [one["why"] for one in found if one["verdict"] == Verdict.WARNING]
    assert any("after forgeries of it were refused" in why for why in said)


def test_the_twin_without_the_fault_passes(pytester: pytest.Pytester):
    found = judge(pytester, "keeps", WITHOUT, "--mcp-approval-select=prepare_confirm/signature")
    assert {one["verdict"] for one in found} & {Verdict.FAILED, Verdict.WARNING} == set()


def test_a_server_that_starts_with_nothing_is_judged_on_its_keys(pytester: pytest.Pytester):
    """Each of two servers gets its things before one shows them."""
    found = judge(pytester, "empty", RESTORED, "--mcp-approval-select=prepare_confirm/secret-key")
    said = {one["scenario"].rpartition("::")[2]: (one["verdict"], one["why"]) for one in found}
    assert said["test_the_key_is_random_by_default"][0] == Verdict.PASSED, said
