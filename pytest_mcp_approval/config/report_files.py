"""The options that say what is left behind: reports, findings, a comparison, a replay. Checked
before anything runs, since a report that cannot be written is noticed too late otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .settings import PREFIX, SettingsError

FINDINGS = Path(".mcp-approval") / "findings"
"""Below pytest's root, unless the user says otherwise."""
NONE = "none"


def reports(values: Sequence[str], directory: Path) -> tuple[Path, ...]:
    """The files to write; their endings say what they are."""
    from ..report.files import FORMATS  # here: a run without a target needs none

    found = []
    for value in values:
        path = directory / value
        if path.suffix.lower() not in FORMATS:
            known = ", ".join(FORMATS)
            raise SettingsError(
                f"{PREFIX}report: got {value!r}, expected a file that ends in one of {known}"
            )
        if not path.parent.is_dir():
            raise SettingsError(f"{PREFIX}report: there is no folder {str(Path(value).parent)!r}")
        if path.is_dir():
            raise SettingsError(f"{PREFIX}report: got {value!r}, which is a folder")
        found.append(path)
    return tuple(dict.fromkeys(found))


def existing(name: str, value: str | None, directory: Path) -> Path | None:
    """A file that has to be there already."""
    if value is None:
        return None
    path = directory / value
    if not path.is_file():
        raise SettingsError(f"{PREFIX}{name}: there is no file {value!r}")
    return path


def findings(value: str | None, root: Path, directory: Path) -> Path | None:
    """Where findings are left; None if they are not."""
    if value is None:
        return root / FINDINGS
    return None if value == NONE else directory / value
