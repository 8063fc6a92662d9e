"""Every option of the suite, in one place: what it means, and where it can be set.

On the command line an option is `--mcp-approval-<name>`. In a file it is a key. Keys of one family,
and of a server that the suite starts, are in tables; their options are aliases that `pytest --help`
leaves out. Imports only the standard library, because every pytest run loads it. `settings` finds
the values, `reader` reads them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import values
from .client_description import ClientDescription
from .reader import Keys, SettingsError, Sources, rule_of, setting

__all__ = ["OPTIONS", "Option", "Settings", "SettingsError"]

START = "--mcp-approval"
"""The flag that runs the scenarios against the target of a settings file."""
PREFIX = "--mcp-approval-"
MERGE = "--mcp-approval-merge"
"""Merges reports, and runs nothing: no setting of a run."""
NO_BROWSER = "none"
"""The value of the browser option that leaves out the checks on a page."""
WITHOUT_TARGET = frozenset({"browser", "page"})
"""Options that make sense without a target: a user's own test may need only a page."""
OF_WHOLE_RUNS = frozenset({"report", "compare", "write-baseline", "explore"})
"""Options that a replay ignores, since it runs one scenario, unless they are given with it."""
FILE = "mcp-approval.toml"
TABLE = "mcp-approval"
LAUNCH = "launch"
"""The table of a server that the suite starts."""
CLIENT = "client"
"""The table of a client under test."""


@dataclass(frozen=True)
class Option:
    """One option: `--mcp-approval-<name>` on the command line, the key at `place` in a file."""

    name: str
    metavar: str | None
    help: str
    place: Keys = ()
    hidden: bool = False
    """Whether `pytest --help` leaves it out; docs/options.md has them all."""
    short: bool = False
    """Whether a text in place of its table means this key."""
    optional: str | None = None
    """The value used if the option is given without one; None if it needs one."""
    example: str = ""
    """For an entry of a table; "" if it is not a table. The metavar is the form of an entry."""
    repeatable: bool = False
    flag: bool = False

    @property
    def destination(self) -> str:
        return f"mcp_approval_{self.name.replace('-', '_')}"


def _option(
    default: Any,
    written: str,
    help: str,
    *,
    key: str = "",
    table: str = "",
    hidden: bool = False,
    optional: str | None = None,
    example: str = "",
    **rule: Any,
) -> Any:
    """A field with an option, which is spelled `written` after `--mcp-approval-`."""
    name, _, metavar = written.partition("=")
    option = Option(
        name,
        metavar or None,
        help,
        (table, key) if table else (name,),
        hidden=hidden,
        short=name == table,
        optional=optional,
        example=example,
    )
    return setting(default, key=key or name, table=table, option=option, **rule)


def _launch(default: Any, key: str, written: str, help: str, **rule: Any) -> Any:
    return _option(default, written, help, key=key, table=LAUNCH, hidden=True, **rule)


_CONFIDENTIAL: Mapping[str, Any] = {
    "secret": True,
    "each": values.variable,
    "each_form": values.TEXT_OR_NUMBER,
}


