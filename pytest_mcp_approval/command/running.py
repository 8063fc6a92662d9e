"""Runs the suite: pytest in this process, with a folder of its own for pytest's sake, no other
plugins and no configuration but the suite's. The user's folder stays the current one, so that
paths, commands and settings are found there. Knows no word of the command."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..config.files import file_options
from ..config.options import OPTIONS, PREFIX, START
from ..config.program import STARTED_BY, Program
from ..config.reader import SettingsError
from ..config.registry import GROUP
from .parsing import WrongWordsError

KEPT = Path(".mcp-approval")
"""Where a run leaves what nobody named a place for; git ignores it."""
REPORT = KEPT / "report.html"
_FINDINGS = KEPT / "findings"
_OF_PYTEST = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")
_PLUGIN = "pytest_mcp_approval.plugin"
_FLAGS = frozenset(option.name for option in OPTIONS if option.flag)


@dataclass(frozen=True)
class Run:
    """What is to be run."""

    program: Program
    options: Mapping[str, Any] = field(default_factory=dict)
    """By option of the suite, as pytest would get them."""
    ids: Sequence[str] = ()
    """Of scenarios; empty: all."""
    words: Sequence[str] = ()
    """More words for pytest itself."""
    workers: str | None = None


def run_suite(run: Run) -> int:
    """The exit code, as the plugin has it."""
    words = [*_own_plugins(run.workers), "-rN", "--disable-warnings", "--noconftest"]
    words += [START, f"{STARTED_BY}={run.program.told}"]
    for name, value in {**_usual(run.options), **run.options}.items():
        words += _spelled(name, value)
    import pytest

    from .quiet_pytest import QuietPytest

    with tempfile.TemporaryDirectory(prefix="mcp-approval-") as folder, _without_pytests_own():
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
        own = ["-c", str(settings), "--rootdir", folder, "-p", "no:cacheprovider"]
        return int(pytest.main([*own, *words, *run.words, *run.ids], plugins=[QuietPytest()]))


def _spelled(name: str, value: Any) -> list[str]:
    if name in _FLAGS:
        return [f"{PREFIX}{name}"] if value else []
    values = value if isinstance(value, (list, tuple)) else [value]
    return [f"{PREFIX}{name}={one}" for one in values]


def _usual(given: Mapping[str, Any]) -> dict[str, Any]:
    """Where findings and a report go, unless the user or the settings file says so."""
    try:
        written = file_options(Path.cwd())
    except SettingsError:
        written = {}  # the run says what is wrong with the file
    usual: dict[str, Any] = {}
    if "replay" not in given and not ({"report"} & {*given, *written}) and _folder_is_there():
        usual["report"] = [str(REPORT)]
    if "findings" not in {*given, *written}:
        usual["findings"] = str(_FINDINGS)
    return usual


def _folder_is_there() -> bool:
    try:
        KEPT.mkdir(exist_ok=True)
        ignored = KEPT / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")
    except OSError:  # a folder that may only be read: then there is no report
        return False
    return True


def _own_plugins(workers: str | None) -> Iterator[str]:
    """Only what the suite needs: ours, those of packages that bring a family, and xdist."""
    yield "--disable-plugin-autoload"
    names = [_PLUGIN, *_plugins_of_families()]
    if workers is not None:
        if find_spec("xdist") is None:
            raise WrongWordsError(
                "-n needs pytest-xdist: pip install pytest-xdist (uvx --with pytest-xdist)"
            )
        names.append("xdist.plugin")
    for name in names:
        yield from ("-p", name)
    if workers is not None:
        yield from ("-n", workers, "--dist", "worksteal")


def _plugins_of_families() -> Iterator[str]:
    for one in distributions():
        points = one.entry_points
        if any(point.group == GROUP for point in points):
            found = (point.value for point in points if point.group == "pytest11")
            yield from (name for name in found if name != _PLUGIN)


@contextmanager
def _without_pytests_own() -> Iterator[None]:
    """What people set for their own tests does not concern this run."""
    kept = {name: os.environ.pop(name) for name in _OF_PYTEST if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)
