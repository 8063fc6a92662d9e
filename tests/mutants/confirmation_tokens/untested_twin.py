"""Servers that are right for one kind of token, level, adapter or way, and wrong for its twin."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import ClassVar

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    Danger,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.ledger import RETENTION
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken

# ---- quota tokens


@broken(kills="2.1-quota", because="bulk_export with other parameters[^§]*operation run")
class QuotaTokensIgnoreParameters(ConfirmationGate):
    """A quota token resumes its operation with any parameters."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_parameters(record, attempt)


@broken(kills="7.2-revocation", because="a quota token that was revoked[^§]*operation run")
class RevokedQuotaTokensGoOn(ConfirmationGate):
    """Looks at the mark of a revocation for confirmation tokens only."""

    def check_not_revoked(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_not_revoked(record, attempt)

    def consume(self, record: TokenRecord) -> None:
        if record.revoked_because:
            self.store._tokens.change(record.id, revoked_because="")
        super().consume(record)


@broken(kills="5.1-maximum-ttl", because="at most 300 s ahead[^§]*900 s ahead")
class TheForbiddenAsLongAsOthers(ConfirmationGate):
    """Has one maximum, the fifteen minutes of the lower levels, for level 4 too."""

    def maximum(self, name: str) -> float:
        return super().maximum("destructive" if name == Danger.FORBIDDEN.word else name)


# ---- levels


@broken(kills="3.2-bound-parameters", because="purge_path with[^§]*operation run")
class DangerousCallsAreNotBound(ConfirmationGate):
    """Compares parameters for level 2, and has forgotten level 3 and 4."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if attempt.operation.danger <= Danger.DESTRUCTIVE:
            super().check_parameters(record, attempt)


@broken(kills="1.3-flow", because=r"\(dangerous\) without a token[^§]*operation run")
class LevelThreeIsNotGated(ConfirmationGate):
    """Gates what is destructive and what is forbidden, by their words."""

    def confirm(self, call: OperationCall) -> None:
        if call.operation.danger is not Danger.DANGEROUS:
            super().confirm(call)


# ---- tokens for a session


@broken(kills="5.3-session-end", because="a token whose session has ended[^§]*operation run")
class EndsTokensForASessionOnly(TokenStore):
    """The end of a session revokes the tokens for several uses, and leaves the ordinary ones."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        if because != "session end":
            return super().revoke_all(because, **whose)
        return [
            one
            for one in self.records()
            if one.session_id == whose["session_id"]
            and one.session_scoped
            and self.revoke(one, because)
        ]


@broken(kills="5.4-session-scope", because="a session token for other[^§]*operation run")
class SessionTokensFitAnyParameters(ConfirmationGate):
    """Compares the operation of a token for a session, and not its parameters."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_parameters(record, attempt)


# ---- failures, purge


@broken(kills="5.5-purge", because="an hour after they expired[^§]*[1-9] of them")
class PurgesUsedTokensOnly(TokenStore):
    """Purges tokens that were used, and keeps those that nobody came back with."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(lambda one: (one.expires_at < before) & (one.use_count > 0))


@broken(kills="5.5-purge", because="an hour after they expired[^§]*[1-9] of them")
class PurgesAfterHours(ConfirmationGate):
    """Purges tokens some hours after they expired."""

    def purge(self, now: datetime.datetime) -> None:
        super().purge(now - datetime.timedelta(hours=2) + RETENTION)


# ---- levels, limits


@broken(kills="3.3-required-response", because="CONFIRMATION_REQUIRED[^§]*OPERATION_FORBIDDEN")
class AnotherCodeForTheForbidden(ConfirmationGate):
    """Asks with a code of its own whether something forbidden is to be done."""

    def require_confirmation(self, call: OperationCall) -> TokenRefusal:
        asked = super().require_confirmation(call)
        if call.operation.danger is Danger.FORBIDDEN:
            asked.code = "OPERATION_FORBIDDEN"
        return asked


@broken(kills="6.5-rate-limit", because="failed validations in a row[^§]*all answered")
class CountsFailuresForEachToken(ConfirmationGate):
    """Counts how often each token was refused, so that guessing is never limited."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        named = replace(attempt, user=f"{attempt.user}/{attempt.token}")
        self.limited(self.store.left, "failure", named.user, self.settings.failure_limit)
        return super().redeem(attempt)

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        self.store._buckets.remove(f"failure/{attempt.user}")
        key = f"failure/{attempt.user}/{attempt.token}"
        self.store.take(key, self.settings.failure_limit, self.clock.now())


class CountsSomeFailures(ConfirmationGate):
    """Does not count every refusal towards its limit; no mutant by itself."""

    uncounted: ClassVar[tuple[TokenCode, ...]]

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        key = f"failure/{attempt.user}"
        before = self.store._buckets.get(key)
        super().rejected(attempt, refusal)
        if refusal.code in self.uncounted:
            self.store._buckets.remove(key)
            if before is not None:
                self.store._buckets.add(before)


@broken(kills="6.5-rate-limit", because="failed validations in a row[^§]*all answered")
class UnknownTokensAreNotCounted(CountsSomeFailures):
    """Counts the refusals of tokens that it knows, so that guessing is never limited."""

    uncounted = (TokenCode.INVALID,)
