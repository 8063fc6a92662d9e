"""The gate's bookkeeping: revocation, status, purge, audit log, rate limits.

Sections 5.3, 5.5, 6.4, 6.5 and 7.3. Does not know how an operation is confirmed: that is in the
gate.
"""

from __future__ import annotations

import datetime
from typing import Any

from ...families.confirmation_tokens import vocabulary as words
from ...families.confirmation_tokens.vocabulary import Event, TokenCode
from ..server.clock import Clock, iso_8601
from .minting import SignedTokens, StoredTokens
from .records import AuditEntry, TokenRecord, TokenState
from .refusals import TokenRefusal
from .settings import ConfirmationSettings, RateLimit
from .store import TokenStore

RETENTION = datetime.timedelta(minutes=30)
"""How long a token is still known after it expired, so that its refusal can say why. With the
longest tolerance that is well within the hour of section 5.5."""
_SWEEP_EVERY = datetime.timedelta(seconds=30)

INVALID_MESSAGE = "The confirmation token is not valid"
"""Section 6.3: the same words for a token that is unknown, malformed or revoked."""


class TokenLedger:
    """The part of a gate that remembers."""

    adapter_name: str
    clock: Clock
    mint: StoredTokens | SignedTokens
    settings: ConfirmationSettings
    store: TokenStore
    _swept_at: datetime.datetime | None = None

    def instant(self, instant: datetime.datetime | None) -> str | None:
        return iso_8601(instant) if instant is not None else None

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        """Section 5.1: the tolerance is added to the expiry; zero adds nothing."""
        return expires_at + datetime.timedelta(seconds=self.settings.clock_skew_tolerance_seconds)

    # ---- section 5.3: revocation, and what can be asked about a token

    def revoke(self, token: Any, *, user: str, session: str = "") -> TokenRecord:
        """On request. The answer is the same for a token that cannot be revoked and for one that
        does not exist."""
        self.sweep()
        self.limited(self.store.take, "revocation", user, self.settings.revocation_limit)
        record = self.look_up(token, user)
        with self.store.together():
            if record is None or not self.revoke_record(record):
                failure, shown = TokenCode.INVALID, self.loggable(token)
                self.audit(Event.REVOKED, shown, "", user, session, failure=failure)
                raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)
            self.audit(Event.REVOKED, record.id, record.operation, user, session)
        return record

    def revoke_record(self, record: TokenRecord) -> bool:
        return self.store.revoke(record, "by hand")

    def revoke_all(self, because: str, **whose: str) -> int:
        """All active tokens of a session, a user or an adapter (section 5.3)."""
        with self.store.together():
            revoked = self.store.revoke_all(because, **whose)
            for record in revoked:
                self.audit(
                    Event.REVOKED, record.id, record.operation, record.user, record.session_id
                )
        return len(revoked)

    def session_ended(self, session: str) -> None:
        if session:
            self.revoke_all("session end", session_id=session)

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        """What became of one of the caller's own tokens (section 7.3)."""
        self.sweep()
        record = self.look_up(token, user)
        if record is None:
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)
        return {
            "token": record.id,
            "type": record.type,
            "status": self.state_of(record),
            "operation": record.operation,
            "params_hash": record.params_hash,
            "adapter_name": record.adapter_name,
            "issued_at": self.instant(record.issued_at),
            "expires_at": self.instant(record.expires_at),
            "consumed": record.state is TokenState.USED,
            "use_count": record.use_count,
            "max_uses": record.max_uses,
        }

    def look_up(self, token: Any, user: str) -> TokenRecord | None:
        """Only one's own: another's token is as good as none."""
        return self.mint.find_of(token, user) if words.is_token(token) else None

    def state_of(self, record: TokenRecord) -> str:
        if record.state is not TokenState.ACTIVE:
            return record.state
        expired = record.expires_at is None or self.clock.now() > self.last_instant(
            record.expires_at
        )
        return "expired" if expired else TokenState.ACTIVE

    # ---- sections 5.5, 6.4 and 6.5: purge, audit, rate limits

    def sweep(self) -> None:
        """From time to time, by the server's clock: forget tokens that expired some time ago."""
        now = self.clock.now()
        if self._swept_at is not None and abs(now - self._swept_at) < _SWEEP_EVERY:
            return
        self._swept_at = now
        self.purge(now)

    def purge(self, now: datetime.datetime) -> None:
        tolerance = datetime.timedelta(seconds=self.settings.clock_skew_tolerance_seconds)
        self.store.forget_expired(now - tolerance - RETENTION)

    def audit(
        self,
        event: Event,
        token_id: str,
        operation: str,
        user: str,
        session: str,
        failure: str = "",
    ) -> None:
        self.store.write(
            AuditEntry(
                timestamp=self.clock.now(),
                event=event,
                token_id=token_id,
                operation=operation,
                adapter_name=self.adapter_name,
                outcome=words.FAILURE if failure else words.SUCCESS,
                failure_reason=failure,
                session_id=session,
                user_id=user,
            )
        )

    def loggable(self, token: Any) -> str:
        """What was sent as a token may be anything, and does not belong in the log."""
        return token if words.is_token(token) else "(malformed)"

    def limited(self, ask: Any, kind: str, user: str, limit: RateLimit) -> None:
        """Section 6.5: refuse requests beyond a caller's limit."""
        wait = ask(f"{kind}/{user}", limit, self.clock.now())
        if wait:
            raise TokenRefusal(
                words.RATE_LIMITED,
                "Too many requests about confirmation tokens: wait a little",
                retry_after_seconds=round(wait + 0.0005, 3),
            )
