"""What a user tells the suite of their gateway: the table [gateway_consent], checked.

Only tools that are named with arguments are ever run. Everything else has the document's names as
its default, or lets more rules be judged; what a gateway of another make says otherwise is read by
`shape`. `{pages}` and the like stand for what the gateway's own
status tool tells, where it has one. Knows no server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...config.settings import PREFIX, SettingsError
from ...support.nearest import expected
from ...support.secrets import beginning
from . import vocabulary as words
from .shape import (
    Description,
    Template,
    Wording,
    read_codes,
    read_description,
    read_fields,
    read_template,
)
from .vocabulary import FAMILY, AuthType, Choice, Kind, split_tool_name

PAGE, BROWSER, HOOK, PYTHON = "page", "browser", "hook:", "python:"
IN_THE_ANSWER, IN_A_DIALOG = "answer", "dialog"
"""How a person is asked: the call is refused and leads to the question, or waits for a dialog."""
TABLE = f"in [{FAMILY}]"


@dataclass(frozen=True)
class SafeTool:
    """A tool of an app that may be run with these arguments, again and again."""

    name: str
    """As tools/list has it."""
    app: str
    tool: str
    arguments: Mapping[str, Any]
    kind: Kind | None = None
    """None: nobody said what sort of app it is."""
    own_authorisation: bool = False
    """Whether the app wants to be asked itself; such a tool does not run on consent alone."""


@dataclass(frozen=True)
class Words:
    """What is written on the pages' buttons and beside the box."""

    tool: str = words.AUTHORIZE_TOOL
    all: str = words.AUTHORIZE_ALL
    deny: str = words.DENY
    remember: str = words.REMEMBER
    allow: str = "Allow"
    """On the page of an app's authorisation server."""
    submit: str = "OK"
    """Under a dialog that asks for a credential."""

    def button(self, choice: Choice) -> str:
        return {Choice.TOOL: self.tool, Choice.ALL: self.all, Choice.DENY: self.deny}[choice]


@dataclass(frozen=True)
class OAuth:
    """An authorisation server of an app, and a client that it knows."""

    authorize: str
    token: str
    client: str
    redirect: str
    tools: tuple[str, ...]
    scope: str = ""
    resource: str = ""
    """A URL that a token opens, by POST with an empty JSON object."""
    other_client: str = ""
    other_redirect: str = ""


@dataclass(frozen=True)
class Table:
    """The whole table."""

    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    all_tools_named: bool = False
    """Whether `tools` names every tool of every app: what it lacks, the gateway does not have."""
    auth: tuple[AuthType, ...] | None = None
    """The ways to authorise that the gateway has; None: nobody said."""
    asks: str = IN_THE_ANSWER
    person: str = PAGE
    call: Template = field(default_factory=Template)
    describe: Description | None = None
    wording: Wording = field(default_factory=Wording)
    hook: str = ""
    page: Words = field(default_factory=Words)
    status: str = ""
    """A read-only tool that tells what the placeholders of this table stand for."""
    export: str = ""
    """`tool:NAME` or a URL that gives the stored consents in the document's nested shape."""
    files: tuple[str, ...] = ()
    """Files and folders with all that the gateway writes."""
    log: str = ""
    descriptors_setting: str = ""
    descriptors_environment: str = ""
    """The variable that names a JSON file with further descriptors, for a gateway that the suite
    starts: then the suite's own apps are added to it."""
    storage_setting: str = ""
    shared_state: bool = False
    """Whether all processes of the gateway share what it keeps, as with a key store of the system:
    then clients that need a process each can still be told apart."""
    oauth: OAuth | None = None

    @property
    def takes_apps(self) -> bool:
        return bool(self.descriptors_setting or self.descriptors_environment)

    @property
    def person_is_told(self) -> bool:
        """Whether decisions are told to a hook of the user's, and not made on a page."""
        return self.person.startswith((HOOK, PYTHON))

    def has(self, *kinds: AuthType) -> bool:
        """Whether it may have one of these ways to authorise, as far as anybody said."""
        return self.auth is None or any(kind in self.auth for kind in kinds)


