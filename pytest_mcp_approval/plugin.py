"""The pytest plugin's door: options, and nothing else until a target is named.

Loaded by every pytest run of every environment that has this package, so it imports pytest and the
standard library only. With a target, `run` takes over.
"""

from __future__ import annotations

from typing import Any

import pytest

from .catalogue_marker import MARKER, MAY_POISON
from .fixtures import *  # noqa: F403  # pytest finds fixtures in the namespace of a plugin
from .settings import (
    OF_WHOLE_RUNS,
    OPTIONS,
    PREFIX,
    WITHOUT_TARGET,
    SettingsError,
    files_mention_a_target,
    read_settings,
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("mcp-approval", "conformance of human approval (MCP servers)")
    for option in OPTIONS:
        keywords: dict[str, Any] = {"dest": option.destination, "help": option.help}
        if option.flag:
            keywords["action"] = "store_true"
        else:
            keywords["metavar"] = option.metavar
            keywords["action"] = "append" if option.repeatable else "store"
        group.addoption(f"{PREFIX}{option.name}", default=None, **keywords)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARKER}(*ids, needs=None): ties a scenario to the rules that it judges"
    )
    config.addinivalue_line(
        "markers", f"{MAY_POISON}: sends what a careless server keeps, and fails of from then on"
    )
    _recall_replay(config)
    given = {option.name: config.getoption(option.destination) for option in OPTIONS}
    started_in = config.invocation_params.dir
    if given["target"] is None and not files_mention_a_target(config.rootpath, started_in):
        needing = [k for k, value in given.items() if value and k not in WITHOUT_TARGET]
        if needing:
            name = needing[0]
            raise pytest.UsageError(f"{PREFIX}{name} needs {PREFIX}target=<server>")
        return
    try:
        settings = read_settings(given, config.rootpath, started_in)
        if not settings.targets:
            return
        from .run import Run

        config.pluginmanager.register(Run(config, settings), "mcp-approval-run")
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None


def _recall_replay(config: pytest.Config) -> None:
    """A finding brings its scenario and its options along; the command line comes first."""
    name = config.getoption("mcp_approval_replay")
    if not name:
        return
    from .report_settings import existing
    from .reporting import replay_options

    try:
        path = existing("replay", name, config.invocation_params.dir)
        assert path is not None
        options, scenario = replay_options(path, name)
    except SettingsError as error:
        raise pytest.UsageError(str(error)) from None
    asked_for = [str(word).partition("=")[0] for word in config.invocation_params.args]
    for option in OPTIONS:
        if option.name in OF_WHOLE_RUNS and f"{PREFIX}{option.name}" not in asked_for:
            setattr(config.option, option.destination, None)  # from addopts, say
        if option.name in options and not config.getoption(option.destination):
            setattr(config.option, option.destination, options[option.name])
    config.option.mcp_approval_ids = [scenario]
