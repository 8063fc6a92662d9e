"""With a code of the person, the agent that gets the consent page's address cannot answer it."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.person_code import (
    MOST_WRONG,
    VARIABLE,
    read_code,
)
from pytest_mcp_approval.reference_server.server.settings import ExtensionSettingError
from tests.reference_server.gateway_consent.house import House
from tests.reference_server.gateway_consent.person import choose, request

CODE = "blue horse 42"
TOOL = "com.example.calendar:listEvents"


@pytest.fixture
def house() -> Iterator[House]:
    made = House(person_code=CODE)
    yield made
    made.close()


def answer(house: House, code: str | None) -> int:
    asked = house.call(TOOL)
    assert asked["code"] == "CONSENT_REQUIRED"
    members = {} if code is None else {"code": code}
    return choose(asked["consentUrl"], Choice.TOOL, remember=True, members=members).status


def test_without_the_code_nothing_is_decided(house: House) -> None:
    for wrong in (None, "", CODE[:-1], CODE.upper()):
        assert answer(house, wrong) == 400
    assert house.code(TOOL) == "CONSENT_REQUIRED"
    assert answer(house, CODE) == 200
    assert house.code(TOOL) is None


def test_the_page_asks_for_the_code_and_does_not_show_it(house: House) -> None:
    page = request(house.call(TOOL)["consentUrl"])
    assert page.form.inputs["code"]["type"] == "password"
    assert CODE not in page.text
    assert CODE not in repr(house.extension.settings)


def test_guessing_is_stopped_for_a_while(house: House) -> None:
    for _ in range(MOST_WRONG):
        assert answer(house, "a wrong code") == 400
    assert answer(house, CODE) == 400, "nobody can go on guessing until it fits"
    house.clock.advance(datetime.timedelta(minutes=10))
    assert answer(house, CODE) == 200


def test_without_a_code_the_page_asks_for_none() -> None:
    house = House()
    try:
        assert "code" not in request(house.call(TOOL)["consentUrl"]).form.inputs
        assert answer(house, None) == 200
    finally:
        house.close()


def test_a_code_may_come_from_the_environment_and_is_never_short() -> None:
    assert read_code(None, {VARIABLE: CODE}) == CODE
    assert read_code(None, {}) == ""
    for bad in ("short", 12345678, ["x"]):
        wrong: Any = bad
        with pytest.raises(ExtensionSettingError) as caught:
            read_code(wrong, {})
        assert "short" not in str(caught.value)
