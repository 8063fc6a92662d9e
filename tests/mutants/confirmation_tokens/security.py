"""Servers that give away or miss something: sections 6 and 7 of confirmation tokens."""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    Event,
    TokenCode,
    TokenType,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.extension import ConfirmationExtension
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    SignedTokens,
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AuditEntry,
    RedemptionAttempt,
    TokenRecord,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import RateLimit
from pytest_mcp_approval.reference_server.confirmation_tokens.store import TokenStore
from tests.mutants.confirmation_tokens.parts import broken

# ---- section 6.1


@broken(kills="6.1-replay", because="after a restart[^§]*operation run")
class UsesOfEachProcess(ConfirmationGate):
    """Remembers in the process which tokens were used; the store outlives it."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        used = self.__dict__.setdefault("used", set())
        if record.id in used:
            raise self.already_used(record)
        used.add(record.id)

    def consume(self, record: TokenRecord) -> None:
        pass


@broken(kills="6.1-replay", because="at a replica[^§]*success")
class UsesOfEachReplica(UsesOfEachProcess.part.gate_class):  # type: ignore[name-defined]
    """The same, seen from a second process over the same store."""


# ---- section 6.2


@broken(kills="6.2-tamper", because="of 69 characters with character [0-9]+ changed[^§]*success")
class SignsPartOfThePayload(SignedTokens):
    """Leaves the time of issue and the life out of what it signs."""

    def signed_part(self, body: bytes) -> bytes:
        return body[:16] + body[24:]


@broken(kills="6.1-replay", because="used at another server[^§]*success")
class SignsWithABuiltInKey(SignedTokens):
    """Has a key for those who give none, the same in every installation."""

    def __init__(self, store: TokenStore, adapter_name: str, key: str = "") -> None:
        super().__init__(store, adapter_name, key or "change me")


@broken(kills="4.1-every-check", because="before its last instant[^§]*TOKEN_EXPIRED")
class ReadsHalfOfTheLife(SignedTokens):
    """Reads the life of a token that carries it from one byte of two."""

    def _unfold(self, token: str, kind: TokenType, user: str, body: bytes) -> TokenRecord:
        found = super()._unfold(token, kind, user, body)
        assert found.expires_at is not None
        life = int((found.expires_at - found.issued_at).total_seconds()) % 256
        return replace(found, expires_at=found.issued_at + datetime.timedelta(seconds=life))


@broken(kills="4.1-every-check", because="never issued[^§]*Internal error")
class ReadsTheDateOfAnything(SignedTokens):
    """Reads the date before it looks at the signature, and falls over one that no calendar has."""

    def find(self, token: str, attempt: RedemptionAttempt | None) -> TokenRecord | None:
        coded = token.partition("_")[2].encode()
        with contextlib.suppress(binascii.Error):
            seconds = int.from_bytes(base64.urlsafe_b64decode(coded)[16:22]) / 1000
            datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        return super().find(token, attempt)


@broken(kills="6.2-tamper", because="with character 41 changed[^§]*success")
class LooksUpTheBeginning(ConfirmationGate):
    """Looks a token up by its first characters."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if not isinstance(attempt.token, str):
            return None
        for record in self.store.records():
            if record.id[:40] == attempt.token[:40] and record.type is attempt.type:
                return record
        return None


def key_of(gate: ConfirmationGate) -> bytes:
    return gate.settings.signing_key.encode()


@broken(kills="6.2-key-hidden", because="a changed token[^§]*holds the key")
class ExplainsWithTheKey(ConfirmationGate):
    """Tells whoever brings a bad token how it should have been signed."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        try:
            super().check_exists(record, attempt)
        except TokenRefusal as refusal:
            refusal.details["expected"] = f"HMAC-SHA256 with {key_of(self).hex()}"
            raise


@broken(kills="6.2-key-hidden", because="introspection of a token[^§]*holds the key")
class StatusShowsTheKey(ConfirmationGate):
    """Shows its whole configuration to whoever asks about a token."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        settings = {"secret": base64.urlsafe_b64encode(key_of(self)).decode()}
        return {**super().status(token, user=user), "settings": settings}


