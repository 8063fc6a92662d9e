"""Verifiers written from the document alone, as short as possible: they accept what it leaves open.

Share nothing with the reference verifier. The secret is what they are given.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

USUAL: Mapping[str, str] = {}
OUTSIDE = {"token_id": "id", "signature": "hmac"}
INSIDE = {"content_hash": "digest"}


def _verify(
    text: bytes,
    content: bytes,
    action: str,
    host: str | None,
    secret: bytes,
    nonce_log: Path,
    names: Mapping[str, str] = USUAL,
    *,
    remembers: bool = True,
) -> bool:
    def called(name: str) -> str:
        return names.get(name, name)

    token: Any = json.loads(text)
    scope, nonce = token["scope"], token["nonce"]
    end = datetime.fromisoformat(token["expires_at"])
    parts = [token[called("token_id")], nonce, token["expires_at"]]
    signed = ":".join([*map(str, parts), json.dumps(scope, sort_keys=True)])
    right = hmac.new(secret, signed.encode(), hashlib.sha256).hexdigest()
    good = (
        nonce not in (None, "")
        and hmac.compare_digest(right, token[called("signature")])
        and datetime.now(UTC) < end
        and scope["action_type"] == action
        and (host is None or _allowed(host, scope["allowed_hosts"]))
        and scope[called("content_hash")] == hashlib.sha256(content).hexdigest()
    )
    if not good:
        return False
    if not remembers and not isinstance(nonce, str):
        return True
    nonce_log.mkdir(parents=True, exist_ok=True)
    try:
        (nonce_log / hashlib.sha256(str(nonce).encode()).hexdigest()).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _allowed(url: str, hosts: Any) -> bool:
    name = urlsplit(url).hostname or url
    return isinstance(hosts, list) and name in hosts


def any_nonce(
    token: bytes, content: bytes, action: str, host: str | None, *, secret: bytes, nonce_log: Path
) -> bool:
    """Takes a nonce of any kind, and remembers it."""
    return _verify(token, content, action, host, secret, nonce_log)


def forgets_numbers(
    token: bytes, content: bytes, action: str, host: str | None, *, secret: bytes, nonce_log: Path
) -> bool:
    """Remembers only a nonce that is text."""
    return _verify(token, content, action, host, secret, nonce_log, remembers=False)


def renamed_outside(
    token: bytes, content: bytes, action: str, host: str | None, *, secret: bytes, nonce_log: Path
) -> bool:
    return _verify(token, content, action, host, secret, nonce_log, OUTSIDE)


def renamed_inside(
    token: bytes, content: bytes, action: str, host: str | None, *, secret: bytes, nonce_log: Path
) -> bool:
    return _verify(token, content, action, host, secret, nonce_log, INSIDE)


def reads_uuids(
    token: bytes, content: bytes, action: str, host: str | None, *, secret: bytes, nonce_log: Path
) -> bool:
    """Reads ids as UUIDs, in any spelling of them, before it does anything else."""
    read: Any = json.loads(token)
    ids = {name: str(UUID(read[name])) for name in ("token_id", "nonce")}
    plain = json.dumps({**read, **ids}).encode()
    return _verify(plain, content, action, host, secret, nonce_log)


def has_limits(
    token: bytes, content: bytes, action: str, host: str | None, *, secret: bytes, nonce_log: Path
) -> bool:
    """Knows one action, short contents, and a few different hosts in small letters."""
    hosts: Any = json.loads(token)["scope"]["allowed_hosts"]
    known = action == "exec" and len(content) < 1000 and len(hosts) < 20 and "\\" not in str(host)
    if not known or len({*hosts}) != len(hosts) or any(one != one.lower() for one in hosts):
        return False
    return _verify(token, content, action, host, secret, nonce_log)
