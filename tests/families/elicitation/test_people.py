"""Who is at the page: a person by plain forms, somebody else, nobody, and the user's own hook."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified
from pytest_mcp_approval.config.settings import Settings, SettingsError
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.elicitation.driver import Elicitation
from pytest_mcp_approval.families.elicitation.health import honest_approval
from pytest_mcp_approval.families.elicitation.people import FormPerson, HookPerson, person_for
from pytest_mcp_approval.families.elicitation.settings import PersonAtPage
from pytest_mcp_approval.target import Target, open_target

TOLD: list[dict[str, Any]] = []


def keep(told: dict[str, Any]) -> None:
    TOLD.append(told)


NO_FUNCTION = 7


@pytest.fixture
def driver() -> Iterator[Elicitation]:
    with (
        contextlib.closing(open_target("reference", Settings(targets=("reference",)))) as target,
        contextlib.closing(Elicitation(target)) as opened,
    ):
        yield opened


def at_page(driver: Elicitation, headers: dict[str, str]) -> FormPerson:
    return FormPerson(driver.target, driver.table.person, headers)


def test_the_person_decides_by_plain_forms(driver):
    asked = driver.call("rotate_keys")
    driver.person.approve(asked)
    assert driver.answer(asked, asked.response()).ran
    asked = driver.call("rotate_keys")
    driver.person.decline(asked)
    assert driver.answer(asked, asked.response()).nothing_ran


def test_nobody_and_somebody_else_get_nothing(driver):
    asked = driver.call("rotate_keys")
    nobody = at_page(driver, {})
    other = at_page(driver, dict(driver.target.second_user_headers))
    assert nobody.try_to_approve(asked.url).startswith("HTTP 401, without a button 'Approve'")
    assert other.try_to_approve(asked.url).startswith("HTTP 404, without a button 'Approve'")
    with pytest.raises(DriverError, match="without a button 'Approve'; if it is named"):
        nobody.approve(asked)
    assert driver.finish(asked).served_once


def test_a_hook_is_told_what_the_person_does(driver):
    TOLD.clear()
    person = PersonAtPage(who=f"python:{__name__}:keep")
    asked = driver.call("rotate_keys")
    hook = person_for(driver.target, person)
    assert isinstance(hook, HookPerson)
    hook.approve(asked)
    hook.decline(asked)
    assert [one["decision"] for one in TOLD] == ["approve", "decline"]
    assert TOLD[0] == {
        "do": "decide",
        "decision": "approve",
        "tool": "rotate_keys",
        "url": asked.url,
        "message": asked.message,
        "elicitationId": "",
    }


def test_a_hook_that_cannot_be_called_is_told(driver):
    with pytest.raises(SettingsError, match=r"\[elicitation.person\] who: .* cannot be called"):
        person_for(driver.target, PersonAtPage(who=f"python:{__name__}:NO_FUNCTION"))


@pytest.fixture
def with_browser() -> Iterator[Target]:
    table = {
        "elicitation": {
            "tools": {"rotate_keys": {"arguments": {"service": "test"}}},
            "person": {"who": "browser"},
        }
    }
    settings = Settings(targets=("reference",), family_settings=table)
    with contextlib.closing(open_target("reference", settings)) as target:
        yield target


def test_a_person_at_a_browser_is_there_for_checks_only(with_browser):
    with pytest.raises(NotVerified, match="needs a browser"):
        honest_approval(with_browser)
