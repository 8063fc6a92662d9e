"""A gateway that is right alone, and wrong beside another process over the same state."""

from __future__ import annotations

import copy

from pytest_mcp_approval.reference_server.gateway_consent.consent import Decisions
from pytest_mcp_approval.reference_server.gateway_consent.vault import Record
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant


@mutant(
    kills="gateway_consent/remember",
    because="at the second replica, after a remembered[^§]*CONSENT_REQUIRED",
)
@in_extension
class ReadsDecisionsOnce(Decisions):
    """Reads what is remembered about a client once, and keeps it in memory."""

    @property
    def read(self) -> dict[tuple[str, str], Record]:
        found: dict[tuple[str, str], Record] = self.__dict__.setdefault("_read", {})
        return found

    def record(self, caller: str, app_id: str) -> Record:
        if (caller, app_id) not in self.read:
            self.read[caller, app_id] = super().record(caller, app_id)
        return copy.deepcopy(self.read[caller, app_id])

    def save_record(self, record: Record, caller: str, app_id: str) -> None:
        self.read[caller, app_id] = copy.deepcopy(record)
        super().save_record(record, caller, app_id)

    def reset(self) -> None:
        self.read.clear()
        super().reset()