@dataclass(frozen=True)
class Settings:
    """The options, read and checked as far as that goes without a target."""

    # Fields that may hold a secret are in no repr: pytest prints reprs of local variables.
    targets: tuple[str, ...] = _option(
        (),
        "target=SERVER",
        "the server to check: reference, http(s)://..., stdio:<command line>, "
        "python:<module>:<factory>, ... (docs/options.md); repeatable",
        repr=False,
    )
    tools: Mapping[str, Mapping[str, Any]] = _option(
        {},
        "tool=NAME=JSON",
        "a gated tool, and arguments that are safe to run it with; repeatable",
        example='delete_resource={"resourceId": "test-1"}',
        repr=False,
    )
    generate_arguments: bool = _option(
        False,
        "generate-arguments",
        "let the suite make arguments from inputSchema and RUN the gated tools with them",
        hidden=True,
    )
    effects: str | None = _option(
        None,
        "effects=URL|tool:NAME",
        "what shows whether a gated tool ran: a URL, or tool:NAME of a read-only tool",
        parse=values.effects,
        repr=False,
    )
    reset: str | None = _option(
        None, "reset=HOW", "how to make the target fresh: restart, or a command", repr=False
    )
    headers: Mapping[str, str] = _option(
        {},
        "header=NAME: VALUE",
        "a header for every HTTP request; redacted in reports; repeatable",
        example="'Authorization: Bearer ...'",
        **_CONFIDENTIAL,
    )
    headers_from: Mapping[str, str] = _option(
        {},
        "header-from=NAME: VALUE",
        "the same with a secret as {env:NAME} or {file:PATH} in its value; repeatable",
        example="'Authorization: Bearer {env:TOKEN}'",
        **_CONFIDENTIAL,
    )
    second_user_headers: Mapping[str, str] = _option(
        {},
        "second-user-header=NAME: VALUE",
        "a header by which the server knows a second person, sent in the place of the usual one of "
        "that name; redacted in reports; repeatable",
        example="'Authorization: Bearer ...'",
        hidden=True,
        **_CONFIDENTIAL,
    )
    second_user_headers_from: Mapping[str, str] = _option(
        {},
        "second-user-header-from=NAME: VALUE",
        "the same with a secret as {env:NAME} or {file:PATH} in its value; repeatable",
        example="'Authorization: Bearer {env:OTHER_TOKEN}'",
        hidden=True,
        **_CONFIDENTIAL,
    )
    launch: str | None = _launch(
        None,
        "command",
        "launch=COMMAND",
        "the command that starts the server of an http(s) target; {port} in it and in the URL is "
        "a free port, {state} an empty folder (docs/foreign-servers.md)",
        parse=values.command_line,
        repr=False,
    )
    launch_timeout: float = _launch(
        30.0,
        "timeout",
        "launch-timeout=SECONDS",
        "seconds until a server that is started must answer (default: 30)",
        parse=values.seconds,
        form=values.TEXT_OR_NUMBER,
    )
    environment: Mapping[str, str] = _launch(
        {},
        "environment",
        "environment=NAME=VALUE",
        "a variable for the server that the suite starts; redacted in reports; repeatable",
        example="LOG_LEVEL=debug",
        **_CONFIDENTIAL,
    )
    environment_from: Mapping[str, str] = _launch(
        {},
        "environment-from",
        "environment-from=NAME=VALUE",
        "the same with a secret as {env:NAME} or {file:PATH} in its value; repeatable",
        example="'API_KEY={file:key.txt}'",
        **_CONFIDENTIAL,
    )
    server_directory: Path | None = _launch(
        None, "directory", "directory=PATH", "where that server runs (default: here)"
    )
    replicas: int | None = _option(
        None,
        "replicas=NUMBER",
        "how many processes of a command that the suite starts share what they store, by {state} "
        "or by a database that the command names (default: 2 if there is {state})",
        hidden=True,
        parse=values.replicas,
        form=values.TEXT_OR_NUMBER,
    )
    network_faults: bool = _option(
        False,
        "network-faults",
        "check too what a bad network does to approvals: lost answers, doubled requests, cut "
        "connections, by a proxy in front of an HTTP target (docs/network-faults.md)",
        hidden=True,
    )
    clock: str = _option(
        "auto",
        "clock=auto|faketime|hook:HOW|wait[:SECONDS]|none",
        "how the server's time is moved (default: auto; see docs/foreign-servers.md)",
        parse=values.clock,
        repr=False,
    )
    browser: str | None = _option(
        None, "browser=PROGRAM|none", "for checks on a page (default: what is found), or none"
    )
    protocol: str = _option(
        "auto", "protocol=auto|REVISION", "the MCP revision to speak (default: auto)", hidden=True
    )
    families: tuple[str, ...] = _option((), "family=FAMILY", "check only this family; repeatable")
    select: tuple[str, ...] = _option(
        (), "select=PATTERN", "check only rules like this, e.g. sep2672/4.8*; repeatable"
    )
    baseline: Path | None = _option(
        None, "baseline=FILE", "known failures, which do not fail the run (docs/baseline.md)"
    )
    write_baseline: Path | None = _option(
        None, "write-baseline=FILE", "write what fails now to this file, to be edited"
    )
    reports: tuple[Path, ...] = _option(
        (), "report=PATH", "write a report: .html, .json, .md, .sarif, .yaml or .svg; repeatable"
    )
    compare: Path | None = _option(
        None, "compare=FILE", "show what changed since the run of this .json report", hidden=True
    )
    findings: Path | None = _option(
        None,
        "findings=FOLDER|none",
        "where findings are kept (default: .mcp-approval/findings)",
        hidden=True,
    )
    """Where findings go, for replays; None: nowhere."""
    replay: Path | None = _option(
        None, "replay=FILE", "run the scenario of a finding again, and compare (docs/report.md)"
    )
    require_verified: tuple[str, ...] = _option(
        (),
        "require-verified=PATTERN",
        "fail the run for each rule (like PATTERN) that was not verified; repeatable",
        optional="*",
        parse=values.patterns,
        form=values.ALL_OR_PATTERNS,
    )
    explore: float = _option(
        0.0,
        "explore=SECONDS",
        "also explore, for so long (default: 60; docs/exploration.md)",
        optional="60",
        parse=values.budget,
        form=values.TRUE_OR_SECONDS,
    )
    explore_databases: tuple[str, ...] = _option(
        (),
        "explore-database=FOLDER|redis://HOST|github:OWNER/REPOSITORY",
        "where explorations keep what they found for later ones; repeatable, the first is written",
        hidden=True,
        parse=values.databases,
        form=values.ONE_OR_SEVERAL_TEXTS,
        repr=False,
    )
    explore_rate: float | None = _option(
        None,
        "explore-rate=NUMBER",
        "requests a second that an exploration sends at most (default: 20 to other machines)",
        hidden=True,
        parse=values.rate,
        form=values.TEXT_OR_NUMBER,
    )
    strict: bool = _option(False, "strict", "a SHOULD that is not met fails the run")
    timeout: float = _option(
        10.0,
        "timeout=SECONDS",
        "seconds that the target gets for one answer (default: 10)",
        parse=values.seconds,
        form=values.TEXT_OR_NUMBER,
    )

    # ---- not options

    client: ClientDescription = setting(ClientDescription, repr=False, internal=True)
    """The client under test, if its command is named: then the suite plays the server."""
    family_settings: Mapping[str, Mapping[str, Any]] = setting(dict, repr=False, internal=True)
    """By family; each family defines its own settings."""
    effects_doubt: str = setting("", internal=True)
    """Why the effects probe cannot tell whether a tool ran: found by the preflight, never given."""
    drawn_secrets: tuple[str, ...] = setting((), repr=False, internal=True)
    """What was drawn from the environment or files, for headers and variables."""
    directory: Path = setting(Path(), internal=True)
    """Where the user started: commands run here, and servers if nothing else is said."""
    sources: Sources = setting(Sources, repr=False, internal=True)
    """Where all these values came from."""
    additions: tuple[tuple[str, str], ...] = setting((), internal=True)
    """Tables to which the command line added, and what it added: lines for the header."""

    @property
    def checks_a_client(self) -> bool:
        """Whether a client is checked, and not a server."""
        return bool(self.client.name)

    @property
    def subject(self) -> str:
        """What is checked, as the user named it; "" if nothing is."""
        return self.client.name or (self.targets[0] if self.targets else "")