# ---- section 6.3


@broken(kills="6.3-no-internals", because="a token that says[^§]*delete_repo")
class TokenTellsTheCall(StoredTokens):
    """A token is the operation and some random bytes, in base64."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        plain = f"{record.operation}:".encode() + secrets.token_bytes(24)
        token = base64.urlsafe_b64encode(plain).decode().rstrip("=")
        issued = replace(record, id=record.type.prefix + token)
        self.store.add(issued)
        return issued


@broken(kills="6.3-no-parameter-values", because="other parameters[^§]*gadgets")
class EchoesParameters(ConfirmationGate):
    """Explains what is different."""

    def mismatch(self, attempt: RedemptionAttempt) -> TokenRefusal:
        return TokenRefusal(
            TokenCode.SCOPE_MISMATCH, "Not confirmed", asked_for=dict(attempt.params)
        )


@broken(kills="6.3-no-parameter-values", because=r"refused \(unknown\)[^§]*acme")
class EchoesTheCall(ConfirmationGate):
    """Repeats the call in every refusal of a token."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        try:
            return super().redeem(attempt)
        except TokenRefusal as refusal:
            refusal.details["call"] = {"params": dict(attempt.params)}
            raise


@broken(kills="6.3-one-answer-for-unknown", because="the same twice[^§]*malformed")
class TellsMalformedApart(ConfirmationGate):
    """Says 'malformed' for one and 'not found' for the other."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if not words.is_token(attempt.token):
            raise TokenRefusal(TokenCode.INVALID, "The token is malformed")
        return super().find(attempt)


@broken(kills="6.3-one-answer-for-unknown", because="the same twice[^§]*MALFORMED")
class AnotherCodeForMalformed(ConfirmationGate):
    """Has its own code for what is not a token."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if not words.is_token(attempt.token):
            raise TokenRefusal("TOKEN_MALFORMED", "The confirmation token is not valid")
        return super().find(attempt)


# ---- section 6.4


def silent_about(*events: Event) -> type[ConfirmationGate]:
    """A gate that does not log these events."""

    def audit(self: ConfirmationGate, event: Event, *rest: Any, **more: Any) -> None:
        if event not in events:
            ConfirmationGate.audit(self, event, *rest, **more)

    return type("Gate", (ConfirmationGate,), {"audit": audit})


@broken(kills="6.4-audit", because="a refusal, then[^§]*no such entry")
class RejectionsNotLogged(silent_about(Event.REJECTED)):
    """Logs what went well."""


@broken(kills="6.4-audit", because="an issue, then[^§]*no such entry")
class IssueNotLogged(silent_about(Event.ISSUED)):
    """Logs the use of tokens, and not their issue."""


@broken(kills="6.4-audit", because="a redemption, then[^§]*no such entry")
class RedemptionNotLogged(silent_about(Event.VALIDATED)):
    """Logs issue and refusal, and not use."""


@broken(kills="6.4-audit", because="a revocation, then[^§]*no such entry")
class RevocationNotLogged(silent_about(Event.REVOKED)):
    """Revokes without a trace."""


@broken(kills="6.4-audit", because="a failure_reason in TOKEN_REJECTED[^§]*none")
class LogsNoReason(ConfirmationExtension):
    """Logs that a token was refused, and not why."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        written = super().entry(entry)
        written.pop("failure_reason", None)
        return written


@broken(kills="6.4-audit", because="a adapter_name in TOKEN_ISSUED[^§]*none")
class LogsNoAdapter(ConfirmationExtension):
    """Logs everything but the adapter."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        written = super().entry(entry)
        del written["adapter_name"]
        return written


