"""Servers whose audit log lacks what happened, and whose status does not tell it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    Event,
    TokenCode,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import SignedTokens
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AuditEntry,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from tests.mutants.confirmation_tokens.parts import broken


class LeavesOut(ConfirmationGate):
    """Leaves some entries out of the log; no mutant by itself."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        raise NotImplementedError

    def audit(
        self,
        event: Event,
        token_id: str,
        operation: str,
        user: str,
        session: str,
        failure: str = "",
    ) -> None:
        if self.logs(event, token_id, session, failure):
            super().audit(event, token_id, operation, user, session, failure)


@broken(kills="6.4-audit", because="a replay, then a look at the[^§]*no such entry")
class ReplaysAreNotLogged(LeavesOut):
    """Takes the second use of a token for a harmless repetition, and does not log it."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return failure != TokenCode.ALREADY_USED


@broken(kills="6.4-audit", because='outcome failure[^§]*outcome "success')
class EverythingIsASuccess(ConfirmationGate):
    """Writes success into every entry, since writing it succeeded."""

    def audit(self, *members: Any, failure: str = "") -> None:
        super().audit(*members, failure="")


# ---- what status does not tell


@broken(kills="7.3-status", because='one that is expired[^§]*"active" and "active"')
class ExpiredTokensAreActive(ConfirmationGate):
    """Tells the state that is kept, and time is not in it."""

    def state_of(self, record: TokenRecord) -> str:
        return record.state


@broken(kills="7.3-status", because='one that is revoked[^§]*"active" and "active"')
class RevokedTokensAreActive(ConfirmationGate):
    """Tells a revoked token as an active one."""

    def state_of(self, record: TokenRecord) -> str:
        found = super().state_of(record)
        return "active" if found == "revoked" else found


@broken(kills="7.3-status", because="that is revoked: no state is told", warned=True)
class TellsNoStateOfRevokedTokens(ConfirmationGate):
    """Knows three states, and has no word for a revoked token."""

    def state_of(self, record: TokenRecord) -> Any:
        found = super().state_of(record)
        return None if found == "revoked" else found


@broken(kills="7.3-status", because=r"after its end, then it[^§]*operation run")
class TellsTheEndAnInstantEarly(ConfirmationGate):
    """Calls a token expired at the last instant at which it still serves."""

    def state_of(self, record: TokenRecord) -> str:
        at_its_end = record.expires_at and self.clock.now() == self.last_instant(record.expires_at)
        return "expired" if at_its_end else super().state_of(record)


@broken(
    kills="6.3-one-answer-for-unknown", because="introspection of a token[^§]*-32603", warned=True
)
class BreaksOnUnknownTokens(ConfirmationGate):
    """Fails itself when it is asked about a token that it does not know."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        if self.look_up(token, user) is None:
            raise RuntimeError("no such token")
        return super().status(token, user=user)


@broken(
    kills="6.3-one-answer-for-unknown", because="revocation of an unknown token[^§]*is no token"
)
class TellsWhatCannotBeRevoked(ConfirmationGate):
    """Says of what is to be revoked that it does not even look like a token."""

    def revoke(self, token: Any, *, user: str, session: str = "") -> TokenRecord:
        if not words.is_token(token):
            raise TokenRefusal(TokenCode.INVALID, "This is no token")
        return super().revoke(token, user=user, session=session)


@broken(kills="6.4-audit", because="a revocation that is refused[^§]*no such entry", warned=True)
class RefusedRevocationsAreNotLogged(LeavesOut):
    """Logs revocations where they are made, and those that it refuses nowhere."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.REVOKED or not failure


@broken(kills="7.3-status", because='that do not say the opposite[^§]*"expired" and "used"')
class CallsFreshTokensExpired(ConfirmationGate):
    """Compares the clock with the end the wrong way round, where it tells a state."""

    def state_of(self, record: TokenRecord) -> str:
        swapped = {"active": "expired", "expired": "active"}
        found = super().state_of(record)
        return swapped.get(found, found)


@broken(kills="1.3-flow", because="signed token 1 of 2, confirmed[^§]*TOKEN_INVALID")
class SignsOneWayAndReadsAnother(SignedTokens):
    """Takes none of the signatures that it makes."""

    def is_genuine(self, given: bytes, signature: bytes) -> bool:
        return super().is_genuine(given, signature[::-1])


@broken(kills="7.3-status", because='fresh signed token, and of one that is used[^§]*"active" and')
class TellsWhatSignedTokensCarry(SignedTokens):
    """Tells of a token what it carries, and its use is not in it."""

    def find_of(self, token: str, user: str) -> TokenRecord | None:
        found = super().find_of(token, user)
        return replace(found, use_count=0) if found is not None else None


@broken(kills="7.2-revocation", because="revocation of a signed token[^§]*TOKEN_INVALID")
class KnowsSignedTokensByTheirUse(SignedTokens):
    """Finds a token that carries its payload only after it was used."""

    def find_of(self, token: str, user: str) -> TokenRecord | None:
        return self.store.get(token)


@broken(kills="2.3-payload", because=r'that is true of it\noperation ""')
class QuotaTokensWithoutOperation(ConfirmationGate):
    """Tells no operation for a quota token."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        told = super().status(token, user=user)
        return {**told, "operation": ""} if told["type"] == words.TokenType.QUOTA else told


