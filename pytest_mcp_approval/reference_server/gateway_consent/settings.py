"""What the gateway can be told at its start. What cannot be followed starts nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from ..server.extension import ExtensionSettingError
from .demonstration import DESCRIPTORS
from .descriptors import App, DescriptorError, read_apps

_KNOWN = ("storage", "folder", "apps", "more_apps", "demonstration")


class Storage(StrEnum):
    """Where consents and credentials are kept."""

    AUTOMATIC = "automatic"
    """In memory where the server's own store is; else in a file."""
    MEMORY = "memory"
    FILE = "file"
    KEYRING = "keyring"
    """The key store of the operating system, or nothing starts."""
    SYSTEM = "system"
    """The key store of the operating system where there is a usable one, else a file."""


@dataclass(frozen=True)
class Options:
    """Checked."""

    apps: Mapping[str, App]
    storage: Storage = Storage.AUTOMATIC
    folder: Path | None = None
    """Where files go; None: beside the server's database, or into a temporary folder."""
    demonstration: str | None = None
    """The address of a demonstration app that runs already; None: the gateway starts its own."""


def read_options(settings: Mapping[str, Any]) -> Options:
    """The options; `ExtensionSettingError` is one line that says what is wrong."""
    for name in settings:
        if name not in _KNOWN:
            raise ExtensionSettingError(f"{name}: got a setting of that name, expected {_KNOWN}")
    return Options(
        apps=_apps(settings.get("apps"), settings.get("more_apps")),
        storage=_storage(settings.get("storage", Storage.AUTOMATIC)),
        folder=_folder(settings.get("folder")),
        demonstration=_address(settings.get("demonstration")),
    )


def _apps(given: Any, more: Any) -> dict[str, App]:
    """Descriptors, or the path of a file with them; `more_apps` come after the demonstration's."""
    first = list(DESCRIPTORS) if given is None else _descriptors(given, "apps")
    return read_apps(first + ([] if more is None else _descriptors(more, "more_apps")))


def _descriptors(given: Any, name: str) -> list[Any]:
    if isinstance(given, str):
        try:
            given = json.loads(Path(given).read_text(encoding="utf-8"))
        except OSError as error:
            raise DescriptorError(f"{name}: cannot read {given!r}: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise DescriptorError(f"{name}: got no JSON in {given!r}") from None
    if not isinstance(given, (list, tuple)):
        raise DescriptorError(f"{name}: got {ascii(given)[:60]}, expected a list of descriptors")
    return list(given)


def _storage(value: Any) -> Storage:
    try:
        return Storage(value)
    except ValueError:
        raise ExtensionSettingError(
            f"storage: got {ascii(value)[:60]}, expected one of {', '.join(Storage)}"
        ) from None


def _folder(value: Any) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        raise ExtensionSettingError(f"folder: got {ascii(value)[:60]}, expected a path")
    return Path(value)


def _address(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        raise ExtensionSettingError(
            f"demonstration: got {ascii(value)[:60]}, expected a URL such as http://localhost:8001"
        )
    return value.rstrip("/")