@broken(kills="6.4-audit", because="a timestamp near[^§]*Invalid isoformat")
class LogsAnotherTime(ConfirmationExtension):
    """Writes local time into the log, and calls it UTC."""

    def entry(self, entry: AuditEntry) -> dict[str, Any]:
        written = super().entry(entry)
        return {**written, "timestamp": written["timestamp"].replace("T", "T0", 1)[:20] + "Z"}


# ---- section 6.5


def unlimited(kind: str) -> type[ConfirmationGate]:
    """A gate without one of the three limits."""

    def limited(self: ConfirmationGate, ask: Any, name: str, user: str, limit: RateLimit) -> None:
        if name != kind:
            ConfirmationGate.limited(self, ask, name, user, limit)

    return type("Gate", (ConfirmationGate,), {"limited": limited})


@broken(kills="6.5-rate-limit", because="issues in a row[^§]*all answered as the first")
class NoLimitOnIssues(unlimited("issue")):
    """Issues as many tokens as anybody wants."""


@broken(kills="6.5-rate-limit", because="failed validations in a row[^§]*all answered")
class NoLimitOnFailures(unlimited("failure")):
    """Lets anybody guess for ever."""


@broken(kills="6.5-rate-limit", because="revocations in a row[^§]*all answered")
class NoLimitOnRevocations(unlimited("revocation")):
    """Lets anybody try to revoke for ever."""


@broken(kills="6.5-rate-limit", because="an honest call, after[^§]*RATE_LIMITED")
class LimitsForEver(ConfirmationGate):
    """Never serves a caller again that has once met the limit of failures."""

    def limited(self, ask: Any, kind: str, user: str, limit: RateLimit) -> None:
        banned = self.__dict__.setdefault("banned", set())
        if user in banned and kind == "failure":
            raise TokenRefusal(words.RATE_LIMITED, "No more", retry_after_seconds=1)
        try:
            super().limited(ask, kind, user, limit)
        except TokenRefusal:
            banned.add(user)
            raise


# ---- section 7.2


@broken(kills="7.2-server-side-state", because="characters [0-9, ]+ of the identifier go with")
class CarriesItsPayload(ConfirmationGate):
    """Issues tokens that carry their lifetime and scope, signed."""

    def stored_tokens(self) -> Any:
        return self.signed_tokens()


@broken(kills="7.2-server-side-state", because=r"identifiers of \[[0-9]+\] and of \[[0-9]+\]")
class CarriesTheOperation(StoredTokens):
    """Appends the operation's name, so that nobody has to look it up."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        token = secrets.token_urlsafe(24) + record.operation
        issued = replace(record, id=record.type.prefix + token)
        self.store.add(issued)
        return issued


# ---- sections 2.3 and 7.3


@broken(kills="2.3-payload", because="type that is true of it[^§]*type .?confirmation")
class AlwaysAConfirmation(ConfirmationGate):
    """Calls every token a confirmation token."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        return {**super().status(token, user=user), "type": "confirmation"}


@broken(kills="2.3-payload", because="consumed true[^§]*consumed false")
class NeverConsumed(ConfirmationGate):
    """Always says that a token is not used up."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        return {**super().status(token, user=user), "consumed": False}


@broken(kills="2.3-payload", because='expires_at that is true of it[^§]*expires_at "20')
class TellsAnotherEnd(ConfirmationGate):
    """Shows an expiry that the client was not told."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        shown = super().status(token, user=user)
        return {**shown, "expires_at": shown["issued_at"]}


@broken(kills="7.3-status", because="one that is used[^§]*two different states[^§]*active")
class ActiveAfterUse(ConfirmationGate):
    """Tells the state that a token was issued with."""

    def state_of(self, record: TokenRecord) -> str:
        return "active"


@broken(kills="7.3-status", because="that was asked about[^§]*TOKEN_ALREADY_USED")
class AskingUsesItUp(ConfirmationGate):
    """Counts a question about a token as its use."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        given: Mapping[str, Any] = super().status(token, user=user)
        self.store.use(token)
        return {**given, "status": "active"}
