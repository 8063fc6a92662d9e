"""The public strategies, as an author of a server would use them."""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from pytest_mcp_approval.explore import run_walk
from pytest_mcp_approval.explore import strategies as approvals
from pytest_mcp_approval.explore.databases import DatabaseError, open_databases
from pytest_mcp_approval.families.base.exploration import BrokenRule
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.support.json_reading import JsonError, read_json
from pytest_mcp_approval.wire.messages import to_json
from tests.explore.exploring import mutant, opened
from virtual_authenticator import Authenticator
from virtual_authenticator.faults import Fault

QUICK = settings(
    max_examples=60,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
UNSHRUNK = settings(QUICK, phases=[Phase.generate])
PARAMS = {"toolName": "place_trade", "arguments": {"symbol": "ACME", "quantity": [1, True]}}


@QUICK
@given(approvals.requests(PARAMS))
def test_a_changed_request_is_another(changed):
    body = to_json(changed.params)
    assert changed.words
    try:
        read = read_json(body)
    except JsonError:
        return  # a number or a depth that nobody need read
    assert changed.ambiguous or read != PARAMS or json.dumps(read) != json.dumps(PARAMS)


def _is_kind(kind, change):
    return change["kind"] == kind


def test_every_kind_of_change_is_drawn():
    kinds = {
        find(approvals.changes(), partial(_is_kind, kind), settings=UNSHRUNK)["kind"]
        for kind in ("drop", "double", "nest", "bytes", "body")
    }
    assert len(kinds) == 5


@QUICK
@given(approvals.tokens("conf_abcdefghijklmnop"))
def test_a_token_is_never_the_real_one(token):
    assert token != "conf_abcdefghijklmnop"


@QUICK
@given(approvals.authenticators(), approvals.faults(), approvals.json_values())
def test_devices_faults_and_values(device, fault, value):
    assert isinstance(device, Authenticator)
    assert device.profile.transports
    assert isinstance(fault, Fault)
    json.dumps(value)


@cache
def _server():
    context = opened()
    return context, context.__enter__()


@pytest.fixture(scope="module", autouse=True)
def _closed():
    yield
    if _server.cache_info().currsize:
        _server()[0].__exit__(None, None, None)
        _server.cache_clear()


def _has_words(wanted, one):
    return one.words == wanted


def test_evidence_in_a_property_test():
    """An author's property: nothing but honest evidence runs."""
    _, target = _server()
    approval = Approval(target)
    passkey = approval.enrol()
    tool = approval.tool("place_trade")
    kinds = set()

    for seed in range(6):
        challenge = approval.challenge(tool.name, tool.arguments)
        wanted = ("as it should be", "signature-bit")[seed % 2]
        found = find(
            approvals.evidence(passkey, challenge),
            partial(_has_words, wanted),
            settings=QUICK,
        )
        kinds.add(found.honest)
        assert approval.call(challenge, found.value).executed == found.honest
    assert kinds == {True, False}


def test_walks_find_a_defect_without_the_engine():
    """`walks` and `run_walk` in an author's own property test."""

    def breaks(walk):
        try:
            run_walk(target, "confirmation_tokens", walk)
        except BrokenRule as broken:
            return broken.rule == "confirmation_tokens/1.3-flow"
        except Exception:
            return False
        return False

    with opened(mutant("GatesByVerb")) as target:
        walk = find(approvals.walks("confirmation_tokens"), breaks, settings=UNSHRUNK)
    assert walk


def test_a_healthy_server_breaks_nothing():
    _, target = _server()
    with pytest.raises(NoSuchExample):
        find(
            approvals.walks("execution_tokens", longest=4),
            lambda walk: run_walk(target, "execution_tokens", walk) is None,
            settings=settings(QUICK, max_examples=10),
        )


# ---- databases


def test_a_folder_carries_finds(tmp_path: Path):
    database = open_databases(("found",), tmp_path)
    assert database is not None
    database.save(b"key", b"value")
    again = open_databases(("elsewhere", "found"), tmp_path)
    assert again is not None
    assert set(again.fetch(b"key")) == {b"value"}
    again.save(b"key", b"more")  # to the first alone
    unchanged = open_databases(("found",), tmp_path)
    assert unchanged is not None
    assert set(unchanged.fetch(b"key")) == {b"value"}
    assert open_databases((), tmp_path) is None


@pytest.mark.parametrize("named", ["github:nobody", "github:owner/repository"])
def test_a_database_that_cannot_be_used_says_why(named, tmp_path, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with pytest.raises(DatabaseError, match="explore-database"):
        open_databases((named,), tmp_path)


def test_redis_is_named_where_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(DatabaseError, match="pip install redis"):
        open_databases(("redis://localhost",), tmp_path)
