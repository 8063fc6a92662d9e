"""Inner runs about a client, in this process."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Suite

IN_PROCESS = (
    "python:pytest_mcp_approval.reference_client.program:main {url} --authenticator={authenticator}"
)


class ClientSuite(Suite):
    def check(self, *arguments: str, client: str = IN_PROCESS) -> pytest.RunResult:
        named = f"--mcp-approval-client={client}"
        # Scenarios about time-outs wait in earnest: here, a moment unless a test says otherwise.
        brief = "--mcp-approval-set=client.silence=0.05"
        return self.run(named, brief, "--mcp-approval-findings=none", *arguments, target=None)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> ClientSuite:
    return ClientSuite(pytester)
