"""Servers on which a failure takes back what had been done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.confirmation_tokens import vocabulary as words
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import (
    TokenCode,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.demonstration import BackendError
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import (
    ConfirmationGate,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.records import (
    AdapterOperation,
    RedemptionAttempt,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from tests.mutants.confirmation_tokens.parts import broken


@broken(kills="5.2-consumed-before-execution", because="one effect at most[^§]*[23] effects")
class RolledBackWithTheOperation(ConfirmationGate):
    """Marks the token in the operation's transaction, which is rolled back when that fails."""

    def perform(
        self, name: str, params: Mapping[str, Any], *, user: str, session: str = ""
    ) -> Mapping[str, Any]:
        try:
            return super().perform(name, params, user=user, session=session)
        except BackendError:
            self.store._tokens.change(params.get(words.CONFIRMATION_MEMBER), use_count=0)
            raise


@broken(kills="4.1-not-consumed", because="a token for time[^§]*operation run")
class TogglesTheMark(ConfirmationGate):
    """Turns the mark of use over with each attempt."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        if refusal.code == TokenCode.ALREADY_USED:
            self.store._tokens.change(attempt.token, use_count=0)


@broken(kills="5.3-revoked", because="a token that was revoked[^§]*operation run")
class AnAttemptTakesTheRevocationBack(ConfirmationGate):
    """Removes the mark of a revocation when it has refused the token once."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        if words.is_token(attempt.token):
            self.store._tokens.change(attempt.token, revoked_because="")


@broken(kills="5.2-consumed-before-execution", because="one effect at most[^§]*2 effects")
class TriesFailuresAgain(ConfirmationGate):
    """Runs an operation a second time when it fails, on the same token."""

    def execute(self, operation: AdapterOperation, params: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return super().execute(operation, params)
        except BackendError:
            return super().execute(operation, params)


@broken(
    kills="6.1-replay",
    because=r"a token that was used, after an attempt with[^§]*success, operation run",
)
class GivesBackWhatDoesNotFit(ConfirmationGate):
    """Marks a token, and takes the mark off again if the call does not fit, also an older one."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        if refusal.code == TokenCode.SCOPE_MISMATCH:
            self.store._tokens.change(attempt.token, use_count=0)


@broken(
    kills="5.4-session-bound",
    because=r"the first of two session tokens, for time[^§]*success, operation run",
)
class ARefusalGivesAUseBack(ConfirmationGate):
    """Takes one use off a session token's count with each refusal, as if it had counted it."""

    def rejected(self, attempt: RedemptionAttempt, refusal: TokenRefusal) -> None:
        super().rejected(attempt, refusal)
        if words.is_token(attempt.token):
            self.store._tokens.change(
                attempt.token,
                lambda token: (token.max_uses > 1) & (token.use_count > 0),
                use_count=lambda token: token.use_count - 1,
            )
