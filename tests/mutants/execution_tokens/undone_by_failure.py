"""Servers that take back what was done when something fails afterwards, or never recover."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any, ClassVar

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.families.execution_tokens.vocabulary import ExecutionReason
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    in_extension,
)
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"
CONTENT = "execution_tokens/content-at-execution"
EXPIRY = "execution_tokens/expiry"
HOST = "execution_tokens/scope-host"
SIGNATURE = "execution_tokens/signature"
REPLAY = "execution_tokens/nonce-replay"


@mutant(kills="execution_tokens/nonce-race", because="at once[^§]*[2-8] accepted")
@in_extension
class LosersFreeTheNonce(NonceStore):
    """The third to ask for a nonce meets a lock, and the lock is released with the nonce."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        tries: dict[str, int] = self.__dict__.setdefault("tries", {})
        tries[nonce] = tries.get(nonce, 0) + 1
        if tries[nonce] % 5 == 0:
            self._nonces.remove_all(lambda spent: spent.nonce == nonce.lower())
        return super().spend(nonce, expires_at, now)


class _LooksTooLate(Operator):
    """Executes before one of the checks, and refuses afterwards."""

    looked_at_late: ExecutionReason

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        try:
            return super().execute(token, content, action_type, run, host)
        except ExecutionRefusal as refusal:
            if refusal.reason == self.looked_at_late:
                run(content)
            raise


@mutant(kills="execution_tokens/content-at-execution", because="refused: [^§]*content run 1 time")
@in_extension
class ExecutesFirst(_LooksTooLate):
    """Executes at once, and says afterwards that the content was not allowed."""

    looked_at_late = ExecutionReason.CONTENT


@mutant(kills=REPLAY, because="refused: [^§]*content run 1 time")
@in_extension
class LooksIntoTheLogAfterwards(_LooksTooLate):
    """Executes, and looks into the log when it writes down what was done."""

    looked_at_late = ExecutionReason.REPLAYED


@mutant(kills="execution_tokens/scope-host", because="refused: [^§]*content run 1 time")
@in_extension
class ConnectsFirst(_LooksTooLate):
    """Reaches the host while it still looks whether it may."""

    looked_at_late = ExecutionReason.HOST


@mutant(kills=REPLAY, because="after it was refused for another action[^§]*is spent", warned=True)
@in_extension
class SpendsTheNonceOfAForgery(TokenVerifier):
    """Uses the nonce up before it looks at the signature, so that anybody can spend one."""

    checks: ClassVar[tuple[str, ...]] = (
        "spend_nonce",
        *(name for name in TokenVerifier.checks if name != "spend_nonce"),
    )


@mutant(kills=EXPIRY, because="refused: [^§]*expired[^§]*content run 1 time")
@in_extension
class LooksAtTheClockAfterwards(_LooksTooLate):
    """Executes, and says afterwards that the token had expired."""

    looked_at_late = ExecutionReason.EXPIRED


@mutant(kills=ACTION, because="refused: [^§]*action_not_allowed[^§]*content run 1 time")
@in_extension
class ComparesActionsAfterwards(_LooksTooLate):
    """Executes, and says afterwards that another action was approved."""

    looked_at_late = ExecutionReason.ACTION


@mutant(kills=SIGNATURE, because="refused: [^§]*content run [0-9]+ time")
@in_extension
class VerifiesAfterwards(_LooksTooLate):
    """Executes, and says afterwards that the signature was wrong."""

    looked_at_late = ExecutionReason.SIGNATURE


@mutant(kills=REPLAY, because=f"a spent token, after it came with another content{TAKEN}")
@in_extension
class RollsBackWhatItDidNotDo(TokenVerifier):
    """Takes the nonce out of the log when a check fails, also if an earlier call put it there."""

    def verify(self, data: Any, request: Request) -> Token:
        try:
            return super().verify(data, request)
        except ExecutionRefusal as refusal:
            if refusal.reason != ExecutionReason.REPLAYED and isinstance(self.nonces, NonceStore):
                self.nonces._nonces.remove(str(data.get(words.NONCE)).lower())
            raise


@mutant(kills=REPLAY, because=f"a spent token, after it came with a wrong signature{TAKEN}")
@in_extension
class AForgeryFreesTheNonce(TokenVerifier):
    """Takes the nonce of a forged token out of the log, since it was never spent rightly."""

    def check_signature(self, token: Token, request: Request) -> None:
        try:
            super().check_signature(token, request)
        except ExecutionRefusal:
            if isinstance(self.nonces, NonceStore):
                self.nonces._nonces.remove(token.nonce.lower())
            raise


@mutant(kills=SIGNATURE, because="the honest token, after [^§]*it is blocked", warned=True)
@in_extension
class BlocksTheIdOfAForgery(TokenVerifier):
    """Puts the id of a forged token on a list, and refuses the real one from then on."""

    def check_signature(self, token: Token, request: Request) -> None:
        blocked: set[str] = self.__dict__.setdefault("blocked", set())
        if token.token_id in blocked:
            raise ExecutionRefusal(ExecutionReason.REPLAYED, "token_id: it is blocked")
        try:
            super().check_signature(token, request)
        except ExecutionRefusal:
            blocked.add(token.token_id)
            raise
