"""Merges the JSON reports of several runs into files: what `mcp-approval report merge` and pytest's
option do. Knows no terminal: whoever calls says how lines are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ..catalogue import Verdict
from .files import append_step_summary, write_reports
from .merging import merge, read_report
from .terminal import colour_of, header_lines, summary_lines

NOT_WRITTEN = 4


def merge_files(
    reports: Sequence[Path],
    paths: Sequence[Path],
    *,
    width: int,
    say: Callable[[str, str], None],
    complain: Callable[[str], None],
) -> int:
    """The exit code: 1 if something is broken in any of them. `SettingsError` for what is no report
    of ours."""
    merged = merge([read_report(path, str(path)) for path in reports])
    for line in header_lines(merged.facts.header):
        say(line, "")
    for line in summary_lines(merged, width=width):
        say(line, next(iter(colour_of(line)), ""))
    done, problems = write_reports(merged, paths)
    problems += filter(None, [append_step_summary(merged, dict(os.environ))])
    for path in done:
        say(f"report    {path}", "")
    for problem in problems:
        complain(f"report    {problem}")
    if merged.counts[Verdict.FAILED] or merged.counts[Verdict.HARNESS_ERROR]:
        return 1
    return NOT_WRITTEN if problems else 0
