"""How tokens are made and found again: a random key into the store, or a signed text.

Section 6.2 recommends the first and allows the second. Both keep to the 64 characters of section
2.2. Knows no rule of validation: the gate judges what is found.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import secrets
from dataclasses import replace

from ...families.confirmation_tokens import vocabulary as words
from .records import RedemptionAttempt, TokenRecord
from .store import TokenStore

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_NONCE, _ISSUED, _LIFE, _SCOPE, _MAC = 16, 6, 2, 8, 16
_BODY = _NONCE + _ISSUED + _LIFE + _SCOPE


class StoredTokens:
    """Tokens without content: 256 random bits; everything else is in the store."""

    def __init__(self, store: TokenStore) -> None:
        self.store = store

    def identifier(self) -> str:
        return secrets.token_urlsafe(32)

    def issue(self, record: TokenRecord) -> TokenRecord:
        issued = replace(record, id=record.type.prefix + self.identifier())
        self.store.add(issued)
        return issued

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:  # noqa: ARG002
        return self.store.get(token)

    def find_of(self, token: str, user: str) -> TokenRecord | None:
        """A token that somebody asks about, if it is theirs."""
        record = self.find(token, None)
        return record if record is not None and record.user == user else None

    def use(self, record: TokenRecord) -> bool:
        return self.store.use(record.id)


class SignedTokens:
    """Tokens that carry their payload: nonce, time of issue, life, scope, and an HMAC-SHA256.

    The scope (operation, parameters, adapter, user, session) is itself an HMAC, since it would not
    fit; the signature covers it with all the rest, and the user, so that a token is genuine only in
    the hands of whom it was issued to. Half of the HMAC is kept, as RFC 2104 allows. The store
    learns of a token when it is used or revoked. Each can be used once.
    """

    def __init__(self, store: TokenStore, adapter_name: str, key: str = "") -> None:
        self.store = store
        self.adapter_name = adapter_name
        self._key = key.encode() or store.signing_key()

    def issue(self, record: TokenRecord) -> TokenRecord:
        assert record.expires_at is not None
        nonce = secrets.token_bytes(_NONCE)
        life = (record.expires_at - record.issued_at) // datetime.timedelta(seconds=1)
        body = nonce + ((record.issued_at - _EPOCH) // _MILLISECOND).to_bytes(_ISSUED)
        body += life.to_bytes(_LIFE) + self.scope(nonce, record)
        token = base64.urlsafe_b64encode(body + self.signature(record, body)).decode()
        expires_at = record.issued_at + datetime.timedelta(seconds=life)
        return replace(
            record,
            id=record.type.prefix + token,
            expires_at=expires_at,
            session_scoped=False,
            max_uses=1,
        )

    def scope(self, nonce: bytes, record: TokenRecord) -> bytes:
        parts = (
            "scope",
            record.type,
            record.operation,
            record.params_hash,
            record.adapter_name,
            record.user,
            record.session_id,
        )
        return self._hmac(nonce + _joined(*parts))[:_SCOPE]

    def signature(self, record: TokenRecord, body: bytes) -> bytes:
        signed = _joined("token", record.type, record.user) + self.signed_part(body)
        return self._hmac(signed)[:_MAC]

    def signed_part(self, body: bytes) -> bytes:
        """Section 6.2: the signature covers every field of the payload."""
        return body

    def _hmac(self, text: bytes) -> bytes:
        return hmac.new(self._key, text, hashlib.sha256).digest()

    def is_genuine(self, given: bytes, signature: bytes) -> bool:
        return hmac.compare_digest(given, signature)

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        """The record for a genuine token of the attempt's user; if its scope is not the attempt's,
        one without an operation, because the token does not say which was meant."""
        return self._find(token, attempt.user, attempt) if attempt is not None else None

    def find_of(self, token: str, user: str) -> TokenRecord | None:
        return self._find(token, user, None)

    def _find(self, token: str, user: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        kind = next(one for one in words.TokenType if token.startswith(one.prefix))
        try:
            raw = base64.b64decode(token.removeprefix(kind.prefix), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        body, signature = raw[:_BODY], raw[_BODY:]
        if len(body) != _BODY:
            return None
        try:
            record = self._unfold(token, kind, user, body)
        except OverflowError:  # a date after the year 9999, which no token was given
            return None
        if not self.is_genuine(signature, self.signature(record, body)):
            return None
        return self.store.get(token) or self._meant(record, body, attempt)

    def _unfold(self, token: str, kind: words.TokenType, user: str, body: bytes) -> TokenRecord:
        rest = body[_NONCE:]
        issued_at = _EPOCH + int.from_bytes(rest[:_ISSUED]) * _MILLISECOND
        life = int.from_bytes(rest[_ISSUED : _ISSUED + _LIFE])
        return TokenRecord(
            id=token,
            type=kind,
            operation="",
            params_hash="",
            adapter_name=self.adapter_name,
            user=user,
            issued_at=issued_at,
            expires_at=issued_at + datetime.timedelta(seconds=life),
        )

    def _meant(
        self, record: TokenRecord, body: bytes, attempt: RedemptionAttempt | None
    ) -> TokenRecord:
        if attempt is None:
            return record
        operation = attempt.operation
        meant = replace(
            record,
            operation=operation.name,
            params_hash=words.params_hash(
                operation.name, attempt.params, operation.bound(attempt.params)
            ),
            session_id=attempt.session,
        )
        fits = hmac.compare_digest(body[-_SCOPE:], self.scope(body[:_NONCE], meant))
        return meant if fits else record

    def use(self, record: TokenRecord) -> bool:
        return self.store.spend(record)


def _joined(*parts: str) -> bytes:
    """Lengths first, so that no two lists of parts give the same bytes."""
    return b"".join(len(part.encode()).to_bytes(4) + part.encode() for part in parts)
