"""Servers that forget too soon, or keep too little."""

from __future__ import annotations

import datetime

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import CAPACITY
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
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
