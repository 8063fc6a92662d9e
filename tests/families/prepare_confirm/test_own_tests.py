"""Tests that a user writes with the fixture, as the documentation shows them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.inner_runs import plugin_options

PAGE = Path(__file__).parents[3] / "docs" / "prepare-confirm.md"


def test_the_example_of_the_documentation_works(pytester: pytest.Pytester):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    pytester.makepyfile(code.replace("test-1", "proj-1"))
    result = pytester.runpytest_inprocess(
        "-p",
        "no:cacheprovider",
        *plugin_options(),
        "--mcp-approval-target=reference",
        "--mcp-approval-select=prepare_confirm/nonce",
        str(pytester.path),
    )
    outcomes = result.parseoutcomes()
    assert result.ret == 0, result.stdout.str()
    assert outcomes["passed"] == 8, "two of the page, six checks of the rule"
