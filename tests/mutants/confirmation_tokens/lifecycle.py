"""Servers that use, keep and revoke tokens wrongly: sections 5.2 to 5.5 of confirmation tokens."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken
from tests.mutants.meeting import Meeting

# ---- section 5.2


@broken(kills="6.1-replay", because="8 times at once[^§]*[2-8] successes")
class MarksTheTokenTooLate(ConfirmationGate):
    """Looks whether the token is used, and marks it a little later."""

    meeting = Meeting()

    def consume(self, record: TokenRecord) -> None:
        kept = self.store.get(record.id)
        if kept is None or kept.state is TokenState.USED:
            raise self.already_used(record)
        self.meeting.wait()
        self.store.use(record.id)


@broken(kills="5.2-single-use", because="8 times at once[^§]*one success[^§]*0 successes")
class ServesNobodyInACrowd(ConfirmationGate):
    """Takes many calls with one token for an attack, and refuses them all."""

    def consume(self, record: TokenRecord) -> None:
        crowd = self.__dict__.setdefault("crowd", Counter())
        crowd[record.id] += 1
        time.sleep(0.05)  # so that all are there
        if crowd[record.id] > 1:
            raise self.already_used(record)
        super().consume(record)


@broken(kills="5.2-single-use", because="for all but one[^§]*TOKEN_INVALID")
class TellsLatecomersSomethingElse(ConfirmationGate):
    """Says TOKEN_INVALID to the losers of a race."""

    meeting = Meeting()

    def consume(self, record: TokenRecord) -> None:
        self.meeting.wait()  # so that two have passed the checks
        if not self.mint.use(record):
            raise TokenRefusal(words.TokenCode.INVALID, "not valid")


class MarksAfterwards(ConfirmationGate):
    """Marks a token as used when its operation has ended."""

    def consume(self, record: TokenRecord) -> None:
        self.__dict__.setdefault("pending", {})[record.params_hash] = record

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        given = super().execute(operation, params)
        self.mark(self.hash_of(operation, params))
        return given

    def mark(self, params_hash: str) -> None:
        record = self.__dict__.get("pending", {}).pop(params_hash, None)
        if record is not None:
            self.store.use(record.id)


@broken(kills="5.2-consumed-before-execution", because="which fails, three times[^§]*3 effects")
class MarksAfterSuccess(MarksAfterwards):
    """Marks a token as used when its operation has succeeded."""


@broken(kills="5.2-consumed-before-execution", because="which takes its time[^§]*successes")
class MarksAfterTheEnd(MarksAfterwards):
    """Marks a token as used when its operation has ended, well or not."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return super().execute(operation, params)
        finally:
            self.mark(self.hash_of(operation, params))


# ---- section 5.3


@broken(kills="5.3-revoked", because="that was revoked[^§]*operation run")
class RevokedStillWorks(ConfirmationGate):
    """Notes that a token was revoked, and does not look at the note."""

    checks: ClassVar[tuple[str, ...]] = tuple(
        name for name in ConfirmationGate.checks if name != "check_not_revoked"
    )

    def consume(self, record: TokenRecord) -> None:
        if record.state is not TokenState.REVOKED:
            super().consume(record)


@broken(kills="5.3-revocation", because="of which another was revoked[^§]*TOKEN_INVALID")
class RevokesTheWholeCall(ConfirmationGate):
    """Revokes every token of the operation."""

    def revoke_record(self, record: TokenRecord) -> bool:
        for other in self.store.records():
            if other.operation == record.operation:
                self.store.revoke(other, "by hand")
        return True


@broken(kills="5.3-revocation", because="malformed tokens[^§]*no token at all")
class RevocationTellsThemApart(ConfirmationGate):
    """Says that a malformed token is no token."""

    def revoke(self, token: Any, *, user: str, session: str = "") -> TokenRecord:
        if not words.is_token(token):
            raise TokenRefusal(words.TokenCode.INVALID, "That is no token at all")
        return super().revoke(token, user=user, session=session)


@broken(kills="5.3-session-end", because="whose session has ended[^§]*operation run")
class OutlivesTheSession(ConfirmationExtension):
    """Does not notice that a session ends."""

    def session_ended(self, session: str) -> None:
        pass

    def session_key(self, session: str) -> str:
        return session


@broken(kills="5.3-session-end", because="after another session has ended[^§]*TOKEN_INVALID")
class EndsAllSessions(ConfirmationExtension):
    """Revokes everybody's tokens when one session ends."""

    def session_ended(self, session: str) -> None:
        for gate in self.gates.values():
            gate.revoke_all("session end", adapter_name=gate.adapter_name)


