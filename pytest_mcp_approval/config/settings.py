"""What the user asked for: the command line first, then `mcp-approval.toml`, then pyproject.toml.

Says in one line what is wrong with a value. Which options there are is `options`'s to know, where
the files are `settings_files`'s.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .files import file_values, settings_folder
from .options import (
    FILE,
    NO_BROWSER,
    OF_WHOLE_RUNS,
    OPTIONS,
    PREFIX,
    START,
    TABLE,
    SettingsError,
)
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


@dataclass(frozen=True)
class Settings:
    """The options, read and checked as far as that goes without a target."""

    # What may hold a secret is in no repr: pytest prints those of local variables.
    targets: tuple[str, ...] = field(default=(), repr=False)
    origin: str | None = field(default=None, repr=False)
    page: str | None = field(default=None, repr=False)
    browser: str | None = None
    """Which browser; None: what is found."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tools: Mapping[str, Any] = field(default_factory=dict, repr=False)
    generate_arguments: bool = False
    effects: str | None = field(default=None, repr=False)
    reset: str | None = field(default=None, repr=False)
    launch: str | None = field(default=None, repr=False)
    effects_doubt: str = ""
    """Why the effects probe cannot tell whether a tool ran: found by the preflight, never given."""
    launch_timeout: float = 30.0
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    server_directory: Path | None = None
    """Where a server that the suite starts runs; None: where the user started."""
    clock: str = field(default="auto", repr=False)
    server_id: str | None = field(default=None, repr=False)
    protocol: str = "auto"
    families: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    reports: tuple[Path, ...] = ()
    compare: Path | None = None
    findings: Path | None = None
    """Where findings are left for a replay; None: nowhere."""
    replay: Path | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    require_verified: tuple[str, ...] = ()
    """Patterns of rules that have to be verified; none: nothing has to be."""
    strict: bool = False
    timeout: float = 10.0
    family_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    """By family; what a family can be told is its own matter."""
    drawn_secrets: tuple[str, ...] = field(default=(), repr=False)
    """What was drawn from the environment or files, for headers and variables."""
    directory: Path = Path()
    """Where the user started: commands run here, and servers if nothing else is said."""


def read_settings(given: Mapping[str, Any], root: Path, directory: Path) -> Settings:
    """The settings of a run; `given` is what the command line says, by option name."""
    from . import launch as launching  # here: a run without a target needs none
    from . import report_files as reporting
    from . import secret_values as secret

    values = file_values(settings_folder(root, directory) or root)
    if given.get("target"):
        # Another target than the file's: what is said of how that one is started goes with it.
        values = {k: v for k, v in values.items() if k != "launch" and not _of_an_instance(k, v)}
    if given.get("replay"):
        values = {k: v for k, v in values.items() if k not in OF_WHOLE_RUNS}
    values |= {k: v for k, v in given.items() if v not in (None, [], False)}

    def one(name: str) -> str | None:
        value = values.get(name)
        if value is not None and not isinstance(value, str):
            raise SettingsError(f"{name}: got {value!r}, expected text")
        return value

    drawn: list[str] = []

    def both(name: str, literal: Mapping[str, str]) -> dict[str, str]:
        """As they stand, and drawn from elsewhere; what the command line says comes first."""
        source = f"{name}-from"
        other = secret.drawn(source, values.get(source, ()), directory, drawn)
        if given.get(source):
            return secret.merged(literal, other)
        return secret.merged(other, literal)

    return Settings(
        targets=_texts(values, "target"),
        origin=_origin(one("origin")),
        page=_page(one("page")),
        browser=one("browser"),
        headers=both("header", secret.headers(values.get("header", ()))),
        tools=_tools(values.get("tool", ())),
        generate_arguments=_truth(values, "generate-arguments"),
        effects=_effects(one("effects")),
        reset=one("reset"),
        launch=launching.command(one("launch")),
        launch_timeout=launching.timeout(values.get("launch-timeout", 30.0)),
        environment=both("environment", launching.environment(values.get("environment", ()))),
        server_directory=launching.directory(one("directory"), directory),
        clock=launching.clock(one("clock") or "auto"),
        server_id=one("server-id"),
        protocol=one("protocol") or "auto",
        families=_texts(values, "family"),
        select=_texts(values, "select"),
        reports=reporting.reports(_texts(values, "report"), directory),
        compare=reporting.existing("compare", one("compare"), directory),
        findings=reporting.findings(one("findings"), root, directory),
        replay=reporting.existing("replay", one("replay"), directory),
        baseline=directory / name if (name := one("baseline")) else None,
        write_baseline=_write_baseline(one("write-baseline"), one("baseline"), directory),
        require_verified=_required(values),
        strict=_truth(values, "strict"),
        timeout=_timeout(values.get("timeout", 10.0)),
        family_settings=_family_settings(values),
        drawn_secrets=tuple(drawn),
        directory=directory,
    )


