"""What a user tells the suite about their gateway: the table [gateway_consent], checked.

Only tools that are named with arguments are ever run. Everything else defaults to the document's
names, or lets more rules be checked; `shape` has what other gateways do differently. `{pages}` and
the like are filled in from the gateway's own status tool, if it has one. Knows no server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...config.reader import Place, SettingsError, Sources, read, setting
from ...config.settings import PREFIX
from ...support.json_reading import with_texts
from . import vocabulary as words
from .shape import SIGN_FORM, SIGNS, Description, Sign, Template, Wording, read_signs
from .vocabulary import FAMILY, MEMBERS, AuthType, Choice, Kind, Refusal, split_tool_name

PAGE, BROWSER, HOOK, PYTHON = "page", "browser", "hook:", "python:"
IN_THE_ANSWER, IN_A_DIALOG = "answer", "dialog"
"""How a person is asked: the call is refused and leads to the question, or waits for a dialog."""
TABLE = f"in [{FAMILY}]"
NO_TOOL = f"needs a tool that may be run: {PREFIX}tool 'APP:TOOL=JSON', or tools.'NAME' {TABLE}"


@dataclass(frozen=True)
class SafeTool:
    """A tool of an app that may be run with these arguments, again and again."""

    name: str
    """As in tools/list."""
    app: str
    tool: str
    arguments: Mapping[str, Any]
    kind: Kind | None = None
    """None: the kind of app is not known."""
    own_authorisation: bool = False
    """Whether the app needs its own authorisation; then consent alone is not enough."""


@dataclass(frozen=True)
class NamedTool:
    """The same, as the user writes it."""

    app: str = setting("", expected="an app's id")
    tool: str = setting("", expected="a tool's name")
    kind: Kind | None = None
    arguments: Mapping[str, Any] | None = setting(None, expected="a table of arguments")
    own_authorisation: bool = False


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
    cancel: str = "Cancel"
    """Beside it."""

    def button(self, choice: Choice) -> str:
        return {Choice.TOOL: self.tool, Choice.ALL: self.all, Choice.DENY: self.deny}[choice]


@dataclass(frozen=True)
class OAuth:
    """An authorisation server of an app, and a client that it knows."""

    authorize: str
    token: str
    client: str
    redirect: str
    tools: tuple[str, ...] = setting(filled=True)
    scope: str = ""
    resource: str = ""
    """A URL that a token opens, by POST with an empty JSON object."""
    other_client: str = ""
    other_redirect: str = ""


def _person(value: Any) -> str:
    if isinstance(value, str) and (
        value in (PAGE, BROWSER) or (value.startswith((HOOK, PYTHON)) and value[-1] != ":")
    ):
        return value
    raise ValueError("expected page, browser, hook:<command or URL> or python:<module:function>")


@dataclass(frozen=True)
class GatewayConsentTable:
    """The whole table."""

    tools: Mapping[str, NamedTool] = setting({})
    """The tools of apps, with arguments that are safe to run."""
    all_tools_named: bool = False
    """Whether `tools` names every tool of every app: then the gateway has no others."""
    auth: tuple[AuthType, ...] | None = None
    """The ways to authorise that the gateway has; None: not known."""
    asks: str = setting(IN_THE_ANSWER, choices=(IN_THE_ANSWER, IN_A_DIALOG))
    """Whether the answer to a call asks, or a dialog while the call waits."""
    person: str = setting(PAGE, parse=_person)
    """Who decides: page, browser, hook:COMMAND or URL, python:module:function."""
    call: Template = setting(Template)
    """How a tool of an app is called: directly, or through one tool of the gateway."""
    describe: Description | None = None
    """How the gateway describes a tool, if it lists only its own."""
    codes: Mapping[Refusal, tuple[Sign, ...]] = setting(
        SIGNS, names=SIGNS, verbatim=True, each=read_signs, each_form=SIGN_FORM
    )
    """How refusals show, if not as in the document."""
    code_at: tuple[str, ...] = setting((), filled=True)
    """Where a refusal's code is, if not where the document has it."""
    fields: Mapping[str, str] = setting(
        {}, names=dict.fromkeys(MEMBERS), verbatim=True, filled=True, expected="a place"
    )
    """Where the members of a question are, if not where the document has them."""
    hook: str = ""
    """`module:Class`, for what a table cannot say."""
    page: Words = setting(Words)
    """The words on the buttons and boxes of the consent page."""
    status: str = ""
    """A read-only tool that tells what the placeholders of this table stand for."""
    export: str = ""
    """`tool:NAME` or a URL that returns the stored consents in the document's nested shape."""
    credentials: str = ""
    """The same for the stored credentials: an object with a record under its app's id, with its
    secrets masked."""
    key_store: str = ""
    """The same for the names of the entries that the gateway has in the system's key store."""
    files: tuple[str, ...] = setting((), filled=True)
    """Files and folders with everything that the gateway writes."""
    log: str = ""
    """The file that the gateway logs to, if it is not its standard error."""
    descriptors_setting: str = ""
    """The setting of the reference server that takes descriptors, for its tests."""
    descriptors_environment: str = ""
    """The variable that names a JSON file with further descriptors, for a gateway that the suite
    starts: then the suite's own apps are added to it."""
    storage_setting: str = ""
    """The same for where it keeps consents."""
    shared_state: bool = False
    """Whether all processes of the gateway share its data, for instance in the system's key store:
    then clients that need a process each can be compared."""
    oauth: OAuth | None = None
    """An app's authorisation server, to check the gateway's side of OAuth."""

    def __post_init__(self) -> None:
        _ = self.wording  # raises an error if it is wrong
        if self.asks == IN_A_DIALOG and not self.person_is_told:
            raise ValueError(
                "asks: a dialog needs somebody who answers it: person = "
                f"'{HOOK}COMMAND', '{HOOK}URL' or '{PYTHON}module:function'"
            )

    @cached_property
    def wording(self) -> Wording:
        """How refusals are worded."""
        return Wording(self.codes, self.code_at, self.fields)

    @property
    def takes_apps(self) -> bool:
        return bool(self.descriptors_setting or self.descriptors_environment)

    @property
    def person_is_told(self) -> bool:
        """Whether decisions go to the user's hook instead of a page."""
        return self.person.startswith((HOOK, PYTHON))

    def has(self, *kinds: AuthType) -> bool:
        """Whether it may have one of these ways to authorise, as far as is known."""
        return self.auth is None or any(kind in self.auth for kind in kinds)


