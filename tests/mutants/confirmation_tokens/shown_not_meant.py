"""Servers that show something else than they do."""

from __future__ import annotations

import base64
import datetime
import secrets
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.minting import (
    StoredTokens,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    OperationCall,
    RedemptionAttempt,
    TokenRecord,
    TokenState,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from tests.mutants.confirmation_tokens.parts import broken


class Showing(ConfirmationGate):
    """Shows other details in the first answer; no mutant by itself."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        raise NotImplementedError

    def required_details(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        return super().required_details(call, record) | self.other(call, record)


@broken(kills="3.3-required-response", because='error.details.danger_level[^§]*"destructive"')
class OneLevelForAll(Showing):
    """Shows every level as destructive."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        return {"danger_level": words.Danger.DESTRUCTIVE.word}


@broken(kills="3.3-required-response", because='error.details.operation[^§]*"delete_repo')
class TheOperationOfTheLastCall(Showing):
    """Shows the operation that was asked for before."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        last = self.__dict__.get("last", call.operation.name)
        self.__dict__["last"] = call.operation.name
        return {"operation": last}


@broken(kills="4.1-not-expired", because="ms after it expired[^§]*operation run")
class TellsAShorterLife(Showing):
    """Shows an expiry of one minute, and keeps the token for its whole life."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        return {"expires_at": self.instant(record.issued_at + datetime.timedelta(minutes=1))}


@broken(kills="3.3-required-response", because="expires_at has no time zone", warned=True)
class AnExpiryOfItsOwnZone(Showing):
    """Writes the expiry without its zone."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        assert record.expires_at is not None
        return {"expires_at": record.expires_at.replace(tzinfo=None).isoformat()}


@broken(kills="4.1-not-expired", because=r"as at issue\n20")
class TheRefusalTellsAnotherExpiry(ConfirmationGate):
    """Tells the end of the tolerance as the expiry when it refuses."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            assert record.expires_at is not None
            refusal.details["expired_at"] = self.instant(self.last_instant(record.expires_at))
            raise


@broken(kills="6.3-no-parameter-values", because=r"\(used\)[^§]*a refusal with acme")
class ReplaysWithTheCall(ConfirmationGate):
    """Says for which call a token was used already."""

    def check_not_consumed(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_consumed(record, attempt)
        except TokenRefusal as refusal:
            refusal.message += f" for {dict(attempt.params)}"
            raise


@broken(kills="6.3-no-parameter-values", because=r"\(unknown\)[^§]*a refusal with acme")
class UnknownTokensWithTheCall(ConfirmationGate):
    """Says for which call it looked for a token."""

    def check_exists(self, record: TokenRecord | None, attempt: RedemptionAttempt) -> None:
        try:
            super().check_exists(record, attempt)
        except TokenRefusal as refusal:
            shown = {k: v for k, v in attempt.params.items() if k != words.CONFIRMATION_MEMBER}
            refusal.details["params"] = shown
            raise


@broken(kills="3.2-sha256", because=r"then a different one\n(\w+… \(64 characters\)), \1, \1")
class ShowsTheHashOfTheOperation(ConfirmationGate):
    """Shows a hash in which no parameters are."""

    def status(self, token: Any, *, user: str) -> dict[str, Any]:
        told = super().status(token, user=user)
        return {**told, "params_hash": words.params_hash(told["operation"], {}, [])}


@broken(
    kills="6.3-no-parameter-values",
    because=r"\(other parameters\)[^§]*a refusal with acme[^§]*widgets",
)
class TellsWhatWasConfirmed(ConfirmationGate):
    """Explains a mismatch by the call that the token was issued for."""

    def issue(self, kind: words.TokenType, call: OperationCall) -> TokenRecord:
        record = super().issue(kind, call)
        self.store.__dict__.setdefault("calls", {})[record.id] = dict(call.params)
        return record

    def mismatch(self, attempt: RedemptionAttempt) -> TokenRefusal:
        refusal = super().mismatch(attempt)
        refusal.details["confirmed"] = self.store.__dict__.get("calls", {}).get(attempt.token)
        return refusal


@broken(kills="6.3-no-internals", because="a token that says[^§]*tokens.db")
class ATokenNamesItsStore(StoredTokens):
    """A token says in base64 which file keeps it."""

    def identifier(self) -> str:
        plain = b"/var/lib/tokens.db:" + secrets.token_bytes(24)
        return base64.urlsafe_b64encode(plain).decode().rstrip("=")


@broken(kills="7.2-server-side-state", because="characters 1 of the identifier go with")
class TheLevelInFront(StoredTokens):
    """Writes the danger level in front of the random part, in one digit."""

    def issue(self, record: TokenRecord) -> TokenRecord:
        level = int(words.Danger.read(record.danger_level))
        issued = replace(record, id=f"{record.type.prefix}{level}{self.identifier()}")
        self.store.add(issued)
        return issued


# ---- what is told apart


@broken(kills="6.3-one-answer-for-unknown", because="the same twice[^§]*no such kind")
class OtherPrefixesAreToldApart(ConfirmationGate):
    """Says of a token with another prefix that it is of no known kind."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if isinstance(attempt.token, str) and not attempt.token.startswith(words.PREFIXES):
            raise TokenRefusal(words.TokenCode.INVALID, "There is no such kind of token")
        return super().find(attempt)


@broken(kills="6.3-one-answer-for-unknown", because="the same twice[^§]*too long")
class LongTokensAreToldApart(ConfirmationGate):
    """Says of a token that is too long that it is too long."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if isinstance(attempt.token, str) and len(attempt.token) > words.LONGEST:
            raise TokenRefusal(words.TokenCode.INVALID, "The token is too long")
        return super().find(attempt)


@broken(
    kills="3.3-required-response", because=r"asks the same, whatever the parameters", warned=True
)
class TheQuestionOfTheFirstCall(Showing):
    """Keeps the question of each operation when it is first asked, with that call's parameters."""

    def other(self, call: OperationCall, record: TokenRecord) -> dict[str, Any]:
        asked: dict[str, str] = self.__dict__.setdefault("asked", {})
        question = call.operation.describe(call.params)
        return {"confirmation_message": asked.setdefault(call.operation.name, question)}


@broken(kills="6.3-no-parameter-values", because=r"a call that is refused[^§]*a refusal with acme")
class ExpiredTokensWithTheCall(ConfirmationGate):
    """Repeats the question, parameters and all, when a token has expired."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            refusal.details["confirmation_message"] = attempt.operation.describe(attempt.params)
            raise


@broken(
    kills="6.3-no-parameter-values",
    because=r"a call that is refused[^§]*a refusal with measurements",
)
class RefusedPausesWithTheCall(ConfirmationGate):
    """Repeats the call when it refuses a quota token."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        try:
            return super().redeem(attempt)
        except TokenRefusal as refusal:
            if attempt.type is words.TokenType.QUOTA:
                refusal.details["params"] = dict(attempt.params)
            raise


@broken(
    kills="6.3-one-answer-for-unknown",
    because=r"an unknown quota token, then malformed ones[^§]*unknown",
)
class MalformedPausesAreToldApart(ConfirmationGate):
    """Says of what came as a quota token that it is none, if it does not look like one."""

    def find(self, attempt: RedemptionAttempt) -> TokenRecord | None:
        if attempt.type is words.TokenType.QUOTA and not words.is_token(attempt.token):
            raise TokenRefusal(words.TokenCode.INVALID, "That is no token at all")
        return super().find(attempt)


@broken(
    kills="6.2-key-hidden", because=r"an expired token[^§]*an answer that holds the key that tokens"
)
class ExpiredTokensShowTheKey(ConfirmationGate):
    """Shows the key with the refusal of an expired token, to help with finding errors."""

    def check_not_expired(self, record: TokenRecord, attempt: RedemptionAttempt) -> None:
        try:
            super().check_not_expired(record, attempt)
        except TokenRefusal as refusal:
            refusal.details["signed_with"] = self.settings.signing_key
            raise


@broken(kills="4.2-refusal", because="a refusal with [^§]*(?:conf|quota_continue)_")
class ShowsTheTokenThatFits(ConfirmationGate):
    """Helps whoever comes with a wrong token: the refusal has the one for this call."""

    def redeem(self, attempt: RedemptionAttempt) -> TokenRecord:
        try:
            return super().redeem(attempt)
        except TokenRefusal as refusal:
            for one in self.store.records():
                if one.state is TokenState.ACTIVE and one.operation == attempt.operation.name:
                    refusal.details["expected_token"] = one.id
            raise
