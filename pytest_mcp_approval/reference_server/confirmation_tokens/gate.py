"""The gate of confirmation tokens: asks for consent, and runs an operation only with its token.

A server author puts it in front of their own operations, with any transport:

    gate = ConfirmationGate(
        [AdapterOperation("delete_repo", Danger.DESTRUCTIVE, run)],
        store=TokenStore("sqlite:///tokens.db"),
    )
    gate.perform("delete_repo", params, user=..., session=...)

`perform` returns what the operation returned, or raises a `TokenRefusal` whose `to_answer()` is the
answer: CONFIRMATION_REQUIRED with a token first, then, with that token in
`params["confirmation_token"]`, the operation itself. A token is bound to all parameters, unless the
operation says which may change, and used up before the operation begins: it runs at most once.

Knows the rules, one small method each (`checks`, in their order). Does not know a transport or a
database; `minting` makes tokens.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ...families.confirmation_tokens import vocabulary as words
from ...families.confirmation_tokens.vocabulary import Event, TokenCode, TokenType
from ..server.clock import Clock, SystemClock, whole_milliseconds
from .ledger import INVALID_MESSAGE, TokenLedger
from .minting import SignedTokens, StoredTokens
from .records import (
    OWN_MEMBERS,
    AdapterOperation,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from .records import TTL_MEMBER as TTL_MEMBER  # noqa: PLC0414  # for those who extend the gate
from .refusals import TokenRefusal
from .settings import ConfirmationSettings
from .store import TokenStore

UNKNOWN_OPERATION = "UNKNOWN_OPERATION"
INVALID_PARAMS = "INVALID_PARAMS"


class ConfirmationGate(TokenLedger):
    checks: ClassVar[tuple[str, ...]] = (
        "check_exists",
        "check_not_revoked",
        "check_adapter",
        "check_operation",
        "check_parameters",
        "check_session",
        "check_has_expiry",
        "check_not_expired",
        "check_not_consumed",
    )
    """Section 4.1; the first that fails decides the answer, and any one refuses."""

    def __init__(
        self,
        operations: Iterable[AdapterOperation],
        *,
        store: TokenStore,
        clock: Clock | None = None,
        settings: ConfirmationSettings | None = None,
        adapter_name: str = "reference",
    ) -> None:
        self.operations = {operation.name: operation for operation in operations}
        self.store = store
        self.clock = clock or SystemClock()
        self.settings = settings or ConfirmationSettings()
        self.adapter_name = adapter_name
        self.mint: StoredTokens | SignedTokens = (
            self.signed_tokens() if self.settings.token_style == "signed" else self.stored_tokens()
        )
        if store.note_configuration(adapter_name, self.fingerprint()):
            self.revoke_all("configuration change", adapter_name=adapter_name)

    def stored_tokens(self) -> StoredTokens:
        return StoredTokens(self.store)

    def signed_tokens(self) -> SignedTokens:
        return SignedTokens(self.store, self.adapter_name, self.settings.signing_key)

    def fingerprint(self) -> str:
        """Of the configuration that tokens were issued under: if it differs at a later start, they
        are revoked (5.3)."""
        operations = [
            (one.name, int(one.danger), one.critical, one.metadata, one.max_uses)
            for one in self.operations.values()
        ]
        settings = [self.settings.clock_skew_tolerance_seconds, dict(self.settings.ttl_seconds)]
        written = json.dumps([operations, settings, self.settings.token_style], sort_keys=True)
        return hashlib.sha256(written.encode()).hexdigest()

    # ---- one call

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        """Run an operation if it may run; `TokenRefusal` for any other answer."""
        self.sweep()
        operation = self.operations.get(name)
        if operation is None:
            raise TokenRefusal(UNKNOWN_OPERATION, "There is no such operation here")
        call = OperationCall(operation, params, user, session)
        if operation.gated:
            self.confirm(call)
        if operation.quota is not None:
            self.pass_quota(call, operation.quota)
        return self.execute(operation, params)

    def confirm(self, call: OperationCall) -> None:
        """Section 1.3: without a token one is issued and nothing runs; with one it is redeemed."""
        token = call.params.get(words.CONFIRMATION_MEMBER)
        if token is None:
            raise self.require_confirmation(call)
        self.redeem(RedemptionAttempt(**vars(call), token=token, type=TokenType.CONFIRMATION))

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The token is used up by now, whether or not the operation succeeds (section 5.2)."""
        own = {key: value for key, value in params.items() if key not in OWN_MEMBERS}
        return operation.run(own)

    # ---- section 3: issue

    def require_confirmation(self, call: OperationCall) -> TokenRefusal:
        record = self.issue(TokenType.CONFIRMATION, call)
        return TokenRefusal(
            words.CONFIRMATION_REQUIRED,
            "This operation requires confirmation",
            **self.required_details(call, record),
        )

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        operation = call.operation
        details: dict[str, Any] = {
            "operation": operation.name,
            "danger_level": operation.danger.word,
            "reasons": list(operation.reasons),
            "confirmation_message": operation.describe(call.params),
            "confirmation_token": record.id,
            "expires_at": self.instant(record.expires_at),
        }
        if record.max_uses > 1:
            details["max_uses"] = record.max_uses
        return details

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        self.limited(self.store.take, "issue", call.user, self.settings.issue_limit)
        operation, session = call.operation, call.session
        now = whole_milliseconds(self.clock.now())
        scoped = kind is TokenType.CONFIRMATION and operation.max_uses > 1 and session != ""
        draft = TokenRecord(
            id="",
            type=kind,
            operation=operation.name,
            params_hash=self.hash_of(operation, call.params),
            adapter_name=self.adapter_name,
            user=call.user,
            issued_at=now,
            expires_at=now + datetime.timedelta(seconds=self.lifetime(kind, call)),
            session_id=session,
            session_scoped=scoped,
            max_uses=operation.max_uses if scoped else 1,
            danger_level=operation.danger.word,
        )
        with self.store.together():  # a token and its entry in the log, or neither
            record = self.mint.issue(draft)
            self.audit(Event.ISSUED, record.id, operation.name, call.user, session)
        return record

    def hash_of(self, operation: AdapterOperation, params: Mapping[str, Any]) -> str:
        try:
            return words.params_hash(operation.name, params, operation.bound(params))
        except words.ParamsNotCanonicalError as error:
            raise TokenRefusal(INVALID_PARAMS, "The params have no canonical form") from error

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        """Section 5.1: the default of the level, what a client asks for, and never too long."""
        name = words.QUOTA_LIFE if kind is TokenType.QUOTA else call.operation.danger.word
        seconds = self.settings.ttl_seconds[name]
        asked = call.params.get(TTL_MEMBER)
        if isinstance(asked, (int, float)) and not isinstance(asked, bool) and asked >= 1:
            seconds = asked
        return min(seconds, self.maximum(name))

    def maximum(self, name: str) -> float:
        return words.MAXIMUM_TTL[name]

    # ---- section 4: validation

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        """All checks, then the use, before anything runs; every refusal is counted and logged."""
        self.limited(self.store.left, "failure", attempt.user, self.settings.failure_limit)
        try:
            record = self.find(attempt)
            for check in self.checks:
                getattr(self, check)(record, attempt)
            assert record is not None  # by check_exists
            with self.store.together():  # a use and its entry in the log, or neither
                self.consume(record)
                self.validated(record, attempt)
        except TokenRefusal as refusal:
            self.rejected(attempt, refusal)
            raise
        return record

    def validated(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        self.audit(
            Event.VALIDATED, record.id, attempt.operation.name, attempt.user, attempt.session
        )

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        self.store.take(f"failure/{attempt.user}", self.settings.failure_limit, self.clock.now())
        self.audit(
            Event.REJECTED,
            self.loggable(attempt.token),
            attempt.operation.name,
            attempt.user,
            attempt.session,
            failure=refusal.code,
        )

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if not words.is_token(attempt.token) or not attempt.token.startswith(attempt.type.prefix):
            return None
        return self.mint.find(attempt.token, attempt)

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        """Another user's token counts as none."""
        if record is None or record.user != attempt.user or record.type is not attempt.type:
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)

    def check_not_revoked(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:  # noqa: ARG002
        if record.state is TokenState.REVOKED:
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)

    def check_adapter(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.adapter_name != self.adapter_name:
            raise self.mismatch(attempt)

    def check_operation(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.operation != attempt.operation.name:
            raise self.mismatch(attempt)

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.params_hash != self.hash_of(attempt.operation, attempt.params):
            raise self.mismatch(attempt)

    def check_session(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        """Section 5.4: a session-scoped token belongs to its session."""
        if record.session_scoped and record.session_id != attempt.session:
            raise self.mismatch(attempt)

    def mismatch(self, attempt: RedemptionAttempt) -> TokenRefusal:
        """Section 6.3: the answer does not say which part differs, or how."""
        return TokenRefusal(
            TokenCode.SCOPE_MISMATCH,
            "The confirmation token was issued for something else",
            token=attempt.token,
        )

    def check_has_expiry(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:  # noqa: ARG002
        if record.expires_at is None:
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        now = self.clock.now()
        if record.expires_at is not None and now > self.last_instant(record.expires_at):
            raise TokenRefusal(
                TokenCode.EXPIRED,
                "The confirmation token has expired",
                token=attempt.token,
                expired_at=self.instant(record.expires_at),
                current_time=self.instant(now),
            )

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:  # noqa: ARG002
        if record.state is TokenState.USED:
            raise self.already_used(record)

    def already_used(self, record: TokenRecord) -> TokenRefusal:
        return TokenRefusal(
            TokenCode.ALREADY_USED, "The confirmation token was used already", token=record.id
        )

    def consume(self, record: TokenRecord) -> None:
        """Section 5.2: one step, before the operation; only one of several at once wins."""
        if not self.mint.use(record):
            raise self.already_used(record)

    # ---- quota pauses

    def pass_quota(self, call: OperationCall, quota: int) -> None:
        """Pause after this many runs; a quota token for this very call ends the pause."""
        key = f"{self.adapter_name}/{call.operation.name}/{call.user}"
        token = call.params.get(words.QUOTA_MEMBER)
        if token is not None:
            self.redeem(RedemptionAttempt(**vars(call), token=token, type=TokenType.QUOTA))
            self.store.clear_runs(key)
        if not self.store.count_run(key, quota):
            raise self.pause(call)

    def pause(self, call: OperationCall) -> TokenRefusal:
        operation, record = call.operation, self.issue(TokenType.QUOTA, call)
        return TokenRefusal(
            words.QUOTA_PAUSED,
            "The quota is used up: confirm to go on",
            operation=operation.name,
            quota_metric=operation.quota_metric,
            reasons=[f"{operation.quota} {operation.quota_metric} since the last confirmation"],
            confirmation_message=operation.describe(call.params),
            continue_token=record.id,
            expires_at=self.instant(record.expires_at),
        )
