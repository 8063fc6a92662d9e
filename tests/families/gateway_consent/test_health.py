"""One honest approval: "" if it is possible, one line if it is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.gateway_consent.driver import GatewayConsent
from pytest_mcp_approval.families.gateway_consent.health import honest_approval
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Refusal
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion, Decisions
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.target import Target, open_target
from tests.families.gateway_consent.lenient import served

Opened = Callable[..., Target]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    targets = []

    def open_one(named: str = "reference", **settings: Any) -> Target:
        given = replace(Settings(directory=tmp_path), **settings)
        targets.append(open_target(named, given))
        return targets[-1]

    yield open_one
    for target in targets:
        target.close()


@pytest.mark.parametrize("protocol", ["2026-07-28", "2025-11-25"])
def test_the_reference_serves_an_honest_client(opened: Opened, protocol: str):
    target = opened(protocol=protocol)
    for _ in range(2):
        assert honest_approval(target) == ""
    assert GatewayConsent(target).export() == {}, "nothing is left behind"


class _NeverAsks(Gateway):
    def needs_consent(self, app: App) -> bool:
        return False


class _NeverServes(Decisions):
    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        """Forgets what it was told."""


class _Fails(Gateway):
    def run(self, *_: Any) -> dict[str, Any]:
        raise GatewayRefusal(Refusal.APP_FAILED, "the back\nend is down \x1b[31m", {})


class _HasNoPage(Gateway):
    def ask(self, caller: str, app: App, tool: AppTool) -> GatewayRefusal:
        self.consent_url = lambda _: "http://127.0.0.1:1/"
        return super().ask(caller, app, tool)


never_asks, never_serves = served(_NeverAsks), served(_NeverServes)
fails, has_no_page = served(_Fails), served(_HasNoPage)

BROKEN = {
    "never_asks": "a first call of {}: expected CONSENT_REQUIRED, got .*tool run",
    "never_serves": r"{}, allowed for one call: CONSENT_REQUIRED \(error.data\), tool not run",
    "fails": r"{}, allowed for one call: APP_FAILED \(error.data\), tool not run",
    "has_no_page": "the decision on {}: http://127.0.0.1:1/.*",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_fails_is_one_line(opened: Opened, name: str):
    line = honest_approval(opened(f"python:{__name__}:{name}"))
    assert re.fullmatch(BROKEN[name].format(r"\S+"), line), line


def test_without_a_tool_that_may_run_it_is_not_tried(opened: Opened):
    with pytest.raises(NotVerified, match="needs a tool that may be run: --mcp-approval-tool"):
        honest_approval(opened(family_settings={"gateway_consent": {"tools": {}}}))
