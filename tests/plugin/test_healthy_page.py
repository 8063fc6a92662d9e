"""The healthy reference on its own page, in a browser: every scenario passes, every rule is met."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.config.registry import registered
from pytest_mcp_approval.session.collection import ON_A_PAGE
from tests.browsers import HINT, find_browser
from tests.inner_browser import shared_browser
from tests.inner_runs import Verdicts

# In parts, so that cores share them: a file, some of what its tests are called, how many rules.
PARTS: dict[str, tuple[str, tuple[str, ...], int]] = {
    "ceremonies": ("ceremonies", ("",), 8),
    "listings": ("client", ("of_the_annotation", "of_the_capability", "plain_tool", "noticed"), 4),
    "evidence": ("client", ("test_evidence", "whatever_becomes", "before_every"), 3),
    "reasons": ("client", ("test_the_reasons",), 1),
    "texts": ("review", ("as_it_came",), 1),
    "reviews": ("review", ("test_the_text_is_there", "test_each", "test_no", "test_a_person"), 2),
}


@pytest.mark.parametrize("part", PARTS)
def test_every_scenario_on_the_page_passes(suite, part: str):
    if find_browser() is None:
        pytest.skip(HINT)
    file, names, rules = PARTS[part]
    listener = Verdicts()
    result = suite.run(
        f"mcp-approval/sep2672/{ON_A_PAGE}{file}.py",
        *(["-k", " or ".join(names)] if names != ("",) else []),
        "-q",
        plugins=[listener, shared_browser()],
    )
    assert {(one["scenario"], one["why"]) for one in bad(listener)} == set()
    assert result.ret == 0
    assert len({rule for one in listener.found for rule in one["rules"]}) == rules
    result.stdout.fnmatch_lines([f"*{rules} passed *checks in *"])


def bad(listener: Verdicts) -> list[dict]:
    return [one for one in listener.found if one["verdict"] != Verdict.PASSED]


def test_the_parts_are_the_whole(suite):
    files = {f"mcp-approval/sep2672/{ON_A_PAGE}{file}.py" for file, _, _ in PARTS.values()}
    listed = suite.run(*files, "--mcp-approval-family=sep2672", "--collect-only", "-q")
    whole = [line for line in listed.outlines if "::" in line]
    assert len(whole) > 30
    assert files == {
        f"mcp-approval/sep2672/{path.name}"
        for path in registered("sep2672").scenarios.glob(f"{ON_A_PAGE}*.py")
    }
    for line in whole:
        owners = [
            part
            for part, (file, names, _) in PARTS.items()
            if f"{ON_A_PAGE}{file}.py" in line and any(name in line for name in names)
        ]
        assert len(owners) == 1, line
