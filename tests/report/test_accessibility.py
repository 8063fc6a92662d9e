"""The page for those who do not see it, or use no mouse: axe-core finds nothing serious."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.axe import violations
from tests.report import samples
from tests.report.samples import earlier_of

MARKED = samples.steps({**samples.exchange("{}", "{}", asked="tools/call"), "offending": True})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found(page_of, scheme):
    page = page_of(
        samples.report(
            *samples.typical().scenarios,
            samples.finding(rule=samples.DEFAULT, name="test_a_marked", conversation=MARKED),
            earlier=earlier_of({samples.HASH: Verdict.FAILED}),
        )
    )
    page.emulate_media(color_scheme=scheme)
    flow = page.locator(f"[id='{samples.COUNTER}'] .flow").first
    flow.wait_for()
    flow.locator(".step > details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.locator(".step.offending").first.wait_for()
    page.locator(".rule").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.wait_for_function("document.querySelectorAll('.scenarios[data-filled]').length === 7")
    assert [one for one in violations(page) if one[0] in ("serious", "critical")] == []
