"""What an app says about itself: its identity, its tools, how each is run, and its way in.

A descriptor is JSON. It comes from the app, which may be hostile: names and descriptions are any
text (bounded), and are made harmless when they are shown. Knows no consent and no credential.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...families.gateway_consent.vocabulary import AuthType, Kind, tool_name
from ...support.json_reading import with_texts
from ..server.settings import ExtensionSettingError

LONGEST_TEXT = 20_000
MOST_APPS = 200
MOST_TOOLS = 200
PLATFORMS = ("web", "macos", "linux", "windows")


class DescriptorError(ExtensionSettingError):
    """A descriptor that cannot be used, as `place: got ..., expected ...`."""


@dataclass(frozen=True)
class Auth:
    """How a web app lets the gateway in: one of the four types, and what the app says about it."""

    type: AuthType
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class AppTool:
    """One tool. `parameters` are schemas by name; `returns` is a schema, empty for nothing."""

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    returns: Mapping[str, Any] = field(default_factory=dict)
    execution: Mapping[str, Any] = field(default_factory=dict)

    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": dict(self.parameters),
            "required": list(self.required),
        }


@dataclass(frozen=True)
class App:
    """One app, checked."""

    id: str
    name: str
    kind: Kind
    tools: Mapping[str, AppTool]
    base_url: str | None = None
    auth: Auth | None = None
    platforms: tuple[str, ...] = ()

    def listings(self) -> list[dict[str, Any]]:
        """The entries of its tools in tools/list."""
        return [
            {
                "name": tool_name(self.id, tool.name),
                "title": f"{self.name}: {tool.name}",
                "description": tool.description,
                "inputSchema": tool.input_schema(),
            }
            for tool in self.tools.values()
        ]

    def located(self, places: Mapping[str, str]) -> App:
        """The same app with its placeholders filled: `{demonstration}` and the like."""

        def fill(text: str) -> str:
            for name, place in places.items():
                text = text.replace(f"{{{name}}}", place)
            return text

        auth = self.auth and replace(self.auth, settings=with_texts(self.auth.settings, fill))
        return replace(self, base_url=with_texts(self.base_url, fill), auth=auth)


def read_apps(given: Any) -> dict[str, App]:
    """Apps by id. No two may share an id, or one could use the other's consent."""
    if not isinstance(given, (list, tuple)) or not 0 < len(given) <= MOST_APPS:
        raise DescriptorError(f"apps: got {_shown(given)}, expected a list of 1 to {MOST_APPS}")
    return by_id(read_app(one, f"apps[{number}]") for number, one in enumerate(given))


def by_id(apps: Iterable[App]) -> dict[str, App]:
    found: dict[str, App] = {}
    for app in apps:
        if app.id in found:
            raise DescriptorError(f"apps: got {_shown(app.id)} twice, expected one app of each id")
        found[app.id] = app
    return found


def read_app(given: Any, place: str = "app") -> App:
    """One app from its JSON."""
    members = _object(given, place)
    try:
        kind = Kind(members.get("type", ""))
    except ValueError:
        raise DescriptorError(
            f"{place}.type: got {_shown(members.get('type'))}, expected one of {', '.join(Kind)}"
        ) from None
    tools = [
        _read_tool(one, f"{place}.tools[{number}]")
        for number, one in enumerate(_list(members.get("tools"), f"{place}.tools"))
    ]
    if not 0 < len(tools) <= MOST_TOOLS or len({tool.name for tool in tools}) != len(tools):
        raise DescriptorError(
            f"{place}.tools: got {len(tools)}, expected 1 to {MOST_TOOLS}, each with its own name"
        )
    platforms = _list(members.get("platforms", []), f"{place}.platforms")
    if not set(map(str, platforms)) <= set(PLATFORMS):
        raise DescriptorError(
            f"{place}.platforms: got {_shown(platforms)}, expected some of {', '.join(PLATFORMS)}"
        )
    base_url = members.get("baseUrl")
    if kind is Kind.WEB or base_url is not None:
        base_url = _text(base_url, f"{place}.baseUrl").rstrip("/")
        if not base_url.startswith(("http://", "https://", "{")):
            raise DescriptorError(
                f"{place}.baseUrl: got {_shown(base_url)}, expected an http or https URL"
            )
    return App(
        id=_text(members.get("id"), f"{place}.id"),
        name=_text(members.get("name"), f"{place}.name"),
        kind=kind,
        tools={tool.name: tool for tool in tools},
        base_url=base_url,
        auth=_read_auth(members.get("auth"), f"{place}.auth"),
        platforms=tuple(platforms),
    )


def _read_tool(given: Any, place: str) -> AppTool:
    members = _object(given, place)
    parameters = _object(members.get("parameters", {}), f"{place}.parameters")
    for name, schema in parameters.items():
        _text(name, f"{place}.parameters")
        _object(schema, f"{place}.parameters.{name[:40]}")
    required = _list(members.get("required", []), f"{place}.required")
    if not set(map(str, required)) <= set(parameters):
        raise DescriptorError(
            f"{place}.required: got {_shown(required)}, expected names of parameters"
        )
    return AppTool(
        name=_text(members.get("name"), f"{place}.name"),
        description=_text(members.get("description", ""), f"{place}.description", empty=True),
        parameters=parameters,
        required=tuple(required),
        returns=_object(members.get("returns", {}), f"{place}.returns"),
        execution=_object(members.get("execution", {}), f"{place}.execution"),
    )


def _read_auth(given: Any, place: str) -> Auth | None:
    """What is under the type's own name, as in the document."""
    if given is None:
        return None
    members = _object(given, place)
    try:
        kind = AuthType(members.get("type", ""))
    except ValueError:
        raise DescriptorError(
            f"{place}.type: got {_shown(members.get('type'))}, "
            f"expected one of {', '.join(AuthType)}"
        ) from None
    return Auth(kind, _object(members.get(kind.value, {}), f"{place}.{kind.value}"))


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise DescriptorError(f"{place}: got {_shown(value)}, expected an object")
    return dict(value)


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise DescriptorError(f"{place}: got {_shown(value)}, expected a list")
    return list(value)


def _text(value: Any, place: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise DescriptorError(f"{place}: got {_shown(value)}, expected text")
    if len(value) > LONGEST_TEXT:
        raise DescriptorError(
            f"{place}: got {len(value)} characters, expected {LONGEST_TEXT} at most"
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DescriptorError(
            f"{place}: got half of a surrogate pair, expected whole characters"
        ) from None
    return value


def _shown(value: Any) -> str:
    return ascii(value)[:60]
