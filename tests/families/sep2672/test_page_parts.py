"""The parts of a page's driver that need no browser: descriptions, answers, how texts are told."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Finding
from pytest_mcp_approval.config.settings import Settings, SettingsError
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.families.sep2672.page import ShownText
from pytest_mcp_approval.families.sep2672.page_description import PageDescription
from pytest_mcp_approval.families.sep2672.page_person import Review
from pytest_mcp_approval.families.sep2672.page_scenario import Visit
from pytest_mcp_approval.families.sep2672.page_traffic import message_in
from pytest_mcp_approval.families.sep2672.settings import read_table
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.target import open_target

ANSWER = {"jsonrpc": "2.0", "id": 7, "result": {"tools": []}}


# ---- descriptions


def test_what_is_not_said_suits_the_reference_page():
    described = read_table({"page": {"approve": "#yes"}}).page
    assert described.approve == ("#yes",)
    assert described.display_text == PageDescription().display_text


def test_a_page_with_one_button_for_both_kinds_of_call_names_it_once():
    described = read_table({"page": {"ask": ["#menu", "#run"]}}).page
    assert described.call == described.ask == ("#menu", "#run")


@pytest.mark.parametrize(
    ("name", "selector"),
    [
        ("place_trade", 'button[data-tool="place_trade"]'),
        ('it\'s "odd"', 'button[data-tool="it\\\'s \\"odd\\""]'),
        ("back\\slash", 'button[data-tool="back\\\\slash"]'),
    ],
)
def test_a_tools_name_goes_into_a_selector_whatever_it_is(name: str, selector: str):
    assert PageDescription().entry("tool", tool=name) == (selector,)


@pytest.mark.parametrize(
    ("table", "line"),
    [
        (
            {"aprove": "#x"},
            "got 'aprove', did you mean 'approve'? expected one of url, ready, enrol, ",
        ),
        ({"approve": ""}, "approve: got '', expected a selector such as"),
        ({"approve": []}, "approve: got [], expected a selector such as"),
        ({"approve": ["#a", 1]}, "approve: got ['#a', 1], expected"),
        ({"argument": "#a"}, "expected a selector with {name} in it"),
        ({"argument": "#{name}", "arguments": "#a"}, "got arguments and argument, expected one"),
        ("#x", "[sep2672] page: got '#x', expected a table"),
    ],
)
def test_a_wrong_description_is_told_in_one_line(table: object, line: str):
    with pytest.raises(SettingsError) as error:
        read_table({"page": table})
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_whoever_names_the_page_has_named_the_origin():
    def origin(**given: Any) -> str:
        target = open_target("http://localhost:9/mcp", Settings(family_settings={"sep2672": given}))
        return Approval(target).origin_for({"rp": {"id": "localhost"}})

    page = {"url": "http://localhost:3000/approve?x=1"}
    assert origin(page=page) == "http://localhost:3000"
    assert origin(page=page, origin="https://a.example") == "https://a.example"
    assert origin() == "http://localhost"


# ---- answers


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(ANSWER).encode(),
        json.dumps([{"jsonrpc": "2.0", "id": 6, "result": {}}, ANSWER]).encode(),
        b": hello\r\n\r\nevent: message\r\ndata: " + json.dumps(ANSWER).encode() + b"\r\n\r\n",
        b'data: {"jsonrpc":"2.0","method":"x","id":7}\n\ndata: ' + json.dumps(ANSWER).encode(),
        b"data: nothing\n\ndata: " + json.dumps(ANSWER, indent=1).replace("\n", "\ndata:").encode(),
    ],
    ids=["JSON", "a batch", "an event", "after a request of the server's", "over several lines"],
)
def test_an_answer_is_found_in_json_and_in_an_event_stream(body: bytes):
    assert message_in(body, 7) == ANSWER


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{", b"[" * 50_000, json.dumps({**ANSWER, "id": 8}).encode(), b"data"]
)
def test_what_is_no_answer_is_none(body: bytes):
    assert message_in(body, 7) is None


# ---- texts


def bare_visit() -> Visit:
    """Without a page: for what is expected of texts alone."""
    visit = Visit.__new__(Visit)
    target: Any = SimpleNamespace()
    visit.target = target
    return visit


def verbatim(text: str, shown: ShownText) -> list[str]:
    """The warnings; a Finding if the text is another one."""
    visit = bare_visit()
    warned: list[str] = []
    visit.warn = warned.append
    tool: Any = None
    visit.expect_verbatim(Review(tool, {"displayText": text}, shown), sent="a text")
    return warned


def shown(text: str, rendered: str | None = None, **more: bool) -> ShownText:
    rendered = text if rendered is None else rendered
    return ShownText(text, rendered, **{"cut": False, "too_small": False, **more})


def test_a_text_that_is_shown_as_it_came_is_fine():
    assert verbatim("a  b\r\n\tc\n", shown("a  b\n\tc\n")) == []
    assert verbatim("a\nb", shown("ab", "a\nb")) == [], "lines may be elements of their own"
    assert verbatim("a\n", shown("a\n", "a")) == [], "a last line end makes no line"


def test_white_space_that_only_the_screen_loses_is_a_warning():
    [warning] = verbatim("a  b", shown("a  b", "a b"))
    assert "white-space: pre-wrap" in warning


@pytest.mark.parametrize(
    ("text", "found", "got"),
    [
        ("x" * 100, shown("x" * 80), "80 characters, without what follows"),
        ("abc", shown("abd"), "3 characters, from number 3 on"),
        ("abc", shown("abc", "ABC"), "3 characters, from number 1 on"),
        ("a b", shown(" a b"), "from number 1 on"),
        ("cafe\u0301", shown("caf\u00e9"), "from number 4 on"),
        ("abc", shown("abc", cut=True), "cut off at an edge"),
        ("abc", shown("abc", too_small=True), "nobody can see"),
        ("", shown("x"), "1 characters, from number 1 on"),
    ],
)
def test_a_text_that_is_another_one_is_found_out(text: str, found: ShownText, got: str):
    with pytest.raises(Finding) as error:
        verbatim(text, found)
    assert got in error.value.got


RESPONSE = {"id": "a", "type": "public-key", "response": {"signature": "b", "userHandle": None}}


@pytest.mark.parametrize(
    ("response", "wrong"),
    [
        (RESPONSE, ""),
        ({**RESPONSE, "response": {"signature": "b"}}, ""),
        ({**RESPONSE, "clientExtensionResults": {}}, "response.clientExtensionResults"),
        ({**RESPONSE, "response": {"signature": "c"}}, "response.response.signature"),
        ({"id": "a", "response": {"signature": "b"}}, "response.type"),
        ("x", "another response"),
    ],
)
def test_evidence_is_compared_member_by_member(response: object, wrong: str):
    visit = bare_visit()
    expected = {"method": "webauthn", "challengeId": "c", "response": RESPONSE}
    evidence = {**expected, "response": response}
    if not wrong:
        visit.expect_evidence(evidence, expected, sent="x")
        return
    with pytest.raises(Finding) as error:
        visit.expect_evidence(evidence, expected, sent="x")
    assert wrong in error.value.got


def test_two_reasons_in_the_same_words_are_found_out_and_numbers_do_not_count():
    visit = bare_visit()
    told = {"challenge_expired": "Refused at 12:30:01 (no. 4)"}
    text = "Refused at 12:30:02 (no. 5)"
    with pytest.raises(Finding) as error:
        visit.expect_told_apart_from_all(text, Reason.CHALLENGE_UNKNOWN, told)
    assert "as for challenge_expired" in error.value.got
    visit.expect_told_apart_from_all("Not known", Reason.CHALLENGE_UNKNOWN, told)
    assert set(told) == {"challenge_expired", "challenge_unknown"}
    with pytest.raises(Finding):
        visit.expect_told_apart_from_all(" 12 ", Reason.CHALLENGE_CONSUMED, told)
