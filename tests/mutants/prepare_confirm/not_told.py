"""Servers that keep quiet of what they owe, or tell, log and store what they must not."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.records import ConfirmationAttempt
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.registry import mutant

CONFIRM = "prepare_confirm/confirm-executes"
FAILED = "prepare_confirm/failed-execution"
EXPIRED = "prepare_confirm/expired"
LOGGED = "prepare_confirm/not-logged"
STORED = "prepare_confirm/not-stored"
logger = logging.getLogger(__name__)


@mutant(kills=FAILED, because="and a message[^§]*message: ; nothing done")
@in_extension
class SaysNothingWhenItFails(PreparationGate):
    """Has no message when the back end fails."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        return {**told, "message": ""} if outcome.failure else told


@mutant(kills=CONFIRM, because="counts what was really done[^§]*closed_count: 2[^§]*1 done")
@in_extension
class CountsWhatHasChanged(PreparationGate):
    """Leaves alone what has changed, and counts it as done."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        changed = [one for one, why in outcome.left_alone.items() if why.startswith("changed")]
        rest = {one: why for one, why in outcome.left_alone.items() if one not in changed}
        claimed = replace(outcome, done=[*outcome.done, *changed], left_alone=rest)
        return super().tell(operation, payload, claimed)


@mutant(
    kills=CONFIRM,
    because="not among what was done[^§]*deleted_count: 1, project_ids: ..proj-1., .proj-2.",
)
@in_extension
class NamesWhatWasAsked(PreparationGate):
    """Counts truly, and names as done everything that it was asked for."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if "project_ids" in told:
            told["project_ids"] = list(payload.data["project_ids"])
        return told


@mutant(kills=EXPIRED, because="its words do not say expired", warned=True)
@in_extension
class GivesNoReason(PreparationGate):
    """Answers every refusal with the same words, which say nothing."""

    def refuse(self, refusal: ConfirmationRefusal) -> dict[str, Any]:
        return {**super().refuse(refusal), "message": "Confirmation failed"}


class _SaysUnsigned(PreparationGate):
    """Says that the signature is not valid where something else is wrong."""

    hidden: TwoStepReason

    def refuse(self, refusal: ConfirmationRefusal) -> dict[str, Any]:
        if refusal.reason is self.hidden:
            refusal = ConfirmationRefusal(TwoStepReason.SIGNATURE, "the signature is not valid")
        return super().refuse(refusal)


@mutant(
    kills="prepare_confirm/action-bound",
    because="with a token of prepare_close_projects[^§]*signature is not valid[^§]*in other words",
)
@in_extension
class BlamesTheSignature(_SaysUnsigned):
    """Says at the wrong tool that the signature is not valid."""

    hidden = TwoStepReason.WRONG_ACTION


@mutant(
    kills="prepare_confirm/one-time",
    because="the second time[^§]*signature is not valid[^§]*in other words",
)
@in_extension
class CallsUsedUnsigned(_SaysUnsigned):
    """Says of a used token that its signature is not valid."""

    hidden = TwoStepReason.USED


@mutant(kills=LOGGED, because="prepared[^§]*the whole token in the server's log")
@in_extension
class LogsItsPreviews(PreparationGate):
    """Logs the answers of prepare."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        answer = super().prepare(operation, arguments, caller)
        logger.info("answered %r", answer)
        return answer


@mutant(kills=LOGGED, because="refused for its signature[^§]*the whole token in the server's log")
@in_extension
class LogsWhatItRefuses(PreparationGate):
    """Logs a token that it refuses, to find out later why."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        try:
            return super().verify(operation, given)
        except ConfirmationRefusal as refusal:
            logger.warning("refused %s: %s", given, refusal)
            raise


class _Stores(PreparationGate):
    """Keeps tokens in the table of attempts."""

    def kept(self, outcome: str, token: str) -> str | None:
        raise NotImplementedError

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        super().audit(tool, outcome, token, caller)
        kept = self.kept(outcome, str(token))
        if kept is not None:
            attempt = ConfirmationAttempt(self.now(), tool, outcome, kept, caller)
            self.store.add_attempt(attempt)


@mutant(kills=STORED, because="prepared[^§]*the whole token and the token's signature in what")
@in_extension
class StoresTokensAsTheyPrint(_Stores):
    """Stores tokens as a literal of its language, with quotes and backslashes."""

    def kept(self, outcome: str, token: str) -> str | None:
        return token.replace("\\", "\\\\").replace('"', '\\"')


@mutant(
    kills=EXPIRED,
    because="1 s after the token expired[^§]*signature is not valid[^§]*in other words",
)
@in_extension
class CallsExpiredUnsigned(_SaysUnsigned):
    """Says of an expired token that its signature is not valid."""

    hidden = TwoStepReason.EXPIRED


@mutant(
    kills="prepare_confirm/signature",
    because="of the token changed[^§]*the token has expired .refused, but in other words",
)
@in_extension
class CallsForgedExpired(PreparationGate):
    """Says of a forged token that it has expired."""

    def refuse(self, refusal: ConfirmationRefusal) -> dict[str, Any]:
        if refusal.reason is TwoStepReason.SIGNATURE:
            refusal = ConfirmationRefusal(TwoStepReason.EXPIRED, "the token has expired")
        return super().refuse(refusal)


