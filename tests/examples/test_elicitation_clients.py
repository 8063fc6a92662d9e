"""Clients on three SDKs that ask their person, checked as a user would: pytest in their folder.

They keep every rule of the eras that they speak. With an answer that nobody gave they do not.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import catalogue
from tests import fewer_cases
from tests.examples import mcp1_environment, node_packages
from tests.examples.elicitation_servers import EXAMPLES
from tests.examples.judging import Judged, copy_of, run_pytest
from tests.inner_runs import WHOLE

EXAMPLE = EXAMPLES / "elicitation-clients"
FAMILY = "elicitation"
RULES = {rule.id for rule in catalogue(FAMILY) if rule.party == "client"}
SESSIONLESS = {f"{FAMILY}/client-state-echo", f"{FAMILY}/client-new-id"}
CLIENTS = {
    "Python SDK 2": "python client.py {url}",
    "Python SDK 2 over stdio": "python client.py {stdio}",
    "Python SDK 1": "{mcp1}/python client_mcp1.py {url}",
    "TypeScript SDK 2": "node client.js {url}",
}


def check(pytester: pytest.Pytester, folder: Path, client: str, rules: set[str]) -> Judged:
    if client.startswith("{mcp1}"):
        client = client.replace("{mcp1}", str(mcp1_environment.environment()))
    if client.startswith("node"):
        packages = node_packages.node_modules(EXAMPLE)
        (folder / "node_modules").symlink_to(packages, target_is_directory=True)
    shutil.copy(fewer_cases.__file__, folder)
    words = [f"--mcp-approval-select={rule}" for rule in sorted(rules)]
    words += () if WHOLE else ("-p", "fewer_cases")
    named = f"--mcp-approval-client={client}"
    # A busy machine is slow to start things, which is not what is checked here.
    slow = "--mcp-approval-set=client.patience=30"
    commands = Path(sys.executable).parent
    return run_pytest(pytester, folder, "-q", named, slow, *words, commands=commands)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_keeps_every_rule(pytester: pytest.Pytester, tmp_path: Path, name: str):
    if "stdio" in name and not WHOLE:
        pytest.skip("make matrix: what an SDK does is the same over both")
    folder = copy_of(EXAMPLE, tmp_path)
    # Each check starts a client, which takes an SDK about a second: `make matrix` makes them all.
    handshake = name == "Python SDK 1"
    briefly = {f"{FAMILY}/client-mode"} if handshake else {f"{FAMILY}/client-new-id"}
    wanted = RULES if WHOLE else briefly
    judged = check(pytester, folder, CLIENTS[name], wanted)
    assert judged.code == 0, judged.text
    for verdict in ("failed", "warning", "harness error", "not verified"):
        assert judged.rules(verdict) == set(), judged.text
    owed = wanted - SESSIONLESS if handshake else wanted
    assert judged.rules("passed") == owed, judged.text


def test_a_client_that_answers_by_itself_is_found_out(pytester: pytest.Pytester, tmp_path: Path):
    folder = copy_of(EXAMPLE, tmp_path)
    person = folder / "person.py"
    asks = 'said = input(f"{question} [y/n/c] ").strip().lower()'
    text = person.read_text(encoding="utf-8")
    assert text.count(asks) == 1
    text = text.replace(asks, 'said = "y"').replace('input(f"{name} = ")', '"true"')
    person.write_text(text, encoding="utf-8")
    rule = f"{FAMILY}/client-asks-a-person"
    judged = check(pytester, folder, CLIENTS["Python SDK 2"], {rule})
    assert judged.rules("failed") == {rule}, judged.text
    assert "before the person was asked" in judged.text
