"""The model of quota tokens (section 2.1): one ends the pause of the call that paused, once.

A call with a token that serves no more is made while its operation pauses: the document does not
say that a token is looked at when nothing pauses. For the same reason no message is changed, and no
calls are made at once: the first of them may give the next ones their quota back.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.driver import DriverError
from ..base.exploration import EndOfWalk, LeftOut, one_of, transition, which
from ..base.token_state import CLOSE
from . import vocabulary as words
from .driver import IssuedToken
from .exploration_sessions import SessionTokensModel
from .outcome import ConfirmationOutcome
from .settings import NamedOperation
from .vocabulary import TokenCode

QUOTA = "2.1-quota"
_MOST = 4
_REFUSALS = (*TokenCode, words.QUOTA_PAUSED)
"""Of several faults any code that applies is right (readings); and it still pauses."""


@dataclass
class PausedCall:
    """A call that came to a pause, and the token of that pause."""

    issued: IssuedToken
    operation: NamedOperation
    over: datetime.datetime | None
    used: bool = False
    revoked: bool = False
    certain: bool = True
    """Whether it must serve: nothing else was done with its operation, or with the token."""


class QuotaTokensModel(SessionTokensModel):
    """Tokens that end a pause."""

    def __init__(self, target: Any, exercised: Any = None) -> None:
        super().__init__(target, exercised)
        self.paused: list[PausedCall] = []

    def pausing(self) -> Sequence[NamedOperation]:
        return [one for one in self.driver.binding.table.operations if one.quota]

    @property
    def can_pause(self) -> bool:
        return len(self.paused) < _MOST and bool(self.pausing())

    @property
    def has_paused(self) -> bool:
        return bool(self.paused)

    @property
    def can_revoke_pause(self) -> bool:
        return self.has_paused and bool(self.driver.binding.table.introspection["operation"])

    # ---- transitions

    @transition("an operation is called until it pauses", when="can_pause", number=which(3))
    def pause(self, number: int) -> None:
        operation: NamedOperation = self.pick(self.pausing(), number)
        issued = self._pause(operation)
        known = any(one.issued.token == issued.token for one in self.paused)
        if not known:  # asking again may give the same token
            self.paused.append(PausedCall(issued, operation, self.end_of(issued)[0]))
        told = "the same token" if known else f"pause {len(self.paused)}"
        self.say(f"{operation.name} is called until it pauses", told)

    def _pause(self, operation: NamedOperation) -> IssuedToken:
        self._unsettle(operation)
        try:
            return self.driver.paused(operation.name, operation.params)
        except DriverError as error:
            raise EndOfWalk(str(error)) from error

    def _unsettle(self, operation: NamedOperation) -> None:
        """What is done with an operation may end its pauses, and what served for them."""
        for one in self.paused:
            one.certain = one.certain and one.operation.name != operation.name

    @transition(
        "the token of a pause is used",
        when="has_paused",
        rules=(QUOTA,),
        weight=2,
        number=which(),
    )
    def end_pause(self, number: int) -> None:
        chosen: PausedCall = self.pick(self.paused[::-1], number)
        rule, why = self._why_not(chosen)
        if rule:
            self._pause(chosen.operation)
        outcome = self.driver.redeem(chosen.issued)
        self._say_used(chosen, "is used", outcome)
        must_serve = chosen.certain
        self._unsettle(chosen.operation)
        if outcome.executed:
            chosen.used = True
        if rule:
            self._expect_pause_lasts(outcome, rule, why)
            return
        self.checked(QUOTA)
        if must_serve and not outcome.served:
            raise self.broken(
                QUOTA,
                "the token of a pause does not end it",
                sent=f"{chosen.operation.name}, paused, with its quota token",
                expected="it runs",
                got=outcome.describe(),
            )

    @transition(
        "a pause is to be ended by something else",
        when="has_paused",
        rules=(QUOTA,),
        number=which(),
        how=one_of("parameters", "operation", "confirmation token", "half of the token"),
    )
    def end_pause_wrongly(self, number: int, how: str) -> None:
        chosen: PausedCall = self.pick(self.paused[::-1], number)
        sent = self._wrong_call(chosen, how)
        outcome = self.driver.redeem(sent)
        self._say_used(chosen, f"is used wrongly: {how}", outcome)
        chosen.certain = False
        self._expect_pause_lasts(outcome, QUOTA, f"a pause and the wrong {how}")

    def _wrong_call(self, chosen: PausedCall, how: str) -> IssuedToken:
        """Made while its operation pauses; `LeftOut` if the table names nothing for it."""
        operation, issued = chosen.operation, chosen.issued
        if how == "operation":
            others = [one for one in self.pausing() if one.name != operation.name]
            if not others:
                raise LeftOut
            self._pause(others[0])
            return issued.with_operation(others[0].name).with_params(others[0].params)
        if how == "parameters" and not operation.other_params:
            raise LeftOut
        self._pause(operation)
        if how == "parameters":
            return issued.with_params({**operation.params, **operation.other_params[0]})
        if how == "half of the token":
            return issued.with_token(issued.token[: len(issued.token) // 2])
        try:
            confirmation = self.driver.issue(self.calls()[0].name, self.calls()[0].params)
        except DriverError as error:
            raise EndOfWalk(str(error)) from error
        for one in self.issued:
            # Asking again may give the same token, as long as it has not been used.
            one.tried = one.tried or one.thing.token == confirmation.token
        return issued.with_token(confirmation.token)

    @transition(
        "the token of a pause is used as a confirmation",
        when="has_paused",
        rules=(QUOTA,),
        number=which(),
        call=which(5),
    )
    def confirm_with_pause(self, number: int, call: int) -> None:
        chosen: PausedCall = self.pick(self.paused[::-1], number)
        operation: NamedOperation = self.pick(self.calls(), call)
        outcome = self.driver.call(operation.name, operation.params, chosen.issued.token)
        self._say_used(chosen, f"is used to confirm {operation.name}", outcome)
        chosen.certain = False
        self._expect_pause_lasts(outcome, QUOTA, "a quota token in the place of a confirmation")

    @transition("the token of a pause is revoked", when="can_revoke_pause", number=which())
    def revoke_pause(self, number: int) -> None:
        chosen: PausedCall = self.pick(self.paused[::-1], number)
        done = self.driver.revoke(chosen.issued.token).succeeded
        chosen.revoked, chosen.certain = chosen.revoked or done, False
        self.say(f"pause {self.paused.index(chosen) + 1} is revoked", "" if done else "no")

    # ---- what is owed

    def _why_not(self, chosen: PausedCall) -> tuple[str, str]:
        now = self.target.clock.now()
        if chosen.used:
            return QUOTA, "a quota token that was used"
        if chosen.revoked:
            return self.rules.revoked, "a quota token that was revoked"
        if chosen.over is not None and now > chosen.over + CLOSE:
            return self.rules.expired, "a quota token that is over"
        return "", ""

    def _expect_pause_lasts(self, outcome: ConfirmationOutcome, rule: str, why: str) -> None:
        self.checked(rule)
        self._expect_nothing(outcome, rule, why)
        if not outcome.answer.means(*_REFUSALS):
            raise self.broken(
                rule,
                f"{why} is refused in other words",
                sent=why,
                expected=f"one of {', '.join(_REFUSALS)}",
                got=outcome.describe(),
            )

    def _say_used(self, chosen: PausedCall, how: str, outcome: ConfirmationOutcome) -> None:
        self.look_at(outcome)
        self.say(f"the token of pause {self.paused.index(chosen) + 1} {how}", outcome.describe())

    def forget_sessions(self) -> None:
        super().forget_sessions()
        for one in self.paused:
            one.certain = False

    def move_clock(self, seconds: float) -> None:
        """A quota may be one for a stretch of time."""
        super().move_clock(seconds)
        for one in self.paused:
            one.certain = False

    def state(self) -> tuple[Any, ...]:
        used = sum(one.used for one in self.paused)
        return (*super().state(), len(self.paused), used)
