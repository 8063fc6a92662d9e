"""examples/mcp1-server: a server on mcp 1.x, judged as a user would, by pytest in its folder.

Then copies with one line broken, which have to be found out. The server has an environment of its
own; pytest runs in ours.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.clock.faketime import find_library
from tests.examples.judging import Judged, copy_of, run_pytest
from tests.examples.mcp1_environment import EXAMPLE, environment

Judge = Callable[..., Judged]
FAMILY = "prepare_confirm"
RULES = {rule.name for rule in catalogue(FAMILY) if rule.party == "server"}
# Opaque tokens, a back end that nobody can break, things named one by one, and no look into its
# store: this cannot be judged here.
NEVER = {"token-format", "failed-execution", "confirm-appeared", "not-stored"}
# Without libfaketime nobody can move the clock of another process.
TIMED = {"cleanup"} if find_library() is None else set()
# In parts, so that the machine's cores share them: some rules start a server for each scenario.
PARTS = {
    "steps": (
        "preview",
        "preview-details",
        "confirm-executes",
        "confirm-answer",
        "pairs",
        "action-bound",
        "concurrent",
        "nonce",
    ),
    "tokens": ("signature", "missing-token", "not-logged", "cleanup"),
    "one-time": ("one-time",),
    "keys": ("secret-key",),
    "expiry": ("expired",),
    "time zones": ("expired",),
}
# The others start a server for each scenario and take a minute more: `make matrix` runs them too.
QUICK = ("steps", "tokens")
JUDGED = list(PARTS) if os.environ.get("MCP_APPROVAL_MATRIX") else QUICK
ONLY = {"expiry": "not zone and not summer", "time zones": "zone or summer"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_of(EXAMPLE, tmp_path)


@pytest.fixture
def judge(pytester: pytest.Pytester, folder: Path) -> Judge:
    """What `python` means there is the environment with mcp 1.x."""

    def run(*arguments: str) -> Judged:
        words = ("-q", "--mcp-approval-timeout=30", *arguments)
        judged = run_pytest(pytester, folder, *words, commands=environment())
        named = {rule.removeprefix(f"{FAMILY}/"): said for rule, said in judged.verdicts.items()}
        return replace(judged, verdicts=named)

    return run


def test_the_parts_are_the_whole():
    assert {rule for part in PARTS.values() for rule in part} == RULES - NEVER


@pytest.mark.parametrize("part", JUDGED)
def test_a_server_on_mcp_1_is_judged_and_passes(judge: Judge, part: str):
    wanted = set(PARTS[part])
    select = [f"--mcp-approval-select={FAMILY}/{rule}" for rule in wanted]
    judged = judge(*select, "-k", ONLY.get(part, ""))
    assert judged.code == 0, judged.text
    for verdict in ("failed", "warning", "harness error", "known"):
        # Scenarios of two rules count for both.
        assert judged.rules(verdict) & wanted == set(), judged.text
    assert judged.rules("passed") >= wanted - TIMED, judged.text


BROKEN = {
    "one-time": ('if payload["nonce"] in self.used:', "if False:"),
    "signature": (
        "if not hmac.compare_digest(self.sign(text).encode(), signature.encode()):",
        "if not signature:",
    ),
    "action-bound": ('if payload["action"] != action:', "if False:"),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_broken_copy_is_found_out(folder: Path, judge: Judge, rule: str):
    """One line of confirmation.py is changed, and only that rule fails."""
    healthy, broken = BROKEN[rule]
    source = (folder / "confirmation.py").read_text()
    assert source.count(healthy) == 1
    (folder / "confirmation.py").write_text(source.replace(healthy, broken))
    if rule == "one-time":
        # By names alone, as in many servers: otherwise the stamps would prevent a replay.
        server = (folder / "server.py").read_text()
        stamps = 'shelf.get(name, {}).get("stamp") != stamp'
        assert server.count(stamps) == 1
        (folder / "server.py").write_text(server.replace(stamps, "name not in shelf"))
    # The first scenario that fails is enough.
    judged = judge(f"--mcp-approval-select={FAMILY}/{rule}", "-k", "not restart", "-x")
    assert judged.code == 1, judged.text
    assert rule in judged.rules("failed"), judged.text
