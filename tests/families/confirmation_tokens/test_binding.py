"""The table of the settings, the three shapes of an answer, and the hook."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.config.settings import Settings, SettingsError
from pytest_mcp_approval.families.base.paths import ABSENT, put_at, value_at
from pytest_mcp_approval.families.confirmation_tokens.binding import ConfirmationBinding, binding_of
from pytest_mcp_approval.families.confirmation_tokens.driver import ConfirmationTokens
from pytest_mcp_approval.families.confirmation_tokens.outcome import read_instant
from pytest_mcp_approval.families.confirmation_tokens.settings import read_table
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    Danger,
    ParamsNotCanonicalError,
    TokenType,
    is_token,
    params_hash,
)
from pytest_mcp_approval.target import Target, open_target
from pytest_mcp_approval.wire import Outcome, Reply

ANSWER = {
    "success": False,
    "error": {
        "code": "CONFIRMATION_REQUIRED",
        "message": "Sure?",
        "details": {"confirmation_token": "conf_abc", "expires_at": "2026-01-28T12:05:00Z"},
    },
}


def target_with(directory: Path = Path(), **table: Any) -> Target:
    settings = Settings(
        targets=("http://localhost:9/mcp",),
        family_settings={"confirmation_tokens": table},
        directory=directory,
    )
    return open_target("http://localhost:9/mcp", settings)


def result(value: dict[str, Any]) -> Reply:
    return Reply(Outcome.RESULT, message={"jsonrpc": "2.0", "id": 1, "result": value})


def error(value: Any) -> Reply:
    return Reply(Outcome.ERROR, message={"jsonrpc": "2.0", "id": 1, "error": value})


SHAPES = {
    "structured": result({"structuredContent": ANSWER, "isError": True}),
    "text": result(
        {"content": [{"type": "text", "text": "no"}, {"type": "text", "text": json.dumps(ANSWER)}]}
    ),
    "error.data": error({"code": -32000, "message": "no", "data": ANSWER}),
}


@pytest.mark.parametrize("told", [True, False], ids=["told", "found"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_token_is_found_in_each_shape(shape: str, told: bool):
    binding = binding_of(target_with(**({"answer": shape} if told else {"patience": 1})))
    answer = binding.read(SHAPES[shape])
    assert not answer.success
    assert answer.code == "CONFIRMATION_REQUIRED"
    assert answer.get("token") == "conf_abc"
    assert answer.get("danger_level") is None


def test_a_shape_that_was_not_told_is_not_looked_into():
    answer = binding_of(target_with(answer="text")).read(SHAPES["structured"])
    assert (answer.code, answer.get("token")) == (None, None)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(Outcome.NO_ANSWER),
        result({"content": "nonsense"[:0]}),
        result({"content": [5, {"text": 5}, {"text": "[" * 5}]}),
        error("nonsense"),
        error({"code": "x", "data": [1]}),
    ],
    ids=["nothing", "empty", "odd parts", "no object", "a list"],
)
def test_whatever_comes_can_be_read(reply: Reply):
    answer = binding_of(target_with(patience=1)).read(reply)
    assert answer.code is None


def test_the_whole_error_can_be_looked_into():
    table: dict[str, Any] = {"answer": "error", "fields": {"code": "code", "token": "data.t"}}
    binding = binding_of(target_with(**table, codes={"CONFIRMATION_REQUIRED": [-1, "again"]}))
    answer = binding.read(error({"code": -1, "message": "no", "data": {"t": "conf_x"}}))
    assert (answer.code, answer.get("token")) == ("CONFIRMATION_REQUIRED", "conf_x")


def test_where_the_token_goes():
    binding = binding_of(target_with(Path(), **{"token-at": "arguments._confirmation"}))
    call = binding.call_params("delete", {"id": 1}, "conf_x")
    arguments = {"operation": "delete", "params": {"id": 1}, "_confirmation": "conf_x"}
    assert call == {"name": "mcp_aql", "arguments": arguments}
    usual = binding_of(target_with(patience=1))
    call = usual.call_params("delete", {"id": 1}, "conf_x", tool="other")
    assert call["arguments"]["params"] == {"id": 1, "confirmation_token": "conf_x"}
    assert call["name"] == "other"
    call = usual.call_params("export", {}, "quota_continue_x", TokenType.QUOTA)
    assert call["arguments"]["params"] == {"_quota_continue": "quota_continue_x"}


def test_an_operation_can_be_a_tool_of_its_own():
    table: dict[str, Any] = {"operation-at": "name", "params-at": "arguments"}
    table["token-at"] = "_meta.token"
    call = binding_of(target_with(**table)).call_params("drop", {"id": 1}, "conf_x")
    assert call == {"name": "drop", "arguments": {"id": 1}, "_meta": {"token": "conf_x"}}


NOON = datetime.datetime(2026, 1, 28, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "times", "exact"),
    [
        ("2026-01-28T12:00:00Z", "iso", 1000),
        ("2026-01-28T12:00:00.000Z", "iso", 1),
        ("2026-01-28T14:00:00+02:00", "iso", 1000),
        ("2026-01-28T12:00:00", "iso", 1000),
        (NOON.timestamp(), "seconds", 1),
        (int(NOON.timestamp()), "seconds", 1000),
        (int(NOON.timestamp() * 1000), "milliseconds", 1),
    ],
)
def test_instants(value: Any, times: str, exact: int):
    instant = read_instant(value, times)
    assert instant.at == NOON
    assert instant.exact == datetime.timedelta(milliseconds=exact)
    assert instant.zoned is not (times == "iso" and len(value) == 19)


@pytest.mark.parametrize(
    ("value", "times"),
    [(None, "iso"), ("soon", "iso"), (5, "iso"), ("5", "seconds"), (True, "seconds"),
     (float("nan"), "seconds"), (10**30, "milliseconds")],
)  # fmt: skip
def test_what_is_no_instant(value: Any, times: str):
    with pytest.raises(ValueError, match=r"got|Invalid isoformat"):
        read_instant(value, times)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"colour": 1}, "[confirmation_tokens]: got 'colour', expected one of tool,"),
    ({"tool": 5}, "tool: got 5, expected text"),
    ({"token-at": ""}, "[confirmation_tokens] token-at: got '', expected text"),
    ({"answer": "xml"}, "answer: got 'xml', expected one of auto,"),
    ({"times": "hours"}, "times: got 'hours'"),
    ({"operations": {}}, "operations: got {}, expected a list"),
    ({"operations": [5]}, "operations[0]: got 5, expected a table"),
    ({"operations": [{}]}, "operations[0]: got no 'name', expected the operation's name"),
    ({"operations": [{"name": "x"}]}, "operations[0]: got no 'danger', expected 0 (safe) to 4"),
    ({"operations": [{"name": "x", "danger": 5}]}, "operations[0].danger: got 5, expected one of"),
    ({"operations": [{"name": "x", "danger": True}]}, "got True"),
    (
        {"operations": [{"name": "x", "danger": 2, "parms": {}}]},
        "operations[0]: got 'parms', did you mean 'params'",
    ),
    ({"operations": [{"name": "x", "danger": 2, "params": 5}]}, "params: got 5"),
    ({"operations": [{"name": "x", "danger": 2, "other-params": {}}]}, "other-params: got {}"),
    ({"operations": [{"name": "x", "danger": 2, "max-uses": 0}]}, "max-uses: got 0"),
    ({"operations": [{"name": "x", "danger": 2, "quota": 1}]}, "quota: got 1, expected true"),
    ({"fields": {"tokn": "a"}}, "[confirmation_tokens.fields]: got 'tokn', did you mean 'token'?"),
    ({"fields": {"token": 5}}, "[confirmation_tokens.fields] token: got 5"),
    ({"codes": {"TOKEN_LOST": "x"}}, "[confirmation_tokens.codes]: got 'TOKEN_LOST'"),
    ({"codes": {"TOKEN_INVALID": 1.5}}, "[confirmation_tokens.codes] TOKEN_INVALID: got 1.5"),
    ({"clock-skew-tolerance-seconds": "abc"}, "got 'abc', expected seconds from 0 to 300"),
    ({"clock-skew-tolerance-seconds": -1}, "got -1"),
    ({"clock-skew-tolerance-seconds": 301}, "got 301"),
    ({"clock-skew-tolerance-seconds": float("nan")}, "got nan"),
    ({"ttl": {"destructive": 0}}, "[confirmation_tokens.ttl] destructive: got 0"),
    ({"variants": {"colour": "x"}}, "[confirmation_tokens.variants]: got 'colour'"),
    ({"audit": "somewhere"}, "audit: got 'somewhere', expected a URL, tool:NAME"),
    (
        {"introspection": {"opration": "x"}},
        "introspection]: got 'opration', did you mean",
    ),
    ({"triggers": [{}]}, "triggers[0]: got no 'name'"),
    ({"patience": -1}, "patience: got -1"),
    ({"burst": "many"}, "burst: got 'many'"),
]


@pytest.mark.parametrize(("table", "said"), MISTAKES, ids=str)
def test_a_mistake_in_the_table_is_one_line(table: dict[str, Any], said: str):
    with pytest.raises(SettingsError) as caught:
        read_table(table)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


HOOK = """
from pytest_mcp_approval.families.confirmation_tokens.binding import ConfirmationBinding