@mutant(
    kills="prepare_confirm/confirm-appeared",
    because="something new had come[^§]*the answer names proj-1, proj-2, proj-5",
)
@in_extension
class NamesWhatCameSince(PreparationGate):
    """Leaves alone what came since the preview, and names it as done."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["known"] = set(self.store.projects())
        return super().prepare(operation, arguments, caller)

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if "project_ids" in told:
            new = [one for one in self.store.projects() if one not in self.__dict__["known"]]
            told["project_ids"] = [*told["project_ids"], *new]
        return told


@mutant(kills=EXPIRED, because="1 s after the token expired: a tool error", warned=True)
class RefusesWithToolErrors(PrepareConfirmExtension):
    """Tells a refusal as a tool error, in words alone."""

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        if answer.get("message", "").startswith("Confirmation failed"):
            said = [{"type": "text", "text": answer["message"]}]
            return {"content": said, "isError": True}
        return super().result(answer)


@mutant(
    kills="prepare_confirm/not-stored",
    # Where a token ends within a group of four, its signature alone is found too.
    because="a token of[^§]*the whole token( and the token's signature)? in what the server keeps",
)
@in_extension
class StoresTokensInBase64(_Stores):
    """Stores tokens in base64, as bytes are stored."""

    def kept(self, outcome: str, token: str) -> str | None:
        return base64.b64encode(token.encode()).decode()


@mutant(kills="prepare_confirm/not-stored", because="without the token\nthe token's signature in")
@in_extension
class StoresSignaturesAsBytes(_Stores):
    """Stores the bytes of a token's signature in base64, to find it again."""

    def kept(self, outcome: str, token: str) -> str | None:
        try:
            return base64.b64encode(bytes.fromhex(token.rpartition("|")[2])).decode()
        except ValueError:
            return None


@mutant(
    kills="prepare_confirm/not-stored", because="when the back end fails[^§]*the whole token and"
)
@in_extension
class KeepsWhatFailedForLater(_Stores):
    """Stores the token of a confirmation that the back end failed, to try again."""

    def kept(self, outcome: str, token: str) -> str | None:
        return token if outcome.startswith("not all done") else None


@mutant(
    kills="prepare_confirm/not-stored", because="refused at another tool[^§]*the whole token and"
)
@in_extension
class KeepsWhatCameToTheWrongTool(_Stores):
    """Stores a token that came to the wrong tool, which may still be used at the right one."""

    def kept(self, outcome: str, token: str) -> str | None:
        return token if outcome.endswith(TwoStepReason.WRONG_ACTION) else None


class _Logs(PreparationGate):
    """Logs tokens in some form, on some occasions."""

    def logged(self, outcome: str, token: str) -> str | None:
        raise NotImplementedError

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        super().audit(tool, outcome, token, caller)
        logged = self.logged(outcome, str(token))
        if logged is not None:
            logger.info("%s: %s", tool, logged)


@mutant(
    kills="prepare_confirm/not-logged", because="a token of[^§]*the whole token in the server's log"
)
@in_extension
class LogsTokensAsInAddresses(_Logs):
    """Logs tokens as a query string has them."""

    def logged(self, outcome: str, token: str) -> str | None:
        return urlencode({"confirmation_token": token})


@mutant(
    kills="prepare_confirm/not-logged",
    because="a token of[^§]*the whole token( and the token's signature)? in the server's log",
)
@in_extension
class LogsTokensInBase64(_Logs):
    """Logs tokens in base64, so that they fit on a line."""

    def logged(self, outcome: str, token: str) -> str | None:
        return base64.b64encode(token.encode()).decode()


@mutant(
    kills="prepare_confirm/not-logged", because="when the back end fails[^§]*in the server's log"
)
@in_extension
class LogsWhatFailed(_Logs):
    """Logs the token of a confirmation that the back end failed, for whoever looks into it."""

    def logged(self, outcome: str, token: str) -> str | None:
        return token if outcome.startswith("not all done") else None


@mutant(
    kills="prepare_confirm/not-logged", because="refused at another tool[^§]*in the server's log"
)
@in_extension
class LogsWhatCameToTheWrongTool(_Logs):
    """Logs a token that came to the wrong tool, which may still be used at the right one."""

    def logged(self, outcome: str, token: str) -> str | None:
        return token if outcome.endswith(TwoStepReason.WRONG_ACTION) else None


@mutant(
    kills="prepare_confirm/failed-execution",
    because="the back end fails[^§]*another part says success",
)
class SaysDoneInTheText(PrepareConfirmExtension):
    """Says in the text of an answer that it is done, whatever the members beside it say."""

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        result = super().result(answer)
        if "closed_count" in answer or "deleted_count" in answer:
            said = {"success": True, "message": "Done"}
            result["content"] = [{"type": "text", "text": json.dumps(said)}]
        return result


@mutant(
    kills="prepare_confirm/failed-execution",
    because="confirm_delete_projects, and the back end[^§]*deleted_count: 2",
)
@in_extension
class CountsTheTries(PreparationGate):
    """Counts how many things it tried to delete."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if outcome.failure and "deleted_count" in told:
            told["deleted_count"] = len(payload.data.get("project_ids", ("the user",)))
            told.pop("unknown", None)
        return told


@mutant(
    kills="prepare_confirm/confirm-executes", because="first entry twice[^§]*the answer counts 3"
)
@in_extension
class DoesItAsOftenAsNamed(Renews):
    """Shows what is named twice once, and does it twice."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        asked = self.__dict__.setdefault("asked", {})
        asked[self.mint.open(token).nonce] = self.__dict__.get("ids")
        return token, expires_at

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["ids"] = arguments.get("project_ids")
        return super().prepare(operation, arguments, caller)

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = PreparationGate.execute(self, operation, payload, arguments)
        again = list(self.__dict__["asked"].get(payload.nonce) or ())
        for one in payload.data.get("project_ids", ()):
            again.remove(one)
        if again and outcome.complete:
            more = replace(payload, data={**payload.data, "project_ids": again})
            outcome.done += super().execute(operation, more, arguments).done
        return outcome
