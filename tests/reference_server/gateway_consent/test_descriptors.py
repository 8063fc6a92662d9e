"""Descriptors: what an app may say about itself, and names that no two tools share."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    AuthType,
    Kind,
    split_tool_name,
    tool_name,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration import (
    DESCRIPTORS,
    MAIL,
    demonstration_apps,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import (
    LONGEST_TEXT,
    DescriptorError,
    read_app,
    read_apps,
)
from pytest_mcp_approval.reference_server.gateway_consent.settings import read_settings

_NAMES = st.text(st.sampled_from("ab:%3A25-\u202e "), min_size=1, max_size=6)


@given(_NAMES, _NAMES, _NAMES, _NAMES)
def test_no_two_tools_share_a_name(app: str, tool: str, other_app: str, other_tool: str) -> None:
    name, other = tool_name(app, tool), tool_name(other_app, other_tool)
    assert (name == other) == ((app, tool) == (other_app, other_tool))
    assert split_tool_name(name) == (app, tool)


@pytest.mark.parametrize("name", ["", "look", ":", "a:", ":a", "gateway_status"])
def test_other_names_are_no_tools_of_apps(name: str) -> None:
    assert split_tool_name(name) is None


def test_the_demonstration_has_one_of_everything() -> None:
    apps = demonstration_apps()
    assert {app.kind for app in apps.values()} == set(Kind)
    assert {app.auth.type for app in apps.values() if app.auth} == set(AuthType)
    assert len(apps["com.example.mail"].tools) == 4
    listed = [entry for app in apps.values() for entry in app.listings()]
    assert len({entry["name"] for entry in listed}) == len(listed)
    returning = {bool(tool.returns) for app in apps.values() for tool in app.tools.values()}
    assert returning == {True, False}


def test_placeholders_are_filled_everywhere() -> None:
    located = demonstration_apps()["com.example.notes"].located({"demonstration": "http://h:1"})
    assert located.base_url == "http://h:1/notes"
    assert located.auth is not None
    assert located.auth.settings["instructions"]["helpUrl"] == "http://h:1/notes/keys"
    assert "{" not in json.dumps(located.auth.settings).replace('{"', "").replace(": {", "")


def broken(*path: Any, value: Any) -> dict[str, Any]:
    """The mail app with one member changed."""
    made: Any = copy.deepcopy(MAIL)
    place = made
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return dict(made)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("id",), "", r"app.id: got '', expected text"),
        (("id",), 7, "app.id: got 7, expected text"),
        (("id",), "a\ud800", "app.id: got half of a surrogate pair"),
        (("name",), "x" * (LONGEST_TEXT + 1), "app.name: got 20001 characters"),
        (("type",), "mobile", "app.type: got 'mobile', expected one of web, desktop, command"),
        (("type",), ["web"], r"app.type: got \['web'\]"),
        (("baseUrl",), None, "app.baseUrl: got None"),
        (("baseUrl",), "javascript:alert(1)", "app.baseUrl: got 'javascript"),
        (("platforms",), ["beos"], "app.platforms: got"),
        (("tools",), [], "app.tools: got 0, expected 1 to"),
        (("tools",), {}, "app.tools: got {}, expected a list"),
        (("tools", 1, "name"), "sendEmail", "app.tools: got 4, expected .* its own name"),
        (("tools", 0), "send", r"app.tools\[0\]: got 'send', expected an object"),
        (("tools", 0, "description"), None, r"app.tools\[0\].description: got None"),
        (("tools", 0, "parameters"), [], r"app.tools\[0\].parameters: got \[\]"),
        (("tools", 0, "parameters", "to"), "text", r"parameters.to: got 'text', expected"),
        (("tools", 0, "required"), ["cc"], r"required: got \['cc'\], expected names"),
        (("tools", 0, "returns"), "text", r"returns: got 'text', expected an object"),
        (("auth", "type"), "telepathy", "app.auth.type: got 'telepathy', expected one of oauth2"),
        (("auth", "oauth2"), 1, "app.auth.oauth2: got 1, expected an object"),
    ],
)
def test_a_descriptor_that_cannot_be_followed(path: Any, value: Any, message: str) -> None:
    read_app(copy.deepcopy(MAIL))
    with pytest.raises(DescriptorError, match=message):
        read_app(broken(*path, value=value))


def test_no_two_apps_share_an_id() -> None:
    with pytest.raises(DescriptorError, match=r"got 'com\.example\.mail' twice"):
        read_apps([MAIL, broken("name", value="Other Mail")])


def test_apps_may_stand_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "apps.json"
    path.write_text(json.dumps([MAIL]), encoding="utf-8")
    assert list(read_settings({"apps": str(path)}).apps) == ["com.example.mail"]
    other = broken("id", value="more")
    known = len(DESCRIPTORS)
    assert len(read_settings({"more_apps": [other]}).apps) == known + 1
    path.write_text("{", encoding="utf-8")
    with pytest.raises(DescriptorError, match="apps: got no JSON in"):
        read_settings({"apps": str(path)})
