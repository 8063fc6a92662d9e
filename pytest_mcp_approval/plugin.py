"""The pytest plugin's entry point: options, and nothing else until scenarios are asked for.

Every pytest run in an environment with this package loads it, so it imports only pytest and the
standard library. If scenarios are asked for, `session.hooks` takes over.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .config.markers import MARKER, MAY_POISON
from .config.options import MERGE, OPTIONS, PREFIX, START, SettingsError
from .config.program import STARTED_BY, STARTED_BY_DESTINATION
from .fixtures import *  # noqa: F403  # pytest finds fixtures in the namespace of a plugin
from .session.start import find_start, given_options, take_arguments

_MERGED = "mcp_approval_merge"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mcp-approval", "conformance of human approval (MCP servers)")
    group.addoption(
        START,
        action="store_true",
        dest="mcp_approval",
        help="check the server that mcp-approval.toml, or [tool.mcp-approval], names",
    )
    group.addoption(
        MERGE,
        action="append",
        dest=_MERGED,
        metavar="REPORT.json",
        help=argparse.SUPPRESS,  # docs/options.md has it
    )
    group.addoption(STARTED_BY, dest=STARTED_BY_DESTINATION, default=None, help=argparse.SUPPRESS)
    for option in OPTIONS:
        shown = argparse.SUPPRESS if option.hidden else option.help
        keywords: dict[str, Any] = {"dest": option.destination, "help": shown}
        if option.flag:
            keywords["action"] = "store_true"
        else:
            keywords["metavar"] = option.metavar
            keywords["action"] = "append" if option.repeatable else "store"
        if option.optional is not None:
            keywords |= {"nargs": "?", "const": option.optional}
        group.addoption(f"{PREFIX}{option.name}", default=None, **keywords)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    reports = config.getoption(_MERGED)
    if not reports:
        return None
    from .session.merging import merge_reports

    return merge_reports(config, reports)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(*ids, needs=None): ties a scenario to the rules that it checks"
    )
    config.addinivalue_line(
        "markers",
        f"{MAY_POISON}: sends data that a careless server keeps, and then fails for everyone",
    )
    # Our own fixtures are found by their folders, because reading entry points is slow. A family
    # from another distribution registers its fixtures in the entry-point group pytest11.
    for path in sorted(Path(__file__).parent.glob("families/*/public_fixtures.py")):
        name = f"{__package__}.families.{path.parent.name}.{path.stem}"
        config.pluginmanager.register(import_module(name), name)
    try:
        start = find_start(config)
        if start is None:
            return
        from .session.hooks import begin_run

        begin_run(config, start.ids)
        take_arguments(config, start)
    except SettingsError as error:
        from .session.secrets_of_run import secrets_of_options

        raise pytest.UsageError(
            secrets_of_options(given_options(config)).hide(str(error))
        ) from None
