"""Servers that ask by elicitation, on three SDKs, checked as a user would: pytest in their folders.

The healthy ones keep every rule, in both eras. In the stock ones the suite finds what the SDKs'
helpers leave open: docs/elicitation.md has it in a table, and here the table is kept true.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.clock.faketime import find_library
from tests.examples.elicitation_servers import (
    FASTMCP,
    HANDSHAKE,
    HEALTHY,
    NODE_STDIO,
    PYTHON,
    STOCK,
    TYPESCRIPT,
    Judge,
    Reached,
    judge_in,
    stdio,
)
from tests.inner_runs import WHOLE

FAMILY = "elicitation"
RULES = {rule.name for rule in catalogue(FAMILY) if rule.party == "server"}
# These start servers by the dozen: `make matrix` runs them too.
SLOW = {"single-use-restart", "replicas", "state-lifetime"}
BRIEFLY = {"asks-first", "accept-runs-once", "decline", "accept-without-yes", "question-tells"}
# Without libfaketime nobody can move the clock of another process.
TIMED = {"state-lifetime"} if find_library() is None else set()
MOVED = "needs a clock that can be moved"


@pytest.fixture
def judge(pytester: pytest.Pytester, tmp_path: Path) -> Judge:
    return judge_in(pytester, tmp_path)


def select(rules: set[str]) -> list[str]:
    return [f"--mcp-approval-select={FAMILY}/{rule}" for rule in sorted(rules)]


def named(rules: set[str]) -> set[str]:
    return {f"{FAMILY}/{rule}" for rule in rules}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_server_keeps_every_rule(judge: Judge, name: str):
    reached = HEALTHY[name]
    wanted = RULES if WHOLE else BRIEFLY if reached.briefly else RULES - SLOW
    judged = judge(reached, *select(wanted))
    assert judged.code == 0, judged.text
    for verdict in ("failed", "warning", "harness error", "known"):
        assert judged.rules(verdict) == set(), judged.text
    assert judged.rules("not verified") <= named(TIMED), judged.text
    assert TIMED or MOVED not in judged.text, "a check that needs the clock is left out"
    if wanted is BRIEFLY:
        assert judged.rules("passed") >= named(BRIEFLY), judged.text
    else:
        # None of them has a page; the sessionless era asks in no open call, the other has no state.
        least = 28 if "sessionless" in name else 24
        assert len(judged.rules("passed")) >= least, judged.text


OPEN = {
    "Python, sessionless": {"single-use", "single-use-race"},
    "FastMCP 1": {"no-capability", "mode-not-declared"},
    "TypeScript, sessionless": {
        "first-shot",
        "no-capability",
        "single-use",
        "single-use-race",
        "state-arguments",
        "state-tool",
    },
}
KEPT = {
    "Python, sessionless": {"first-shot", "no-capability", "state-arguments", "state-tool"},
    "FastMCP 1": {"asks-first", "decline", "client-error"},
    "TypeScript, sessionless": {"asks-first", "mode-not-declared"},
}
WARNED = {
    "Python, sessionless": {"accept-without-yes", "question-tells"},
    "FastMCP 1": {"accept-without-yes", "question-tells"},
    "TypeScript, sessionless": {"question-tells"},
}


@pytest.mark.parametrize("name", STOCK)
def test_what_the_helpers_leave_open_is_found(judge: Judge, name: str):
    rules = OPEN[name] | KEPT[name] | WARNED[name]
    judged = judge(STOCK[name], *select(rules))
    assert TIMED or MOVED not in judged.text, "a check that needs the clock is left out"
    assert judged.code == 1, judged.text
    assert judged.rules("harness error") == set(), judged.text
    # A scenario of two rules counts for both.
    assert judged.rules("failed") & named(rules) == named(OPEN[name]), judged.text
    assert judged.rules("warning") >= named(WARNED[name]), judged.text
    assert judged.rules("passed") >= named(KEPT[name]), judged.text


GIVES_UP = {
    "Python": Reached(PYTHON, (stdio("python server.py --patience 1"), HANDSHAKE)),
    "FastMCP 1": Reached(FASTMCP, (stdio("python server.py --patience 1"),)),
    "TypeScript": Reached(TYPESCRIPT, (f"{NODE_STDIO} --patience 1", HANDSHAKE)),
}
PATIENCE = [
    "--mcp-approval-set=elicitation.patience=1",
    "--mcp-approval-clock=wait:10",
    "-kgives_up",
    "--mcp-approval-select=elicitation/client-silent",
]


@pytest.mark.parametrize("name", GIVES_UP)
def test_a_healthy_server_gives_up(judge: Judge, name: str):
    judged = judge(GIVES_UP[name], *PATIENCE)
    assert judged.code == 0, judged.text
    assert judged.rules("passed") == {"elicitation/client-silent"}, judged.text


@pytest.mark.parametrize(
    "reached",
    [
        Reached(PYTHON, (stdio("python stock.py"), HANDSHAKE)),
        Reached(FASTMCP, (stdio("python stock.py"),)),
    ],
    ids=["Python", "FastMCP 1"],
)
@pytest.mark.skipif(not WHOLE, reason="takes half a minute of waiting: make matrix")
def test_the_helpers_wait_for_ever(judge: Judge, reached: Reached):
    judged = judge(reached, *PATIENCE, "--mcp-approval-timeout=3")
    assert judged.rules("failed") == {"elicitation/client-silent"}, judged.text


BROKEN = {
    "FastMCP 1, no look at the capability": (
        HEALTHY["FastMCP 1"],
        "if declared is None or (declared.form is None and declared.url is not None):",
        "if False:",
        "no-capability",
    ),
    "Python, no look at what was answered": (
        HEALTHY["Python, sessionless"],
        "if state is not None and not self._is_first(state):",
        "if False:",
        "single-use",
    ),
    "TypeScript, no look at the call": (
        HEALTHY["TypeScript, sessionless"],
        "if (state.bound !== bound) return",
        "if (false) return",
        "state-arguments",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_line_that_is_left_out_is_missed(judge: Judge, name: str):
    """Each of the lines to copy does something that the suite sees."""
    reached, line, instead, rule = BROKEN[name]

    def leave_out(folder: Path) -> None:
        path = folder / ("approval.js" if reached.example == TYPESCRIPT else "approval.py")
        text = path.read_text(encoding="utf-8")
        assert text.count(line) == 1, "the example has changed: leave out another line"
        path.write_text(text.replace(line, instead), encoding="utf-8")

    judged = judge(reached, *select({rule}), "-x", prepare=leave_out)
    assert judged.code == 1, judged.text
    assert f"{FAMILY}/{rule}" in judged.rules("failed"), judged.text