TABLE_CLASS = GatewayConsentTable


def read_table(given: Mapping[str, Any], sources: Sources | None = None) -> GatewayConsentTable:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    return read(GatewayConsentTable, given, Place((FAMILY,), sources or Sources()))


def safe_tools(
    table: GatewayConsentTable, listed: Sequence[str], safe_arguments: Mapping[str, Any]
) -> list[SafeTool]:
    """The tools that exist and may be run; `safe_arguments` come from --mcp-approval-tool."""
    found = []
    # Tools behind one tool, or with other names, are not listed under the table's names.
    names = listed if table.call == Template() else [*table.tools, *safe_arguments]
    for name in dict.fromkeys(names):
        own = table.tools.get(name, NamedTool())
        arguments = safe_arguments.get(name) if own.arguments is None else own.arguments
        if arguments is None:
            continue
        app, tool = _parts(name, own)
        if not app:
            if name not in table.tools:
                continue  # a tool of another family that may be run
            raise SettingsError(
                f"[{FAMILY}.tools.{name!r}]: got no app, expected the id of the app it belongs to"
            )
        found.append(SafeTool(name, app, tool, arguments, own.kind, own.own_authorisation))
    # Most scenarios use the first: one that runs on consent alone, if there is one.
    return sorted(found, key=lambda one: one.own_authorisation)


def missing_tools(table: GatewayConsentTable, listed: Sequence[str]) -> list[str]:
    """Tools that the table names and the gateway does not list; or the one that they are behind."""
    if not table.call.names_each_tool:
        return [] if table.call.tool in listed else [table.call.tool]
    wanted = [
        table.call.params(name, *_parts(name, own), {})["name"] for name, own in table.tools.items()
    ]
    return [name for name in wanted if name not in listed]


def _parts(name: str, own: NamedTool) -> tuple[str, str]:
    """App and tool, from the table or from the parts of the name."""
    app, tool = split_tool_name(name) or ("", name)
    return own.app or app, own.tool or tool


def filled(value: Any, places: Mapping[str, Any]) -> Any:
    """With placeholders filled in from the status tool; unknown ones become ""."""

    def fill(text: str) -> str:
        for name, place in places.items():
            if f"{{{name}}}" in text:
                text = text.replace(f"{{{name}}}", place) if isinstance(place, str) else ""
        return text

    return with_texts(value, fill)
