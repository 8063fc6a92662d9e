"""Servers that were only ever tried by one person, in one session, at one adapter."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    CAPACITY,
    Event,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import (
    ADAPTERS,
    ConfirmationExtension,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    TTL_MEMBER,
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.ledger import INVALID_MESSAGE
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import SignedTokens
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AuditEntry,
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="5.5-capacity", because="tokens that are alive[^§]*TOKEN_INVALID, operation not run")
class OnePendingCallForEachUser(ConfirmationGate):
    """Keeps one open token for each user, the latest."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        self.store._tokens.remove_all(
            lambda one: (one.user == call.user) & (one.use_count == 0) & (one.type == kind)
        )
        return super().issue(kind, call)


@broken(kills="5.5-capacity", because="tokens that are alive[^§]*TOKEN_INVALID, operation not run")
class UsedTokensTakeRoom(TokenStore):
    """Counts used and expired tokens too when it makes room for a thousand."""

    def add(self, record: TokenRecord) -> None:
        super().add(record)
        issued: list[str] = self.__dict__.setdefault("issued", [])
        issued.append(record.id)
        while len(issued) > CAPACITY:
            self._tokens.remove(issued.pop(0))


@broken(kills="6.1-replay", because="of another client[^§]*operation run", protocol="2025-11-25")
class UsesOfEachSession(ConfirmationGate):
    """Remembers for each session which tokens were used in it."""

    def used(self) -> set[tuple[str, str]]:
        found: set[tuple[str, str]] = self.store.__dict__.setdefault("used", set())
        return found

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if record.max_uses > 1:
            super().check_not_consumed(record, attempt)
        elif (attempt.session, record.id) in self.used():
            raise self.already_used(record)
        else:
            self.used().add((attempt.session, record.id))

    def consume(self, record: TokenRecord) -> None:
        if record.max_uses > 1 or record.state is TokenState.ACTIVE:
            super().consume(record)


FIRST = next(iter(ADAPTERS.values()))


@broken(kills="1.3-flow", because=r"delete_repo at another adapter without a toke[^§]*success")
class TheSecondAdapterAsksNobody(ConfirmationGate):
    """Has the gate in front of its first adapter; the second looks at tokens that come, and asks
    for none."""

    def confirm(self, call: OperationCall) -> None:
        if self.adapter_name == FIRST or words.CONFIRMATION_MEMBER in call.params:
            super().confirm(call)


@broken(
    kills="4.1-every-check",
    because=r"a token of another adapter, there, for other[^§]*success, operation run",
)
class TheSecondAdapterComparesNoParameters(ConfirmationGate):
    """Compares parameters at its first adapter only."""

    def check_parameters(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if self.adapter_name == FIRST:
            super().check_parameters(record, attempt)


@broken(
    kills="5.3-session-end",
    because=r"a token of another adapter whose session has[^§]*success, operation run",
)
class SessionsEndAtTheFirstAdapter(TokenStore):
    """The end of a session revokes the tokens of the first adapter."""

    def revoke_all(self, because: str, **whose: str) -> list[TokenRecord]:
        if because == "session end":
            whose["adapter_name"] = FIRST
        return super().revoke_all(because, **whose)


@broken(kills="5.1-default-ttl", because=r"s ahead, as before\n900 s ahead")
class WhatOneAskedForStays(ConfirmationGate):
    """Keeps the lifetime that one call asked for as that of the calls after it."""

    def lifetime(self, kind: TokenType, call: OperationCall) -> float:
        asked = TTL_MEMBER in call.params
        found = super().lifetime(kind, call)
        kept: float = self.__dict__.get("asked", found)
        if asked:
            self.__dict__["asked"] = found
        return found if asked else min(kept, self.maximum(self.life_of(kind, call)))

    def life_of(self, kind: TokenType, call: OperationCall) -> str:
        return words.QUOTA_LIFE if kind is TokenType.QUOTA else call.operation.danger.word


@broken(kills="6.4-audit", because=r"delete_repo at two adapters, then a look at t[^§]*reference")
class LogsTheFirstAdapterForAll(ConfirmationExtension):
    """Writes the first adapter's name into every entry of the log."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        return {**super().entry(entry), "adapter_name": FIRST}


@broken(kills="2.3-payload", because=r"introspection of a token, and of one for anot[^§]*reference")
class TellsItsOwnNameForAll(ConfirmationGate):
    """Tells the adapter that was asked, and not the one that issued the token."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        return {**super().status(token, user=user), "adapter_name": self.adapter_name}


@broken(kills="6.1-replay", because="that was used, by another user[^§]*operation run")
class UsesOfEachUser(ConfirmationGate):
    """Lets anybody use a token, and remembers for each user which ones they used."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        if record is None or record.type is not attempt.type:
            raise TokenRefusal(TokenCode.INVALID, INVALID_MESSAGE)
        used: set[tuple[str, str]] = self.store.__dict__.setdefault("used_by", set())
        if record.max_uses == 1 and (record.id, attempt.user) not in used:
            self.store._tokens.change(record.id, use_count=0)

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        record = super().redeem(attempt)
        self.store.__dict__.setdefault("used_by", set()).add((record.id, attempt.user))
        return record

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        if (record.id, attempt.user) in self.store.__dict__.setdefault("used_by", set()):
            raise self.already_used(record)


@broken(kills="2.1-quota", because="the quota token of the first user[^§]*TOKEN_INVALID")
class OnePauseForAll(ConfirmationGate):
    """Keeps the token of the latest pause of an operation, whoever was paused."""

    def issue(self, kind: TokenType, call: OperationCall) -> TokenRecord:
        record = super().issue(kind, call)
        if kind is TokenType.QUOTA:
            self.store._tokens.remove_all(
                lambda one: (one.type == kind) & (one.operation == record.operation)
            )
            self.store.add(record)
        return record


@broken(kills="5.3-revocation", because="another user's revocation[^§]*operation run")
class TellsStrangersThatItIsDone(ConfirmationGate):
    """Tells anybody that a token is revoked, and revokes that of its own user only."""

    def revoke(self, token: Any, *, user: str, session: str = "") -> TokenRecord:
        record = self.store.get(token) if isinstance(token, str) else None
        if record is not None and record.user != user:
            return record
        return super().revoke(token, user=user, session=session)


@broken(kills="6.4-client-context", because=r'refusal: "gateway"')
class LogsItselfForRefusals(ConfirmationExtension):
    """Writes the account under which it runs as the user of every refusal."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        written = super().entry(entry)
        if entry.event == Event.REJECTED:
            written["client_context"]["user_id"] = "gateway"
        return written


@broken(kills="6.2-tamper", because="signed with another key[^§]*operation run")
class OneKeyForAll(SignedTokens):
    """Signs with the key that the makers of the server put in, whatever is configured."""

    def __init__(self, store: TokenStore, adapter_name: str, key: str = "") -> None:
        super().__init__(store, adapter_name, "change me before production" if key else "")
