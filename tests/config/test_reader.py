"""The one reader of settings: what a dataclass says about a table, and the one form of an error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest

from pytest_mcp_approval.config.reader import Place, SettingsError, Sources, read, setting


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True)
class Step:
    tool: str = setting(filled=True, expected="a tool's name")
    arguments: Mapping[str, Any] = setting({})


@dataclass(frozen=True)
class Table:
    tool_name: str = "usual"
    count: int = setting(1, least=1, most=9)
    seconds: float = setting(0.5, above=0, expected="seconds")
    loud: bool = False
    colour: Colour | None = None
    words: tuple[str, ...] = ()
    steps: tuple[Step, ...] = setting((), alone=True)
    by_name: Mapping[str, Step] = setting({})
    names: Mapping[str, str] = setting({"first_one": "1"}, names={"first_one": "1", "last": None})
    document: Mapping[str, str] = setting({}, names={"token_id": None}, verbatim=True)
    key: str = setting("", secret=True)
    made: int = setting(0, internal=True)


SOURCES = Sources("mcp-approval.toml")


def table(sources: Sources = SOURCES, /, **given: Any) -> Table:
    return read(Table, {k.replace("__", "-"): v for k, v in given.items()}, Place(("x",), sources))


def test_what_is_not_said_has_its_usual_value():
    assert table() == Table()


def test_types_say_what_a_value_becomes():
    found = table(
        count=3,
        seconds=2,
        colour="green",
        words="alone",
        steps={"tool": "a", "arguments": {"b_c": 1}},
        by__name={"y": {"tool": "b"}},
        names={"first-one": "2"},
    )
    assert found.colour is Colour.GREEN
    assert found.words == ("alone",)
    assert found.steps == (Step("a", {"b_c": 1}),), "what is the user's own stays as it is written"
    assert found.by_name == {"y": Step("b")}
    assert found.names == {"first_one": "2"}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            {"cuont": 1},
            "[x]: got 'cuont', did you mean 'count'? expected one of tool-name, count, ",
        ),
        ({"count": True}, "[x] count: got True, expected a whole number from 1 to 9"),
        ({"count": 10}, "[x] count: got 10, expected a whole number from 1 to 9"),
        ({"seconds": 0}, "[x] seconds: got 0, expected seconds"),
        ({"seconds": float("inf")}, "[x] seconds: got inf, expected seconds"),
        ({"loud": "yes"}, "[x] loud: got 'yes', expected true or false"),
        ({"colour": "gren"}, "[x] colour: got 'gren', did you mean 'green'? expected one of red, "),
        ({"words": ["a", 1]}, "[x] words: got 1, expected text"),
        ({"words": {}}, "[x] words: got {}, expected a list of texts"),
        ({"steps": [{"tol": "a"}]}, "[x] steps[0]: got 'tol', did you mean 'tool'? expected "),
        ({"steps": [{}]}, "[x] steps[0]: got no 'tool', expected a tool's name"),
        ({"steps": [{"tool": ""}]}, "[x] steps[0].tool: got '', expected a tool's name"),
        (
            {"by-name": {"a:b": {"tool": 5}}},
            "[x.by-name.'a:b'] tool: got 5, expected a tool's name",
        ),
        ({"by-name": 5}, "[x] by-name: got 5, expected a table"),
        ({"names": {"frst-one": "a"}}, "[x.names]: got 'frst-one', did you mean 'first-one'? "),
        (
            {"document": {"token-id": "a"}},
            "[x.document]: got 'token-id', did you mean 'token_id'? ",
        ),
        ({"key": 5}, "[x] key: expected text"),
        ({"made": 1}, "[x]: got 'made', "),
        ({"tool-name": "a", "tool_name": "b"}, "[x]: got 'tool-name' twice, expected it once"),
        (5, "x: got 5, expected a table"),
    ],
    ids=str,
)
def test_what_is_wrong_is_one_line_with_its_place(given: Any, line: str):
    with pytest.raises(SettingsError) as told:
        read(Table, given, Place(("x",), SOURCES))
    assert str(told.value).startswith(f"mcp-approval.toml {line}")
    assert "\n" not in str(told.value)


def test_a_long_value_is_shown_by_its_beginning():
    with pytest.raises(SettingsError) as told:
        table(loud="a" * 5_000)
    assert len(str(told.value)) < 200


def test_underscores_are_read_and_told_once():
    sources = Sources("mcp-approval.toml")
    for _ in range(2):
        found = table(sources, tool_name="a", names={"first_one": "b"})
    assert (found.tool_name, found.names) == ("a", {"first_one": "b"})
    assert sources.old == [
        "mcp-approval.toml [x] tool-name for tool_name",
        "mcp-approval.toml [x.names] first-one for first_one",
    ]


def test_the_place_of_what_the_command_line_said():
    line: dict[tuple[str, ...], str] = {
        ("x", "count"): "--mcp-approval-count",
        ("x", "by-name"): "--mcp-approval-by-name",
    }
    sources = Sources("mcp-approval.toml", line=line)
    with pytest.raises(SettingsError, match=r"^--mcp-approval-count: got 0"):
        table(sources, count=0)
    with pytest.raises(SettingsError, match=r"^--mcp-approval-by-name\.y\.tool: got 5"):
        table(sources, by__name={"y": {"tool": 5}})


def test_a_table_of_pyproject_is_named_as_it_is_written_there():
    sources = Sources("pyproject.toml", ("tool", "mcp-approval"))
    assert str(Place(("x", "count"), sources)) == "pyproject.toml [tool.mcp-approval.x] count"
    assert str(Place(("strict",), sources)) == "pyproject.toml [tool.mcp-approval] strict"