_TEXTS = (
    "hook",
    "status",
    "export",
    "log",
    "descriptors-setting",
    "descriptors-environment",
    "storage-setting",
)
_TOOL_KEYS = ("app", "tool", "kind", "arguments", "own-authorisation")
_OAUTH_KEYS = (
    "authorize",
    "token",
    "client",
    "redirect",
    "tools",
    "scope",
    "resource",
    "other-client",
    "other-redirect",
)
_OAUTH_NEEDED = ("authorize", "token", "client", "redirect", "tools")
_TRUTHS = ("shared-state", "all-tools-named")
_WORDING = ("codes", "code-at", "fields")
_KEYS = (
    *_TEXTS,
    *_TRUTHS,
    *_WORDING,
    *("asks", "auth", "call", "describe", "files", "oauth", "page", "person", "tools"),
)


def read_table(given: Mapping[str, Any]) -> Table:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    values: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("-", "_")
        if key in _TEXTS:
            values[name] = _checked(key, value, str, "text")
        elif key in _TRUTHS:
            values[name] = _checked(key, value, bool, "true or false")
        elif key == "person":
            values[name] = _person(value)
        elif key == "asks":
            values[name] = _one_of(key, value, (IN_THE_ANSWER, IN_A_DIALOG))
        elif key == "auth":
            listed = [
                _one_of(key, one, tuple(kind.value for kind in AuthType))
                for one in _texts(key, value)
            ]
            values[name] = tuple(AuthType(one) for one in listed)
        elif key == "call":
            values[name] = read_template(key, value)
        elif key == "describe":
            values[name] = read_description(value)
        elif key in _WORDING:
            continue
        elif key == "files":
            listed = [value] if isinstance(value, str) else value
            values[name] = _texts(key, listed)
        elif key == "page":
            values[name] = _words(value)
        elif key == "oauth":
            values[name] = _oauth(value)
        elif key == "tools":
            values[name] = _tools(value)
        else:
            raise SettingsError(f"[{FAMILY}]: got {key!r}, {expected(key, sorted(_KEYS))}")
    table = Table(**values, wording=_wording(given))
    if table.asks == IN_A_DIALOG and not table.person_is_told:
        raise SettingsError(
            f"[{FAMILY}] asks: a dialog needs somebody who answers it: person = "
            f"'{HOOK}COMMAND', '{HOOK}URL' or '{PYTHON}module:function'"
        )
    return table


def _wording(given: Mapping[str, Any]) -> Wording:
    places = given.get("code-at", ())
    return Wording(
        read_codes(given.get("codes", {})),
        _texts("code-at", [places] if isinstance(places, str) else places),
        read_fields(given.get("fields", {})),
    )


def safe_tools(
    table: Table, listed: Sequence[str], safe_arguments: Mapping[str, Any]
) -> list[SafeTool]:
    """Those that may be run and are there; `safe_arguments` come from --mcp-approval-tool."""
    found = []
    # Behind one tool, or under names of another sort, they are not listed as they are named.
    names = listed if table.call == Template() else [*table.tools, *safe_arguments]
    for name in dict.fromkeys(names):
        own = table.tools.get(name, {})
        arguments = own.get("arguments", safe_arguments.get(name))
        if arguments is None:
            continue
        app, tool = own.get("app"), own.get("tool")
        divided = split_tool_name(name)
        if divided is not None:
            app, tool = app or divided[0], tool or divided[1]
        if not app:
            if name not in table.tools:
                continue  # a tool of another family that may be run
            raise SettingsError(
                f"[{FAMILY}.tools.{name!r}]: got no app, expected the id of the app it belongs to"
            )
        found.append(
            SafeTool(
                name=name,
                app=app,
                tool=tool or name,
                arguments=arguments,
                kind=Kind(own["kind"]) if "kind" in own else None,
                own_authorisation=own.get("own-authorisation", False),
            )
        )
    # Most scenarios use the first: one that runs on consent alone, if there is such a one.
    return sorted(found, key=lambda one: one.own_authorisation)


