"""Servers that forget too soon, or keep too little."""

from __future__ import annotations

import datetime

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CAPACITY,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.ledger import INVALID_MESSAGE
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken


class RemembersUses(ConfirmationGate):
    """Keeps its uses apart from the tokens, with the instant of each; no mutant by itself."""

    @property
    def used(self) -> dict[str, datetime.datetime]:
        found: dict[str, datetime.datetime] = self.store.__dict__.setdefault("used", {})
        return found

    def forget(self, record: TokenRecord) -> None:
        """Drop what is not remembered any more."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        self.forget(record)
        if record.max_uses > 1:
            super().check_not_consumed(record, attempt)
        elif record.id in self.used:
            raise self.already_used(record)

    def consume(self, record: TokenRecord) -> None:
        if record.max_uses > 1:
            super().consume(record)
        elif self.used.setdefault(record.id, now := self.clock.now()) is not now:
            raise self.already_used(record)
        else:
            self.mint.use(record)


@broken(kills="4.1-not-consumed", because="a used token, just before it[^§]*operation run")
class ForgetsUsesAfterAMinute(RemembersUses):
    """Remembers for a minute which tokens were used."""

    def forget(self, record: TokenRecord) -> None:
        used = self.used.get(record.id)
        if used is not None and self.clock.now() - used > datetime.timedelta(minutes=1):
            self.used.pop(record.id, None)


@broken(
    kills="4.1-not-expired",
    because="a second before it expires[^§]*TOKEN_INVALID",
)
class ForgetsTokensAfterAMinute(ConfirmationGate):
    """Keeps tokens in a cache that holds everything for a minute."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        record = super().find(attempt)
        if record and self.clock.now() - record.issued_at > datetime.timedelta(minutes=1):
            return None
        return record


@broken(kills="5.5-capacity", because="tokens that are alive[^§]*TOKEN_INVALID, operation not run")
class HalfAThousand(TokenStore):
    """Keeps the last five hundred tokens."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        issued: list[str] = self.__dict__.setdefault("issued", [])
        issued.append(record.id)
        while len(issued) > 500:
            self._tokens.remove(issued.pop(0))


# ---- room


@broken(kills="5.5-capacity", because="tokens that are alive[^§]*TOKEN_INVALID")
class NineHundredNinetyNine(TokenStore):
    """Makes room as soon as there are a thousand open tokens, and keeps one less."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        active = [one.id for one in self.records() if one.state is TokenState.ACTIVE]
        for token in active[: -(CAPACITY - 1)]:
            self._tokens.remove(token)


# ---- clean-up


@broken(kills="5.1-skew-window", because="1 ms before its last instant[^§]*TOKEN_INVALID")
class PurgesWithoutTheTolerance(ConfirmationGate):
    """Purges tokens as soon as they expire, and tolerates them only until then."""

    def sweep(self) -> None:
        self.store.forget_expired(self.clock.now())


@broken(
    kills="6.1-replay", because=r"a token that was used, after a logout[^§]*success, operation run"
)
class ForgetsUsesAtALogout(RemembersUses):
    """Forgets at a logout and the like which tokens were used."""

    def revoke_all(self, because: str, **whose: str) -> int:
        self.used.clear()
        return super().revoke_all(because, **whose)


class RemembersRevocations(ConfirmationGate):
    """Keeps revocations apart from the tokens, with the instant of each; no mutant by itself."""

    @property
    def revoked(self) -> dict[str, datetime.datetime]:
        found: dict[str, datetime.datetime] = self.__dict__.setdefault("revoked_at", {})
        return found

    def revoke_record(self, record: TokenRecord) -> bool:
        if record.state is not TokenState.ACTIVE or self.is_revoked(record):
            return False
        self.revoked[record.id] = self.clock.now()
        return True

    def is_revoked(self, record: TokenRecord) -> bool:
        return record.id in self.revoked

    def check_not_revoked(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        super().check_not_revoked(record, attempt)
        if self.is_revoked(record):
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)


@broken(
    kills="5.3-revoked",
    because=r"a destructive token that was revoked, after a[^§]*success, operation run",
)
class RevocationsOfEachProcess(RemembersRevocations):
    """Remembers in the process which tokens were revoked; the tokens outlive it."""


@broken(
    kills="5.3-revoked",
    because=r"a destructive token that was revoked, at half[^§]*success, operation run",
)
class ForgetsRevocationsAfterAMinute(RemembersRevocations):
    """Remembers for a minute which tokens were revoked."""

    def is_revoked(self, record: TokenRecord) -> bool:
        at = self.revoked.get(record.id)
        return at is not None and self.clock.now() - at <= datetime.timedelta(minutes=1)


@broken(kills="5.5-purge", because=r"none of them\n1 of them")
class PurgesConfirmationsOnly(TokenStore):
    """Purges confirmation tokens, and keeps quota tokens for ever."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(
            lambda one: (one.expires_at < before) & (one.type == TokenType.CONFIRMATION)
        )


@broken(kills="5.5-purge", because=r"none of them\n1 of them")
class KeepsSessionTokens(TokenStore):
    """Leaves tokens for a session to the end of the session, which purges nothing."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(lambda one: (one.expires_at < before) & (one.max_uses == 1))


@broken(kills="5.5-purge", because=r"none of them\n2 of them")
class KeepsRevokedTokens(TokenStore):
    """Purges what is active or used, and keeps revoked tokens for ever."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(lambda one: (one.expires_at < before) & (one.revoked_because == ""))
