"""What the gate of SEP-2672 can be told at the start of its server. A bad value is one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..server.extension import ExtensionSettingError

_LONGEST_SECONDS = 86400


@dataclass(frozen=True)
class Options:
    """Checked."""

    rp_id: str = "localhost"
    origins: Sequence[str] = ("http://localhost",)
    """The pages that users approve on."""
    server_id: str | None = None
    """Instead of the random one that the store keeps."""
    challenge_ttl: float = 60
    enrolment_ttl: float = 300
    declare: bool = True
    """Whether the capability is declared; without it no gated tool is listed (section 4.3)."""
    schema_default: bool = False
    """Adds a gated tool whose schema has a default, which section 8.3.3 warns of."""


def read_options(settings: Mapping[str, Any]) -> Options:
    """The options; `ExtensionSettingError` is one line that says what is wrong."""
    known = [field.name for field in fields(Options)]
    for name in settings:
        if name not in known:
            raise ExtensionSettingError(f"{name}: got a setting of that name, expected {known}")
    options = Options(**settings)
    for name in ("challenge_ttl", "enrolment_ttl"):
        seconds = getattr(options, name)
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
            raise ExtensionSettingError(f"{name}: got {seconds!r}, expected a number of seconds")
        if not 0 < seconds <= _LONGEST_SECONDS:
            raise ExtensionSettingError(
                f"{name}: got {seconds}, expected seconds up to {_LONGEST_SECONDS}"
            )
    for origin in [options.origins] if isinstance(options.origins, str) else options.origins:
        if not _is_origin(origin):
            raise ExtensionSettingError(
                f"origins: got {origin!r}, expected a list of such as https://example.org"
            )
    return options


def _is_origin(given: Any) -> bool:
    text = given if isinstance(given, str) else ""
    return text.startswith(("http://", "https://")) and text.rstrip("/") == text
