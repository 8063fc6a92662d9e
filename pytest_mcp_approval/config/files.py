"""The settings files: where they are looked for, what stands in them, and names that nobody knows.

`mcp-approval.toml`, or `[tool.mcp-approval]` in pyproject.toml. They configure; they start nothing.
Knows no value's meaning.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..support.nearest import expected, nearest
from .options import FILE, OPTIONS, TABLE, SettingsError
from .registry import families


def file_values(folder: Path) -> dict[str, Any]:
    """What the file of this folder says; nothing if there is none."""
    own, shared = folder / FILE, folder / "pyproject.toml"
    found: dict[str, Any] = {}
    source = own.name
    if own.is_file():
        found = _load(own)
    elif shared.is_file():
        tools = _load(shared).get("tool", {})
        found = tools.get(TABLE, {})
        source = f"[tool.{TABLE}] of {shared.name}"
        _misspelt_table(tools, shared.name)
    if not isinstance(found, dict):
        raise SettingsError(f"{source}: got {found!r}, expected a table")
    known = sorted(option.name for option in OPTIONS)
    for name, value in found.items():
        if name in known:
            continue
        if name not in families():
            names = [*known, *families()] if isinstance(value, dict) else known
            raise SettingsError(f"{source}: got {name!r}, {expected(name, names)}")
        if not isinstance(value, dict):
            raise SettingsError(f"{source}: got {name} = {value!r}, expected a table [{name}]")
    return found


def settings_folder(root: Path, directory: Path) -> Path | None:
    """Where the user started, then pytest's rootdir: in a larger project a server has its own.
    None if neither has settings; a look at the text, cheap enough for every pytest run."""
    for folder in (directory, root):
        shared = folder / "pyproject.toml"
        if (folder / FILE).is_file() or (
            shared.is_file()
            and f"[tool.{TABLE}" in shared.read_text(encoding="utf-8", errors="replace")
        ):
            return folder
    return None


def _misspelt_table(tools: Any, name: str) -> None:
    """A table that is meant for us and would be overlooked."""
    for table in tools if isinstance(tools, dict) else ():
        ours = "mcp" in table and "approval" in table
        if table != TABLE and (ours or nearest(table, [TABLE], alike=0.85)):
            raise SettingsError(f"{name}: got [tool.{table}], expected [tool.{TABLE}]")


def _load(path: Path) -> dict[str, Any]:
    import tomllib  # here: a run without a target never reads a file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name}: no TOML: {error}") from None