class Ours(ConfirmationBinding):
    def instant(self, value):
        return super().instant(value["at"])

class Nothing: pass
"""


def test_a_hook_says_what_a_table_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "hook_of_ours.py").write_text(HOOK)
    binding = binding_of(target_with(tmp_path, hook="hook_of_ours:Ours"))
    assert isinstance(binding, ConfirmationBinding)
    assert binding.instant({"at": "2026-01-28T12:00:00Z"}).at == NOON
    for name, said in {
        "hook_of_ours": "expected module:Class",
        "hook_of_ours:Missing": "has no 'Missing'",
        "hook_of_ours:Nothing": "no subclass",
        "no_such_module_here:X": "no module 'no_such_module_here'",
    }.items():
        with pytest.raises(SettingsError, match=said):
            binding_of(target_with(tmp_path, hook=name))
    sys.modules.pop("hook_of_ours", None)


def test_places_inside_json():
    tree = {"a": [{"b": None}], "c": {"d": 1}}
    assert value_at(tree, "a.0.b") is None
    assert value_at(tree, "a.1.b", ABSENT) is ABSENT
    assert value_at(tree, "c.d.e", "none") == "none"
    whole = {"c": tree["c"]}
    put_at(whole, "c.x.y", 2)
    assert whole == {"c": {"d": 1, "x": {"y": 2}}}
    assert tree["c"] == {"d": 1}, "what it was made from is left alone"


def test_words():
    assert [Danger.read(value) for value in (0, 4, "Dangerous")] == [0, 4, 3]
    one = params_hash("delete", {"b": {"y": 1, "x": 2}, "a": 1, "id": 5}, ("a", "b"))
    assert one == params_hash("delete", {"a": 1, "b": {"x": 2, "y": 1}}, ("a", "b"))
    assert one != params_hash("delete", {"a": True, "b": {"x": 2, "y": 1}}, ("a", "b"))
    assert len(one) == 64
    with pytest.raises(ParamsNotCanonicalError, match="no canonical form"):
        params_hash("delete", {"a": 2**60}, ("a",))
    assert is_token("conf_abc")
    assert not any(map(is_token, ["conf_ab", "conf_a/b", "xconf_abc", "conf_" + "a" * 65, None]))


def test_the_drivers_first_steps(tmp_path: Path):
    """The example of the documentation, on the reference server."""
    settings = Settings(targets=("reference",), directory=tmp_path)
    target = open_target("reference", settings)
    try:
        tokens = ConfirmationTokens(target)
        issued = tokens.issue("delete_repo", {"owner": "acme", "repo": "widgets"})
        swapped = issued.with_params({"owner": "acme", "repo": "gears"})
        assert tokens.redeem(swapped).refused_because("TOKEN_SCOPE_MISMATCH")
        assert tokens.redeem(issued).executed
        assert tokens.redeem(issued).refused_because("TOKEN_ALREADY_USED")
        target.clock.move_to(issued.expires_at + datetime.timedelta(seconds=31))
        late = tokens.issue("delete_repo")
        target.clock.advance(331)
        assert tokens.redeem(late).refused_because("TOKEN_EXPIRED")
    finally:
        target.close()


def test_one_code_may_mean_several_things():
    table: dict[str, Any] = {"codes": {"TOKEN_INVALID": "no", "TOKEN_EXPIRED": ["no", "late"]}}
    binding = binding_of(target_with(**table))
    answers = {}
    for own in ("no", "late", "TOKEN_ALREADY_USED"):
        said = {"structuredContent": {"success": False, "error": {"code": own}}}
        answers[own] = binding.read(result(said))
    assert (answers["no"].code, answers["late"].code) == ("no", "TOKEN_EXPIRED")
    assert answers["no"].means("TOKEN_INVALID")
    assert answers["no"].means("TOKEN_EXPIRED")
    assert not answers["no"].means("TOKEN_ALREADY_USED")
    assert not answers["late"].means("TOKEN_INVALID")
    assert answers["TOKEN_ALREADY_USED"].means("TOKEN_ALREADY_USED")
