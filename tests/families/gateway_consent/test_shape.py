"""A gateway that differs: how it is called, how it words things, and mistakes in its table."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.config.settings import Settings, SettingsError
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.base.people import told_function
from pytest_mcp_approval.families.gateway_consent.binding import GatewayBinding, binding_of
from pytest_mcp_approval.families.gateway_consent.outcome import GatewayOutcome
from pytest_mcp_approval.families.gateway_consent.people import (
    Planned,
    ToldPerson,
    told_person_for,
)
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool, read_table
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Refusal
from pytest_mcp_approval.target import open_target
from pytest_mcp_approval.wire.reply import Outcome, Reply

TOOL = SafeTool("mail:send", "mail", "send", {})


def params(call: Any, tool: SafeTool = TOOL, arguments: Any = None) -> dict[str, Any]:
    table = read_table({"call": call} if call else {})
    return GatewayBinding(table).call_params(
        tool, {"to": ["a"]} if arguments is None else arguments
    )


def test_each_tool_is_called_by_its_own_name_unless_the_table_says_otherwise():
    assert params(None) == {"name": "mail:send", "arguments": {"to": ["a"]}}
    behind_one = {"app": "{app}", "do": ["{tool}"], "arguments": "{arguments}", "count": 1}
    assert params({"tool": "exec", "arguments": behind_one}) == {
        "name": "exec",
        "arguments": {"app": "mail", "do": ["send"], "arguments": {"to": ["a"]}, "count": 1},
    }
    as_text = params({"tool": "{app}__{tool}", "arguments": {"input": "{arguments_json}"}})
    assert as_text["name"] == "mail__send"
    assert json.loads(as_text["arguments"]["input"]) == {"to": ["a"]}


def test_what_stands_in_a_name_is_no_place():
    odd = SafeTool("x", "{tool}", "{arguments}", {})
    made = params({"tool": "exec", "arguments": {"app": "{app}/{tool}"}}, odd)
    assert made["arguments"] == {"app": "{tool}/{arguments}"}


# ---- answers


def error(code: Any, message: str = "", data: Any = None) -> Reply:
    members = {"code": code, "message": message, "data": data}
    return Reply(Outcome.ERROR, message={"jsonrpc": "2.0", "id": 1, "error": members})


def result(**value: Any) -> Reply:
    return Reply(Outcome.RESULT, message={"jsonrpc": "2.0", "id": 1, "result": value})


def read(reply: Reply, **table: Any) -> GatewayOutcome:
    wording = read_table(table).wording
    return GatewayOutcome.read("Cursor", "mail:send", {}, reply, 0, True, wording)


def test_codes_of_another_make_are_understood():
    codes = {
        "CONSENT_REQUIRED": [-32010, "ask_first"],
        "CONSENT_DENIED": {"code": -32000, "message": "SAID no"},
        "AUTHORIZATION_REQUIRED": {"code": -32000, "message": "log in"},
    }
    for reply in (error(-32010), error(-1, data={"code": "ask_first"})):
        answer = read(reply, codes=codes)
        assert answer.needs_consent
        assert answer.sent_code in (-32010, "ask_first")
        assert "which is CONSENT_REQUIRED" in answer.describe()
    assert read(error(-32000, "You said no."), codes=codes).code == Refusal.CONSENT_DENIED
    assert read(error(-32000, "Please log in"), codes=codes).needs_authorization
    assert read(error(-32000, "Something else"), codes=codes).code == ""
    assert read(error("-32010"), codes=codes).code == "", "a text is no number"
    assert read(error("CONSENT_REQUIRED"), codes=codes).code == "", "it said that it has others"


def test_words_alone_are_a_sign_too():
    codes = {"CONSENT_REQUIRED": {"message": "needs approval"}}
    told = result(isError=True, content=[{"type": "text", "text": "mail needs approval first"}])
    assert read(told, codes=codes).needs_consent
    assert read(result(content=[{"type": "text", "text": "needs approval"}]), codes=codes).succeeded


def test_a_result_is_a_refusal_only_where_the_table_says_so():
    told = result(structuredContent={"state": {"kind": "waiting"}, "app": {"id": "mail"}})
    assert read(told).succeeded
    answer = read(
        told,
        codes={"CONSENT_REQUIRED": "waiting"},
        fields={"appId": "app.id"},
        **{"code-at": "result.structuredContent.state.kind"},
    )
    assert answer.needs_consent
    assert answer.refused
    assert not answer.succeeded
    assert answer.members["appId"] == "mail"


def test_any_refusal_that_leads_to_the_app_asks_for_its_authorisation():
    """The document has no code for it."""
    assert read(error(-32050, data={"authUrl": "http://localhost:1/"})).needs_authorization
    assert not read(error(-32050)).needs_authorization


# ---- mistakes

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "a code that there is not": (
        {"codes": {"CONSENT_REQIRED": 1}},
        r"codes\]: got 'CONSENT_REQIRED', did you mean 'CONSENT_REQUIRED'",
    ),
    "one code for two meanings": (
        {"codes": {"CONSENT_REQUIRED": -1, "CONSENT_DENIED": -1}},
        r"CONSENT_DENIED: -1 is CONSENT_REQUIRED already; .* message = 'WORDS'",
    ),
    "a code that is none": ({"codes": {"CONSENT_REQUIRED": True}}, "got True, expected text"),
    "a word that is none of a code's": (
        {"codes": {"CONSENT_REQUIRED": {"code": 1, "mesage": "x"}}},
        "codes] CONSENT_REQUIRED: got 'mesage', did you mean 'message'".replace("]", r"\]"),
    ),
    "no code at all": ({"codes": {"CONSENT_REQUIRED": {}}}, "got {}, expected text"),
    "a place that there is not": (
        {"call": {"tool": "exec", "arguments": {"app": "{ap}"}}},
        r"call\]: got {ap}, expected one of {name}, {app}",
    ),
    "a key of call": ({"call": {"tol": "exec"}}, r"call\]: got 'tol', did you mean 'tool'"),
    "a member that there is not": ({"fields": {"appID": "x"}}, "did you mean 'appId'"),
    "a way to authorise": ({"auth": ["apikey"]}, "auth: got 'apikey', did you mean 'apiKey'"),
    "a way to ask": ({"asks": "dialogs"}, "asks: got 'dialogs', did you mean 'dialog'"),
    "a dialog that nobody answers": ({"asks": "dialog"}, "a dialog needs somebody who answers"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(mistake: str):
    table, line = MISTAKES[mistake]
    with pytest.raises(SettingsError, match=line) as told:
        read_table(table)
    assert "\n" not in str(told.value)


# ---- the user's own code


class Ours(GatewayBinding):
    def call_params(self, tool: SafeTool, arguments: Any) -> dict[str, Any]:
        return {"name": tool.app, "arguments": {tool.tool: arguments}}


HOOKS = {
    "GatewayBinding": "expected module:Class",
    "nosuch.module:Ours": "no module 'nosuch' for nosuch.module:Ours",
    f"{__name__}:Nothing": "has no 'Nothing'",
    f"{__name__}:TOOL": "is no subclass of",
}


def test_a_hook_replaces_what_a_table_cannot_say(tmp_path: Path):
    binding = binding_of(read_table({"hook": f"{__name__}:Ours"}), tmp_path)
    assert binding.call_params(TOOL, {"a": 1}) == {"name": "mail", "arguments": {"send": {"a": 1}}}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_cannot_be_had_is_one_line(hook: str, tmp_path: Path):
    with pytest.raises(SettingsError, match=HOOKS[hook]):
        binding_of(read_table({"hook": hook}), tmp_path)


def test_a_python_function_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "desk_of_ours.py").write_text(
        "told = []\n\ndef answer(what):\n    told.append(what)\n    return []\n", encoding="utf-8"
    )
    target = open_target("reference", Settings(directory=tmp_path))
    try:
        table = read_table({"asks": "dialog", "person": "python:desk_of_ours:answer"})
        person = told_person_for(target, table)
        person.attend("Cursor", "mail", "send", Planned("tool", remember=True))
        assert person.report() == ()
    finally:
        target.close()
    told = sys.modules.pop("desk_of_ours").told
    assert told == [
        {
            "do": "attend",
            "caller": "Cursor",
            "appId": "mail",
            "tool": "send",
            "decision": "tool",
            "remember": True,
            "values": [],
        },
        {"do": "report"},
    ]


def test_a_function_that_fails_is_told_in_one_line(tmp_path: Path):
    def fails(_: object) -> None:
        raise LookupError("no such\nwindow")

    with pytest.raises(DriverError, match=r"the hook for decisions: LookupError: no such.*window$"):
        ToldPerson(told_function(fails)).decide(read(error(-1)), Choice.DENY, remember=False)
    with pytest.raises(DriverError, match="got None, expected a list of objects"):
        ToldPerson(told_function(lambda _: None)).report()
    table = read_table({"asks": "dialog", "person": f"python:{__name__}:HOOKS"})
    target = open_target("reference", Settings(directory=tmp_path))
    with pytest.raises(SettingsError, match=r"person: .*:HOOKS cannot be called"):
        told_person_for(target, table)
    target.close()
