"""The words of MCP-AQL confirmation tokens: codes, levels, lifetimes, syntax, the parameter hash.

Both sides of the wire speak them. Knows no transport, no state and no policy: what a server does
with these words is in `reference_server`, what a suite does with them in its driver.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Any

import rfc8785

CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED"
"""The answer to a gated operation without a token (section 3.3)."""

CONFIRMATION_PREFIX = "conf_"
QUOTA_PREFIX = "quota_continue_"
PREFIXES = (CONFIRMATION_PREFIX, QUOTA_PREFIX)

TOKEN = re.compile(r"(?:conf|quota_continue)_[A-Za-z0-9_-]{1,64}")
"""Section 2.2; the whole token also has 8 to 80 characters."""
SHORTEST, LONGEST = 8, 80

MINIMUM_HASH_BITS = 256

INTROSPECT = "introspect"
REVOKE_QUERY = "revoke_token"

# What the document leaves unnamed; servers differ, and the suite's binding says how.
QUOTA_PAUSED = "QUOTA_PAUSED"
RATE_LIMITED = "RATE_LIMITED"
STATUS_QUERY = "token_status"
QUOTA_MEMBER = "_quota_continue"
CONFIRMATION_MEMBER = "confirmation_token"


class TokenCode(StrEnum):
    """Why a token was refused (section 4.1)."""

    INVALID = "TOKEN_INVALID"
    EXPIRED = "TOKEN_EXPIRED"
    ALREADY_USED = "TOKEN_ALREADY_USED"
    SCOPE_MISMATCH = "TOKEN_SCOPE_MISMATCH"


class TokenType(StrEnum):
    """What a token is for (section 2.3)."""

    CONFIRMATION = "confirmation"
    QUOTA = "quota_continue"

    @property
    def prefix(self) -> str:
        return QUOTA_PREFIX if self is TokenType.QUOTA else CONFIRMATION_PREFIX


class Danger(IntEnum):
    """The danger levels that section 5.1 refers to."""

    SAFE = 0
    REVERSIBLE = 1
    DESTRUCTIVE = 2
    DANGEROUS = 3
    FORBIDDEN = 4

    @property
    def word(self) -> str:
        return self.name.lower()

    @classmethod
    def read(cls, value: Any) -> Danger:
        """A level by its number or its word; `ValueError` for anything else."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 4:
            return cls(value)
        if isinstance(value, str) and value.upper() in cls.__members__:
            return cls[value.upper()]
        levels = ", ".join(f"{level.word} ({int(level)})" for level in cls)
        raise ValueError(f"got {value!r}, expected one of {levels}")


GATED_FROM = Danger.DESTRUCTIVE

QUOTA_LIFE = "quota"
"""The name of the third kind of lifetime, beside the levels."""
DEFAULT_TTL = {
    Danger.DESTRUCTIVE.word: 300,
    Danger.DANGEROUS.word: 300,
    Danger.FORBIDDEN.word: 120,
    QUOTA_LIFE: 300,
}
"""Seconds (section 5.1)."""
MAXIMUM_TTL = {
    Danger.DESTRUCTIVE.word: 900,
    Danger.DANGEROUS.word: 900,
    Danger.FORBIDDEN.word: 300,
    QUOTA_LIFE: 600,
}

TOLERANCE_SETTING = "clock_skew_tolerance_seconds"
DEFAULT_TOLERANCE = 30
MAXIMUM_TOLERANCE = 300
WARNED_TOLERANCE = 60
"""Above this, a warning belongs in the log (section 5.1)."""

PURGE_WITHIN = 3600
CAPACITY = 1000


class Event(StrEnum):
    """What the audit log records (section 6.4)."""

    ISSUED = "TOKEN_ISSUED"
    VALIDATED = "TOKEN_VALIDATED"
    REJECTED = "TOKEN_REJECTED"
    REVOKED = "TOKEN_REVOKED"


AUDIT_MEMBERS = ("timestamp", "event", "token_id", "operation", "adapter_name", "outcome")
SUCCESS, FAILURE = "success", "failure"


def is_token(text: Any) -> bool:
    """Whether a text has the syntax of section 2.2."""
    return (
        isinstance(text, str)
        and SHORTEST <= len(text) <= LONGEST
        and TOKEN.fullmatch(text) is not None
    )


def read_tolerance(value: Any) -> float:
    """Seconds of clock skew that are tolerated; `ValueError` says what is wrong (section 5.1)."""
    expected = f"expected seconds from 0 to {MAXIMUM_TOLERANCE}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"got {value!r}, {expected}")
    if not math.isfinite(value) or not 0 <= value <= MAXIMUM_TOLERANCE:
        raise ValueError(f"got {value}, {expected}")
    return value


class ParamsNotCanonicalError(ValueError):
    """Parameters that have no canonical form, such as an integer beyond 2^53-1."""


def params_hash(operation: str, params: Mapping[str, Any], critical: Iterable[str]) -> str:
    """SHA-256 over the operation and its critical parameters, canonically written (section 3.2).

    Canonical means RFC 8785: the order of members does not matter, at any depth. A member that is
    absent stays absent.
    """
    bound = {name: params[name] for name in critical if name in params}
    try:
        written = rfc8785.dumps({"operation": operation, "params": bound})
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise ParamsNotCanonicalError(f"params: no canonical form: {error}") from error
    return hashlib.sha256(written).hexdigest()
