"""Merges reports instead of running anything: pytest's own way to `mcp-approval report merge`."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from ..config.options import MERGE, PREFIX, SettingsError
from ..config.report_files import FORMATS
from ..report.merged_files import merge_files

_REPORT = "mcp_approval_report"


def merge_reports(config: pytest.Config, reports: list[str]) -> int:
    """The exit code of the run. Reports are written where the option for reports says."""
    paths = [Path(one) for one in config.getoption(_REPORT) or ()]
    for path in paths:
        if path.suffix.lower() not in FORMATS:
            raise pytest.UsageError(
                f"{PREFIX}report: got {str(path)!r}, expected an ending of {', '.join(FORMATS)}"
            )

    def say(line: str, _: str = "") -> None:
        """Plain: pytest has no terminal yet, since nothing runs."""
        sys.stdout.write(f"{line}\n")

    try:
        return merge_files(
            [Path(one) for one in reports],
            paths,
            width=shutil.get_terminal_size().columns,
            say=say,
            complain=say,
        )
    except SettingsError as error:
        raise pytest.UsageError(f"{MERGE}: {error}") from None