def without_target(root: Path, directory: Path) -> str:
    """What to do where a run was started and nobody named a target."""
    folder = settings_folder(root, directory)
    if folder is None:
        return (
            f"{START} takes the target of {FILE}, or of [tool.{TABLE}] in pyproject.toml, and "
            f"{directory} has neither: write one, or say {PREFIX}target=<server>"
        )
    own = FILE if (folder / FILE).is_file() else f"[tool.{TABLE}] of pyproject.toml"
    return f"{own} names no target: write target = ... there, or say {PREFIX}target=<server>"


def _of_an_instance(name: str, value: Any) -> bool:
    """Whether a value has a placeholder for what only a server that the suite starts has."""
    return (
        name in ("server-id", "page")
        and isinstance(value, str)
        and ("{state}" in value or "{port}" in value)
    )


def _texts(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = values.get(name, ())
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, Sequence) or not all(isinstance(item, str) for item in listed):
        raise SettingsError(f"{name}: got {value!r}, expected text or a list of texts")
    return tuple(listed)


def _truth(values: Mapping[str, Any], name: str) -> bool:
    value = values.get(name, False)
    if not isinstance(value, bool):
        raise SettingsError(f"{name}: got {value!r}, expected true or false")
    return value


def _required(values: Mapping[str, Any]) -> tuple[str, ...]:
    """A pattern or several, or true for all rules."""
    value = values.get("require-verified", ())
    if isinstance(value, bool):
        return ("*",) if value else ()
    return _texts(values, "require-verified")


def _origin(value: str | None) -> str | None:
    if value is not None and not value.startswith(("https://", "http://")):
        raise SettingsError(f"{PREFIX}origin: got {value!r}, expected https://host or http://host")
    return value.rstrip("/") if value else None


def _page(value: str | None) -> str | None:
    """A URL with a name in it: browsers have no passkeys for addresses."""
    if value is None:
        return None
    from urllib.parse import urlsplit  # here: a run without a target needs none

    try:
        parts = urlsplit(value.replace("{port}", "1"))
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or not value.startswith(("https://", "http://")):
        raise SettingsError(
            f"{PREFIX}page: got {value!r}, expected a URL such as http://localhost:3000/"
        )
    if ":" in host or host.replace(".", "").isdigit():
        raise SettingsError(
            f"{PREFIX}page: got {value!r}, expected a host name such as localhost: browsers have "
            "no passkeys for addresses"
        )
    return value


def _tools(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return dict(given)
    tools = {}
    for text in (given,) if isinstance(given, str) else given:
        name, equals, arguments = str(text).partition("=")
        try:
            if not equals or not name:
                raise ValueError
            tools[name] = json.loads(arguments)
            if not isinstance(tools[name], dict):
                raise ValueError
        except ValueError:
            raise SettingsError(
                f"{PREFIX}tool: got {text!r}, expected NAME=JSON object, "
                'e.g. delete_resource={"resourceId": "test-1"}'
            ) from None
    return tools


def _family_settings(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of the families; then what the command line says, a value as TOML writes it."""
    found = {name: dict(values[name]) for name in families() if name in values}
    for text in _texts(values, "set"):
        place, equals, value = text.partition("=")
        family, *keys = place.strip().split(".")
        if not equals or not keys or not all(keys) or family not in families():
            raise SettingsError(
                f"{PREFIX}set: got {text!r}, expected FAMILY.KEY=VALUE with a family of "
                f"{', '.join(families())}"
            )
        table = found.setdefault(family, {})
        for key in keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                raise SettingsError(f"{PREFIX}set: got {text!r}, but {key!r} is no table")
        table[keys[-1]] = _toml_value(value.strip())
    return found


def _toml_value(text: str) -> Any:
    """`30`, `true` and `["a"]` as TOML reads them; anything else is text as it stands."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _effects(value: str | None) -> str | None:
    if value is not None and not value.startswith(("http://", "https://", "tool:")):
        raise SettingsError(f"{PREFIX}effects: got {value!r}, expected a URL or tool:NAME")
    return value


def _write_baseline(value: str | None, read: str | None, directory: Path) -> Path | None:
    if not value:
        return None
    path = directory / value
    if not path.parent.is_dir():
        raise SettingsError(
            f"{PREFIX}write-baseline: there is no folder {str(Path(value).parent)!r}"
        )
    if path.exists() and not (read and path == directory / read):
        # Somebody's comments stand in it; those of the baseline that is read are kept.
        raise SettingsError(
            f"{PREFIX}write-baseline: {value!r} is there already: name another file, or "
            f"{PREFIX}baseline={value} too, which keeps its comments"
        )
    return path


def _timeout(value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if not 0 < seconds <= 3600:
        raise SettingsError(f"{PREFIX}timeout: got {value!r}, expected seconds, up to 3600")
    return seconds
