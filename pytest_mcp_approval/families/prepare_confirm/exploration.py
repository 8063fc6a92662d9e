"""The model of prepare and confirm: which confirmations must do something, and which must not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...target import Target
from ...wire import Reply, Session
from ..base.exploration import EndOfWalk, Exercised
from ..base.outcome import ObservedOutcome
from ..base.token_exploration import TokenModel
from ..base.token_state import HeldApproval, Misuses
from .driver import PrepareConfirm
from .health import honest_approval
from .settings import Pair


class PrepareModel(TokenModel):
    family = "prepare_confirm"
    served_rule: ClassVar[str] = "confirm-executes"
    rules = Misuses(
        served="confirm-executes",
        replayed="one-time",
        expired="expired",
        changed="signature",
        forged="signature",
        raced="concurrent",
        restarted="one-time",
        bare="missing-token",
        message="missing-token",
        swapped="action-bound",
    )

    counts_runs = False  # the probe may grow by one for each thing done (reading)
    without = ("withdraw", "change")

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.fresh = target.can_reset or bool(target.settings.reset)
        self.after_restart()

    def after_restart(self) -> None:
        self.driver = PrepareConfirm(self.target)
        if self.fresh and not self.restarted:
            self.driver.as_new()

    def honest(self) -> str:
        if self.fresh:
            self.target.reset()
            self.driver.as_new()
        return honest_approval(self.target)

    def calls(self) -> Sequence[Pair]:
        return [one for one in self.driver.pairs() if one.arguments is not None]

    def issue(self, call: Pair, session: Session | None = None) -> HeldApproval:
        self.driver.make(call.restore)
        self.driver.forget()
        preview = self.driver.prepare(call, session=session)
        try:
            end = preview.expires_at
        except ValueError:
            end = None
        for earlier in self.issued:
            # What exists only once may be gone, and a preview may end an earlier one (reading).
            earlier.tried = True
        return HeldApproval(preview, call.name, 0, end, end)

    def redeem(self, approved: HeldApproval, session: Session | None = None) -> ObservedOutcome:
        outcome = self.driver.confirm(approved.thing, session=session)
        if outcome.executed or outcome.succeeded:
            for other in self.issued:
                other.tried = True  # what its preview showed may be gone
        return outcome

    def look_at(self, outcome: ObservedOutcome) -> None:
        answer = getattr(outcome, "answer", None)
        if answer is not None:
            self.answered(answer.reply)

    def changed(
        self, approved: HeldApproval
    ) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        del approved
        return []  # confirm acts on the token alone

    def forged(self, approved: HeldApproval) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        token: str = approved.thing.token
        middle = len(token) // 2
        other = "A" if token[middle] != "A" else "B"
        ways = {
            "another character inside the token": token[:middle] + other + token[middle + 1 :],
            "the token cut in half": token[:middle],
            "the token backwards": token[::-1],
            "without what follows the last separator": token.rpartition("|")[0] or token[:-8],
            "no text at all": "",
        }
        return [
            (what, lambda text=text: self.driver.confirm(approved.thing, text))  # type: ignore[misc]
            for what, text in ways.items()
            if text != token
        ]

    def swapped(
        self, approved: HeldApproval, other: Pair
    ) -> tuple[str, Callable[[], ObservedOutcome]]:
        return f"at {other.confirm}", lambda: self.driver.confirm(approved.thing, pair=other)

    def bare(self, call: Pair) -> ObservedOutcome:
        return self.driver.submit(call, self.driver.confirm_params(call))

    def honest_params(self, approved: HeldApproval) -> dict[str, Any]:
        return self.driver.confirm_params(approved.thing.pair, approved.thing.token)

    def observe(self, approved: HeldApproval, act: Callable[[], Reply]) -> ObservedOutcome:
        reply, runs, entries = self.driver.watch(act)
        probed = self.driver.effects is not None
        return self.driver.seen(
            approved.thing.pair, reply, entries=entries, runs=runs, probed=probed
        )

    def runs_during(self, act: Callable[[], list[Reply]]) -> tuple[list[Reply], int | None]:
        # The probe may grow by one for each thing done (reading): answers are counted.
        replies, runs = self.driver.runs_during(act)
        return replies, 0 if runs == 0 else None

    def succeeded(self, approved: HeldApproval, reply: Reply) -> bool:
        return self.driver.seen(approved.thing.pair, reply).succeeded

    def begin(self) -> None:
        super().begin()
        if not self.fresh and any(not one.restore for one in self.calls()):
            raise EndOfWalk("needs restore for each pair, or a server that can be reset")


MODEL = PrepareModel
