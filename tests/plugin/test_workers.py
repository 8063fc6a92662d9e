"""The same verdicts with any number of workers: whole runs with and without xdist, compared.

The controller looks at the target before the first verdict, and its workers judge: what it found
must reach them, or they judge families, pages and clocks that the target does not have.
"""

from __future__ import annotations

import json
import shlex
from types import SimpleNamespace

import pytest

from pytest_mcp_approval.families.base.preflight import Preflight
from pytest_mcp_approval.session.worker_input import WORKER_INPUT, for_workers, of_worker
from pytest_mcp_approval.wire import Patience
from tests.warm_python import warm_python

SERVERS = """
    import datetime, os, sys, tempfile
    from pytest_mcp_approval.reference_server.assembly import build

    class FileSystemClock:
        '''Out of the reach of freezegun and libfaketime alike.'''
        def now(self):
            with tempfile.NamedTemporaryFile() as made:
                seconds = os.stat(made.name).st_mtime
            return datetime.datetime.fromtimestamp(seconds, datetime.UTC)

    def stuck():
        return build(clock=FileSystemClock()).asgi_app()

    def plain():
        return build().asgi_app()

    if __name__ == "__main__":
        build().run_stdio()
"""
OWN = (
    "--mcp-approval-origin=http://localhost",
    "--mcp-approval-tool=wipe_cache={}",
    "--mcp-approval-effects=tool:list_effects",
)
# Some rules, one that needs time to pass, and families and a page that the target does not have.
SOME = tuple(
    f"--mcp-approval-select={one}"
    for one in ("sep2672/4.8-0[136]-*", "sep2672/4.9-client-*", "*/*one-time*")
)
TARGETS = {
    "one family and no page, in this process": ("python:own_servers:plain", *OWN, *SOME),
    "a clock that cannot be moved": ("python:own_servers:stuck", *OWN, *SOME),
    "a command": ("stdio:{python} own_servers.py", *OWN, *SOME),
    "every family, and a page that is left alone": (
        *("reference", "--mcp-approval-browser=none"),
        *(f"--mcp-approval-select={one}" for one in ("sep2672/4.4.3-c*", "*/*one-time*")),
        "--mcp-approval-select=*/expir*",
    ),
}


def judged(suite, target: str, *options: str) -> dict[str, dict[str, str]]:
    """By rule and by scenario, as the JSON report has it."""
    report = suite.pytester.path / "found.json"
    report.unlink(missing_ok=True)
    few = ("-p", "tests.fewer_cases", "--mcp-approval-report=found.json")
    result = suite.run(*few, *options, target=target)
    assert report.is_file(), result.stdout.str() + result.stderr.str()
    found = json.loads(report.read_text(encoding="utf-8"))
    return {
        "rules": {one["id"]: one["verdict"] for one in found["rules"]},
        "scenarios": {one["id"]: one["verdict"] for one in found["scenarios"]},
    }


@pytest.mark.parametrize("name", TARGETS)
def test_workers_judge_as_one_process_does(suite, name):
    suite.pytester.makepyfile(own_servers=SERVERS)
    target, *options = TARGETS[name]
    target = target.format(python=shlex.join(warm_python()))
    alone = judged(suite, target, *options, "-n0")
    assert judged(suite, target, *options, "-n2") == alone
    assert "failed" not in alone["rules"].values()
    assert "passed" in alone["rules"].values()


SCENARIO = "mcp-approval/sep2672/test_4_8_verification.py::test_only_webauthn_is_a_method"


def test_ids_on_the_command_line_reach_workers(suite):
    assert set(judged(suite, "reference", SCENARIO, "-n2")["scenarios"]) == set(
        judged(suite, "reference", SCENARIO, "-n0")["scenarios"]
    )


def test_a_replay_reaches_workers(suite):
    broken = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
    suite.run("--mcp-approval-select=sep2672/4.8-03-method", target=broken)
    finding = next((suite.pytester.path / ".mcp-approval" / "findings").glob("*.json"))
    result = suite.run(f"--mcp-approval-replay={finding}", "-n2", target=broken)
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["replay *still*"])


def test_what_was_found_travels_whole():
    found = Preflight(offered=["sep2672"], with_page=True, clock_stuck="why")
    patience = Patience(1)
    patience.answered, patience.samples = {"tools/list"}, {"tools/list": b"{\xff}"}
    config, heard = SimpleNamespace(workerinput={}), Patience(1)
    assert of_worker(config, heard) is None
    config.workerinput[WORKER_INPUT] = for_workers(found, patience)
    assert of_worker(config, heard) == found
    assert (heard.answered, heard.samples) == (patience.answered, patience.samples)
