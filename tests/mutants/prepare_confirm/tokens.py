"""Servers that take what they did not sign, for what it was not meant."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
    read_payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.records import ConfirmationAttempt
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.settings import (
    PreparationSettings,
    read_settings,
)
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

SIGNATURE = "prepare_confirm/signature"
ACTION = "prepare_confirm/action-bound"
MISSING = "prepare_confirm/missing-token"
NONCE = "prepare_confirm/nonce"
FORMAT = "prepare_confirm/token-format"
KEY = "prepare_confirm/secret-key"
FAILED = "prepare_confirm/failed-execution"
STORED = "prepare_confirm/not-stored"
LOGGED = "prepare_confirm/not-logged"


# ---- signature


@mutant(kills=SIGNATURE, because=r"pipe\|inside[^§]*signature")
@in_extension
class SplitsAtTheFirst(Mint):
    """Takes what follows the first | for the signature."""

    def split(self, token: str) -> tuple[str, str]:
        payload, _, signature = token.partition("|")
        return payload, signature


@mutant(kills=SIGNATURE, because="of the token changed[^§]*success: True")
@in_extension
class ComparesEightCharacters(Mint):
    """Compares eight characters of the signature."""

    def check_signature(self, payload: str, signature: str) -> None:
        if signature[:8] != self.sign(payload)[:8]:
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "the signature is not valid")


@mutant(
    kills=SIGNATURE,
    because="with(out a|an empty) signature[^§]*[1-9][0-9]* done",
)
@in_extension
class TakesUnsigned(Mint):
    """Verifies a signature if there is one."""

    def split(self, token: str) -> tuple[str, str]:
        payload, separator, signature = token.rpartition("|")
        return (payload, signature) if separator else (token, "")

    def check_signature(self, payload: str, signature: str) -> None:
        if signature:
            super().check_signature(payload, signature)


@mutant(kills=SIGNATURE, because="with a plain SHA-256[^§]*done[^§]*[1-9][0-9]* done")
@in_extension
class SignsWithoutAKey(Mint):
    """Hashes the payload and calls it a signature."""

    def sign(self, payload: str) -> str:
        return hashlib.sha256(payload.encode()).hexdigest()

    def mark(self, name: str) -> str:
        return self.sign(name)[:32]


@mutant(kills=SIGNATURE, because="signed with the key 'changeme'[^§]*done[^§]*[1-9][0-9]* done")
@in_extension
class HasAGuessableKey(Mint):
    """Has a key that is in every example."""

    def sign(self, payload: str) -> str:
        return hmac.new(b"changeme", payload.encode(), hashlib.sha256).hexdigest()


@mutant(
    kills=SIGNATURE,
    because="with another force, under the old signature[^§]*done[^§]*[1-9][0-9]* done",
)
@in_extension
class SignsAllButTheFlag(Mint):
    """Leaves the force flag out of what it signs."""

    def sign(self, payload: str) -> str:
        try:
            read = read_payload(payload)
        except ValueError:
            return super().sign(payload)
        data = {name: value for name, value in read.data.items() if name != "force"}
        return super().sign(replace(read, data=data).to_text())


@mutant(
    kills=SIGNATURE, because="after forgeries of it were refused[^§]*already been used", warned=True
)
@in_extension
class LocksTheTokenOut(PreparationGate):
    """Withdraws a token when somebody tries a bad signature on it."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        try:
            return super().verify(operation, given)
        except ConfirmationRefusal as refusal:
            if refusal.reason is TwoStepReason.SIGNATURE:
                try:
                    payload = read_payload(given.rpartition("|")[0])
                except ValueError:
                    raise refusal from None
                self.store.spend(payload.nonce, instant(payload.expires_at))
            raise


@mutant(kills=SIGNATURE, because="of the token changed[^§]*has expired")
@in_extension
class ReadsBeforeItVerifies(PreparationGate):
    """Believes the payload's expiry before it has looked at the signature."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        token = self.check_given(operation, given)
        try:
            claimed = read_payload(self.mint.split(token)[0])
        except ValueError:
            claimed = None
        if claimed is not None and abs(claimed.expires_at - self.now().timestamp()) > 900:
            raise ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired")
        return super().verify(operation, given)


# ---- action-bound


@mutant(
    kills=ACTION, because="with a token of prepare_[^§]*wrong action[^§]*done[^§]*[1-9][0-9]* done"
)
@in_extension
class LooksAtNoAction(PreparationGate):
    """Takes any token at any tool whose data fit."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        fits = "username" in payload.data if operation.name == "delete_user" else True
        if not fits or ("project_ids" not in payload.data and operation.name != "delete_user"):
            super().check_action(operation, payload)


