"""Servers that refuse what they should serve, and some that serve once more than they should.

Each fails a scenario that no other server of this family fails.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    UNKNOWN_OPERATION,
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import StoredTokens
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.settings import ExtensionSettingError
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.registry import mutant

# ---- what an honest caller is owed


@broken(kills="1.3-flow", because="at once or with a token[^§]*UNKNOWN_OPERATION")
class TakesLevelZeroForNone(ConfirmationGate):
    """Asks whether an operation has a level, and zero looks like none."""

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        known = self.operations.get(name)
        if known is not None and not known.danger:
            raise TokenRefusal(UNKNOWN_OPERATION, "There is no such operation here")
        return super().perform(name, params, user=user, session=session)


@broken(kills="1.3-flow", because=r"confirmed with[^§]*: run with \{", warned=True)
class RunsWithoutWhatWasConfirmed(ConfirmationGate):
    """Checks the parameters of a call, and hands the operation those that it knows itself."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return operation.run({"confirmed": True, "count": len(params)})


@broken(kills="4.1-not-expired", because="a second before it expires[^§]*TOKEN_EXPIRED")
class TakesTimeOffForTheNetwork(ConfirmationGate):
    """Lets tokens end some seconds early, for answers that are long on their way."""

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        return expires_at - datetime.timedelta(seconds=5)


@broken(kills="5.1-skew-range", because="a tolerance of 300[^§]*below 300")
class LeavesTheEdgeOut(SettingsReader):
    """Takes a tolerance below the highest one, and not the highest itself."""

    def tolerance(self, value: Any) -> float:
        found = super().tolerance(value)
        if found >= words.MAXIMUM_TOLERANCE:
            raise ExtensionSettingError(f"{words.TOLERANCE_SETTING}: got 300, expected below 300")
        return found


@broken(kills="5.2-single-use", because="tokens at once[^§]*8 successes[^§]*[0-7] successes")
class RefusesWhileItIsBusy(ConfirmationGate):
    """Uses one token at a time, and takes whoever comes meanwhile for a second use."""

    def consume(self, record: TokenRecord) -> None:
        busy: threading.Lock = self.__dict__.setdefault("busy", threading.Lock())
        if not busy.acquire(blocking=False):
            raise self.already_used(record)
        try:
            time.sleep(0.05)  # so that the others are there
            super().consume(record)
        finally:
            busy.release()


@mutant(
    kills="confirmation_tokens/3.3-required-response",
    because="not written as section 3.3 shows it: confirmation_message at error.details.question",
    warned=True,
)
class HasANameOfItsOwn(ConfirmationExtension):
    """Calls the question otherwise than the document, and its users say so in the table."""

    def answer(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        try:
            return super().answer(name, arguments, caller)
        except TokenRefusal as refusal:
            if "confirmation_message" in refusal.details:
                refusal.details["question"] = refusal.details.pop("confirmation_message")
            raise

    def running_suite_settings(self) -> Mapping[str, Any]:
        own = {"confirmation_message": "error.details.question"}
        return {**super().running_suite_settings(), "fields": own}


# ---- what serves too often, too long or for too much


@broken(kills="2.1-quota", because="for the second time[^§]*operation run")
class QuotaTokensServeOnAndOn(ConfirmationGate):
    """Marks confirmation tokens as used, and not those that end a pause."""

    def consume(self, record: TokenRecord) -> None:
        if record.type is not words.TokenType.QUOTA:
            super().consume(record)


@broken(kills="2.1-quota", because="in the place of its own[^§]*operation run")
class APauseTokenConfirmsAnything(ConfirmationGate):
    """Takes whoever may go on after a pause for somebody who has confirmed."""

    def confirm(self, call: OperationCall) -> None:
        token = call.params.get(words.CONFIRMATION_MEMBER)
        found = self.store.get(token) if isinstance(token, str) else None
        if found is not None and found.type is words.TokenType.QUOTA:
            return
        super().confirm(call)


@broken(kills="4.1-not-expired", because="hours after it expired[^§]*operation run")
class LocalTimeEverywhere(ConfirmationGate):
    """Its clock is hours behind UTC, where it checks tokens and where it purges them."""

    BEHIND = datetime.timedelta(hours=5)

    def last_instant(self, expires_at: datetime.datetime) -> datetime.datetime:
        return super().last_instant(expires_at) + self.BEHIND

    def purge(self, now: datetime.datetime) -> None:
        super().purge(now - self.BEHIND)


@broken(kills="4.1-every-check", because="a token with [^§]*not run[^§]*operation run")
class AddsUpDoubts(ConfirmationGate):
    """Lets one doubt pass, and refuses from two on."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        record = self.find(attempt)
        if record is None:
            return super().redeem(attempt)
        doubts = []
        for check in self.checks:
            try:
                getattr(self, check)(record, attempt)
            except TokenRefusal as doubt:
                doubts.append(doubt)
        if len(doubts) > 1:
            raise doubts[0]
        self.mint.use(record)
        return record


@broken(kills="5.2-consumed-before-execution", because="same token again[^§]*operation run")
class RunsRetriesAgain(ConfirmationGate):
    """Takes the very same call with a used token for one whose answer was lost, and runs it."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        pass

    def consume(self, record: TokenRecord) -> None:
        self.mint.use(record)


@broken(kills="5.3-revocation", because="a revocation[^§]*operation run")
class RevokesByUsing(ConfirmationGate):
    """Has no revoked state: uses the token up, in the way in which tokens are used."""

    def issue(self, kind: words.TokenType, call: OperationCall) -> TokenRecord:
        record = super().issue(kind, call)
        self.__dict__.setdefault("calls", {})[record.id] = call
        return record

    def revoke_record(self, record: TokenRecord) -> bool:
        call = self.__dict__.get("calls", {}).get(record.id)
        if call is not None and record.state is TokenState.ACTIVE:
            self.execute(call.operation, call.params)
        return super().revoke_record(record)


@broken(kills="6.1-replay", because="of another client[^§]*operation run")
class RemembersUsesForEachClient(ConfirmationExtension):
    """Each client has a list of used tokens of its own."""

    def perform(
        self, tool: str, operation: str, params: Mapping[str, Any], caller: Caller
    ) -> dict[str, Any]:
        users: dict[str, str] = self.__dict__.setdefault("users", {})
        token = params.get(words.CONFIRMATION_MEMBER)
        record = self.store.get(token) if isinstance(token, str) else None
        if record is not None and users.get(record.id, caller.client) != caller.client:
            self.store._tokens.change(record.id, use_count=0)
        done = super().perform(tool, operation, params, caller)
        if record is not None:
            users[record.id] = caller.client
        return done


@broken(kills="6.2-tamper", because="put together from the halves of two[^§]*operation run")
class LooksUpABeginning(StoredTokens):
    """Finds a token by as much of it as its index holds."""

    INDEXED = 16

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        for record in self.store.records():
            if record.id[: self.INDEXED] == token[: self.INDEXED]:
                return record
        return super().find(token, attempt)


@broken(kills="6.3-one-answer-for-unknown", because="to answer[^§]*ms for an unknown token")
class LooksFarForUnknownTokens(ConfirmationGate):
    """Asks a slow archive for tokens that it does not know, but not for what is no token at all."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        found = super().find(attempt)
        if found is None and words.is_token(attempt.token):
            time.sleep(0.15)
        return found
