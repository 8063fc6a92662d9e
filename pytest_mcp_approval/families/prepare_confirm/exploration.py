"""The model of prepare and confirm: which confirmations must do something, and which must not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...catalogue import Grade
from ...target import Target
from ...wire import Reply, Session
from ..base.driver import DriverError
from ..base.exploration import (
    BrokenRule,
    EndOfWalk,
    Exercised,
    LeftOut,
    one_of,
    transition,
    which,
)
from ..base.outcome import ObservedOutcome
from ..base.token_exploration import TokenModel
from ..base.token_state import HeldApproval, Misuses
from .driver import PrepareConfirm
from .health import honest_approval
from .outcome import TwoStepOutcome
from .settings import Pair
from .vocabulary import FAMILY

_KEY = "a key for explorations of replicas 4419"
_NO_SHARED_KEY = "exploration: no replicas with one key"


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
    without = ("withdraw", "change", "fail_in_tool", "send_failed_again")

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.fresh = target.can_reset or bool(target.settings.reset)
        self.failures = 0
        self._named = target
        """The target itself; in some walks another server is in its place."""
        self.after_restart()

    # ---- replicas with one key

    @property
    def can_share_key(self) -> bool:
        table, remembered = self.driver.table, self.target.remembered
        begins = not (self.issued or self.failures or self.target is not self._named)
        possible = table.key_setting or table.key_environment
        return begins and bool(possible) and not remembered.get(_NO_SHARED_KEY)

    @transition("the server and a replica get one key", when="can_share_key")
    def share_key(self) -> None:
        """At the beginning of a walk, which is then about them: with a key of its own each, no
        replica would take what another one prepared."""
        table = self.driver.table
        made = self.take_time(
            lambda: self.driver.configured(table.key_setting, table.key_environment, _KEY)
        )
        if made is None:
            self._named.remembered[_NO_SHARED_KEY] = True
            raise LeftOut
        self.close_later(made.close)
        self.target = made
        try:
            self._at_replica()
        except LeftOut:
            if not self.may_have_replicas:
                self._named.remembered[_NO_SHARED_KEY] = True
            self.target = self._named
            raise
        self.after_restart()

    def close(self) -> None:
        self.target = self._named
        super().close()

    def after_restart(self) -> None:
        self.driver = PrepareConfirm(self.target)
        if self.fresh and not self.restarted:
            self.driver.as_new()

    @classmethod
    def checkable_rules(cls) -> set[str]:
        return super().checkable_rules() | {f"{cls.family}/failed-execution"}

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

    def reply_in(self, outcome: ObservedOutcome) -> Reply | None:
        return outcome.answer.reply if isinstance(outcome, TwoStepOutcome) else None

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

    # ---- a back end that fails

    @property
    def has_back_end(self) -> bool:
        return self.failures < 2 and bool(self.driver.table.back_end)

    @transition(
        "the back end fails",
        when="has_back_end",
        rules=("failed-execution",),
        number=which(5),
        kind=one_of("fails", "half", "late"),
        again=one_of(0, 1, 2),
        another=one_of(False, True),
    )
    def fail_at_back_end(self, number: int, kind: str, again: int, another: bool) -> None:
        """At a server of its own. `again`: the same token so many times more; `another`: then the
        honest token of another preview."""
        self.failures += 1
        driver = self._with_back_end(kind)
        pairs = [one for one in driver.pairs() if one.arguments is not None]
        pair = self.pick(pairs, number)
        self.say(f"{pair.confirm}, and the back end fails ({kind})")
        self.checked("failed-execution")
        sent = f"{pair.confirm}, and the back end fails ({kind})"
        try:
            preview = driver.prepare(pair)
            first = driver.confirm(preview)
            if kind != "half" and first.succeeded:
                raise self._failed(sent, "a failure is told as success", first.describe())
            for _ in range(again):
                driver.confirm(preview)
            if another and len(pairs) > 1:
                driver.confirm(driver.prepare(self.pick(pairs, number + 1)))
        except DriverError as error:
            raise EndOfWalk(str(error)) from error
        twice = _done_twice(driver)
        if twice:
            raise self._failed(sent, "what failed is done twice", f"twice: {twice}", Grade.RAN)

    def _with_back_end(self, kind: str) -> PrepareConfirm:
        how = self.driver.table.back_end
        if kind not in how:
            raise LeftOut
        other = self.target.variant(FAMILY, how["setting"], how[kind])
        if other is None:
            raise LeftOut
        self.close_later(other.close)
        return self.take_time(lambda: PrepareConfirm(other))

    def _failed(self, sent: str, cause: str, got: str, grade: Grade = Grade.BROKEN) -> BrokenRule:
        return self.broken(
            "failed-execution",
            cause,
            sent=sent,
            expected="success false, and nothing done twice",
            got=got,
            grade=grade,
        )

    def begin(self) -> None:
        super().begin()
        if not self.fresh and any(not one.restore for one in self.calls()):
            raise EndOfWalk("needs restore for each pair, or a server that can be reset")


def _done_twice(driver: PrepareConfirm) -> str:
    """Something that was done more than once, by the effects; empty if nothing was."""
    driver.forget()
    seen = driver.effects_watch.look()
    done = Counter(
        str({name: value for name, value in one.items() if name != "number"})
        if isinstance(one, dict)
        else str(one)
        for one in (seen.entries if seen is not None else None) or ()
    )
    return next((what for what, times in done.items() if times > 1), "")


MODEL = PrepareModel
