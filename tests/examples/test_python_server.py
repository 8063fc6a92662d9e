"""examples/python-server, judged as a user would: by pytest in that folder.

In pytest's own process by most rules, and over its other ways by those that may differ there; then
copies with one line broken, which have to be found out. `pytest --mcp-approval` there runs it all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import catalogue
from pytest_mcp_approval.catalogue.requirements import selected
from pytest_mcp_approval.clock.faketime import find_library
from tests.examples.judging import Judged, copy_of, run_pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "python-server"
RULES = [rule for rule in catalogue("sep2672") if rule.party == "server"]
IN_PROCESS = "--mcp-approval-target=python:server:factory"
Judge = Callable[..., Judged]
STDIO = "--mcp-approval-target=stdio:python server.py --stdio --database {state}/approvals.db"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_of(EXAMPLE, tmp_path)


@pytest.fixture
def judge(pytester: pytest.Pytester, folder: Path) -> Judge:
    def run(*arguments: str, select: tuple[str, ...]) -> Judged:
        # A busy machine is slow to start things, which is not what is judged here.
        words = ["-q", "--mcp-approval-timeout=60", *arguments]
        words += [f"--mcp-approval-select={one}" for one in select]
        return run_pytest(pytester, folder, *words, commands=Path(sys.executable).parent)

    return run


def owed(select: tuple[str, ...]) -> set[str]:
    return {rule.id for rule in RULES if selected(rule.id, select)}


def assert_all_pass(judged: Judged, select: tuple[str, ...], *, but: Collection[str] = ()):
    assert judged.code == 0, judged.text
    for verdict in ("failed", "warning", "harness error", "known"):
        assert judged.rules(verdict) == set(), judged.text
    assert judged.rules("not verified") == set(but), judged.text
    # A scenario of two rules may be here for the other one.
    assert judged.rules("passed") | set(but) >= owed(select), judged.text


# In parts, so that the machine's cores share them.
PARTS = {
    "listing": ("4.2*", "4.3*", "4.10*"),
    "hashes": ("4.6-n*", "4.6-s*", "8.1*", "8.3*"),
    "steps": ("4.8-03*", "4.8-0[5-8]*", "4.8-13*"),
}


@pytest.mark.parametrize("part", PARTS)
def test_in_process(judge: Judge, part: str):
    """With freezegun for a clock."""
    assert_all_pass(judge(IN_PROCESS, select=PARTS[part]), PARTS[part])


def test_the_gate_that_asks(judge: Judge):
    """In front of two other tools, in process."""
    rules = ("asks-first", "accept-without-yes", "no-capability", "state-arguments", "single-use")
    select = tuple(f"elicitation/{rule}" for rule in rules)
    judged = judge(IN_PROCESS, select=select)
    assert_all_pass(judged, select)
    assert judged.rules("passed") >= set(select), judged.text


def test_the_files_target_is_launched(judge: Judge):
    """As mcp-approval.toml says: over HTTP, with a serverId that the suite knows."""
    select = ("4.6-hash*", "4.6-server-id-unique", "4.8-06*")
    # Without libfaketime nobody can move the clock of another process.
    timed = {"sep2672/4.8-06-challenge-unexpired"} if find_library() is None else set()
    assert_all_pass(judge(select=select), select, but=timed)


def test_over_stdio(judge: Judge):
    select = ("4.3*", "4.8-03*")
    assert_all_pass(judge(STDIO, "--mcp-approval-clock=none", select=select), select)


@dataclass(frozen=True)
class Break:
    """A line of the example, what becomes of it, and the rule that finds it out."""

    file: str
    line: str
    instead: str
    rule: str


BREAKS = {
    "a constant serverId": Break(
        "approval.py",
        "        server_id=server_id,\n",
        '        server_id="mcp-default",\n',
        "sep2672/4.6-server-id-unique",
    ),
    "a serverId that changes": Break(
        "approval.py",
        "        server_id=server_id,\n",
        '        server_id=__import__("secrets").token_hex(),\n',
        "sep2672/4.6-server-id-stable",
    ),
    "annotated but not guarded": Break(
        "server.py",
        "    return server\n",
        '    return approval.gate.tools.pop("block_card") and server\n',
        "sep2672/4.3-missing-evidence",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_line_is_found_out(folder: Path, judge: Judge, name: str):
    broken = BREAKS[name]
    path = folder / broken.file
    text = path.read_text(encoding="utf-8")
    assert text.count(broken.line) == 1, "the example has changed: break another line"
    path.write_text(text.replace(broken.line, broken.instead), encoding="utf-8")
    judged = judge(IN_PROCESS, "-x", select=(broken.rule,))
    assert judged.code == 1, judged.text
    assert judged.rules("failed") == {broken.rule}
