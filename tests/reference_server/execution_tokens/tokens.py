"""Tokens for tests, made from the document and not with the library under test."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import uuid
from typing import Any

SECRET = "test_hmac_secret"
CONTENT = b"echo approved\n"


def canonical(token: dict[str, Any]) -> bytes:
    scope = json.dumps(token["scope"], sort_keys=True)
    return f"{token['token_id']}:{token['nonce']}:{token['expires_at']}:{scope}".encode()


def signed(token: dict[str, Any], secret: str = SECRET) -> dict[str, Any]:
    digest = hmac.new(secret.encode(), canonical(token), hashlib.sha256).hexdigest()
    return {**token, "signature": digest}


def token(content: bytes = CONTENT, *, seconds: float = 300, **scope: Any) -> dict[str, Any]:
    """A good token; further words change or add members of its scope."""
    expiry = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return signed(
        {
            "token_id": str(uuid.uuid4()),
            "nonce": str(uuid.uuid4()),
            "expires_at": expiry.isoformat(),
            "scope": {
                "action_type": "exec",
                "allowed_hosts": ["api.github.com"],
                "content_hash": hashlib.sha256(content).hexdigest(),
                **scope,
            },
        }
    )
