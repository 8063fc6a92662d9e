"""Servers whose audit log lacks what happened, and whose status does not tell it."""

from __future__ import annotations

from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import Event, TokenCode
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    TokenRecord,
)
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
