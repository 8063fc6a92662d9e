"""Over a pipe each client of the handshake era has a process of its own, which ends with it."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.support import guard
from tests.inner_runs import Verdicts, plugin_options


def test_a_client_at_a_replica_leaves_none_behind(pytester: pytest.Pytester):
    before, listener = guard.kept(), Verdicts()
    pytester.runpytest_inprocess(
        *("-p", "no:cacheprovider", *plugin_options()),
        *("--mcp-approval-target=reference:stdio+sqlite", "--mcp-approval-protocol=2025-11-25"),
        *("--mcp-approval-family=gateway_consent", "--mcp-approval-browser=none"),
        "mcp-approval/gateway_consent/test_replicas.py",
        plugins=[listener],
    )
    assert {one["verdict"] for one in listener.found} == {Verdict.PASSED}
    assert guard.kept() <= before
