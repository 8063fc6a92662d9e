"""The words of the two-step tools: names, members, the token's parts, and what a refusal means.

Both sides of the wire speak them. Knows no transport, no key and no policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

FAMILY = "prepare_confirm"
PREPARE = "prepare_"
CONFIRM = "confirm_"

# Members of what prepare answers.
ACTION = "action"
PREVIEW = "preview"
"""The one value of `action` in a preview."""
OPERATION = "operation"
ITEMS = "items"
WARNINGS = "warnings"
TOKEN = "confirmation_token"
EXPIRES_AT = "token_expires_at"
NEXT_STEP = "next_step"

# Members of what confirm answers.
SUCCESS = "success"
MESSAGE = "message"

SEPARATOR = "|"
"""Between payload and signature of a token: the last one, since the payload may contain others."""
_PAYLOAD: dict[str, type | tuple[type, ...]] = {
    "action": str,
    "data": dict,
    "expires_at": (int, float),
    "issued_at": (int, float),
    "nonce": str,
}
PAYLOAD_MEMBERS = tuple(_PAYLOAD)

DEFAULT_EXPIRY_MINUTES = 5
USED_KEPT_SECONDS = 3600
"""How long a used token is remembered at least."""


class TwoStepReason(StrEnum):
    """Why a confirmation was refused."""

    EXPIRED = "expired"
    USED = "already used"
    SIGNATURE = "signature"
    WRONG_ACTION = "wrong action"
    MALFORMED = "malformed"
    """No token, or nothing that could be one."""


# Servers say it in words of their own: what counts is what the words mean.
_MEANINGS: dict[TwoStepReason, re.Pattern[str]] = {
    TwoStepReason.EXPIRED: re.compile(r"expir|too old|timed? ?out|no longer valid|stale", re.I),
    TwoStepReason.USED: re.compile(
        r"(already|previously)\W+(been\W+)?(used|consumed|redeemed|spent|confirmed)|"
        r"\b(re-?used|re-?play(ed)?|one-time|only once|was used|been used|been consumed)\b",
        re.I,
    ),
    TwoStepReason.SIGNATURE: re.compile(
        r"signature|tamper|\bforged?\b|\bhmac\b|\bmac\b|integrity", re.I
    ),
    TwoStepReason.WRONG_ACTION: re.compile(
        r"(wrong|other|another|different|mismatch\w*|not for this|unexpected)\W+(\w+\W+){0,3}"
        r"(action|operation|tool)|(action|operation|tool)\W+(\w+\W+){0,3}"
        r"(mismatch|differ|wrong|does not match)",
        re.I,
    ),
    TwoStepReason.MALFORMED: re.compile(
        r"malformed|invalid|format|missing|required|not a token|no token|unknown|expected|empty|"
        r"unrecogni[sz]ed|pars|decod|not found",
        re.I,
    ),
}


def meanings_of(message: str) -> frozenset[TwoStepReason]:
    """What a message may mean; "Invalid token signature" says two things."""
    return frozenset(reason for reason, words in _MEANINGS.items() if words.search(message))


def confirm_name(prepare: str) -> str | None:
    """The confirm tool that goes with a prepare tool of this name, None for another name."""
    if not prepare.startswith(PREPARE) or prepare == PREPARE:
        return None
    return CONFIRM + prepare.removeprefix(PREPARE)


@dataclass(frozen=True)
class Payload:
    """What a token in the documented format says."""

    action: str
    data: Mapping[str, Any]
    expires_at: float
    """Unix time, in seconds; so is `issued_at`."""
    issued_at: float
    nonce: str

    def to_text(self) -> str:
        """Members in alphabetical order, nothing but ASCII, no blanks: the same text every time."""
        return json.dumps(vars(self), sort_keys=True, separators=(",", ":"), allow_nan=False)


def split_token(token: str) -> tuple[str, str]:
    """The payload's text and the signature's: what is before and after the last separator."""
    payload, separator, signature = token.rpartition(SEPARATOR)
    if not separator or not payload or not signature:
        raise ValueError("token: got no payload and signature with | between them")
    return payload, signature


def read_payload(text: str) -> Payload:
    """A payload from its text; ValueError says in one line what is wrong with it."""
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("payload: got no JSON") from None
    if not isinstance(members, dict):
        raise ValueError(f"payload: got {type(members).__name__}, expected an object")
    missing = [name for name in PAYLOAD_MEMBERS if name not in members]
    if missing:
        raise ValueError(f"payload: got no {', '.join(missing)}")
    for name, kinds in _PAYLOAD.items():
        value = members[name]
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ValueError(f"payload: {name} is {type(value).__name__}")
    return Payload(**{name: members[name] for name in PAYLOAD_MEMBERS})
