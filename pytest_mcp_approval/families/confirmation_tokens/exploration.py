"""The model of confirmation tokens: which calls with a token must run, and which must not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...target import Target
from ...wire import Reply, Session
from ..base.exploration import EndOfWalk, Exercised, transition
from ..base.outcome import ObservedOutcome
from ..base.token_state import HeldApproval, Misuses
from . import vocabulary as words
from .audit import entries_about
from .driver import LIMIT_REACHED, ConfirmationTokens
from .exploration_quotas import QUOTA, QuotaTokensModel
from .exploration_sessions import BOUND, EXPIRY, SCOPE
from .health import honest_approval
from .outcome import ConfirmationOutcome, is_limit
from .settings import NamedOperation
from .vocabulary import Event, TokenCode

AUDIT = "6.4-audit"


class ConfirmationModel(QuotaTokensModel):
    family = "confirmation_tokens"
    served_rule: ClassVar[str] = "1.3-flow"
    rules = Misuses(
        served="1.3-flow",
        replayed="4.1-not-consumed",
        expired="4.1-not-expired",
        changed="3.2-bound-parameters",
        forged="4.1-exists",
        raced="6.1-replay",
        restarted="6.1-replay",
        bare="1.3-flow",
        message="4.1-every-check",
        revoked="5.3-revoked",
        swapped="3.2-bound-operation",
        failed="5.2-consumed-before-execution",
    )

    @classmethod
    def checkable_rules(cls) -> set[str]:
        more = (AUDIT, SCOPE, BOUND, EXPIRY, QUOTA)
        return super().checkable_rules() | {f"{cls.family}/{rule}" for rule in more}

    def __init__(self, target: Target, exercised: Exercised | None = None) -> None:
        super().__init__(target, exercised)
        self.after_restart()

    def after_restart(self) -> None:
        self.forget_sessions()
        self.driver = ConfirmationTokens(self.target)
        self.driver.meets_limits = False  # a walk ends there: waiting would age its tokens

    def honest(self) -> str:
        problem = honest_approval(self.target)
        if LIMIT_REACHED in problem:
            raise EndOfWalk(problem)  # by all the calls of the walk, which is no fault
        return problem

    def calls(self) -> Sequence[NamedOperation]:
        return [one for one in self.driver.binding.table.operations if one.usual]

    def failing_calls(self) -> Sequence[NamedOperation]:
        return [one for one in self.driver.binding.table.operations if one.gated and one.crashes]

    def issue(self, call: NamedOperation, session: Session | None = None) -> HeldApproval:
        issued = self.driver.issue(call.name, call.params, session=session)
        over, end = self.end_of(issued)
        # Asking again may give the same token, as long as it has not been used.
        same = next((one for one in self.issued if one.thing.token == issued.token), None)
        if same is not None:
            raise EndOfWalk("asking again gives the same token")
        return HeldApproval(issued, call.name, 0, ends=over, good_until=end)

    def look_at(self, outcome: ObservedOutcome) -> None:
        super().look_at(outcome)
        assert isinstance(outcome, ConfirmationOutcome)
        if is_limit(outcome.reply, outcome.answer):
            raise EndOfWalk("a rate limit was reached")

    def redeem(self, approved: HeldApproval, session: Session | None = None) -> ObservedOutcome:
        return self.driver.redeem(approved.thing, session=session)

    def wanted_words(self, rule: str, faults: int) -> tuple[str, ...]:
        """Of several faults any code that applies is right (readings); alone, its own."""
        alone = {
            self.rules.replayed: (TokenCode.ALREADY_USED,),
            # A server may evict tokens when they expire (section 5.5).
            self.rules.expired: (TokenCode.EXPIRED, TokenCode.INVALID),
            self.rules.changed: (TokenCode.SCOPE_MISMATCH,),
            self.rules.swapped: (TokenCode.SCOPE_MISMATCH,),
            self.rules.forged: (TokenCode.INVALID,),
        }
        if rule == self.rules.bare:
            return (words.CONFIRMATION_REQUIRED,)
        return alone.get(rule, ()) if faults == 1 else tuple(TokenCode)

    def says(self, outcome: ObservedOutcome, wanted: tuple[str, ...]) -> bool:
        assert isinstance(outcome, ConfirmationOutcome)
        return outcome.answer.means(*wanted)

    def changed(
        self, approved: HeldApproval
    ) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        operation = self.calls()[approved.place]
        return [
            (
                f"with other {', '.join(other)}",
                lambda other=other: self.driver.redeem(  # type: ignore[misc]
                    approved.thing.with_params({**operation.params, **other})
                ),
            )
            for other in operation.other_params
        ]

    def forged(self, approved: HeldApproval) -> Sequence[tuple[str, Callable[[], ObservedOutcome]]]:
        token: str = approved.thing.token
        prefix, middle = token[:5], len(token) // 2
        other = "A" if token[middle] != "A" else "B"
        ways = {
            "another character inside the token": token[:middle] + other + token[middle + 1 :],
            "the token cut": token[:-1],
            "the token with a character more": f"{token}A",
            "the token backwards": prefix + token[5:][::-1],
            "the prefix alone": prefix,
            "no text at all": "",
        }
        return [
            (what, lambda text=text: self.driver.redeem(approved.thing.with_token(text)))  # type: ignore[misc]
            for what, text in ways.items()
            if text != token
        ]

    def swapped(
        self, approved: HeldApproval, other: NamedOperation
    ) -> tuple[str, Callable[[], ObservedOutcome]]:
        thing = approved.thing.with_operation(other.name).with_params(other.params)
        return f"on {other.name}", lambda: self.driver.redeem(thing)

    def bare(self, call: NamedOperation) -> ObservedOutcome:
        return self.driver.call(call.name, call.params)

    def honest_params(self, approved: HeldApproval) -> dict[str, Any]:
        return self.driver.redeem_params(approved.thing)

    def observe(self, approved: HeldApproval, act: Callable[[], Reply]) -> ObservedOutcome:
        del approved
        return self.driver.observe(act)

    def runs_during(self, act: Callable[[], list[Reply]]) -> tuple[list[Reply], int | None]:
        return self.driver.runs_during(act)

    def succeeded(self, approved: HeldApproval, reply: Reply) -> bool:
        del approved
        return self.driver.seen(reply).succeeded

    @property
    def can_revoke(self) -> bool:
        return self.has_issued and bool(self.driver.binding.table.introspection["operation"])

    def revoke(self, approved: HeldApproval) -> bool:
        return self.driver.revoke(approved.thing.token).succeeded

    # ---- the audit log

    @property
    def has_audit(self) -> bool:
        return self.has_issued and bool(self.driver.binding.table.probes["audit"])

    @transition("the audit log is read", when="has_audit", rules=(AUDIT,))
    def read_audit(self) -> None:
        """Section 6.4: of every token it has what the model has, and no use that there was not."""
        entries = self.driver.binding.audit_entries()
        self.checked(AUDIT)
        self.say("the audit log is read", f"{len(entries)} entries")
        for number, approved in enumerate(self.issued, 1):
            if not approved.here_alone:
                continue
            told = Counter(one.get("event") for one in entries_about(entries, approved.thing.token))
            owed = {
                Event.ISSUED: 1,
                Event.VALIDATED: int(approved.used),
                Event.REVOKED: int(approved.revoked),
                Event.REJECTED: approved.refusals,
            }
            missing = next((event for event, count in owed.items() if told[event] < count), None)
            # Whether a call that was changed on its way was validated cannot be told.
            invented = not (approved.used or approved.tried) and told[Event.VALIDATED]
            if missing or invented:
                raise self.broken(
                    AUDIT,
                    f"the audit log lacks {missing}" if missing else "a use that there was not",
                    sent="a look at the audit log",
                    expected=", ".join(f"{count} {event}" for event, count in owed.items()),
                    got=f"token {number}: "
                    + (", ".join(f"{count} {event}" for event, count in told.items()) or "nothing"),
                )


MODEL = ConfirmationModel
