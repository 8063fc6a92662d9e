"""Where a run comes from: the commit, the CI job and the user's settings file, for its reports.

Read from the variables that CI systems set; no program is asked. Knows no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..config.files import settings_folder
from ..config.options import FILE, TABLE
from ..support.text import neutralise

_COMMITS = ("GITHUB_SHA", "CI_COMMIT_SHA", "BUILD_SOURCEVERSION", "CIRCLE_SHA1", "GIT_COMMIT")
_JOBS = ("CI_JOB_URL", "CIRCLE_BUILD_URL", "BUILD_URL")
_GITHUB = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_ADDRESS = re.compile(r"https?://[^\s<>\"']{1,300}")
_OWN_TABLE = re.compile(rf"\s*\[tool\.{re.escape(TABLE)}[.\]]")
_TARGET = re.compile(r"\s*target\s*=")


def ci_lines(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """The commit and the address of the job, if this is a CI system that says them."""
    lines = []
    commit = next((one for name in _COMMITS if (one := environment.get(name))), "")
    if _COMMIT.fullmatch(commit):
        lines.append(("commit", commit))
    github = [environment.get(name, "") for name in _GITHUB]
    job = "{}/{}/actions/runs/{}".format(*github) if all(github) else ""
    job = job or next((one for name in _JOBS if (one := environment.get(name))), "")
    if _ADDRESS.fullmatch(job):
        lines.append(("job", neutralise(job)))
    return lines


def settings_place(root: Path, directory: Path) -> tuple[str, int] | None:
    """The settings file, from the root of the user's repository, and the line that names the
    target; None if the run has no file."""
    folder = settings_folder(root, directory)
    if folder is None:
        return None
    own = folder / FILE
    path = own if own.is_file() else folder / "pyproject.toml"
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    start = 0
    if path != own:
        start = next((at for at, line in enumerate(lines) if _OWN_TABLE.match(line)), 0)
    found = (at for at, line in enumerate(lines[start:], start) if _TARGET.match(line))
    whole = path.resolve()
    repository = next((one for one in whole.parents if (one / ".git").exists()), whole.parent)
    return whole.relative_to(repository).as_posix(), next(found, start) + 1
