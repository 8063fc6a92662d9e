"""The table [sep2672] of the user's settings, over what the suite knows of the target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...config.reader import Place, Sources, read, setting
from ...target import Target
from ..base.driver import table_of
from .page_description import PageDescription

FAMILY = "sep2672"


def _origin(value: Any) -> str:
    if not isinstance(value, str) or not value.startswith(("https://", "http://")):
        raise ValueError("expected https://host or http://host")
    return value.rstrip("/")


@dataclass(frozen=True)
class Sep2672Table:
    origin: str | None = setting(None, parse=_origin)
    """The page that users approve on; None: that of the page, else by rp.id."""
    server_id: str | None = None
    """The serverId in action hashes (section 4.6)."""
    failing: Mapping[str, Any] = setting({})
    """By gated tool, arguments that pass the gate and that the tool itself then refuses."""
    page: PageDescription = setting(PageDescription)


TABLE_CLASS = Sep2672Table


def read_table(given: Mapping[str, Any], sources: Sources | None = None) -> Sep2672Table:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    return read(Sep2672Table, given, Place((FAMILY,), sources or Sources()))


def settings_of(target: Target) -> Sep2672Table:
    """As they are for this target now: an embedded server's id is known once it runs."""
    return read_table(table_of(target, FAMILY), target.settings.sources)


def own_settings(target: Target) -> Sep2672Table:
    """What the user says, without what the suite knows."""
    return read_table(target.settings.family_settings.get(FAMILY, {}), target.settings.sources)