def missing_tools(table: Table, listed: Sequence[str]) -> list[str]:
    """Tools that the table names and the gateway does not list; or the one behind which it has
    them."""
    if not table.call.names_each_tool:
        return [] if table.call.tool in listed else [table.call.tool]
    wanted = []
    for name, own in table.tools.items():
        app, tool = split_tool_name(name) or ("", name)
        wanted.append(
            table.call.params(name, own.get("app", app), own.get("tool", tool), {})["name"]
        )
    return [name for name in wanted if name not in listed]


def filled(value: Any, places: Mapping[str, Any]) -> Any:
    """With the placeholders that the status tool knows; one that it does not know makes ""."""
    if isinstance(value, str):
        for name, place in places.items():
            if f"{{{name}}}" in value:
                value = value.replace(f"{{{name}}}", place) if isinstance(place, str) else ""
        return value
    if isinstance(value, Mapping):
        return {key: filled(member, places) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(member, places) for member in value]
    return value


def _person(value: Any) -> str:
    if isinstance(value, str) and (
        value in (PAGE, BROWSER) or (value.startswith((HOOK, PYTHON)) and value[-1] != ":")
    ):
        return value
    raise SettingsError(
        f"[{FAMILY}] person: got {beginning(str(value), 60)!r}, expected page, browser, "
        "hook:<command or URL> or python:<module:function>"
    )


def _one_of(name: str, value: Any, known: tuple[str, ...]) -> str:
    if value not in known:
        raise SettingsError(
            f"[{FAMILY}] {name}: got {str(value)[:60]!r}, {expected(str(value), known)}"
        )
    return str(value)


def _tools(value: Any) -> Mapping[str, Any]:
    for name, own in _checked("tools", value, Mapping, "a table").items():
        place = f"tools.{name!r}"
        for key in _checked(place, own, Mapping, "a table"):
            if key not in _TOOL_KEYS:
                raise SettingsError(f"[{FAMILY}] {place}: got {key!r}, {expected(key, _TOOL_KEYS)}")
        _checked(f"{place}.app", own.get("app", ""), str, "an app's id")
        _checked(f"{place}.tool", own.get("tool", ""), str, "a tool's name")
        _checked(f"{place}.arguments", own.get("arguments", {}), Mapping, "a table of arguments")
        _checked(
            f"{place}.own-authorisation", own.get("own-authorisation", False), bool, "a truth value"
        )
        if own.get("kind", Kind.WEB) not in list(Kind):
            raise SettingsError(
                f"[{FAMILY}] {place}.kind: got {own['kind']!r}, expected one of {', '.join(Kind)}"
            )
    tools: Mapping[str, Any] = value
    return tools


def _words(value: Any) -> Words:
    known = Words.__dataclass_fields__
    for key, text in _checked("page", value, Mapping, "a table").items():
        if key not in known:
            raise SettingsError(f"[{FAMILY}.page]: got {key!r}, {expected(key, known)}")
        _checked(f"page.{key}", text, str, "what is written there")
    return Words(**value)


def _oauth(value: Any) -> OAuth:
    given = _checked("oauth", value, Mapping, "a table")
    for key in given:
        if key not in _OAUTH_KEYS:
            raise SettingsError(f"[{FAMILY}.oauth]: got {key!r}, {expected(key, _OAUTH_KEYS)}")
    for key in _OAUTH_NEEDED:
        if key not in given:
            raise SettingsError(f"[{FAMILY}.oauth]: got no {key!r}, expected it there")
    values = {
        key.replace("-", "_"): _checked(f"oauth.{key}", text, str, "text")
        for key, text in given.items()
        if key != "tools"
    }
    return OAuth(**values, tools=_texts("oauth.tools", given["tools"]))


def _texts(name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise SettingsError(
            f"[{FAMILY}] {name}: got {beginning(str(value), 60)!r}, expected a list of texts"
        )
    return tuple(one for one in value if one)


def _checked(name: str, value: Any, kind: Any, expected: str) -> Any:
    if not isinstance(value, kind):
        raise SettingsError(
            f"[{FAMILY}] {name}: got {beginning(str(value), 60)!r}, expected {expected} "
            f"(also {PREFIX}set {FAMILY}.{name}=...)"
        )
    return value
