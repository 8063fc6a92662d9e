"""A token: its members, the string that is signed, and its signature.

Nothing here decides whether a token is still good. Standard library only.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...families.execution_tokens import vocabulary as words

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d{1,9}))?(?:Z|\+00:00)", re.ASCII)
_HASH = re.compile(rf"(?:{words.HASH_PREFIX})?([0-9a-f]{{64}})", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{64}", re.ASCII)


class TokenError(ValueError):
    """No token: one line says which member is wrong."""


@dataclass(frozen=True)
class Token:
    """A token as it came: its members have the right form, but nothing is verified yet."""

    token_id: str
    nonce: str
    expires_at: str
    """The literal text: it is signed as it came (`Z` and `+00:00` sign differently)."""
    scope: Mapping[str, Any]
    signature: str

    @classmethod
    def read(cls, data: Any) -> Token:
        """From a JSON object; `TokenError` for a member that is missing or malformed."""
        if not isinstance(data, Mapping):
            raise TokenError("token: got no object")
        token = cls(
            token_id=_matching(data, words.TOKEN_ID, _UUID, "a UUID"),
            nonce=_matching(data, words.NONCE, _UUID, "a UUID"),
            expires_at=_matching(data, words.EXPIRES_AT, _INSTANT, "an RFC 3339 instant in UTC"),
            scope=data.get(words.SCOPE, {}),
            signature=_matching(data, words.SIGNATURE, _SIGNATURE, "64 hexadecimal digits"),
        )
        token._check_scope()
        token.expiry()
        return token

    def _check_scope(self) -> None:
        if not isinstance(self.scope, Mapping):
            raise TokenError("scope: got no object")
        hosts = self.scope.get(words.ALLOWED_HOSTS)
        if not isinstance(self.scope.get(words.ACTION_TYPE), str):
            raise TokenError("scope.action_type: got no text")
        if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            raise TokenError("scope.allowed_hosts: got no list of texts")
        _matching(self.scope, words.CONTENT_HASH, _HASH, "64 hexadecimal digits")

    @property
    def content_hash(self) -> str:
        """Without its prefix, whether it came with one or not."""
        return str(self.scope[words.CONTENT_HASH]).removeprefix(words.HASH_PREFIX)

    def expiry(self) -> datetime.datetime:
        """The instant, to the microsecond; a date that does not exist is refused."""
        try:
            return datetime.datetime.fromisoformat(self.expires_at)
        except ValueError:
            raise TokenError("expires_at: got a date or time that does not exist") from None

    def to_json(self) -> dict[str, Any]:
        return {
            words.TOKEN_ID: self.token_id,
            words.NONCE: self.nonce,
            words.EXPIRES_AT: self.expires_at,
            words.SCOPE: dict(self.scope),
            words.SIGNATURE: self.signature,
        }


def _matching(data: Mapping[str, Any], name: str, pattern: re.Pattern[str], what: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise TokenError(
            f"{name}: got {'none' if value is None else 'something else'}, expected {what}"
        )
    return value


def canonical_string(token_id: str, nonce: str, expires_at: str, scope: Mapping[str, Any]) -> bytes:
    """What is signed: separators as in the published vector, no line end."""
    scope_json = json.dumps(scope, sort_keys=True, separators=(", ", ": "), ensure_ascii=True)
    return f"{token_id}:{nonce}:{expires_at}:{scope_json}".encode("ascii")


def sign(secret: bytes, canonical: bytes) -> str:
    return hmac.new(secret, canonical, hashlib.sha256).hexdigest()
