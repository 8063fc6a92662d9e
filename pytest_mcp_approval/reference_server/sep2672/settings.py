"""Settings of the gate of SEP-2672, read at the start. A bad value gives one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..server.settings import bounded, check_names, one_of, option, options_in, refuse
from .enrolment_policy import EnrolmentPolicy

_LONGEST_SECONDS = 86400


@dataclass(frozen=True)
class ApprovalSettings:
    rp_id: str = option(
        "localhost", "--rp-id", "the relying party's id (default: localhost)", metavar="ID"
    )
    origins: Sequence[str] = option(
        (),
        "--origin",
        "a page that users approve on; repeatable "
        "(default: http://localhost, and that with the port)",
        action="append",
        metavar="URL",
    )
    server_id: str | None = option(
        None, "--server-id", "instead of the random one that the store keeps", metavar="ID"
    )
    challenge_ttl: float = option(
        60,
        "--challenge-ttl",
        "how long a challenge is good (default: 60)",
        type=float,
        metavar="SECONDS",
    )
    enrolment_ttl: float = option(
        300,
        "--enrolment-ttl",
        "how long a registration challenge is good (default: 300)",
        type=float,
        metavar="SECONDS",
    )
    enrolment_policy: str = option(
        "open",
        "--enrolment-policy",
        "who may enrol a passkey: open, first-free or arranged (default: open, as in the document)",
        metavar="POLICY",
    )
    declare: bool = option(
        True,
        "--without-capability",
        "neither declare the capability nor list gated tools (section 4.3)",
        action="store_false",
        alone=True,
    )
    schema_default: bool = option(
        False,
        "--with-schema-default",
        "add a gated tool whose schema has a default, which section 8.3.3 warns of",
        action="store_true",
    )


OPTIONS = options_in(ApprovalSettings)


def read_settings(given: Mapping[str, Any]) -> ApprovalSettings:
    """`ExtensionSettingError` says in one line what is wrong."""
    check_names(given, [field.name for field in fields(ApprovalSettings)])
    settings = ApprovalSettings(**given)
    one_of("enrolment_policy", settings.enrolment_policy, EnrolmentPolicy)
    for name in ("challenge_ttl", "enrolment_ttl"):
        bounded(name, getattr(settings, name), _LONGEST_SECONDS)
    for origin in [settings.origins] if isinstance(settings.origins, str) else settings.origins:
        if not _is_origin(origin):
            refuse("origins", origin, "a list of such as https://example.org")
    return settings


def _is_origin(given: Any) -> bool:
    text = given if isinstance(given, str) else ""
    return text.startswith(("http://", "https://")) and text.rstrip("/") == text
