"""Refusals that clients get: every reason, by where it comes from, and in what they are dressed.

For scenarios about clients, on pages and in terminals.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .vocabulary import Reason

CHALLENGE_REASONS = (Reason.TOOL_NOT_APPROVED_REQUIRED, Reason.NO_ELIGIBLE_CREDENTIAL)
ENROLLMENT_REASONS = (
    Reason.CREDENTIAL_ALREADY_ENROLLED,
    Reason.NO_PENDING_ENROLLMENT,
    Reason.VERIFICATION_FAILED,
)
CALL_REASONS = tuple(one for one in Reason if one not in (*CHALLENGE_REASONS, *ENROLLMENT_REASONS))
TWO_REASONS = (Reason.CHALLENGE_EXPIRED, Reason.SIGNATURE_COUNTER_REGRESSION)
"""For checks that would say the same of each."""

MESSAGE = "The approval was refused"
"""The same for every reason: what a client tells apart, it tells apart by the reason."""
OTHER_MESSAGES: Mapping[str, str] = {
    "another message": "Nein, das geht so nicht",
    "a message that names another reason": "challenge_unknown",
}
FURTHER_MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "unknown members": {"retryable": True, "detail": {"at": None}},
    "members that say something else": {
        "code": "missing_evidence",
        "error": "verification_failed",
        "success": True,
    },
}
