"""What the user asked for: the command line first, then `mcp-approval.toml`, then pyproject.toml.

`options` lists the options, `files` finds the files, `reader` reads the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .command_line import add_command_line, drop_other_runs
from .files import file_tables, settings_folder
from .options import FILE, LAUNCH, NO_BROWSER, OPTIONS, PREFIX, START, TABLE, Settings
from .reader import Place, SettingsError, read_fields
from .registry import families

__all__ = [
    "FILE",
    "NO_BROWSER",
    "OPTIONS",
    "PREFIX",
    "TABLE",
    "Settings",
    "SettingsError",
    "read_settings",
    "without_target",
]


def read_settings(given: Mapping[str, Any], root: Path, directory: Path) -> Settings:
    """The settings of a run; `given` is what the command line says, by option name."""
    from .report_files import locate  # here: a run without a target needs none
    from .secret_values import draw

    tables, sources = file_tables(settings_folder(root, directory) or root)
    drop_other_runs(tables, given)
    sources, additions = add_command_line(tables, sources, given)
    place = Place((), sources)
    family_settings = {name: tables.pop(name) for name in families() if name in tables}
    launch = read_fields(Settings, tables.pop(LAUNCH, {}), place / LAUNCH, table=LAUNCH)
    values = {**read_fields(Settings, tables, place), **launch}
    locate(values, place, root, directory)
    values["drawn_secrets"] = draw(values, place, directory)
    return Settings(
        **values,
        family_settings=family_settings,
        directory=directory,
        sources=sources,
        additions=additions,
    )


def without_target(root: Path, directory: Path) -> str:
    """What to do if a run was started and no target is named."""
    folder = settings_folder(root, directory)
    if folder is None:
        return (
            f"{START} takes the target of {FILE}, or of [tool.{TABLE}] in pyproject.toml, and "
            f"{directory} has neither: write one, or say {PREFIX}target=<server>"
        )
    own = FILE if (folder / FILE).is_file() else f"[tool.{TABLE}] of pyproject.toml"
    return f"{own} names no target: write target = ... there, or say {PREFIX}target=<server>"
