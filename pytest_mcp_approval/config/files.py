"""The settings files: where they are, and what they say, with keys in their current spelling.

`mcp-approval.toml`, or `[tool.mcp-approval]` in pyproject.toml. They configure; they start nothing.
A key that has moved into a table is also found in its old place, with a note. Does not know what
values mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..support.nearest import nearest
from .options import CLIENT, FILE, LAUNCH, OPTIONS, TABLE
from .reader import Keys, Place, SettingsError, Sources, canonical, shown, wrong
from .registry import families

Tables = dict[str, Any]
_TOP = [option.name for option in OPTIONS if len(option.place) == 1]
_MOVED = {
    option.name: option
    for option in OPTIONS
    if len(option.place) > 1 and option.name not in (CLIENT, "client-page", LAUNCH)
}
"""Keys that were once at the top level, and are in a table now."""


def file_tables(folder: Path) -> tuple[Tables, Sources]:
    """What the file in this folder says; nothing if there is none."""
    own, shared = folder / FILE, folder / "pyproject.toml"
    found: Any = {}
    sources = Sources()
    if own.is_file():
        found, sources = _load(own), Sources(own.name)
    elif shared.is_file():
        tools = _load(shared).get("tool", {})
        _misspelt_table(tools, shared.name)
        if TABLE in tools:
            found, sources = tools[TABLE], Sources(shared.name, ("tool", TABLE))
    place = Place((), sources)
    if not isinstance(found, dict):
        raise SettingsError(f"{place.table}: got {shown(found)}, expected a table")
    tables: Tables = {}
    named = (CLIENT, LAUNCH, *families())
    moved = {key: _MOVED[name] for key in found if (name := key.replace("_", "-")) in _MOVED}
    others = {key: value for key, value in found.items() if key not in moved}
    for name, value in canonical(others, (*sorted(_TOP), *named), place).items():
        tables[name] = _table_at(value, (name,), place / name) if name in named else value
    for key, option in moved.items():
        written = str(Place(option.place, sources))
        if value_at(tables, option.place) is not None:
            raise SettingsError(f"{place.table}: got {key!r} twice, expected {written} alone")
        sources.tell_old(f"{written} for {key}")
        put_at(tables, option.place, found[key])
    return tables, sources


def file_options(folder: Path) -> dict[str, Any]:
    """The same, by option, for the keys that have one."""
    tables, _ = file_tables(folder)
    found = {option.name: value_at(tables, option.place) for option in OPTIONS if option.place}
    return {name: value for name, value in found.items() if value is not None}


def settings_folder(root: Path, directory: Path) -> Path | None:
    """The folder where the user started, else pytest's rootdir: in a larger project each server may
    have its own settings. None if neither has any. Cheap enough for every pytest run."""
    for folder in (directory, root):
        shared = folder / "pyproject.toml"
        if (folder / FILE).is_file() or (
            shared.is_file()
            and f"[tool.{TABLE}" in shared.read_text(encoding="utf-8", errors="replace")
        ):
            return folder
    return None


def value_at(tables: Mapping[str, Any], keys: Keys) -> Any:
    """The value at these keys, or None."""
    found: Any = tables
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def put_at(tables: Tables, keys: Keys, value: Any) -> None:
    """Store a value at these keys; `KeyError` names a key on the way that is not a table."""
    table = tables
    for key in keys[:-1]:
        table = table.setdefault(_spelt(table, key), {})
        if not isinstance(table, dict):
            raise KeyError(key)
    table[_spelt(table, keys[-1])] = value


def _spelt(table: Tables, key: str) -> str:
    """The key as the table already spells it, if that is another spelling of the same key."""
    return next((one for one in table if one.replace("_", "-") == key.replace("_", "-")), key)


def _table_at(value: Any, keys: Keys, place: Place) -> Tables:
    """A copy of the table. A text in place of a table becomes the table's one key."""
    short = {option.place[:-1]: option.place[-1] for option in OPTIONS if option.short}
    if isinstance(value, str) and keys in short:
        return {short[keys]: value}
    if not isinstance(value, dict):
        raise wrong(place, value, f"expected a table [{place.keys[-1]}]")
    return {
        key: _table_at(one, (*keys, key), place / key) if (*keys, key) in short else one
        for key, one in value.items()
    }


def _misspelt_table(tools: Any, name: str) -> None:
    """Catch a misspelt table that is meant for us and would be overlooked."""
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
