"""Servers that refuse in the wrong form: section 4.10."""

from __future__ import annotations

import traceback
from contextvars import ContextVar
from typing import Any

from mcp.shared.exceptions import MCPError

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import having, mutant


class OtherErrors(Sep2672Extension):
    """A server whose refusals are changed before they go out."""

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        error = refusal.to_error()
        self.change(error, refusal)
        raise MCPError(error["code"], error["message"], error["data"])

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        raise NotImplementedError


# ---- the code


@mutant(kills="sep2672/4.10-code", because="isError")
class AnswersWithAResult(Sep2672Extension):
    """Refuses with a tool result that says isError."""

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        text = f"{refusal.reason.value}: {refusal.message}"
        return {"content": [{"type": "text", "text": text}], "isError": True}


@mutant(kills="sep2672/4.10-code", because="error -32000")
class UsesAnotherCode(OtherErrors):
    """Refuses with the code -32000."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        error["code"] = -32000


@mutant(kills="sep2672/4.10-code", because="credential_already_enrolled\n(.*\n)*.*error -32602")
class CallsARefusedEnrolmentInvalidParams(OtherErrors):
    """Refuses enrolments with the code for invalid params."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        if refusal.reason in (Reason.CREDENTIAL_ALREADY_ENROLLED, Reason.VERIFICATION_FAILED):
            error["code"] = -32602


# ---- the reason


@mutant(kills="sep2672/4.10-reason", because="error.data.reason, one of[^§]*error -32001")
class GivesTheReasonInTheMessageOnly(OtherErrors):
    """Says the reason in the message only."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        error["message"] = f"{refusal.reason.value}: {refusal.message}"
        error["data"] = None


@mutant(kills="sep2672/4.10-reason", because="signature-verification-failed")
class SpellsReasonsWithHyphens(OtherErrors):
    """Spells reasons with hyphens."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        error["data"]["reason"] = refusal.reason.value.replace("_", "-")


@mutant(kills="sep2672/4.10-reason", because="authenticator_not_allowed")
class InventsAReason(OtherErrors):
    """Has a name of its own for one of the reasons."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        if refusal.reason is Reason.AUTHENTICATOR_CLASS_MISMATCH:
            error["data"]["reason"] = "authenticator_not_allowed"


_LANGUAGE: ContextVar[str] = ContextVar("language", default="")


class _KnowsTheLanguage(ReferenceServer):
    async def middleware(self, ctx: Any, call_next: Any) -> Any:
        _LANGUAGE.set(getattr(ctx.request, "headers", {}).get("accept-language", ""))
        return await super().middleware(ctx, call_next)


class _Translates(OtherErrors):
    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        language = _LANGUAGE.get().partition("-")[0].strip()
        if language not in ("", "*", "en"):
            error["data"]["reason"] = f"{refusal.reason}_{language[:2]}"


@mutant(kills="sep2672/4.10-reason", because='Accept-Language: de[^§]*"reason":"[a-z_]+_de"')
def LocalisesReasons(**options: Any) -> ReferenceServer:  # noqa: N802
    """Has other reasons in every language but English."""
    return having(_Translates, {**options, "server_class": _KnowsTheLanguage})


# ---- the message


@mutant(
    kills="sep2672/4.10-message", because='without a stack trace[^§]*"reason":"missing_evidence"'
)
class SendsAStackTrace(OtherErrors):
    """Puts the stack trace into the message."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        error["message"] = "".join(traceback.format_exception(refusal))


@mutant(
    kills="sep2672/4.10-message", because='without a stack trace[^§]*"reason":"missing_evidence"'
)
class SendsAStackTraceBesideIt(OtherErrors):
    """Puts the stack trace into data, for debugging."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        error["data"]["stack"] = "Error: refused\n    at verify (/srv/app/gate.js:42:11)"


@mutant(
    kills="sep2672/4.10-message", because='a text that is not empty[^§]*"reason":"missing_evidence"'
)
class SaysNothing(OtherErrors):
    """Refuses with an empty message."""

    def change(self, error: dict[str, Any], refusal: ApprovalRefusal) -> None:
        error["message"] = " "


@mutant(
    kills="sep2672/4.10-message",
    because='without key material[^§]*"reason":"signature_verification_failed"',
)
class ShowsTheStoredKey(ApprovalGate):
    """Shows the stored public key where a signature does not verify."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_10_signature(attempt)
        except ApprovalRefusal as refusal:
            key = words.base64url_encode(self.credential_of(attempt).public_key)
            raise ApprovalRefusal(refusal.reason, f"{refusal.message} (key {key})") from None


@mutant(
    kills="sep2672/4.10-message",
    because='malformed\n.*without a stack trace[^§]*"reason":"signature_verification_failed"',
)
class TracesWhatItDidNotExpect(Sep2672Extension):
    """Sends a stack trace only where verification met something it could not read."""

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        if refusal.__cause__ is not None and "cannot be read" in refusal.message:
            trace = "".join(traceback.format_exception(refusal))
            refusal = ApprovalRefusal(refusal.reason, trace)
        return super().refuse(refusal)
