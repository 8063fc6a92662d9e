"""pytest in the folder of an example, and what the suite said there.

It runs in this process, which is quicker than one more, and with one browser for all runs. The
example's server is a separate process, unless it is checked inside pytest's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.inner_runs import Verdicts, plugin_options


@dataclass
class Judged:
    """What a run of pytest in the example's folder said."""

    code: int
    text: str
    verdicts: dict[str, set[str]]
    """By rule; without checks that could not be made and that the rule does not depend on."""

    def rules(self, verdict: str) -> set[str]:
        return {rule for rule, said in self.verdicts.items() if verdict in said}


def copy_of(example: Path, place: Path) -> Path:
    """The example, as somebody would copy it."""
    left_out = shutil.ignore_patterns("__pycache__", "*.db*", ".pytest_cache", "node_modules")
    copy = place / example.name
    shutil.copytree(example, copy, ignore=left_out)
    return copy


def run_pytest(
    pytester: pytest.Pytester,
    folder: Path,
    *arguments: str,
    commands: Path | None = None,
    plugins: Sequence[object] = (),
) -> Judged:
    """`commands` is where `python` is found, as in an activated environment."""
    heard = Verdicts()
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", *plugin_options(), "--mcp-approval"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        if commands is not None:
            patch.setenv("PATH", str(commands), prepend=os.pathsep)
        result = pytester.runpytest_inprocess(*options, *arguments, plugins=[heard, *plugins])
    verdicts: dict[str, set[str]] = {}
    for found in heard.found:
        for rule in () if found["minor"] else found["rules"]:
            verdicts.setdefault(rule, set()).add(found["verdict"])
    return Judged(int(result.ret), result.stdout.str() + result.stderr.str(), verdicts)
