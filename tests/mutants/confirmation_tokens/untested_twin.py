"""Servers that are right for one kind of token, level, adapter or way, and wrong for its twin."""

from __future__ import annotations

import datetime
import hashlib
import secrets
import time
from dataclasses import replace
from typing import ClassVar

from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    DEFAULT_TOLERANCE,
    QUOTA_LIFE,
    Danger,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    TTL_MEMBER,
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.ledger import (
    RETENTION,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    SignedTokens,
    StoredTokens,
)
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


@broken(kills="5.4-session-bound", because="a session token for other[^§]*operation run")
class SessionTokensFitAnyParameters(ConfirmationGate):
    """Compares the operation of a token for a session, and not its parameters."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_parameters(record, attempt)


# ---- failures, purge


@broken(kills="5.5-purge", because="an hour after they expired[^§]*[1-9][0-9]* of them")
class PurgesUsedTokensOnly(TokenStore):
    """Purges tokens that were used, and keeps those that nobody came back with."""

    def forget_expired(self, before: datetime.datetime) -> None:
        self._tokens.remove_all(lambda one: (one.expires_at < before) & (one.use_count > 0))


@broken(kills="5.5-purge", because="an hour after they expired[^§]*[1-9][0-9]* of them")
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


@broken(kills="4.1-not-expired", because=r"a quota token[^§]*success")
class ExpiredPausesEnd(ConfirmationGate):
    """Looks at the expiry of confirmation tokens only."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_not_expired(record, attempt)


@broken(kills="3.1-entropy", because=r"token to token\n[23][0-9] bits")
class ShortPauseTokens(StoredTokens):
    """Issues quota tokens of 32 bits, since they seem to matter less."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        if record.type is TokenType.CONFIRMATION:
            return super().issue(record)
        issued = replace(record, id=record.type.prefix + secrets.token_hex(4))
        self.store.add(issued)
        return issued


@broken(kills="2.2-syntax", because=r"bulk_export until it paused[^§]*quota_continue_")
class LongPauseTokens(ConfirmationGate):
    """Issues quota tokens that are longer than a token may be, and takes them as they are."""

    class Longer(StoredTokens):
        def issue(self, record: TokenRecord) -> TokenRecord:
            if record.type is TokenType.CONFIRMATION:
                return super().issue(record)
            issued = replace(record, id=record.type.prefix + secrets.token_hex(48))
            self.store.add(issued)
            return issued

    def stored_tokens(self) -> StoredTokens:
        return self.Longer(self.store)

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        is_text = isinstance(attempt.token, str)
        return super().find(attempt) or (self.store.get(attempt.token) if is_text else None)


@broken(
    kills="4.1-adapter",
    because=r"a quota token of one adapter at another[^§]*success, operation run",
)
class PausesEndAtAnyAdapter(ConfirmationGate):
    """Compares the adapter of confirmation tokens only."""

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_adapter(record, attempt)


@broken(kills="6.1-replay", because=r"one quota token[^§]*successes, operation run")
class QuotaTokensInACrowd(ConfirmationGate):
    """Marks quota tokens a little after it has looked whether they were used."""

    def consume(self, record: TokenRecord) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().consume(record)
            return
        time.sleep(0.1)  # so that all who come at once have passed the checks
        self.mint.use(record)


@broken(
    kills="6.1-replay",
    because=r"a quota token that was used, after a restart[^§]*success, operation run",
)
class UsesOfPausesInEachProcess(ConfirmationGate):
    """Remembers in the process which quota tokens were used; the tokens outlive it."""

    def consume(self, record: TokenRecord) -> None:
        used: set[str] = self.__dict__.setdefault("used", set())
        if record.type is TokenType.CONFIRMATION:
            super().consume(record)
        elif record.id in used:
            raise self.already_used(record)
        used.add(record.id)


@broken(kills="5.1-maximum-ttl", because=r"a token that was issued for a day,[^§]*success")
class PausesAsLongAsOthers(ConfirmationGate):
    """Has one maximum, the fifteen minutes of most levels, for quota tokens too."""

    def maximum(self, name: str) -> float:
        return super().maximum("destructive" if name == QUOTA_LIFE else name)


@broken(kills="5.1-skew-window", because=r"a quota token[^§]*success, operation run")
class TheUsualToleranceForPauses(ConfirmationGate):
    """Tolerates quota tokens for the usual half minute, whatever is configured."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        end = record.expires_at
        usual = datetime.timedelta(seconds=DEFAULT_TOLERANCE)
        if record.type is TokenType.CONFIRMATION or end is None or self.clock.now() > end + usual:
            super().check_not_expired(record, attempt)


