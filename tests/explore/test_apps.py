"""Apps with an authorisation of their own, behind a gateway: a walk finds nothing in the healthy
one, and a defect of tests/mutants in a broken one."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.explore import run_walk
from pytest_mcp_approval.families.base.exploration import BrokenRule
from tests.explore.exploring import mutant, opened

Step = tuple[str, dict[str, Any]]
GIVE: Step = ("give_apps", {})
KEY, OAUTH, OFFICE, OAUTH_WIPE = 0, 1, 2, 7
ALWAYS: Step = ("decide", {"number": 0, "choice": "tool", "remember": True})
DENY: Step = ("decide", {"number": 0, "choice": "deny", "remember": True})
AUTHORISE: Step = ("authorise", {"number": 0})
BREAK_DOWN: Step = ("break_down", {"number": 0})
RESTART: Step = ("restart", {})
HALF_A_DAY: Step = ("wait", {"seconds": 43_200})


def call(tool: int, client: int = 0) -> Step:
    return "call", {"client": client, "tool": tool}


def let_in(tool: int) -> Step:
    return "let_in", {"client": 0, "tool": tool}


def come_back(how: str) -> Step:
    return "come_back", {"number": 0, "how": how}


AT_THE_APP: list[Step] = [GIVE, ("go_to_app", {"client": 0, "tool": 0})]
CASES: dict[str, tuple[str, list[Step]]] = {
    "TakesConsentForAuthorisation": ("two-layers", [GIVE, call(KEY), ALWAYS, call(KEY)]),
    "LooksWhetherTheAppIsThere": ("two-layers", [GIVE, call(KEY)]),
    "TrustsAuthorisedApps": ("two-layers", [GIVE, let_in(OAUTH), call(OAUTH_WIPE)]),
    "AsksForTheKeyEveryTime": ("api-key", [GIVE, let_in(KEY), call(KEY)]),
    "KeepsKeysInMind": ("api-key", [GIVE, let_in(KEY), RESTART, call(KEY)]),
    "ForgetsKeysWhenAnAppFails": ("api-key", [GIVE, let_in(KEY), BREAK_DOWN, call(KEY)]),
    "PutsTheKeyIntoBoth": ("api-key", [GIVE, let_in(KEY)]),
    "SendsTheSecretAlong": ("app-credential", [GIVE, let_in(OFFICE)]),
    "KeepsTheFirstToken": ("app-credential", [GIVE, let_in(OFFICE), HALF_A_DAY, call(OFFICE)]),
    "NeedsNoState": ("oauth-callback", [*AT_THE_APP, come_back("without its state")]),
    "DoesNotCompareTheState": ("oauth-callback", [*AT_THE_APP, come_back("with another state")]),
    "TakesAStateTwice": (
        "oauth-callback",
        [*AT_THE_APP, come_back("as asked"), come_back("as asked")],
    ),
    "TellsAllTools": (
        "aai-tools-only-consented",
        [GIVE, call(OAUTH), ALWAYS, call(OAUTH), AUTHORISE],
    ),
    "TellsWhatWasDecided": (
        "aai-tools-only-consented",
        [GIVE, call(OAUTH_WIPE), DENY, call(OAUTH), ALWAYS, call(OAUTH), AUTHORISE],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_walk_tells_a_broken_gateway_from_a_healthy_one(name):
    rule, walk = CASES[name]
    with opened() as target:
        assert len(run_walk(target, "gateway_consent", walk)) == len(walk)
    with opened(mutant(name)) as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, "gateway_consent", walk)
    assert raised.value.rule == f"gateway_consent/{rule}"


def test_who_comes_back_as_asked_is_let_in():
    with opened() as target:
        walk = [*AT_THE_APP, come_back("as asked"), call(OAUTH)]
        told = run_walk(target, "gateway_consent", walk)
    assert "a result" in told[-1] or "tool run" in told[-1]


def test_what_an_app_gave_before_a_restart_may_serve_after_it():
    with opened() as target:
        walk = [GIVE, let_in(OAUTH), RESTART, call(OAUTH), call(OAUTH, 1), ALWAYS, call(OAUTH, 1)]
        assert len(run_walk(target, "gateway_consent", walk)) == len(walk)
