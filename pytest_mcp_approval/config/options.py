"""Every option of the suite, once: what a run is told, and where that is said.

On the command line an option is `--mcp-approval-<name>`. In a file it is a key; those of one family
and of a server that is started stand in tables, and their options are aliases that `pytest --help`
leaves out. Standard library only: the plugin loads this when it is loaded. How values are found and
read is `settings`'s and `reader`'s to know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import values
from .reader import Keys, SettingsError, Sources, rule_of, setting

__all__ = ["OPTIONS", "Option", "Settings", "SettingsError"]

START = "--mcp-approval"
"""The flag that runs the scenarios against the target of a settings file."""
PREFIX = "--mcp-approval-"
NO_BROWSER = "none"
"""As the browser: nothing is checked on a page."""
WITHOUT_TARGET = frozenset({"browser", "page"})
"""Options that make sense without a target: a test of one's own may need no more than a page."""
OF_WHOLE_RUNS = frozenset({"report", "compare", "write-baseline"})
"""What a replay, which runs one scenario, leaves alone unless it is asked for at the same time."""
FILE = "mcp-approval.toml"
TABLE = "mcp-approval"
LAUNCH = "launch"
"""The table of a server that the suite starts."""


@dataclass(frozen=True)
class Pairs:
    """A table on the command line: a word for each of its entries."""

    sign: str
    form: str
    example: str
    json: bool = False
    """Whether the values are JSON objects."""


_HEADER = Pairs(":", "'NAME: VALUE'", "'Authorization: Bearer ...'")
_HEADER_FROM = Pairs(":", "'NAME: VALUE'", "'Authorization: Bearer {env:TOKEN}'")
_VARIABLE = Pairs("=", "'NAME=VALUE'", "LOG_LEVEL=debug")
_VARIABLE_FROM = Pairs("=", "'NAME=VALUE'", "'API_KEY={file:key.txt}'")
_ARGUMENTS = Pairs("=", "NAME=JSON object", 'delete_resource={"resourceId": "test-1"}', json=True)


@dataclass(frozen=True)
class Option:
    """One option, on the command line `--mcp-approval-<name>`, in a file the key at `place`."""

    name: str
    help: str
    metavar: str | None = None
    repeatable: bool = False
    flag: bool = False
    optional: str | None = None
    """What stands for a value that is left out, where it may be."""
    place: Keys = ()
    pairs: Pairs | None = None
    hidden: bool = False
    """Whether `pytest --help` leaves it out; docs/options.md has them all."""
    short: bool = False
    """Whether a text in place of its table means this key."""

    @property
    def destination(self) -> str:
        return f"mcp_approval_{self.name.replace('-', '_')}"

    @property
    def in_files(self) -> bool:
        return bool(self.place)


