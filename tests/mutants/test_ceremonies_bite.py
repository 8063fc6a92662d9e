"""The scenarios on a page that are about a server's rules find broken servers out by themselves.

In the kill matrix the scenarios of the wire come first, and would hide that these never fail.
"""

from __future__ import annotations

import re

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.browsers import HINT, find_browser
from tests.inner_browser import shared_browser
from tests.inner_runs import Verdicts, bare_options
from tests.mutants.ceremonies import BITES, CEREMONIES


@pytest.mark.parametrize("scenario", BITES)
def test_a_ceremony_on_the_page_finds_it_out(pytester: pytest.Pytester, scenario: str):
    if find_browser() is None:
        pytest.skip(HINT)
    server, because = BITES[scenario]
    heard = Verdicts()
    pytester.inline_run(
        f"--mcp-approval-target=python:tests.mutants.{server}",
        f"{CEREMONIES}::{scenario}",
        *("--mcp-approval-findings=none", "-q", *bare_options()),
        plugins=[heard, shared_browser()],
    )
    [found] = heard.found
    assert found["verdict"] == Verdict.FAILED, found["why"]
    assert re.search(because, "\n".join(found["evidence"].values())), found["evidence"]
