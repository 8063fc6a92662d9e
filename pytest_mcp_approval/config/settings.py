"""What the user asked for: the command line first, then `mcp-approval.toml`, then pyproject.toml.

`options` lists the options, `files` finds the files, `reader` reads the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .client_description import ClientDescription
from .command_line import add_command_line, drop_other_runs, read_pairs
from .files import Tables, file_tables, settings_folder
from .options import CLIENT, FILE, LAUNCH, NO_BROWSER, OPTIONS, PREFIX, START, TABLE, Settings
from .reader import Place, SettingsError, Sources, read, read_fields
from .registry import families, registered

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
    tables, sources = file_tables(settings_folder(root, directory) or root)
    return _read(tables, sources, given, root, directory)


def settings_of_line(given: Mapping[str, Any], directory: Path) -> Settings:
    """The settings without any file: what the command line says, and the defaults."""
    return _read({}, Sources(), given, directory, directory)


def _read(
    tables: Tables, sources: Sources, given: Mapping[str, Any], root: Path, directory: Path
) -> Settings:
    from .report_files import locate  # here: a run without a target needs none
    from .secret_values import draw

    drop_other_runs(tables, given)
    sources, additions = add_command_line(tables, sources, given)
    place = Place((), sources)
    family_settings = {name: tables.pop(name) for name in families() if name in tables}
    launch = read_fields(Settings, tables.pop(LAUNCH, {}), place / LAUNCH, table=LAUNCH)
    client = read(ClientDescription, tables.pop(CLIENT, {}), place / CLIENT)
    values = {**read_fields(Settings, tables, place), **launch, "client": client}
    if client.name and values.get("targets"):
        raise SettingsError(
            f"got a target and a client, expected one: a run checks a server ({PREFIX}target) or "
            f"a client ({PREFIX}client)"
        )
    locate(values, place, root, directory)
    values["drawn_secrets"] = draw(values, place, directory)
    return Settings(
        **values,
        family_settings=family_settings,
        directory=directory,
        sources=sources,
        additions=additions,
    )


def check_file(folder: Path) -> Settings:
    """What the file in this folder says, as far as it can be checked without a server, a secret or
    another file; `SettingsError` is one line about the first error."""
    tables, sources = file_tables(folder)
    place = Place((), sources)
    family_settings = {name: tables.pop(name) for name in families() if name in tables}
    launch = read_fields(Settings, tables.pop(LAUNCH, {}), place / LAUNCH, table=LAUNCH)
    client = read(ClientDescription, tables.pop(CLIENT, {}), place / CLIENT)
    for option in OPTIONS:
        if option.example and option.name in tables:  # texts stand for a table
            tables[option.name] = read_pairs(option, tables[option.name], place / option.name)
    values = {**read_fields(Settings, tables, place), **launch, "client": client}
    check_family_tables(family_settings, sources)
    return Settings(**values, family_settings=family_settings, directory=folder, sources=sources)


def check_family_tables(tables: Mapping[str, Mapping[str, Any]], sources: Sources) -> None:
    """Check every table that the user wrote, whether its family is looked for or not."""
    for name, table in tables.items():
        family = registered(name)
        if family.has("settings"):  # without a dataclass, the family reads its table itself
            read(family.part("settings").TABLE_CLASS, table, Place((name,), sources))


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
