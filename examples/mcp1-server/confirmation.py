"""Confirmation tokens: signed, short-lived, good once.

A token is base64 of a JSON payload, a | and an HMAC over it. Used ones are remembered until they
would have expired. Knows nothing of projects, users or MCP.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import os
import threading
import time
from datetime import UTC, datetime
from typing import Any

KEEP_USED_SECONDS = 3600


class TokenError(Exception):
    """The token confirms nothing; the text is for the caller."""


class ConfirmationService:
    def __init__(self, secret: str | None = None, expiry_minutes: float = 5) -> None:
        if secret == "":
            raise ValueError("the secret key is empty: leave it out for a random one")
        if not expiry_minutes > 0:
            raise ValueError(f"tokens must live for more than 0 minutes, not {expiry_minutes}")
        self.lifetime = expiry_minutes * 60
        self.started = time.time()
        # Once: PBKDF2 is slow on purpose.
        password = os.urandom(32) if secret is None else secret.encode()
        self.key = hashlib.pbkdf2_hmac("sha256", password, b"project-desk confirmations", 60_000)
        self.used: dict[str, float] = {}
        self.lock = threading.Lock()

    def issue(self, action: str, data: dict[str, Any]) -> tuple[str, str]:
        """A token, and when it expires."""
        now = time.time()
        payload = {
            "action": action,
            "data": data,
            "expires_at": now + self.lifetime,
            "issued_at": now,
            "nonce": os.urandom(12).hex(),
        }
        text = base64.urlsafe_b64encode(json.dumps(payload).encode()).decode()
        end = datetime.fromtimestamp(payload["expires_at"], UTC)
        return f"{text}|{self.sign(text)}", end.isoformat(timespec="seconds").replace("+00:00", "Z")

    def sign(self, text: str) -> str:
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()

    def redeem(self, token: Any, action: str) -> dict[str, Any]:
        """The data of a token for this action; from now on it is used."""
        if not isinstance(token, str) or not token:
            raise TokenError("a confirmation token is required")
        text, _, signature = token.rpartition("|")
        if not hmac.compare_digest(self.sign(text).encode(), signature.encode()):
            raise TokenError("invalid token signature")
        try:
            payload = json.loads(base64.urlsafe_b64decode(text))
        except (ValueError, binascii.Error):
            raise TokenError("malformed token") from None
        if payload["action"] != action:
            raise TokenError(f"wrong action: this token is for {payload['action']}")
        now = time.time()
        if now >= payload["expires_at"]:
            raise TokenError("token has expired, prepare again")
        if payload["issued_at"] < self.started:
            # If the key outlives the process, tokens used before the start are not known.
            raise TokenError("token may have been used before the last restart, prepare again")
        with self.lock:
            self.used = {one: until for one, until in self.used.items() if until > now}
            if payload["nonce"] in self.used:
                raise TokenError("token has already been used")
            self.used[payload["nonce"]] = max(payload["expires_at"], now + KEEP_USED_SECONDS)
        return payload["data"]
