"""`mcp-approval lint`: settings files and baselines, checked without a server. For editors' hooks
and pre-commit."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..catalogue import catalogue, families
from ..catalogue.baseline_file import BaselineError, read_baseline
from ..catalogue.requirements import selected
from ..config.options import FILE
from ..config.reader import SettingsError
from ..config.settings import Settings, check_file
from ..support.nearest import expected, meant
from ..support.text import neutralise
from ..target import check_launch, parse_target
from .console import complain, say
from .parsing import Parser, WrongWordsError

PROGRAM = "mcp-approval lint"
SHARED = "pyproject.toml"
_ALIKE = 0.8
_DESCRIPTION = f"""\
Check settings files ({FILE}, {SHARED}) and baselines, without a server.
A file of another name is a baseline (docs/baseline.md)."""


def run(words: Sequence[str]) -> int:
    parser = Parser(
        PROGRAM,
        _DESCRIPTION,
        usage=f"{PROGRAM} [FILE ...]",
        epilog="Exit code 1 if something is wrong; a line for each problem says what.",
    )
    parser.add_argument(
        "files", metavar="FILE", nargs="*", type=Path, help=f"default: {FILE}, in this folder"
    )
    files = parser.read(words).files or [Path(FILE)]
    wrong = 0
    for path in files:
        if not path.is_file():
            raise WrongWordsError(f"there is no file {str(path)!r}")
        problems = list(problems_of(path))
        wrong += len(problems)
        for problem in problems:
            complain(problem if path.parent == Path() else f"{path.parent}/{problem}")
        if not problems:
            say(f"{path}: in order")
    return 1 if wrong else 0


def problems_of(path: Path) -> Iterator[str]:
    """What is wrong with a file, a line each."""
    if path.name in (FILE, SHARED):
        yield from _of_settings(path)
        return
    today = datetime.datetime.now(datetime.UTC).date()
    try:
        baseline = read_baseline(path, path.name, today)
    except BaselineError as error:
        yield from str(error).splitlines()
        return
    for one in baseline.expired:
        yield f"{path.name}: {one.rule} expired on {one.expires}, and counts as absent"


def _of_settings(path: Path) -> Iterator[str]:
    if path.name == SHARED and (path.parent / FILE).is_file() and _has_table(path):
        yield f"{SHARED}: its [tool.mcp-approval] is not read, since there is {FILE}"
    try:
        settings = check_file(path.parent)
        for text in settings.targets:
            parse_target(text)
        if settings.targets:
            check_launch(settings, workers=False)
    except SettingsError as error:
        yield neutralise(str(error), 600)
        return
    yield from _of_names(settings)
    if settings.baseline is not None and not (path.parent / settings.baseline).is_file():
        yield f"{path.name} baseline: there is no file {str(settings.baseline)!r}"


def _has_table(path: Path) -> bool:
    try:
        tools = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return False
    return isinstance(tools, dict) and "mcp-approval" in tools


def _of_names(settings: Settings) -> Iterator[str]:
    """Families and rules that do not exist."""
    file = settings.sources.file
    for name in settings.families:
        if name not in families():
            yield f"{file} family: got {name!r}, {expected(name, families())}"
    every = [rule.id for name in families() for rule in catalogue(name)]
    for key, patterns in (
        ("select", settings.select),
        ("require-verified", settings.require_verified),
    ):
        for pattern in patterns:
            if not any(selected(rule, (pattern,)) for rule in every):
                guess = meant(pattern.rstrip("*"), every, _ALIKE)
                yield f"{file} {key}: no rule is like {pattern!r}{guess}"