def _option(
    name: str,
    help: str,
    metavar: str | None = None,
    default: Any = None,
    *,
    key: str = "",
    table: str = "",
    repr: bool = True,
    rule: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    place = (table, key or name) if table else (name,)
    option = Option(name, help, metavar, place=place, **more)
    return setting(default, key=key or name, table=table, option=option, repr=repr, **(rule or {}))


def _launch(name: str, key: str, help: str, metavar: str, default: Any = None, **more: Any) -> Any:
    return _option(name, help, metavar, default, key=key, table=LAUNCH, hidden=True, **more)


@dataclass(frozen=True)
class Settings:
    """The options, read and checked as far as that goes without a target."""

    # What may hold a secret is in no repr: pytest prints those of local variables.
    targets: tuple[str, ...] = _option(
        "target",
        "the server to judge: reference, http(s)://..., stdio:<command line>, "
        "python:<module>:<factory>, or a verifier that is none (docs/options.md); repeatable",
        "SERVER",
        (),
        repeatable=True,
        repr=False,
        rule={"parse": values.texts},
    )
    tools: Mapping[str, Mapping[str, Any]] = _option(
        "tool",
        "a gated tool, and arguments that are safe to run it with; repeatable",
        "NAME=JSON",
        {},
        repeatable=True,
        pairs=_ARGUMENTS,
        repr=False,
    )
    generate_arguments: bool = _option(
        "generate-arguments",
        "let the suite make arguments from inputSchema and RUN the gated tools with them",
        default=False,
        flag=True,
        hidden=True,
    )
    effects: str | None = _option(
        "effects",
        "what shows whether a gated tool ran: a URL, or tool:NAME of a read-only tool",
        "URL|tool:NAME",
        repr=False,
        rule={"parse": values.effects},
    )
    reset: str | None = _option(
        "reset", "how to make the target fresh: restart, or a command to run", "HOW", repr=False
    )
    headers: Mapping[str, str] = _option(
        "header",
        "a header for every HTTP request; redacted in reports; repeatable",
        "NAME: VALUE",
        {},
        repeatable=True,
        pairs=_HEADER,
        rule={"secret": True, "each": values.variable},
    )
    headers_from: Mapping[str, str] = _option(
        "header-from",
        "the same with a secret as {env:NAME} or {file:PATH} in its value; repeatable",
        "NAME: VALUE",
        {},
        repeatable=True,
        pairs=_HEADER_FROM,
        rule={"secret": True, "each": values.variable},
    )
    launch: str | None = _launch(
        "launch",
        "command",
        "the command that starts the server of an http(s) target; {port} in it and in the URL is "
        "a free port, {state} an empty folder (docs/foreign-servers.md)",
        "COMMAND",
        repr=False,
        short=True,
        rule={"parse": values.command_line},
    )
    launch_timeout: float = _launch(
        "launch-timeout",
        "timeout",
        "seconds until a server that is started must answer (default: 30)",
        "SECONDS",
        30.0,
        rule={"parse": values.seconds},
    )
    environment: Mapping[str, str] = _launch(
        "environment",
        "environment",
        "a variable for the server that the suite starts; redacted in reports; repeatable",
        "NAME=VALUE",
        {},
        repeatable=True,
        pairs=_VARIABLE,
        rule={"secret": True, "each": values.variable},
    )
    environment_from: Mapping[str, str] = _launch(
        "environment-from",
        "environment-from",
        "the same with a secret as {env:NAME} or {file:PATH} in its value; repeatable",
        "NAME=VALUE",
        {},
        repeatable=True,
        pairs=_VARIABLE_FROM,
        rule={"secret": True, "each": values.variable},
    )
    server_directory: Path | None = _launch(
        "directory",
        "directory",
        "where that server runs (default: where pytest was started)",
        "PATH",
        rule={"parse": values.text},
    )
    clock: str = _option(
        "clock",
        "how the server's time is moved (default: auto; see docs/foreign-servers.md)",
        "auto|faketime|hook:HOW|wait[:SECONDS]|none",
        "auto",
        repr=False,
        rule={"parse": values.clock},
    )
    browser: str | None = _option(
        "browser",
        "the browser for checks on a page (default: what is found), or none",
        "PROGRAM|none",
    )
    protocol: str = _option(
        "protocol",
        "the MCP revision to speak (default: auto)",
        "auto|REVISION",
        "auto",
        hidden=True,
    )
    families: tuple[str, ...] = _option(
        "family",
        "judge only this family; repeatable",
        "FAMILY",
        (),
        repeatable=True,
        rule={"parse": values.texts},
    )
    select: tuple[str, ...] = _option(
        "select",
        "judge only rules like this, e.g. sep2672/4.8*; repeatable",
        "PATTERN",
        (),
        repeatable=True,
        rule={"parse": values.texts},
    )
    baseline: Path | None = _option(
        "baseline",
        "known failures, which do not fail the run (docs/baseline.md)",
        "FILE",
        rule={"parse": values.text},
    )
    write_baseline: Path | None = _option(
        "write-baseline",
        "write what fails now to this file, to be edited",
        "FILE",
        rule={"parse": values.text},
    )
    reports: tuple[Path, ...] = _option(
        "report",
        "write a report: .html, .json, .md, .sarif, .yaml or .svg; repeatable",
        "PATH",
        (),
        repeatable=True,
        rule={"parse": values.texts},
    )
    compare: Path | None = _option(
        "compare",
        "tell what changed since the run of this .json report",
        "FILE",
        hidden=True,
        rule={"parse": values.text},
    )
    findings: Path | None = _option(
        "findings",
        "where findings are left (default: .mcp-approval/findings)",
        "FOLDER|none",
        hidden=True,
        rule={"parse": values.text},
    )
    """For a replay; None: nowhere."""
    replay: Path | None = _option(
        "replay",
        "run the scenario of a finding again, and compare (docs/report.md)",
        "FILE",
        rule={"parse": values.text},
    )
    require_verified: tuple[str, ...] = _option(
        "require-verified",
        "fail the run for each rule (like PATTERN) that was not verified; repeatable",
        "PATTERN",
        (),
        repeatable=True,
        optional="*",
        rule={"parse": values.patterns},
    )
    strict: bool = _option(
        "strict", "a SHOULD that is not met fails the run", default=False, flag=True
    )
    timeout: float = _option(
        "timeout",
        "seconds that the target gets for one answer (default: 10)",
        "SECONDS",
        10.0,
        rule={"parse": values.seconds},
    )

    # ---- what is no option

    family_settings: Mapping[str, Mapping[str, Any]] = setting(dict, repr=False, internal=True)
    """By family; what a family can be told is its own matter."""
    effects_doubt: str = setting("", internal=True)
    """Why the effects probe cannot tell whether a tool ran: found by the preflight, never given."""
    drawn_secrets: tuple[str, ...] = setting((), repr=False, internal=True)
    """What was drawn from the environment or files, for headers and variables."""
    directory: Path = setting(Path(), internal=True)
    """Where the user started: commands run here, and servers if nothing else is said."""
    sources: Sources = setting(Sources, repr=False, internal=True)
    """Where all of this stands."""
    additions: tuple[tuple[str, str], ...] = setting((), internal=True)
    """Tables to which the command line added, and what: lines of the header."""


SET = Option(
    "set",
    "a setting of [launch] or of a family's table (docs/options.md); repeatable",
    "TABLE.KEY=VALUE",
    repeatable=True,
)
_OF_FAMILIES = (
    Option(
        "origin",
        "the page that users approve on (default: that of the page, else http://<rp.id>)",
        "URL",
        place=("sep2672", "origin"),
        hidden=True,
    ),
    Option(
        "page",
        "the page that people enrol and approve on, for the checks in a browser (the reference "
        "server brings its own); {port} in it is that of a launched server",
        "URL",
        place=("sep2672", "page", "url"),
        hidden=True,
        short=True,
    ),
    Option(
        "server-id",
        "the serverId in the target's action hashes (SEP-2672 section 4.6)",
        "ID",
        place=("sep2672", "server-id"),
        hidden=True,
    ),
)
"""Settings of one family that are often given: what they may be is the family's to know."""
OPTIONS: tuple[Option, ...] = (
    *(found for one in dataclasses.fields(Settings) if (found := rule_of(one).option)),
    SET,
    *_OF_FAMILIES,
)
