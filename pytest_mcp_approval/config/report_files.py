"""The options that name files and folders: where these are, and whether they can be used. Checked
before anything runs: the end of the run would be too late to notice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from .options import PREFIX
from .reader import Place, SettingsError

Made = TypeVar("Made")
FINDINGS = Path(".mcp-approval") / "findings"
"""Below pytest's root, unless the user says otherwise."""
NONE = "none"
FORMATS = {
    ".html": ("html", "render_html"),
    ".json": ("json_file", "render_json"),
    ".md": ("markdown", "render_markdown"),
    ".sarif": ("sarif", "render_sarif"),
    ".yaml": ("traceability", "render_traceability"),
    ".yml": ("traceability", "render_traceability"),
    ".svg": ("badge", "render_badge"),
}
"""By the ending of a report: the module of the package `report` that makes it, and its function."""


def locate(values: dict[str, Any], place: Place, root: Path, directory: Path) -> None:
    """Turns the given texts into paths, by field name."""
    reports = values.get("reports", ())
    values["reports"] = tuple(
        dict.fromkeys(_report(one, place / "report", directory) for one in reports)
    )
    for name in ("compare", "replay"):
        if name in values:
            values[name] = existing(str(place / name), values[name], directory)
    findings = values.get("findings")
    values["findings"] = root / FINDINGS if findings is None else directory / findings
    if findings == NONE:
        values["findings"] = None
    read, written = values.get("baseline"), values.get("write_baseline")
    if read:
        values["baseline"] = directory / read
    if written:
        values["write_baseline"] = _write_baseline(
            place / "write-baseline", written, read, directory
        )
    server = values.get("server_directory")
    if server is not None:
        values["server_directory"] = directory / server
        if not values["server_directory"].is_dir():
            where = place / "launch" / "directory"
            raise SettingsError(f"{where}: got {server!r}, which is no folder")


def existing(label: str, value: str, directory: Path) -> Path:
    """A file that must already exist."""
    path = directory / value
    if not path.is_file():
        raise SettingsError(f"{label}: there is no file {value!r}")
    return path


def read_own(
    asked_by: str,
    path: Path,
    name: str,
    wanted: str,
    form: str,
    versions: tuple[int, ...],
    make: Callable[[dict[str, Any]], Made],
) -> Made:
    """What an earlier run wrote, in JSON; `SettingsError` if the file is none of these, or damaged.
    It may come from somebody else. `asked_by` is the option or word that names it."""
    label = f"{asked_by}: got {name!r}"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{label}, which cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("format") != form:
        raise SettingsError(f"{label}, expected {wanted}")
    if data.get("version") not in versions:
        raise SettingsError(
            f"{label} of format version {data.get('version')!r}, expected {versions[-1]}"
        )
    try:
        return make(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError(f"{label}, which is damaged: {error!r}") from None


def _report(value: str, place: Place, directory: Path) -> Path:
    """A file to write; its ending says what it is."""
    path = directory / value
    if path.suffix.lower() not in FORMATS:
        known = ", ".join(FORMATS)
        raise SettingsError(f"{place}: got {value!r}, expected a file that ends in one of {known}")
    if not path.parent.is_dir():
        raise SettingsError(f"{place}: there is no folder {str(Path(value).parent)!r}")
    if path.is_dir():
        raise SettingsError(f"{place}: got {value!r}, which is a folder")
    return path


def _write_baseline(place: Place, value: str, read: str | None, directory: Path) -> Path:
    path = directory / value
    if not path.parent.is_dir():
        raise SettingsError(f"{place}: there is no folder {str(Path(value).parent)!r}")
    if path.exists() and not (read and path == directory / read):
        # It holds somebody's comments. Only those of the baseline that is read are kept.
        raise SettingsError(
            f"{place}: {value!r} is there already: name another file, or "
            f"{PREFIX}baseline={value} too, which keeps its comments"
        )
    return path
