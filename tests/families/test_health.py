"""The honest approval of the families whose tokens a server hands out: an empty text is good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.target import Target, open_target
from pytest_mcp_approval.wire import Outcome, Reply, Session

FAMILIES = ("prepare_confirm", "confirmation_tokens", "execution_tokens")


def honest_approval(family: str, target: Target) -> str:
    health = import_module(f"pytest_mcp_approval.families.{family}.health")
    line: str = health.honest_approval(target)
    return line


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Target]]:
    made: list[Target] = []

    def make(known: bool = True, **tables: dict[str, Any]) -> Target:
        settings = Settings(targets=("reference",), directory=tmp_path, family_settings=tables)
        target = open_target("reference", settings)
        if not known:
            target.known_settings = {}
            target.known_arguments = {}
        made.append(target)
        return target

    yield make
    for target in made:
        target.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_on_a_good_server_there_is_nothing_to_say(opened, family):
    target = opened()
    effects = target.effects()
    before = effects.look()
    assert honest_approval(family, target) == ""
    assert effects.look().runs_since(before), "nothing ran"
    assert honest_approval(family, target) == "", "a second one is as good as the first"


@pytest.mark.parametrize("family", FAMILIES)
def test_where_nothing_may_run_it_says_what_to_configure(opened, family):
    with pytest.raises(NotVerified, match="needs"):
        honest_approval(family, opened(known=False))


# ---- a server that refuses

BROKEN = {"error": {"code": -32603, "message": "transports.some is not a function"}}
STEPS = {
    "prepare_confirm": {"prepare_": "prepare_close_projects", "confirm_": "confirm_close_projects"},
    "confirmation_tokens": {"no token": "no token for", "conf_": "with its token"},
    "execution_tokens": {"execute_action": "an honest token, refused"},
}
CASES = [(family, broken) for family, steps in STEPS.items() for broken in steps]


@pytest.mark.parametrize(("family", "broken"), CASES)
def test_a_server_that_refuses_gives_a_line_and_no_exception(opened, family, broken, monkeypatch):
    target = opened()
    honest = Session.call

    def call(session: Session, method: str, params: Any = None, **more: Any) -> Reply:
        reply = honest(session, method, params, **more)
        sent = repr(params)
        mine = broken in sent or (broken == "no token" and "conf_" not in sent)
        if method != "tools/call" or not mine:
            return reply
        return Reply(Outcome.ERROR, message={"jsonrpc": "2.0", "id": 1, **BROKEN})

    target.session()
    if broken == "no token":
        target.settings = replace(target.settings, effects=None)
        target.default_effects = None
    monkeypatch.setattr(Session, "call", call)
    line = honest_approval(family, target)
    assert STEPS[family][broken] in line
    assert "transports.some is not a function" in line
    assert "\n" not in line


def test_things_that_nobody_puts_back_are_no_fault_of_the_server(opened):
    """The user is deleted by the first approval; that the second fails says nothing."""
    target = opened(known=False)
    tools = {"prepare_delete_user": {"username": "john.doe"}}
    target.settings = replace(target.settings, tools=tools)
    assert honest_approval("prepare_confirm", target) == ""
    with pytest.raises(NotVerified, match=r"needs restore in .prepare_confirm. pairs.delete_user"):
        honest_approval("prepare_confirm", target)
