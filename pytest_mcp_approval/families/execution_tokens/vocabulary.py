"""The names and figures of ADR-006, and of the command line that its verifiers share.

Data without behaviour: does not know how a token is made or verified.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

FAMILY = "execution_tokens"

TOKEN_ID = "token_id"
NONCE = "nonce"
EXPIRES_AT = "expires_at"
SCOPE = "scope"
SIGNATURE = "signature"
ACTION_TYPE = "action_type"
ALLOWED_HOSTS = "allowed_hosts"
CONTENT_HASH = "content_hash"
HASH_PREFIX = "sha256:"

# The tools of a server, if it uses the reference server's names.
APPROVE_TOOL = "approve_action"
EXECUTE_TOOL = "execute_action"

SECRET_VARIABLE = "EXECUTION_TOKEN_SECRET"
DEFAULT_SECRET = "CHANGE-ME-IN-PRODUCTION"
"""What the ADR tells a service to refuse ("fail closed")."""
LEAST_SECRET_BYTES = 16
"""As long as the secret of the published vector; anything shorter is guessed too easily."""


class ExecutionReason(StrEnum):
    """Why a token is refused, in the order in which our verifiers look."""

    MALFORMED = "malformed"
    SIGNATURE = "bad_signature"
    EXPIRED = "expired"
    ACTION = "action_not_allowed"
    HOST = "host_not_allowed"
    CONTENT = "content_mismatch"
    REPLAYED = "nonce_spent"


# The published vector.
VECTOR_SECRET = "test_hmac_secret"
VECTOR_TOKEN: dict[str, Any] = {
    TOKEN_ID: "11111111-1111-1111-1111-111111111111",
    NONCE: "22222222-2222-2222-2222-222222222222",
    EXPIRES_AT: "2026-02-14T18:00:00+00:00",
    SCOPE: {
        ACTION_TYPE: "exec_unfamiliar",
        ALLOWED_HOSTS: ["api.github.com"],
        CONTENT_HASH: "a" * 64,
    },
}
VECTOR_SIGNATURE = "13d08030e37fa1610d9ae3172ee342b460dd01e9371a4664bd1d86ae998690a9"