SET = Option(
    "set",
    "TABLE.KEY=VALUE",
    "a setting of [launch] or of a family's table (docs/options.md); repeatable",
    repeatable=True,
)
OF_CLIENT = Option(
    CLIENT,
    "COMMAND",
    "check a client instead, with {url}, {stdio} or {config} in it (docs/clients.md)",
    (CLIENT, "command"),
    short=True,
)
OF_CLIENT_PAGE = Option(
    "client-page",
    "URL",
    "check a client that is a web page, with {url} in its address where it is told its server "
    "(docs/clients.md)",
    (CLIENT, "page", "url"),
    hidden=True,
)
_OF_FAMILIES = (
    Option(
        "origin",
        "URL",
        "the page that users approve on (default: that of the page, else http://<rp.id>)",
        ("sep2672", "origin"),
        hidden=True,
    ),
    Option(
        "page",
        "URL",
        "the page that people enroll and approve on, for the checks in a browser (the reference "
        "server brings its own); {port} in it is that of a launched server",
        ("sep2672", "page", "url"),
        hidden=True,
        short=True,
    ),
    Option(
        "server-id",
        "ID",
        "the serverId in the target's action hashes (SEP-2672 section 4.6)",
        ("sep2672", "server-id"),
        hidden=True,
    ),
)
"""Often used settings of one family; the family checks their values."""


def _of_fields() -> Iterator[Option]:
    for one in dataclasses.fields(Settings):
        option, kind = rule_of(one).option, str(one.type)
        if option is not None:
            several = kind.startswith(("tuple", "Mapping"))
            yield dataclasses.replace(option, repeatable=several, flag=kind == "bool")


OPTIONS: tuple[Option, ...] = (*_of_fields(), OF_CLIENT, OF_CLIENT_PAGE, SET, *_OF_FAMILIES)
