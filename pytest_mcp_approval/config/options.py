"""Every option of the suite, once: its place on the command line and its key in the files.

Standard library only: the plugin loads this when it is loaded. What a value may be is `settings`'s
to know.
"""

from __future__ import annotations

from dataclasses import dataclass

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


class SettingsError(Exception):
    """One line: what is wrong, and what to do."""


@dataclass(frozen=True)
class Option:
    """One option, on the command line `--mcp-approval-<name>`, in a file `<name>`."""

    name: str
    help: str
    metavar: str | None = None
    repeatable: bool = False
    flag: bool = False
    optional: str | None = None
    """What stands for a value that is left out, where it may be."""

    @property
    def destination(self) -> str:
        return f"mcp_approval_{self.name.replace('-', '_')}"


OPTIONS = (
    Option(
        "target",
        "the server to judge: reference, http(s)://..., stdio:<command line> or "
        "python:<module>:<factory>; several are replicas of one service; or a verifier that is no "
        "server: command:<command line> or verifier:<module>:<callable>",
        "SERVER",
        repeatable=True,
    ),
    Option("origin", "the page that users approve on (default: http://<rp.id>)", "URL"),
    Option(
        "page",
        "the page that people enrol and approve on, for the checks in a browser (the reference "
        "server brings its own); {port} in it is that of a launched server",
        "URL",
    ),
    Option(
        "browser",
        "the browser for checks on a page, a path or a name (default: what is found, see "
        "python -m pytest_mcp_approval.browser); none leaves those checks out",
        "PROGRAM|none",
    ),
    Option("header", "a header for every HTTP request; redacted in reports", "NAME: VALUE", True),
    Option(
        "header-from",
        "the same with a secret from elsewhere: {env:NAME} and {file:PATH} in the value are "
        "replaced, as in 'Authorization: Bearer {env:TOKEN}'; repeatable",
        "NAME: VALUE",
        repeatable=True,
    ),
    Option(
        "tool",
        "a gated tool, and arguments that are safe to run it with; repeatable",
        "NAME=JSON",
        repeatable=True,
    ),
    Option(
        "generate-arguments",
        "let the suite make arguments from inputSchema and RUN the gated tools with them",
        flag=True,
    ),
    Option(
        "effects",
        "what shows whether a gated tool ran: a URL, or tool:NAME of a read-only tool",
        "URL|tool:NAME",
    ),
    Option("reset", "how to make the target fresh: restart, or a command to run", "HOW"),
    Option(
        "launch",
        "the command that starts the server of an http(s) target; {port} in it and in the URL is "
        "a free port, {state} an empty folder (docs/foreign-servers.md)",
        "COMMAND",
    ),
    Option(
        "launch-timeout",
        "seconds until a server that is started must answer (default: 30)",
        "SECONDS",
    ),
    Option(
        "environment",
        "a variable for the server that the suite starts; redacted in reports; repeatable",
        "NAME=VALUE",
        repeatable=True,
    ),
    Option(
        "environment-from",
        "the same with a secret from elsewhere: {env:NAME} and {file:PATH} in the value are "
        "replaced; repeatable",
        "NAME=VALUE",
        repeatable=True,
    ),
    Option("directory", "where that server runs (default: where pytest was started)", "PATH"),
    Option(
        "clock",
        "how the server's time is moved (default: auto): libfaketime, a command or URL of yours "
        "that is told the time, or really waiting, up to so many seconds for a rule",
        "auto|faketime|hook:HOW|wait[:SECONDS]|none",
    ),
    Option("server-id", "the serverId in the target's action hashes (SEP-2672 section 4.6)", "ID"),
    Option("protocol", "the MCP revision to speak (default: auto)", "auto|REVISION"),
    Option("family", "judge only this family; repeatable", "FAMILY", repeatable=True),
    Option("select", "judge only rules like this, e.g. sep2672/4.8*; repeatable", "PATTERN", True),
    Option(
        "set",
        "a setting of one family, as in its table in the files; repeatable",
        "FAMILY.KEY=VALUE",
        repeatable=True,
    ),
    Option("baseline", "known failures, which do not fail the run (docs/baseline.md)", "FILE"),
    Option("write-baseline", "write what fails now to this file, to be edited", "FILE"),
    Option(
        "report",
        "write a report to this file: .html, .json, .md, .sarif, .yaml or .svg; repeatable",
        "PATH",
        repeatable=True,
    ),
    Option("compare", "tell what changed since the run of this .json report", "FILE"),
    Option("findings", "where findings are left (default: .mcp-approval/findings)", "FOLDER|none"),
    Option("replay", "run the scenario of a finding again, and compare (docs/report.md)", "FILE"),
    Option(
        "require-verified",
        "fail the run for each rule (like PATTERN, if one is given) that was not verified; "
        "repeatable",
        "PATTERN",
        repeatable=True,
        optional="*",
    ),
    Option("strict", "a SHOULD that is not met fails the run", flag=True),
    Option("timeout", "seconds that the target gets for one answer (default: 10)", "SECONDS"),
)
