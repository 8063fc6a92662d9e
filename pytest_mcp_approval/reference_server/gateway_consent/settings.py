"""The gateway's settings, read at its start. With a bad value nothing starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from ..server.settings import check_names, one_of, refuse
from .demonstration import DESCRIPTORS
from .descriptors import App, DescriptorError, read_apps
from .person_code import read_code

_KNOWN = ("storage", "folder", "apps", "more_apps", "person_code")


class Storage(StrEnum):
    """Where consents and credentials are kept."""

    AUTOMATIC = "automatic"
    """In memory if the server's own store is; otherwise in a file."""
    MEMORY = "memory"
    FILE = "file"
    KEYRING = "keyring"
    """The key store of the operating system; without one nothing starts."""
    TRIAL = "trial"
    """A key store to try it with: it shows where things would go."""
    SYSTEM = "system"
    """The key store of the operating system if there is a usable one, else a file."""


@dataclass(frozen=True)
class GatewaySettings:
    """Checked."""

    apps: Mapping[str, App]
    storage: Storage = Storage.AUTOMATIC
    folder: Path | None = None
    """Where files go; None: beside the server's database, or into a temporary folder."""
    person_code: str = field(default="", repr=False)
    """Asked for with every decision; none: whoever has the address of a page can answer it."""


def read_settings(settings: Mapping[str, Any]) -> GatewaySettings:
    """The settings, checked; `ExtensionSettingError` says in one line what is wrong."""
    check_names(settings, _KNOWN)
    return GatewaySettings(
        apps=_apps(settings.get("apps"), settings.get("more_apps")),
        storage=Storage(one_of("storage", settings.get("storage", Storage.AUTOMATIC), Storage)),
        folder=_folder(settings.get("folder")),
        person_code=read_code(settings.get("person_code")),
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


def _folder(value: Any) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value:
        refuse("folder", value, "a path")
    return Path(value)
