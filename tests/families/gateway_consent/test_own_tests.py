"""Tests that a user writes with the fixture, as the documentation shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.inner_browser import shared_browser
from tests.inner_runs import plugin_options

PAGE = Path(__file__).parents[3] / "docs" / "gateway-consent.md"


def test_the_example_of_the_documentation_works(pytester: pytest.Pytester):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    pytester.makepyfile(code)
    result = pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval-target=reference",
        "--mcp-approval-select=gateway_consent/all-platforms",
        str(pytester.path),
    )
    outcomes = result.parseoutcomes()
    assert result.ret == 0, result.stdout.str()
    assert outcomes["passed"] == 6, "two of the page, four scenarios"


def test_a_person_may_decide_in_a_real_browser(pytester: pytest.Pytester):
    """As person = "browser" says, in scenarios and in tests of one's own."""
    pytester.makepyfile(
        """
        def test_it(approval_gateway):
            client = approval_gateway.client("Cursor")
            tool = "com.example.calendar:listEvents"
            approval_gateway.decide(client.call(tool), "all", remember=True)
            assert client.call(tool).executed
            assert "Your decision counts" in approval_gateway.stand_in.page.inner_text("h1")
        """
    )
    result = pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval-target=reference",
        "--mcp-approval-set=gateway_consent.person=browser",
        "--mcp-approval-select=gateway_consent/authorize-all",
        str(pytester.path),
        plugins=[shared_browser()],
    )
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*person*browser*"])
    assert result.parseoutcomes()["passed"] == 6, "one test, five scenarios"
