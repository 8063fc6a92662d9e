"""Servers that refuse, and do not say so as they must."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovedCall
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from tests.mutants.registry import mutant

REASON = "sep2672/4.10-reason"


class _Refuses(Sep2672Extension):
    """Writes a refusal of its own for some reasons."""

    others: tuple[Reason, ...] = ()
    code = words.ERROR_CODE

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        from mcp.shared.exceptions import MCPError

        if refusal.reason in self.others:
            raise MCPError(self.code, str(refusal), self.written(refusal))
        return super().refuse(refusal)

    def written(self, refusal: ApprovalRefusal) -> Any:
        return {"reason": refusal.reason.value}


ENROLMENT = (
    Reason.NO_PENDING_ENROLLMENT,
    Reason.VERIFICATION_FAILED,
    Reason.CREDENTIAL_ALREADY_ENROLLED,
)


@mutant(kills=REASON, because="error -32001")
class EnrolsWithoutReasons(_Refuses):
    """Gives no reason where it refuses an enrolment."""

    others = ENROLMENT

    def written(self, refusal: ApprovalRefusal) -> Any:
        return None


@mutant(kills=REASON, because="error -32001")
class ReasonsInAList(_Refuses):
    """Gives the reason of a refused call as a list of one."""

    others = tuple(one for one in Reason if one not in ENROLMENT)

    def written(self, refusal: ApprovalRefusal) -> Any:
        return {"reason": [refusal.reason.value]}


class _SaysOtherwise(ApprovalGate):
    """Gives another reason for some refusals of a call."""

    instead: ClassVar[Mapping[Reason, Reason]] = {}

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> ApprovedCall:
        try:
            return super().verify(user, tool, arguments, meta)
        except ApprovalRefusal as refusal:
            reason = self.instead.get(refusal.reason, refusal.reason)
            raise ApprovalRefusal(reason, refusal.message) from refusal


@mutant(kills="sep2672/4.8-11-counter", because='"reason":"signature_verification_failed"')
class CallsRegressionsBadSignatures(_SaysOtherwise):
    """Says signature_verification_failed of a counter that falls, as its library does."""

    instead: ClassVar[Mapping[Reason, Reason]] = {
        Reason.SIGNATURE_COUNTER_REGRESSION: Reason.SIGNATURE_VERIFICATION_FAILED
    }


@mutant(kills="sep2672/4.8-12-argument-hash", because='"reason":"signature_verification_failed"')
class CallsOtherArgumentsBadSignatures(_SaysOtherwise):
    """Says signature_verification_failed of arguments that were not approved."""

    instead: ClassVar[Mapping[Reason, Reason]] = {
        Reason.ARGUMENT_HASH_MISMATCH: Reason.SIGNATURE_VERIFICATION_FAILED
    }


@mutant(kills="sep2672/4.8-07-challenge-tool", because='"reason":"challenge_unknown"')
class FindsNoChallengeOfAnotherTool(_SaysOtherwise):
    """Looks a challenge up by its id and its tool, and does not know that of another one."""

    instead: ClassVar[Mapping[Reason, Reason]] = {
        Reason.CHALLENGE_WRONG_TOOL: Reason.CHALLENGE_UNKNOWN
    }


@mutant(kills="sep2672/4.8-09-class", because='"reason":"unknown_credential"')
class FindsNoCredentialOfAnotherClass(_SaysOtherwise):
    """Looks a credential up among the eligible ones, and does not know any other."""

    instead: ClassVar[Mapping[Reason, Reason]] = {
        Reason.AUTHENTICATOR_CLASS_MISMATCH: Reason.UNKNOWN_CREDENTIAL
    }


@mutant(kills=REASON, because="with '[a-z_ ]+': error -32001")
class LooksForReasonsInItsWords(Sep2672Extension):
    """Finds the reason of a refusal by looking for its name in what the libraries say of it."""

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        said = next((one for one in Reason if one.value in str(refusal)), refusal.reason)
        return super().refuse(ApprovalRefusal(said, str(refusal)))
