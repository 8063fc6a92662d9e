"""Servers that answer, but not what was asked, or not in any way that can be read."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

from tests.hostile_servers.visits import MANY, TOUR, HostileServers
from tests.wire.hostile import HostileServer, http

TARGET_LOST = 11
PREFLIGHT_FAILED = 10
CHALLENGE = "approval/challenge/create"

UNREADABLE = [
    ("stdio", "wrong id", "an answer under another id"),
    ("http", "wrong id", "an answer under another id"),
    ("stdio", "not UTF-8", "no JSON-RPC: not UTF-8"),
    ("http", "not UTF-8", "no JSON-RPC: not UTF-8"),
    ("stdio", "html", "no JSON-RPC: HTML"),
    ("http", "html", "no JSON-RPC: HTML"),
    ("http", "deep", "no JSON-RPC: JSON with excessive nesting or numbers"),
    ("http", "redirect", "HTTP 307 without JSON-RPC: redirected to http://127.0.0.1:"),
    ("stdio", "gigabyte", "too large: more than 8388608 bytes in one line"),
    ("http", "gigabyte", "too large: more than 8388608 bytes, at most 8388608 are read"),
]


@pytest.mark.parametrize(("kind", "habit", "words"), UNREADABLE)
def test_what_cannot_be_read_is_no_verdict(
    hostile: HostileServers, kind: str, habit: str, words: str
) -> None:
    # On standard output the answer may still come after other text, so the suite waits for it.
    waits = kind == "stdio" and habit in ("not UTF-8", "html")
    timeout = 5 if waits else 20
    visit = hostile.visit(kind, timeout=timeout, in_checks=True, times=1, do=habit, at="challenge")
    visit.expect_told()
    assert visit.shape == "..n..."
    assert visit.of("not verified")[0]["why"].startswith(f"{CHALLENGE}: {words}")
    assert f"the target broke off during the run: {CHALLENGE}: {words}" in visit.last_word
    assert visit.exit_code == TARGET_LOST


@pytest.mark.parametrize(
    ("kind", "habit"),
    [
        ("stdio", "chatter"),
        ("http", "chatter"),
        ("stdio", "odd requests"),
        ("http", "odd requests"),
        ("stdio", "twice"),
        ("http", "twice"),
        ("http", "wrong type"),
    ],
)
def test_what_can_be_read_is_judged(hostile: HostileServers, kind: str, habit: str) -> None:
    """Thousands of notifications first, requests of its own under ids such as 1e999 or null, a
    second answer, another type: the answer is there."""
    visit = hostile.visit(kind, at="challenge", do=habit)
    visit.expect_told()
    assert visit.shape == "......"
    assert visit.exit_code == 0


def test_a_session_that_is_ended_is_opened_again(hostile: HostileServers) -> None:
    """404 for a session id, as in the specification: what was under way is not judged."""
    visit = hostile.visit(
        "http",
        options=["--mcp-approval-protocol=2025-11-25"],
        in_checks=True,
        times=1,
        at="challenge",
        do="end the session",
    )
    visit.expect_told()
    assert visit.shape == "..n..."
    assert visit.last_word.endswith(f"{CHALLENGE}: the server ended the session (HTTP 404)")
    assert visit.exit_code == TARGET_LOST


def test_a_redirect_from_the_start_is_told(hostile: HostileServers) -> None:
    visit = hostile.visit("http", do="redirect")
    visit.expect_told()
    assert visit.exit_code == PREFLIGHT_FAILED
    assert "redirected to http://127.0.0.1:" in visit.text


def test_a_success_without_the_deed_is_no_success(hostile: HostileServers) -> None:
    """The answer says that the tool ran, the effects say that it did not."""
    lie: dict[str, Any] = {"at": "tools/call", "tool": "place_trade", "do": "lie"}
    visit = hostile.visit("http", MANY, in_checks=True, **lie)
    visit.expect_told()
    assert set(visit.shape) == {"n"}
    assert "the honest call failed, so nothing follows: a result, tool not run" in visit.text


def test_a_success_without_the_deed_from_the_start_is_told(hostile: HostileServers) -> None:
    """The effects probe may be the wrong one, or the arguments may work once: nobody is blamed."""
    visit = hostile.visit("http", first=2, at="tools/call", tool="place_trade", do="lie")
    visit.expect_told()
    assert visit.exit_code == PREFLIGHT_FAILED
    assert "the first time it ran, the second time: " in visit.text


@pytest.mark.parametrize(
    ("habit", "words"),
    [
        ("endless pages", "the tools cannot be listed: tools/list: no end after 101 pages"),
        (
            "deep",
            "the tools cannot be listed: tools/list: no JSON-RPC: JSON with excessive nesting",
        ),
        ("many tools", "got 'place_trade', which the server does not list"),  # of sixty thousand
    ],
)
def test_a_list_of_tools_beyond_measure(hostile: HostileServers, habit: str, words: str) -> None:
    visit = hostile.visit("http", do=habit, at="tools/list")
    visit.expect_told()
    assert words in visit.text
    assert visit.exit_code == PREFLIGHT_FAILED


@pytest.mark.parametrize("kind", ["stdio", "http"])
@pytest.mark.parametrize("habit", ["ugly", "ugly error"])
def test_nothing_that_a_server_says_is_obeyed(
    hostile: HostileServers, kind: str, habit: str
) -> None:
    """Escape sequences, right-to-left marks and control characters in every text there is."""
    plan: dict[str, Any] = {"at": "challenge", "first": 2} if habit == "ugly error" else {}
    visit = hostile.visit(kind, options=["-vv", "-rA"], do=habit, **plan)
    visit.expect_told()
    if habit == "ugly":
        assert visit.shape == "......"
    else:
        assert "\\u001b[31mred\\u001b[0m\\u001b]0;title\\u0007\\u202e" in visit.text


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("401", "give it with --mcp-approval-header='Authorization: Bearer ...'"),
        ("403", "give it with --mcp-approval-header='Authorization: Bearer ...'"),
        ("429", "slow down: it limits how often it is asked (Retry-After: 7)"),
    ],
)
def test_a_status_says_what_to_do(hostile: HostileServers, status: str, words: str) -> None:
    visit = hostile.visit("http", in_checks=True, times=1, do=status, at="challenge")
    visit.expect_told()
    assert visit.shape == "..n..."
    why = visit.of("not verified")[0]["why"]
    assert why.startswith(f"{CHALLENGE}: HTTP {status} without JSON-RPC; ")
    assert words in why
    assert words in visit.last_word
    assert visit.exit_code == TARGET_LOST


def test_one_that_is_asked_too_often_breaks_no_rule(hostile: HostileServers) -> None:
    """It answers "not now" where a refusal is due, and is well before and after."""
    plan: dict[str, Any] = {"at": "tools/call", "tool": "place_trade", "first": 2, "times": 1}
    visit = hostile.visit("http", TOUR[-1], in_checks=True, **plan, do="429")
    visit.expect_told()
    assert visit.shape == "n"
    assert "slow down" in visit.of("not verified")[0]["why"]


@pytest.mark.parametrize("kind", ["stdio", "http"])
def test_effects_that_become_unreadable(hostile: HostileServers, kind: str) -> None:
    """Deep JSON where a list of effects was: the checks are not verified, and the run goes on."""
    looks: list[int] = []

    def behave(connection: socket.socket, _: bytes) -> None:
        looks.append(1)
        # After the looks that test it, it shows a run each time: approvals succeed.
        shown = json.dumps([1] * max(0, len(looks) - 3)).encode()
        connection.sendall(http(shown if len(looks) < 12 else b"[" * 100_000))

    with HostileServer(behave) as server:
        option = f"--mcp-approval-effects={server.url}"
        visit = hostile.visit(kind, effects=False, options=[option])
    visit.expect_told()
    assert len(looks) > 12
    assert "JSON with excessive nesting or numbers" in visit.text
    assert set(visit.shape) <= {".", "n"}
