"""The words of the two-person rule, as they go over the wire. Knows no transport and no policy."""

from __future__ import annotations

from enum import StrEnum

FAMILY = "two_person"

# Arguments of the two tools.
ACTION = "action"
PIN = "pin"
REQUEST_ID = "requestId"

# Members of their answers.
STATE = "state"
REASON = "reason"
EXPIRES_AT = "expiresAt"


class State(StrEnum):
    PENDING = "pending"
    DONE = "done"
    REFUSED = "refused"


class Reason(StrEnum):
    WRONG_PIN = "wrong_pin"
    SAME_PERSON = "same_person"
    ALREADY_DONE = "already_done"
    EXPIRED = "expired"
    CLOSED = "closed"