@broken(kills="5.3-session-end", because="after a logout[^§]*operation run")
class LogoutLeavesTokens(ConfirmationExtension):
    """Says that the tokens are revoked, at a logout and the like, and leaves them."""

    def trigger(self, gate: ConfirmationGate, why: str, whose: dict[str, str]) -> int:
        return 0


@broken(kills="7.2-revocation", because="of a quota token[^§]*TOKEN_INVALID")
class RevokesConfirmationsOnly(ConfirmationGate):
    """Knows how to revoke one kind of token."""

    def revoke_record(self, record: TokenRecord) -> bool:
        return record.type is words.TokenType.CONFIRMATION and super().revoke_record(record)


@broken(kills="7.2-revocation", because="a session token that was revoked[^§]*operation run")
class RevocationTakesOneUse(ConfirmationGate):
    """Revokes a token by counting it as used once, whatever its uses."""

    def revoke_record(self, record: TokenRecord) -> bool:
        return self.store.use(record.id)


@broken(kills="7.2-revocation", because="revocation of a confirmation token[^§]*BAD_REQUEST")
class NoRevocation(ConfirmationExtension):
    """Has no query that revokes."""

    def introspect(
        self, gate: ConfirmationGate, params: Mapping[str, Any], user: str, session: str
    ) -> dict[str, Any]:
        if params.get("query") == words.REVOKE_QUERY:
            raise TokenRefusal("BAD_REQUEST", "There is no such query here")
        return super().introspect(gate, params, user, session)


# ---- section 5.4


@broken(kills="5.4-session-bound", because="with max_uses 3, for time 4[^§]*operation run")
class OneUseTooMany(TokenStore):
    """Counts uses from zero to max_uses, both included."""

    def use(self, token_id: str) -> bool:
        record = self._tokens.get(token_id)
        if record is None or record.max_uses == 1:
            return super().use(token_id)
        spare = self.__dict__.setdefault("spare", set())
        if super().use(token_id):
            return True
        first = token_id not in spare
        spare.add(token_id)
        return first

    def get(self, token_id: str) -> TokenRecord | None:
        record = super().get(token_id)
        if record is None or record.max_uses == 1 or token_id in self.__dict__.get("spare", ()):
            return record
        # As long as the spare use is there, the token looks unused.
        return replace(record, use_count=0)


@broken(kills="5.4-session-scope", because="with max_uses 3, for time 3[^§]*TOKEN_ALREADY_USED")
class OneUseTooFew(ConfirmationGate):
    """Stops one use before max_uses."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.max_uses > 1 and record.use_count >= record.max_uses - 1:
            raise self.already_used(record)
        super().check_not_consumed(record, attempt)


@broken(kills="5.4-session-bound", because="session token in another session[^§]*operation run")
class AnySessionWillDo(ConfirmationGate):
    """Does not compare the session."""

    def check_session(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        pass


@broken(kills="5.4-session-expiry", because="with uses left[^§]*operation run")
class SessionTokensNeverExpire(ConfirmationGate):
    """Lets tokens live as long as their session."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if not record.session_scoped:
            super().check_not_expired(record, attempt)


@broken(kills="5.4-session-expiry", because="used before its end[^§]*operation run")
class EachUseBeginsAnew(TokenStore):
    """Gives a session token its whole life again with each use."""

    def use(self, token_id: str) -> bool:
        used = super().use(token_id)
        record = self._tokens.get(token_id)
        if used and record is not None and record.session_scoped and record.expires_at is not None:
            life = record.expires_at - record.issued_at
            self._tokens.change(token_id, {}, expires_at=record.expires_at + life)
        return used


@broken(kills="5.4-session-expiry", because="for a session token[^§]*[0-9]{4,} s ahead")
class SessionTokensLiveForADay(ConfirmationGate):
    """Lets the tokens of a session live for a day."""

    def lifetime(self, kind: words.TokenType, call: OperationCall) -> float:
        usual = super().lifetime(kind, call)
        return 86_400 if call.operation.max_uses > 1 and call.session else usual


@broken(
    kills="5.4-session-bound",
    because="for other parameters, after its first use[^§]*run[^§]*operation run",
)
class ConfirmedOnceForAll(ConfirmationGate):
    """After its first use a session token is good for any parameters."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.use_count == 0:
            super().check_parameters(record, attempt)


# ---- section 5.5


@broken(kills="5.5-capacity", because="the first of 1001 tokens[^§]*TOKEN_INVALID")
class LeastRecentHundred(TokenStore):
    """Keeps the last hundred tokens."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        while len(self._tokens.find()) > 100:
            self._tokens.remove(self.records()[0].id)


@broken(kills="5.5-purge", because="in the store an hour after[^§]*1[0-9] of them")
class NeverPurges(ConfirmationGate):
    """Keeps tokens for ever."""

    def purge(self, now: datetime.datetime) -> None:
        pass
