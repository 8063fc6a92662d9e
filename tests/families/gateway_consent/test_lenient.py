"""What the document leaves open is a warning or nothing, and never a failure."""

from __future__ import annotations

import re

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.families.gateway_consent.lenient import LENIENT
from tests.inner_runs import Verdicts, bare_options


@pytest.mark.parametrize("name", LENIENT)
def test_a_habit_that_breaks_nothing_is_no_failure(pytester: pytest.Pytester, name: str):
    rule, warning = LENIENT[name]
    listener = Verdicts()
    pytester.inline_run(
        f"--mcp-approval-target=python:tests.families.gateway_consent.lenient:{name}",
        f"--mcp-approval-select=gateway_consent/{rule}",
        "--mcp-approval-findings=none",
        "--mcp-approval-browser=none",
        "-q",
        *bare_options(),
        plugins=[listener],
    )
    found = {one["verdict"] for one in listener.found}
    assert Verdict.PASSED in found
    assert not found & {Verdict.FAILED, Verdict.HARNESS_ERROR, Verdict.NOT_VERIFIED}
    told = "\n".join(one["why"] for one in listener.found if one["verdict"] == Verdict.WARNING)
    assert re.search(warning, told) if warning else not told
