"""The table [confirmation_tokens] of the user's settings: its keys and their defaults. Knows no
target: `binding` uses these settings to talk to one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...config.reader import Place, Sources, read, setting
from ...config.values import ONE_OR_SEVERAL_CODES
from ..base.probes import FORMS, is_probe
from . import vocabulary as words
from .outcome import SHAPES, TIMES
from .vocabulary import Danger, TokenCode

FAMILY = "confirmation_tokens"

FIELDS = {
    "success": "success",
    "code": "error.code",
    "message": "error.message",
    "details": "error.details",
    "token": "error.details.confirmation_token",
    "quota_token": "error.details.continue_token",
    "expires_at": "error.details.expires_at",
    "operation": "error.details.operation",
    "danger_level": "error.details.danger_level",
    "reasons": "error.details.reasons",
    "confirmation_message": "error.details.confirmation_message",
    "expired_at": "error.details.expired_at",
    "current_time": "error.details.current_time",
    "retry_after": "error.details.retry_after_seconds",
}
"""Places in an answer, as in sections 3.3 and 4.2."""
SHOWN_IN = {
    "3.3": (
        *("success", "code", "message", "token", "expires_at", "operation", "danger_level"),
        *("reasons", "confirmation_message"),
    ),
    "4.2": ("expired_at", "current_time"),
}
"""The places that the document shows, by section; the others are ours."""
CODES = (
    words.CONFIRMATION_REQUIRED,
    *(str(code) for code in TokenCode),
    words.QUOTA_PAUSED,
    words.RATE_LIMITED,
)
INTROSPECTION = {
    "operation": words.INTROSPECT,
    "query_at": "arguments.params.query",
    "token_at": "arguments.params.token",
    "revoke": words.REVOKE_QUERY,
    "status": "",
    "state_at": "data.status",
    "params_hash_at": "data.params_hash",
}
VARIANTS = {
    "tolerance": words.TOLERANCE_SETTING,
    "ttl": "ttl_seconds",
    "store": "store_access",
    "signed": "token_style",
    "key": "signing_key",
}
"""What can be changed at another start of the target, and the reference server's name for it."""
LOOKS = ("audit", "log", "store")


def _look(value: Any) -> str:
    if not is_probe(value):
        raise ValueError(f"expected {FORMS}")
    return str(value)


def _codes(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(one, (str, int)) and not isinstance(one, bool) for one in listed):
        raise ValueError("expected text or a number, or a list of them")
    return tuple(str(one) for one in listed)


@dataclass(frozen=True)
class NamedOperation:
    """An operation that the user named, with parameters that are safe to run it with."""

    name: str = setting(filled=True, expected="the operation's name")
    danger: Danger = setting(
        parse=Danger.read,
        expected="0 (safe) to 4 (forbidden)",
        form={"type": ["integer", "string"], "minimum": 0, "maximum": 4},
    )
    params: Mapping[str, Any] = setting({})
    other_params: tuple[Mapping[str, Any], ...] = setting(())
    """Changes to the params that make it a different call, just as safe."""
    metadata: Mapping[str, Any] = setting({})
    """Members that may be added and do not matter: a request id, a timestamp."""
    max_uses: int = setting(1, least=1)
    quota: bool = False
    crashes: bool = False
    slow: bool = False

    @property
    def gated(self) -> bool:
        return self.danger >= words.GATED_FROM

    @property
    def usual(self) -> bool:
        """Confirmed once, for one run that ends well."""
        return self.gated and self.max_uses == 1 and not (self.quota or self.crashes or self.slow)


@dataclass(frozen=True)
class Trigger:
    """An operation that is to revoke the caller's tokens (section 5.3)."""

    name: str = setting(filled=True, expected="the operation's name")
    params: Mapping[str, Any] = setting({})
    why: str = ""
    whose: str = setting("", choices=("", "user", "adapter"))
    """Whose tokens it revokes: the caller's, or all of the adapter; "" if that is not said."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "why", self.why or self.name)


@dataclass(frozen=True)
class ConfirmationTokensTable:
    tool: str = "mcp_aql"
    operation_at: str = setting("arguments.operation", filled=True)
    """Places in the params of tools/call, this one and the next four."""
    params_at: str = setting("arguments.params", filled=True)
    token_at: str = setting("arguments.params.confirmation_token", filled=True)
    quota_token_at: str = setting("arguments.params._quota_continue", filled=True)
    ttl_at: str = ""
    answer: str = setting(SHAPES[0], choices=SHAPES)
    times: str = setting(TIMES[0], choices=TIMES)
    operations: tuple[NamedOperation, ...] = ()
    fields: Mapping[str, str] = setting(FIELDS, names=FIELDS)
    own_codes: Mapping[str, tuple[str, ...]] = setting(
        {},
        key="codes",
        names={code: (code,) for code in CODES},
        verbatim=True,
        each=_codes,
        each_form=ONE_OR_SEVERAL_CODES,
    )
    tolerance: float | None = setting(
        None,
        key=words.TOLERANCE_SETTING.replace("_", "-"),
        parse=words.read_tolerance,
        form={"type": "number", "minimum": 0, "maximum": words.MAXIMUM_TOLERANCE},
    )
    """None: not declared; then up to 30 seconds are accepted."""
    ttl: Mapping[str, float] = setting(
        words.DEFAULT_TTL, names=words.DEFAULT_TTL, above=0, expected="seconds"
    )
    variants: Mapping[str, str] = setting({}, names=dict.fromkeys(VARIANTS))
    audit: str = setting("", parse=_look)
    log: str = setting("", parse=_look)
    store: str = setting("", parse=_look)
    plant: str = ""
    introspection: Mapping[str, str] = setting({}, names=INTROSPECTION)
    """Empty: the target has none, as far as the user says."""
    triggers: tuple[Trigger, ...] = ()
    other_adapter: Mapping[str, str] = setting({}, names=dict.fromkeys(("tool", "target")))
    hook: str = ""
    patience: float = setting(0, least=0, most=600)
    burst: int = setting(500, least=0, most=100_000)

    @cached_property
    def probes(self) -> dict[str, str]:
        """Where more can be seen, as named by the user."""
        return {name: place for name in LOOKS if (place := getattr(self, name))}

    @cached_property
    def codes(self) -> dict[str, tuple[str, ...]]:
        """The document's codes by the target's own; a target may have one for several."""
        meanings: dict[str, dict[str, None]] = {}
        for code, own in (self.own_codes or {code: (code,) for code in CODES}).items():
            for one in own:
                meanings.setdefault(one, {})[code] = None
        return {own: tuple(codes) for own, codes in meanings.items()}

    def own_shape(self, section: str) -> list[str]:
        """Where the user's settings differ from this section of the document."""
        told = [
            f"{name} at {self.fields[name]}, not {FIELDS[name]}"
            for name in SHOWN_IN[section]
            if self.fields[name] != FIELDS[name]
        ]
        if section == "3.3" and self.times != TIMES[0]:
            told.append(f"instants in {self.times}, not in ISO 8601")
        return told


TABLE_CLASS = ConfirmationTokensTable


def read_table(given: Mapping[str, Any], sources: Sources | None = None) -> ConfirmationTokensTable:
    """The table; `SettingsError` is one line that says what is wrong with it."""
    return read(ConfirmationTokensTable, given, Place((FAMILY,), sources or Sources()))