@broken(kills="5.1-skew-warning", because="a start with a tolerance of[^§]*none")
class WarnsFromAHundredOn(SettingsReader):
    """Warns of tolerances above a hundred seconds."""

    def warnings(self, tolerance: float) -> tuple[str, ...]:
        return super().warnings(tolerance) if tolerance > 100 else ()


@broken(kills="6.4-audit", because=r"a logout, then a look at the audit log[^§]*no such entry")
class AutomaticRevocationsAreNotLogged(ConfirmationGate):
    """Logs revocations by hand, and none that a logout or the like brings about."""

    def revoke_all(self, because: str, **whose: str) -> int:
        if because == "session end":
            return super().revoke_all(because, **whose)
        return len(self.store.revoke_all(because, **whose))


@broken(
    kills="6.4-audit", because=r"the end of a session, then a look at the audi[^§]*no such entry"
)
class SessionEndsAreNotLogged(ConfirmationGate):
    """Does not log that the end of a session revoked tokens."""

    def session_ended(self, session: str) -> None:
        if session:
            self.store.revoke_all("session end", session_id=session)


@broken(
    kills="6.4-audit", because=r"a token that has expired, then a look at the[^§]*no such entry"
)
class ExpiredTokensAreNotLogged(LeavesOut):
    """Takes an expired token for the ordinary course of things, and does not log its refusal."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return failure != TokenCode.EXPIRED


@broken(
    kills="6.4-audit", because=r"a destructive token that was revoked, then a[^§]*no such entry"
)
class UnknownTokensAreNotLogged(LeavesOut):
    """Has no record to log if a token is unknown, and logs nothing."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.REJECTED or failure != TokenCode.INVALID


@broken(
    kills="6.4-audit", because=r"the issue of a quota token, then a look at th[^§]*no such entry"
)
class PausesAreNotLogged(LeavesOut):
    """Logs the issue of confirmation tokens, and of no quota token."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.ISSUED or not token_id.startswith(words.QUOTA_PREFIX)


@broken(
    kills="6.4-audit", because=r"the use of a quota token, then a look at the[^§]*no such entry"
)
class ResumptionsAreNotLogged(LeavesOut):
    """Logs the use of confirmation tokens, and of no quota token."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        return event is not Event.VALIDATED or not token_id.startswith(words.QUOTA_PREFIX)


@broken(kills="6.4-audit", because=r"of them")
class OneEntryOfEachKind(LeavesOut):
    """Has one row for each token and event, and drops what happens a second time."""

    def logs(self, event: Event, token_id: str, session: str, failure: str) -> bool:
        written: set[tuple[str, str]] = self.store.__dict__.setdefault("written", set())
        is_new = (event, token_id) not in written
        written.add((event, token_id))
        return is_new


@broken(kills="6.4-audit", because=r"has expired, then a look[^§]*\ntimestamp 20")
class LogsTheTimeOfIssue(ConfirmationExtension):
    """Writes the instant at which a token was issued into every entry about it."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        record = self.store.get(entry.token_id)
        return super().entry(
            entry if record is None else replace(entry, timestamp=record.issued_at)
        )


@broken(kills="7.3-status", because=r"introspection of a fresh session token, and o[^§]*active")
class UsedUpSessionTokensAreActive(ConfirmationGate):
    """Tells a token for a session as active, also when all its uses are gone."""

    def state_of(self, record: TokenRecord) -> str:
        found = super().state_of(record)
        return "active" if record.max_uses > 1 and found == "used" else found


@broken(kills="7.3-status", because=r"introspection of a fresh quota token, and of[^§]*active")
class UsedQuotaTokensAreActive(ConfirmationGate):
    """Tells a quota token as active after its use."""

    def state_of(self, record: TokenRecord) -> str:
        found = super().state_of(record)
        is_pause = record.type is words.TokenType.QUOTA
        return "active" if is_pause and found == "used" else found


@broken(kills="2.3-payload", because=r"the same issued_at\n.20[^§]*, then")
class IssuedWhenAsked(ConfirmationGate):
    """Tells the instant of the question as that of the issue."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        now = self.instant(self.clock.now())
        return {**super().status(token, user=user), "issued_at": now}


@broken(kills="6.4-client-context", because="1 session_id, the same")
class OneSessionForAll(ConfirmationExtension):
    """Writes the name of the transport where the session belongs."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        written = super().entry(entry)
        written["client_context"]["session_id"] = "streamable-http"
        return written


@broken(kills="6.3-one-answer-for-unknown", because="malformed: [^§]*no token at all")
class StatusTellsThemApart(ConfirmationGate):
    """Says of what is no token that it is none, when it is asked about it."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        if not words.is_token(token):
            raise TokenRefusal(TokenCode.INVALID, "That is no token at all")
        return super().status(token, user=user)
