"""What starts the scenarios: the command line or the project's addopts, never a settings file.

Reads pytest's arguments, and says which of them are ids of scenarios. Imports only pytest and the
standard library, because every pytest run loads it.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import Any

import pytest

from ..config.files import settings_folder
from ..config.options import FILE, OPTIONS, PREFIX, START, WITHOUT_TARGET, SettingsError

ROOT = "mcp-approval"
"""The prefix of scenarios' ids."""
_STARTING = (START, f"{PREFIX}target", f"{PREFIX}client", f"{PREFIX}client-page", f"{PREFIX}replay")
_OF_SCENARIOS = frozenset(
    {
        *("baseline", "compare", "explore", "family", "report", "require-verified", "select"),
        *("strict", "write-baseline"),
    }
)
"""Options that have no effect on users' own tests: alone, they were meant for scenarios."""


@dataclass(frozen=True)
class Start:
    """How the scenarios of a run were asked for."""

    ids: tuple[str, ...] = ()
    """Run only these scenarios; empty: all of them."""
    nothing_else: bool = False
    """Whether the user named no path and has no testpaths, so that nothing else is collected."""


def given_options(config: pytest.Config) -> dict[str, Any]:
    """What the command line and addopts say, by option."""
    return {option.name: config.getoption(option.destination) for option in OPTIONS}


def find_start(config: pytest.Config) -> Start | None:
    """None if no scenarios were asked for; SettingsError if an option makes no sense."""
    given = given_options(config)
    named = [argument for argument in config.args if _is_scenario(argument, config)]
    replayed = bool(given["replay"])
    checked = given["target"] or given["client"] or given["client-page"]
    if not (config.getoption("mcp_approval") or checked or replayed or named):
        _check_options(config, given)
        return None
    on_the_line = named or any(
        word.partition("=")[0] in _STARTING for word in _words_of_the_user(config)
    )
    source = config.args_source
    if not on_the_line and source is pytest.Config.ArgsSource.ARGS:
        # The flag is in addopts, for every run, but this run is about a path or a test.
        return None
    unnamed = source is pytest.Config.ArgsSource.INVOCATION_DIR
    ids = [argument.rstrip("/") for argument in named]
    return Start(
        ids=() if ROOT in ids else tuple(ids),
        nothing_else=replayed or bool(on_the_line and unnamed),
    )


def take_arguments(config: pytest.Config, start: Start) -> None:
    """Leave only the user's paths to pytest: it would look for files named like scenarios."""
    paths = [argument for argument in config.args if not _is_scenario(argument, config)]
    named_by_user = config.args_source is pytest.Config.ArgsSource.ARGS
    config.args[:] = [] if start.nothing_else and not named_by_user else paths


def _is_scenario(argument: str, config: pytest.Config) -> bool:
    if not argument.startswith(f"{ROOT}/"):
        return False
    # The user may have a folder of that name.
    return not (config.invocation_params.dir / argument.partition("::")[0]).exists()


def _words_of_the_user(config: pytest.Config) -> list[str]:
    """The command line, and what the environment adds to it; without the project's addopts."""
    try:
        added = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    except ValueError:  # pytest has already reported it
        added = []
    return [*map(str, config.invocation_params.args), *added]


def _check_options(config: pytest.Config, given: dict[str, Any]) -> None:
    """An option that would have no effect is an error: the user expects one."""
    configured = settings_folder(config.rootpath, config.invocation_params.dir) is not None
    for name, value in given.items():
        vain = name in _OF_SCENARIOS if configured else name not in WITHOUT_TARGET
        if value and vain:
            raise SettingsError(
                f"{PREFIX}{name} needs {PREFIX}target=<server>, or {START} with a target in {FILE}"
            )
