"""Servers that refuse, and do not say so as they must."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
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
