"""How to run a whole run, or one finding, again: the commands under findings, and replays.

`config.replay` knows what may come from a finding, and what the user must repeat. Knows no
verdicts.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

import pytest

from ..config.files import file_options, settings_folder
from ..config.options import OF_WHOLE_RUNS, OPTIONS, PREFIX, SettingsError
from ..config.program import STARTED_BY_DESTINATION, Program, read_program
from ..config.replay import options_of_finding, said_again, words_of
from ..config.report_files import existing
from ..config.settings import Settings
from ..report.replay import RecordedFinding, read_finding
from ..support.secrets import Secrets
from .secrets_of_run import secrets_of_options
from .start import given_options
from .state import RunState

_NOT_REPEATED = frozenset(
    {
        *("baseline", "compare", "findings", "replay", "report", "require-verified", "select"),
        *("write-baseline", "explore", "explore-database", "explore-rate"),
    }
)
"""Options about what a run leaves behind, not about what is checked."""
_DRAWN = frozenset({"header-from", "second-user-header-from", "environment-from"})
"""Options that say where secrets are. Somebody else's finding must not make us read them and send
them elsewhere, so findings do not contain these options."""
_WITHHELD = {
    "header": "NAME: VALUE",
    "second-user-header": "NAME: VALUE",
    "environment": "NAME=VALUE",
}
"""Options with secrets, and what is shown instead of them in a command."""
_OF_FINDINGS = {option.name for option in OPTIONS} - _NOT_REPEATED - _DRAWN - set(_WITHHELD)


def command_of(config: pytest.Config, given: Mapping[str, Any]) -> str:
    """The program with our options of this run, except those that narrow it or are secret."""
    program = program_of(config)
    kept = [program.start] if program.start and config.getoption("mcp_approval") else []
    for name in (option.name for option in OPTIONS if option.name not in _NOT_REPEATED):
        if given[name] and name not in program.said:
            kept += words_of(name, _WITHHELD.get(name, given[name]), program.prefix)
    return shlex.join([*program.words, *kept])


def program_of(config: pytest.Config) -> Program:
    """How the user started this run."""
    return read_program(config.getoption(STARTED_BY_DESTINATION))


def options_to_keep(given: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """The options of this run that a replay needs."""
    kept = {name: value for name, value in given.items() if value and name in _OF_FINDINGS}
    return {name: secrets.hide_all(value) for name, value in kept.items()}


def replay_command(state: RunState, file: str) -> str:
    """The command that replays the finding in this file."""
    settings = state.settings
    assert settings.findings is not None
    path = os.path.relpath(settings.findings / file, settings.directory)
    kept = options_to_keep(state.given, state.secrets)
    with_headers = bool(settings.headers or settings.second_user_headers)
    program = program_of(state.config)
    rest = {name: value for name, value in kept.items() if name not in program.said}
    repeated = said_again(rest, with_headers=with_headers, prefix=program.prefix)
    return shlex.join([*program.words, f"{program.prefix}replay={path}", *repeated])


def recall_replay(config: pytest.Config) -> tuple[dict[str, Any], RecordedFinding | None]:
    """The options of this run, and the finding to replay. In a replay, options of the finding are
    added; the command line takes precedence."""
    given, name = given_options(config), config.getoption("mcp_approval_replay")
    if not name:
        return given, None
    started_in = config.invocation_params.dir
    path = existing(f"{PREFIX}replay", name, started_in)
    own = file_options(settings_folder(config.rootpath, started_in) or config.rootpath)
    finding = read_finding(path, name)
    kept = {k: v for k, v in finding.options.items() if k in _OF_FINDINGS}
    hide = secrets_of_options({**own, **given}).hide_all
    brought = options_of_finding(name, kept, given, own, hide)
    asked_for = [str(word).partition("=")[0] for word in config.invocation_params.args]
    for option in OF_WHOLE_RUNS:
        if f"{PREFIX}{option}" not in asked_for:
            given[option] = None  # from addopts, say
    return given | {k: v for k, v in brought.items() if not given[k]}, finding


def withheld_names(settings: Settings) -> dict[str, list[str]]:
    """The names of headers and variables whose values are in no file, by option."""
    given = (settings.headers, settings.second_user_headers, settings.environment)
    return dict(zip(_WITHHELD, map(list, given), strict=True))


def check_withheld(settings: Settings, finding: RecordedFinding) -> None:
    """It is an error if a header or variable of the finding's run is missing: without a token, say,
    the replay would find something else."""
    for option, given in withheld_names(settings).items():
        known = {one.lower() for one in given}
        for withheld in finding.withheld.get(option, ()):
            if withheld.lower() not in known:
                form = _WITHHELD[option].replace("NAME", withheld)
                raise SettingsError(
                    f"{PREFIX}replay: the run had {option} {withheld!r}, whose value is not kept: "
                    f"add {PREFIX}{option}='{form}', or {PREFIX}{option}-from"
                )