@mutant(kills=ACTION, because="had refused it[^§]*already been used")
@in_extension
class BurnsAtTheWrongTool(PreparationGate):
    """Uses a token up at a tool that it is not for."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        try:
            super().check_action(operation, payload)
        except ConfirmationRefusal:
            self.store.spend(payload.nonce, instant(payload.expires_at))
            raise


# ---- missing-token


@mutant(
    kills=MISSING,
    because="exception that escaped[^§]*KeyError",
)
@in_extension
class RaisesWithoutAToken(PreparationGate):
    """Lets an exception through when there is no token."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        if "confirmation_token" not in arguments:
            return {"success": False, "message": "KeyError: 'confirmation_token'"}
        return super().confirm(operation, arguments, caller)


@mutant(kills=MISSING, because="with a (number|list|object)[^§]*-32603")
@in_extension
class FailsOnOtherTypes(PreparationGate):
    """Takes whatever it gets for a text."""

    def check_given(self, operation: TwoStepOperation, given: Any) -> str:
        return given if given else super().check_given(operation, given)


@mutant(
    kills=MISSING,
    because="with the arguments of prepare_[^§]*no token[^§]*done[^§]*[1-9][0-9]* done",
)
@in_extension
class DoesWithoutAToken(PreparationGate):
    """Takes the arguments of prepare for a confirmation."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        named = {"project_ids", "username"} & set(arguments)
        if named and "confirmation_token" not in arguments:
            preview = self.prepare(operation, arguments, caller)
            arguments = {"confirmation_token": preview["confirmation_token"]}
        return super().confirm(operation, arguments, caller)


# ---- nonce


@mutant(kills=NONCE, because="12 different tokens[^§]*1 different ones")
@in_extension
class SignsTheSameAgain(Mint):
    """Has no nonce but a constant."""

    def nonce(self) -> str:
        return "0" * 32


@mutant(kills=NONCE, because="second of two tokens[^§]*already been used")
@in_extension
class SpendsByContent(PreparationGate):
    """Remembers what was confirmed in place of the token."""

    def spend(self, payload: Payload) -> None:
        content = f"{payload.action} {json.dumps(payload.data)} {payload.issued_at}"
        super().spend(replace(payload, nonce=content))


# ---- token-format


@mutant(kills=FORMAT, because="expires_at as shown[^§]*expires_at [0-9]+-[0-9]+")
@in_extension
class ShowsAnotherEnd(PreparationGate):
    """Shows an end that is not the token's."""

    def preview(
        self, operation: TwoStepOperation, draft: Any, token: str, expires_at: datetime
    ) -> Any:
        return super().preview(operation, draft, token, expires_at + timedelta(minutes=1))


@mutant(kills=FORMAT, because=r"a token payload\|signature[^§]*got no JSON")
@in_extension
class WrapsThePayload(Mint):
    """Puts the payload into base64."""

    def issue(self, *arguments: Any) -> tuple[str, Payload]:
        token, payload = super().issue(*arguments)
        text, _, signature = token.rpartition("|")
        return f"{base64.b64encode(text.encode()).decode()}|{signature}", payload

    def split(self, token: str) -> tuple[str, str]:
        wrapped, signature = super().split(token)
        try:
            return base64.b64decode(wrapped, validate=True).decode(), signature
        except ValueError:
            raise ConfirmationRefusal(TwoStepReason.SIGNATURE, "malformed, no signature") from None


# ---- secret-key


