"""The gateway behind MCP: who calls, what is refused, what a decision on the page changes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    CONSENT_MEMBERS,
    ERROR_CODES,
    Choice,
    Refusal,
)
from pytest_mcp_approval.reference_server.gateway_consent.gate import LONGEST_NAME
from pytest_mcp_approval.reference_server.gateway_consent.log import NAME
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from pytest_mcp_approval.reference_server.server.settings import ExtensionSettingError
from tests.reference_server.gateway_consent.house import House
from tests.reference_server.gateway_consent.person import request

LOOK, TOUCH = "com.x:look", "com.x:touch"
CALENDAR, COUNT = "com.example.calendar:listEvents", "org.example.files:countCharacters"
SEARCH = "com.example.search:search"


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.close()


@pytest.mark.parametrize("name", [LOOK, CALENDAR, COUNT, SEARCH])
def test_a_first_call_is_refused_with_all_that_a_person_must_know(house: House, name: str) -> None:
    data = house.call(name)
    assert data["code"] == Refusal.CONSENT_REQUIRED
    assert set(data) == {"code", *CONSENT_MEMBERS}
    app_id, tool = name.split(":")
    assert (data["appId"], data["tool"]) == (app_id, tool)
    listed = next(entry for entry in house.extension.listings() if entry["name"] == name)
    assert data["toolDescription"] == listed["description"]
    assert data["toolParameters"] == listed["inputSchema"]["properties"]
    assert len(house.effects) == 0
    assert house.codes == [(ERROR_CODES[Refusal.CONSENT_REQUIRED], Refusal.CONSENT_REQUIRED)]


def test_arguments_are_looked_at_only_after_consent(house: House) -> None:
    assert house.code(COUNT, nonsense=1) == Refusal.CONSENT_REQUIRED
    house.decide(COUNT, Choice.TOOL, remember=False)
    for wrong in ({}, {"text": 1}, {"text": "a", "more": 1}):
        with pytest.raises(InvalidParamsError):
            house.call(COUNT, **wrong)
    assert house.call(COUNT, text="four") == {"output": "4\n"}
    assert house.code(COUNT, text="four") == Refusal.CONSENT_REQUIRED


@pytest.mark.parametrize("word", ["; echo x", "$(id)", "--help", "a b", ""])
def test_an_argument_of_a_command_is_one_word(house: House, word: str) -> None:
    house.decide(COUNT, Choice.TOOL)
    assert house.call(COUNT, text=word) == {"output": f"{len(word)}\n"}


def test_authorize_tool_once(house: House) -> None:
    house.decide(LOOK, Choice.TOOL, remember=False)
    assert house.code(LOOK, "B") == Refusal.CONSENT_REQUIRED
    assert house.code(TOUCH) == Refusal.CONSENT_REQUIRED
    assert house.code("b-com.x:look") == Refusal.CONSENT_REQUIRED
    assert house.code(LOOK) is None
    assert house.code(LOOK) == Refusal.CONSENT_REQUIRED


def test_authorize_tool_for_good(house: House) -> None:
    house.decide(LOOK, Choice.TOOL)
    for _ in range(2):
        assert [house.code(LOOK), house.code(LOOK)] == [None, None]
        assert house.code(TOUCH) == Refusal.CONSENT_REQUIRED
        assert house.code(LOOK, "B") == Refusal.CONSENT_REQUIRED
        house.restart()


def test_authorize_all(house: House) -> None:
    house.decide(LOOK, Choice.ALL)
    house.restart()
    assert [house.code(LOOK), house.code(TOUCH)] == [None, None]
    assert house.code("b-com.x:touch") == Refusal.CONSENT_REQUIRED
    assert house.code(TOUCH, "B") == Refusal.CONSENT_REQUIRED


def test_deny(house: House) -> None:
    house.decide(LOOK, Choice.DENY, remember=False)
    assert house.code(LOOK) == Refusal.CONSENT_DENIED
    house.decide(LOOK, Choice.DENY)
    house.restart()
    for _ in range(2):
        data = house.call(LOOK)
        assert data == {
            "code": Refusal.CONSENT_DENIED,
            "appId": "com.x",
            "appName": "Neighbour X",
            "tool": "look",
        }
    assert house.code(LOOK, "B") == Refusal.CONSENT_REQUIRED


def test_a_decision_for_one_call_ends_with_a_restart(house: House) -> None:
    house.decide(LOOK, Choice.TOOL, remember=False)
    house.restart()
    assert house.code(LOOK) == Refusal.CONSENT_REQUIRED


def test_neighbours_by_a_hyphen_stay_apart(house: House) -> None:
    house.decide(LOOK, Choice.ALL, "A-b")
    assert house.code("b-com.x:look", "A") == Refusal.CONSENT_REQUIRED
    assert house.code(LOOK, "A-b") is None


def test_a_client_without_a_name_is_unknown_client(house: House) -> None:
    house.decide(LOOK, Choice.TOOL, "")
    assert house.code(LOOK, "Unknown Client") is None
    assert house.code(LOOK, " ") == Refusal.CONSENT_REQUIRED
    assert list(house.call("gateway_export")) == ["Unknown Client"]


def test_a_name_that_no_page_could_show_is_refused(house: House) -> None:
    assert house.code(LOOK, "x" * LONGEST_NAME) == Refusal.CONSENT_REQUIRED
    with pytest.raises(InvalidParamsError, match="got 20001 characters, expected 20000"):
        house.call(LOOK, "x" * (LONGEST_NAME + 1))


def test_of_calls_at_once_a_decision_for_one_call_serves_one(house: House) -> None:
    house.decide(LOOK, Choice.TOOL, remember=False)
    together, codes = threading.Barrier(6), []

    def call() -> None:
        together.wait(10)
        codes.append(house.call(LOOK).get("code"))

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(map(str, codes)) == [Refusal.CONSENT_REQUIRED] * 5 + ["None"]
    assert len(house.effects) == 1


def test_calls_that_come_first_together_get_one_page(house: House) -> None:
    together, urls = threading.Barrier(6), []

    def call() -> None:
        together.wait(10)
        urls.append(house.call(LOOK)["consentUrl"])

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(urls) == 6
    assert len(set(urls)) == 1


def test_a_consent_for_one_call_is_not_spent_on_a_call_that_must_be_authorised(
    house: House,
) -> None:
    house.decide(SEARCH, Choice.TOOL, remember=False)
    for _ in range(2):
        data = house.call(SEARCH, query="x")
        assert data["code"] == Refusal.AUTHORIZATION_REQUIRED
        assert data["authType"] == "apiKey"
        assert data["authUrl"].startswith(house.call("gateway_status")["pagesUrl"])


def test_an_app_that_does_not_answer_is_told(house: House) -> None:
    extensions = House(
        more_apps=[
            {
                "id": "gone",
                "name": "Gone",
                "type": "web",
                "baseUrl": "http://localhost:9",
                "tools": [{"name": "do", "execution": {"path": "/do"}}],
            },
            {
                "id": "far",
                "name": "Far",
                "type": "web",
                "baseUrl": "http://198.51.100.1",
                "tools": [{"name": "do", "execution": {"path": "/do"}}],
            },
        ]
    )
    try:
        for name in ("gone:do", "far:do"):
            extensions.decide(name, Choice.TOOL)
            assert extensions.code(name) == Refusal.APP_FAILED
    finally:
        extensions.close()


# ---- life


def test_nothing_is_opened_before_it_is_needed(house: House) -> None:
    house.extension.listings()
    house.extension.reset()
    listener = house.extension.listener
    assert not listener.running
    assert house.extension.made == {}
    house.code(LOOK)
    listener = house.extension.listener
    assert listener.running
    assert "kept_demonstration" not in house.extension.made
    house.extension.close()
    listener = house.extension.listener
    assert not listener.running


def test_reset_makes_it_as_new(house: House) -> None:
    house.decide(LOOK, Choice.TOOL)
    house.decide(TOUCH, Choice.TOOL, remember=False)
    asked = house.call(CALENDAR)["consentUrl"]
    house.extension.reset()
    for name in (LOOK, TOUCH):
        assert house.code(name) == Refusal.CONSENT_REQUIRED
    assert request(asked).status == 404
    assert house.call("gateway_export") == {}
    house.decide(LOOK, Choice.TOOL)
    house.restart()
    house.extension.reset()  # before anything is needed
    assert house.code(LOOK) == Refusal.CONSENT_REQUIRED


def test_a_database_has_the_vault_beside_it(tmp_path: Path) -> None:
    house = House(f"sqlite:///{tmp_path}/store.db")
    try:
        house.decide(LOOK, Choice.TOOL, "A caller in clear")
        status = house.call("gateway_status")
        assert status["storage"] == "file"
        assert Path(status["folder"]) == tmp_path / "store.db-gateway"
        names = sorted(path.name for path in Path(status["folder"]).iterdir())
        assert names == ["gateway.log", "vault", "vault.key", "vault.lock"]
        content = b"".join(path.read_bytes() for path in Path(status["folder"]).iterdir())
        for text in (b"A caller in clear", b"com.x", b"look"):
            assert text not in content
        assert b"a call waits for consent" in Path(status["logFile"]).read_bytes()
        house.extension.close()
        house.backing.close()
        again = House(f"sqlite:///{tmp_path}/store.db")
        assert again.code(LOOK, "A caller in clear") is None
        again.close()
    finally:
        house.close()
    assert not logging.getLogger(NAME).handlers


def test_a_file_without_a_folder_is_temporary() -> None:
    house = House(storage="file")
    folder = Path(house.call("gateway_status")["folder"])
    house.decide(LOOK, Choice.TOOL)
    house.restart()
    assert house.code(LOOK) is None
    assert folder.is_dir()
    house.close()
    assert not folder.exists()


def test_two_gateways_over_one_file_see_each_others_decisions(tmp_path: Path) -> None:
    first, second = (House(storage="file", folder=str(tmp_path)) for _ in range(2))
    try:
        first.decide(LOOK, Choice.TOOL)
        second.decide(TOUCH, Choice.DENY)
        assert [first.code(TOUCH), second.code(LOOK)] == [Refusal.CONSENT_DENIED, None]
        assert first.call("gateway_export") == second.call("gateway_export")
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": 1}, "colour: got an unknown setting"),
        ({"storage": "cloud"}, "storage: got 'cloud', expected one of automatic, "),
        ({"folder": 3}, "folder: got 3, expected a path"),
        ({"apps": "/nowhere/apps.json"}, "apps: cannot read"),
        ({"apps": []}, r"apps: got \[\], expected a list of 1 to"),
        ({"more_apps": 3}, "more_apps: got 3, expected a list"),
        ({"storage": "file", "folder": "/dev/null/x"}, "folder: cannot make"),
    ],
)
def test_a_setting_that_cannot_be_followed_starts_nothing(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ExtensionSettingError, match=message):
        House(**settings)