@broken(kills="5.3-session-end", because=r"quota[^§]*success, operation run")
class EndsConfirmationsOnly(TokenStore):
    """Revokes confirmation tokens when a session ends or somebody logs out, and no quota tokens."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        return [
            one
            for one in self.records()
            if one.type is TokenType.CONFIRMATION
            and all(getattr(one, name) == value for name, value in whose.items())
            and self.revoke(one, because)
        ]


@broken(kills="3.2-sha256", because=r"at least 256 bits\n[0-9a-f]+ ")
class ShortHashesForPauses(ConfirmationGate):
    """Binds quota tokens with MD5."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        record = super().issue(kind, call)
        if kind is TokenType.QUOTA:
            short = hashlib.md5(record.params_hash.encode(), usedforsecurity=False).hexdigest()
            self.store._tokens.change(record.id, params_hash=short)
        return record

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.type is TokenType.CONFIRMATION:
            super().check_parameters(record, attempt)
            return
        long = self.hash_of(attempt.operation, attempt.params)
        if record.params_hash != hashlib.md5(long.encode(), usedforsecurity=False).hexdigest():
            raise self.mismatch(attempt)


@broken(
    kills="4.1-adapter",
    because=r"a session token of one adapter at another[^§]*success, operation run",
)
class SessionTokensAtAnyAdapter(ConfirmationGate):
    """Takes a token for a session at every adapter of that session."""

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_adapter(record, attempt)


@broken(
    kills="4.1-every-check",
    because=r"a session token for another operation[^§]*success, operation run",
)
class AConfirmedSession(ConfirmationGate):
    """Takes a token for a session for consent to whatever is done in that session."""

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_operation(record, attempt)

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped or record.operation == attempt.operation.name:
            super().check_parameters(record, attempt)


@broken(kills="6.1-replay", because=r"one session token[^§]*successes, operation run")
class UsesOfASessionInACrowd(TokenStore):
    """Reads how often a token for a session was used, and writes one more a little later."""

    def use(self, token_id: str) -> bool:
        record = self.get(token_id)
        if record is None or record.max_uses == 1:
            return super().use(token_id)
        time.sleep(0.1)  # so that all who come at once have read
        self._tokens.change(token_id, use_count=record.use_count + 1)
        return record.use_count < record.max_uses


@broken(kills="5.1-maximum-ttl", because=r"a token that was issued for a day,[^§]*success")
class SessionTokensHaveNoMaximum(ConfirmationGate):
    """Gives tokens for a session the lifetime that is asked for, however long."""

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        found, asked = super().lifetime(kind, call), call.params.get(TTL_MEMBER)
        is_scoped = kind is TokenType.CONFIRMATION and call.operation.max_uses > 1 and call.session
        return max(found, asked) if is_scoped and isinstance(asked, (int, float)) else found


class OfSigned(ConfirmationGate):
    """Knows whether it issues signed tokens; no mutant by itself."""

    @property
    def signs(self) -> bool:
        return isinstance(self.mint, SignedTokens)


@broken(kills="4.1-every-check", because=r"a signed token[^§]*success, operation run")
class SignedTokensNeverExpire(OfSigned):
    """Checks the signature of a signed token, and not the time in it."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not self.signs:
            super().check_not_expired(record, attempt)


@broken(kills="4.1-every-check", because=r"a destructive token used up[^§]*success, operation run")
class SignedTokensServeAgain(OfSigned):
    """Keeps no list of the signed tokens that were used."""

    def consume(self, record: TokenRecord) -> None:
        if not self.signs:
            super().consume(record)


@broken(
    kills="4.1-every-check", because=r"a signed token that was revoked[^§]*success, operation run"
)
class SignedTokensOutliveRevocation(OfSigned):
    """Says that a signed token is revoked, and has nowhere to keep that."""

    def revoke_record(self, record: TokenRecord) -> bool:
        return self.signs or super().revoke_record(record)


@broken(
    kills="4.1-every-check",
    because=r"a destructive token for other parameters[^§]*success, operation run",
)
class SignsNoParameters(SignedTokens):
    """Leaves the parameters out of what a signed token is bound to."""

    def scope(self, nonce: bytes, record: TokenRecord) -> bytes:
        return super().scope(nonce, replace(record, params_hash=""))


@broken(
    kills="4.1-every-check", because=r"a signed token of another adapter[^§]*success, operation run"
)
class SignsNoAdapter(SignedTokens):
    """Leaves the adapter out of what a signed token is bound to."""

    def scope(self, nonce: bytes, record: TokenRecord) -> bytes:
        return super().scope(nonce, replace(record, adapter_name=""))


@broken(kills="4.1-not-expired", because=r"a forbidden token[^§]*success, operation run")
class FiveMinutesAfterTheIssue(ConfirmationGate):
    """Works out the end of a token anew, five minutes after its issue, whatever it promised."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        end = record.issued_at + datetime.timedelta(minutes=5)
        if self.clock.now() > self.last_instant(end):
            super().check_not_expired(record, attempt)


@broken(kills="5.4-session-bound", because="whose session has ended[^§]*operation run")
class SessionTokensOutliveTheirSession(ConfirmationExtension):
    """The end of a session revokes ordinary tokens; those for a session go on in the next one."""

    class store_class(TokenStore):  # noqa: N801  # the name of the extension's member
        def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
            scoped = [one for one in self.records() if one.session_scoped and one.use_count]
            revoked = super().revoke_all(because, **whose)
            for one in scoped if because == "session end" else ():
                self._tokens.change(one.id, revoked_because="", session_id="")
            return revoked

    class gate_class(ConfirmationGate):  # noqa: N801
        def check_session(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
            if record.session_id:
                super().check_session(record, attempt)
