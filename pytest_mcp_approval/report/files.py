"""Writes the report files, each whole or not at all; the ending of a file decides its format."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path

from ..config.report_files import FORMATS
from .model import Report


def renderer(path: Path) -> Callable[[Report], str]:
    """The function for that ending; its module is imported now."""
    module, function = FORMATS[path.suffix.lower()]
    found: Callable[..., str] = getattr(
        import_module(f"pytest_mcp_approval.report.{module}"), function
    )
    # A page has links to other files: it has to know where it is.
    return partial(found, folder=path.parent) if function == "render_html" else found


def write_reports(report: Report, paths: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """The files that were written, and a line for each that was not."""
    written: list[Path] = []
    problems: list[str] = []
    for path in paths:
        try:
            write_whole(path, renderer(path)(report))
            written.append(path)
        except OSError as error:
            problems.append(f"{path}: not written: {error.strerror or error}")
        except Exception as error:
            # An error in one format must not cost the user the others.
            problems.append(f"{path}: not written: {type(error).__name__}: {error}")
    return written, problems


def write_whole(path: Path, text: str) -> None:
    """Replaces the file at once; if that fails, the old one stays."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def append_step_summary(report: Report, environment: dict[str, str]) -> str | None:
    """Append to the summary of a GitHub job, if there is one; returns a line if that fails."""
    named = environment.get("GITHUB_STEP_SUMMARY")
    if not named:
        return None
    from .markdown import MOST_BYTES, render_markdown

    path = Path(named)
    try:
        taken = path.stat().st_size if path.exists() else 0
        text = render_markdown(report)
        if taken + len(text.encode()) > MOST_BYTES:
            text = f"## {report.headline}\n"  # what is there already belongs to other steps
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        return f"GITHUB_STEP_SUMMARY: not written: {error.strerror or error}"
    return None
