"""The gate: a preview and a token first, then what the token says and nothing else.

Every check is a small method, so that each can be broken alone. A refusal does not change a token.
A token is used up before anything is done, so that nothing can happen twice, whatever the back end
does. It belongs to the user who prepared: the document knows no users, but a server with several of
them must. Knows no MCP.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ...families.prepare_confirm import vocabulary as words
from ...families.prepare_confirm.vocabulary import Payload, TwoStepReason
from ..server.clock import Clock
from ..server.secret_text import same
from .back_end import BackEnd
from .operations import OperationDraft, OperationOutcome, TwoStepOperation
from .records import ConfirmationAttempt
from .refusals import ConfirmationRefusal, NothingToPrepareError
from .settings import PreparationSettings
from .store import PreparationStore
from .tokens import Mint, fingerprint

logger = logging.getLogger(__name__)

OWNER = "prepared_by"
"""In the data of a token: whose it is, in a form that only this server can tell."""


class PreparationGate:
    """The gate of one server. Thread-safe."""

    mint_class: type[Mint] = Mint

    def __init__(
        self,
        clock: Clock,
        store: PreparationStore,
        back_end: BackEnd,
        settings: PreparationSettings,
    ) -> None:
        self.clock = clock
        self.store = store
        self.back_end = back_end
        self.settings = settings
        self.mint = self.mint_class(settings.secret_key)

    # ---- prepare

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        """A preview with a token, or why there is none."""
        tool = words.PREPARE + operation.name
        try:
            draft = operation.draft(arguments, self.store)
        except NothingToPrepareError as error:
            self.audit(tool, "nothing to prepare", None, caller)
            return {words.SUCCESS: False, words.MESSAGE: f"Nothing to confirm: {error}"}
        self.clean_up()
        token, expires_at = self.issue(operation, self.owned(draft, caller))
        self.audit(tool, "previewed", token, caller)
        return self.preview(operation, draft, token, expires_at)

    def owned(self, draft: OperationDraft, caller: str) -> OperationDraft:
        return replace(draft, data={**draft.data, OWNER: self.mint.mark(caller)})

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        lifetime = self.settings.lifetime(operation.name)
        token, payload = self.mint.issue(operation.name, draft.data, self.now(), lifetime)
        return token, instant(payload.expires_at)

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, token: str, expires_at: datetime
    ) -> dict[str, Any]:
        return {
            words.ACTION: words.PREVIEW,
            words.OPERATION: operation.verb,
            words.ITEMS: draft.items,
            words.WARNINGS: draft.warnings,
            words.TOKEN: token,
            words.EXPIRES_AT: expires_at.isoformat().replace("+00:00", "Z"),
            words.NEXT_STEP: f"When a person has agreed to this, call {words.CONFIRM}"
            f"{operation.name} with the {words.TOKEN}, before {self.local_time(expires_at)}",
        }

    def local_time(self, moment: datetime) -> str:
        """For a person, in local time."""
        return f"{moment.astimezone(self.settings.time_zone):%H:%M:%S %Z}".rstrip()

    # ---- confirm

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        """What was done, or why nothing was."""
        tool = words.CONFIRM + operation.name
        given = arguments.get(words.TOKEN)
        try:
            self.check_owner(given, caller)
            payload = self.verify(operation, given)
        except ConfirmationRefusal as refusal:
            self.audit(tool, f"refused: {refusal.reason}", given, caller)
            return self.refuse(refusal)
        outcome = self.execute(operation, payload, arguments)
        told = "done" if outcome.complete else f"not all done: {outcome.failure or 'changed'}"
        self.audit(tool, told, given, caller)
        return self.tell(operation, payload, outcome)

    def check_owner(self, given: Any, caller: str) -> None:
        """Before all others: nobody learns anything about another's token. A token that this server
        did not sign has no owner, and `verify` says what is wrong with it."""
        if not isinstance(given, str):
            return
        try:
            owner = self.mint.open(given).data.get(OWNER)
        except ConfirmationRefusal:
            return
        if not same(owner, self.mint.mark(caller)):
            raise ConfirmationRefusal(
                TwoStepReason.SIGNATURE, "the token's signature is not valid for this user"
            )

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        """All the checks, from the cheapest to the one that uses the token up."""
        token = self.check_given(operation, given)
        payload = self.mint.open(token)
        self.check_action(operation, payload)
        self.check_unexpired(payload)
        self.check_remembered(payload)
        self.spend(payload)
        return payload

    def check_given(self, operation: TwoStepOperation, given: Any) -> str:
        if not isinstance(given, str) or not given:
            shown = "nothing" if not given else type(given).__name__
            raise ConfirmationRefusal(
                TwoStepReason.MALFORMED,
                f"{words.TOKEN} is missing or malformed: got {shown}, "
                f"expected the one of {words.PREPARE}{operation.name}",
            )
        return given

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        if payload.action != operation.name:
            raise ConfirmationRefusal(
                TwoStepReason.WRONG_ACTION,
                f"wrong action: the token is for {payload.action}, not for {operation.name}",
            )

    def check_unexpired(self, payload: Payload) -> None:
        if self.now() >= instant(payload.expires_at):
            raise ConfirmationRefusal(
                TwoStepReason.EXPIRED, "the token has expired: prepare again to get a new one"
            )

    def check_remembered(self, payload: Payload) -> None:
        """If the key outlives the memory of used tokens, only tokens issued since then count."""
        if instant(payload.issued_at) < self.store.since():
            raise ConfirmationRefusal(
                TwoStepReason.USED,
                "the token may have been used: it is older than this server's memory of used ones",
            )

    def spend(self, payload: Payload) -> None:
        """One indivisible step, however many come at once."""
        self.clean_up()
        kept = timedelta(seconds=words.USED_KEPT_SECONDS)
        forget_at = max(instant(payload.expires_at), self.now() + kept)
        if not self.store.spend(payload.nonce, forget_at):
            raise ConfirmationRefusal(
                TwoStepReason.USED,
                "the token has already been used: prepare again to get a new one",
            )

    def execute(
        self,
        operation: TwoStepOperation,
        payload: Payload,
        arguments: Mapping[str, Any],  # noqa: ARG002
    ) -> OperationOutcome:
        """By what the token says; the arguments of this call do not matter."""
        self.back_end.before()
        with self.store.together():
            return operation.execute(payload.data, self.store, self.back_end)

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        message = operation.message(outcome)
        return {
            words.SUCCESS: outcome.complete,
            words.ACTION: operation.past,
            **operation.answer(payload.data, outcome),
            words.MESSAGE: message[0].upper() + message[1:],
        }

    def refuse(self, refusal: ConfirmationRefusal) -> dict[str, Any]:
        return {words.SUCCESS: False, words.MESSAGE: f"Confirmation failed: {refusal}"}

    # ---- housekeeping

    def clean_up(self) -> None:
        """Forget used tokens that have expired anyway."""
        self.store.forget_spent(self.now())

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        """Record every attempt, but never a whole token."""
        mark = fingerprint(token)
        self.store.add_attempt(ConfirmationAttempt(self.now(), tool, outcome, mark, caller))
        logger.info("%s by %s: %s (token %s)", tool, caller, outcome, mark)

    def now(self) -> datetime:
        return self.clock.now()


def instant(seconds: float) -> datetime:
    """Unix time as an instant, to the microsecond: floats of today's dates are no more exact."""
    return datetime.fromtimestamp(seconds, UTC)
