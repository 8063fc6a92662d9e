"""A server that one check poisons: that check fails, and the others are judged or say why not."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.reference_server.server.serving import ServedApplication
from tests.inner_runs import ROOT, Verdicts
from tests.mutants.sep2672 import poison as sep2672_poison
from tests.warm_python import warm_python

MALFORMED = "mcp-approval/sep2672/test_4_4_2_malformed.py::test_a_hint_is_malformed"
CULPRIT = f"{MALFORMED}[response.transports-number]"
AFTER = f"{MALFORMED}[response.transports-repeated]"
HONEST = "mcp-approval/sep2672/test_8_properties.py::test_arguments_rewritten_on_the_way_get_no_run"
OPTIONS = (
    *("--mcp-approval-browser=none", "--mcp-approval-findings=none", "-q"),
    *("--mcp-approval-origin=http://localhost", "--mcp-approval-effects=tool:list_effects"),
)

TOOL = '--mcp-approval-tool=place_trade={"symbol": "ACME", "quantity": 1, "side": "buy"}'
OFFERS, EXCLUDES = "PoisonedWhenItOffersCredentials", "PoisonedWhenItExcludesCredentials"


@pytest.fixture
def serve() -> Iterator[Any]:
    """Serves a poisonable server over HTTP, as somebody else would run it."""
    served = []

    def start(name: str) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        app = getattr(sep2672_poison, name)().asgi_app()
        served.append(ServedApplication(app, listener, log_level="error"))
        return f"http://localhost:{served[-1].port}/mcp"

    yield start
    for one in served:
        one.stop()


def verdicts_of(suite, *arguments: str, target: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    listener = Verdicts()
    result = suite.run(*OPTIONS, *arguments, target=target, plugins=[listener])
    return result, {one["scenario"]: one for one in listener.found}


def test_in_this_process_the_culprit_fails_and_the_others_are_judged(suite):
    result, found = verdicts_of(
        suite, CULPRIT, AFTER, HONEST, target=f"python:tests.mutants.sep2672.poison:{OFFERS}"
    )
    culprit = found[CULPRIT]
    assert culprit["verdict"] == Verdict.FAILED
    assert "response.transports 7" in culprit["evidence"]["sent"]
    assert "and honest people served as before" in culprit["evidence"]["expected"]
    assert "after this, honest calls fail: approval/challenge/create" in culprit["evidence"]["got"]
    assert {found[AFTER]["verdict"], found[HONEST]["verdict"]} == {Verdict.PASSED}
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"mcp-approval  after {CULPRIT.replace('[', '[[]')} honest *"])


@pytest.mark.parametrize(
    ("family", "rule"),
    [
        ("confirmation_tokens", "6.3-one-answer-for-unknown"),
        ("prepare_confirm", "missing-token"),
    ],
)
def test_other_families_are_looked_after_alike(suite, family, rule):
    """Also under a rule that is a SHOULD: a server that fails for all is broken."""
    _, found = verdicts_of(
        suite,
        f"--mcp-approval-select={family}/{rule}",
        target=f"python:tests.plugin.poisoned_servers:{family}",
    )
    failed = [one for one in found.values() if one["verdict"] == Verdict.FAILED]
    assert any("after this, honest calls fail: " in one["evidence"]["got"] for one in failed)
    assert all("the server was restarted" in one["evidence"]["got"] for one in failed), failed
    assert Verdict.PASSED in {one["verdict"] for one in found.values()}


def test_a_server_that_is_launched_is_restarted(suite, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    command = f"{shlex.join(warm_python())} -m tests.plugin.poisonable {{port}} {OFFERS}"
    result, found = verdicts_of(
        suite,
        f"--mcp-approval-launch={command}",
        *("--mcp-approval-clock=none", TOOL),
        *(CULPRIT, AFTER, HONEST),
        target="http://localhost:{port}/mcp",
    )
    assert found[CULPRIT]["verdict"] == Verdict.FAILED
    assert "the server was restarted to go on" in found[CULPRIT]["evidence"]["got"]
    assert {found[AFTER]["verdict"], found[HONEST]["verdict"]} == {Verdict.PASSED}
    assert result.ret == 1


def test_a_server_of_somebody_else_stays_poisoned_and_the_rest_names_the_culprit(suite, serve):
    result, found = verdicts_of(suite, TOOL, CULPRIT, AFTER, HONEST, target=serve(EXCLUDES))
    assert next(iter(found)) == HONEST, "what may poison comes last"
    assert found[HONEST]["verdict"] == Verdict.PASSED
    assert found[CULPRIT]["verdict"] == Verdict.FAILED
    assert "could not be restarted" in found[CULPRIT]["evidence"]["got"]
    assert found[AFTER]["verdict"] == Verdict.NOT_VERIFIED
    assert f"honest calls fail since {CULPRIT} (" in found[AFTER]["why"]
    result.stdout.fnmatch_lines(["*Fix this first, or let the suite restart the server: *launch*"])


def test_workers_that_share_a_server_accuse_one_check_once(suite, serve):
    ids = [CULPRIT, AFTER, f"{MALFORMED}[response.transports-true]", HONEST]
    result = suite.run(*OPTIONS, TOOL, *ids, "-n", "2", "-rA", target=serve(EXCLUDES))
    text = result.stdout.str()
    assert text.count("\nFAILED ") == 1, text


def test_nobody_is_accused_where_no_honest_approval_was_seen_before(suite, serve):
    """No tool may run here, so there is nothing to compare with."""
    result, found = verdicts_of(suite, CULPRIT, target=serve(OFFERS))
    assert found[CULPRIT]["verdict"] == Verdict.PASSED
    assert "honest calls fail" not in result.stdout.str()