@mutant(kills=KEY, because="neither has a key[^§]*success: True")
class HasABuiltInKey(PrepareConfirmExtension):
    """Falls back on a constant."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        return read_settings({"secret_key": "the key of every server of this kind", **settings})


@mutant(kills=KEY, because="told an empty key[^§]*does not start[^§]*action: preview")
class TakesAnEmptyKey(PrepareConfirmExtension):
    """Starts with an empty key."""

    def read_settings(self, settings: Mapping[str, Any]) -> PreparationSettings:
        if settings.get("secret_key") == "":
            return replace(read_settings({**settings, "secret_key": None}), secret_key="")
        return read_settings(settings)


@mutant(kills=KEY, because="with the same key[^§]*signature is not valid")
@in_extension
class OverlooksItsKey(Mint):
    """Has a random key whatever it was given."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None)


@mutant(kills=KEY, because="a server with another key[^§]*done[^§]*[1-9][0-9]* done")
@in_extension
class KnowsTwoKeysApartByLength(Mint):
    """Derives its key from the length of the secret, and that rounded."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else "x" * (len(secret) // 32 * 32))


# ---- failed-execution


@mutant(kills=FAILED, because="answer is lost[^§]*nothing done twice[^§]*proj-1")
@in_extension
class TriesAgain(PreparationGate):
    """Retries what failed, which may have been done."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure and "project_ids" in payload.data:
            found = self.store.projects(payload.data["project_ids"])
            versions = [project.version for project in found.values()]
            data = {**payload.data, "project_ids": list(found), "versions": versions}
            outcome = super().execute(operation, replace(payload, data=data), arguments)
        return outcome


@mutant(
    kills=FAILED,
    because="the back end fails[^§]*success false, and a message[^§]*success: True",
)
@in_extension
class ClaimsSuccess(PreparationGate):
    """Says that it is done, whatever the back end says."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        return {**super().tell(operation, payload, outcome), "success": True}


@mutant(
    kills=FAILED, because="fails at the second[^§]*counts what was really done[^§]*[1-9][0-9]* done"
)
@in_extension
class CountsWhatItTried(PreparationGate):
    """Counts everything that it tried as done."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        told.pop("unknown", None)
        if "closed_count" in told:
            told["closed_count"] = len(payload.data["project_ids"])
        return told


@mutant(kills=FAILED, because="still under way[^§]*success: True")
@in_extension
class SpendsAfterwards(Renews):
    """Uses the token up when everything is done, which may take long."""

    def spend(self, payload: Payload) -> None:
        if self.store.is_spent(payload.nonce):
            super().spend(payload)

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        self.store.spend(payload.nonce, instant(payload.expires_at))
        return outcome


# ---- not-stored


@mutant(kills=STORED, because="prepared[^§]*the whole token and")
@in_extension
class KeepsAttemptsWhole(PreparationGate):
    """Has a table of all attempts, with their tokens."""

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        attempt = ConfirmationAttempt(self.now(), tool, outcome, str(token), caller)
        self.store.add_attempt(attempt)


@mutant(kills=STORED, because="a token of [a-z_]+, used[^§]*the whole token")
@in_extension
class KeepsUsedTokensWhole(PreparationGate):
    """Recognises used tokens by their text, and stores them for that."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answer = super().confirm(operation, arguments, caller)
        if answer["success"]:
            self.store.spend(arguments["confirmation_token"], self.now() + timedelta(hours=1))
        return answer


@mutant(kills=STORED, because="prepared[^§]*store without the token[^§]*the token's signature")
@in_extension
class KeepsSignatures(PreparationGate):
    """Keeps the signatures of what it has issued, to look them up."""

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        super().audit(tool, outcome, token, caller)
        signature = str(token).rpartition("|")[2]
        attempt = ConfirmationAttempt(self.now(), tool, "signature", signature, caller)
        self.store.add_attempt(attempt)


# ---- not-logged


@mutant(kills=LOGGED, because="the whole token in the server's log")
@in_extension
class LogsTheToken(PreparationGate):
    """Writes every attempt into the log, with its token."""

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        logging.getLogger(__name__).info("%s: %s with %s", tool, outcome, token)
        super().audit(tool, outcome, token, caller)


@mutant(kills=LOGGED, because="used[^§]*the whole token in the server's log")
class LogsTheCall(PrepareConfirmExtension):
    """Logs the arguments of every call as JSON."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        logging.getLogger(__name__).warning("tools/call %s %s", name, json.dumps(arguments))
        return super().call(name, arguments, caller)
