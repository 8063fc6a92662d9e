"""What the scenarios are written with: honest use, dishonest use, and expectations of both.

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...support.text import neutralise
from ...target import Target
from ...wire import Session, StdioTransport
from ..base.decoder import values_in
from ..base.driver import DriverError
from ..base.scenario import CloseLater, ScenarioView, Warn, finding_of
from ..base.second_user import headers_of_second_user
from .clear_errors import unclear
from .comparing import what_differs
from .driver import NOT_GIVEN, PrepareConfirm
from .forging import is_ignorable
from .outcome import Preview, TwoStepOutcome
from .settings import CallKind, Pair, ToolCall, kinds_of
from .vocabulary import FAMILY, TwoStepReason

_SET = f"in [{FAMILY}]"


class TwoStep(ScenarioView):
    def __init__(self, driver: PrepareConfirm, warn: Warn, close_later: CloseLater) -> None:
        super().__init__(driver.target, warn, close_later)
        self.driver = driver
        self.table = driver.table
        self._fresh: set[str] = set()
        """Pairs whose things are in place."""

    @property
    def session(self) -> Session:
        return self.driver.session

    # ---- pairs

    def pairs(self) -> list[Pair]:
        """The pairs that may be run here."""
        return [pair for pair in self.driver.pairs() if pair.arguments is not None]

    @property
    def pair(self) -> Pair:
        """The one that most scenarios use: reversible, if there is one."""
        for pair in self.pairs():
            return pair
        raise NotVerified(
            f"needs a pair that may be run: {PREFIX}tool prepare_NAME=JSON, with arguments that "
            "are safe to prepare and to confirm"
        )

    def kinds(self) -> list[CallKind]:
        """Every way to call every pair that may be run here."""
        return kinds_of(self.pairs() or [self.pair])

    def pair_with(
        self, what: str, holds: Callable[[Pair], Any], *, need_not_be: bool = False
    ) -> Pair:
        """A pair for which something is known; `what` says what to configure. A server need not
        have everything: then there is nothing to judge."""
        for pair in self.pairs():
            if holds(pair):
                return pair
        if need_not_be:
            raise NotApplicable(f"no pair has {what} {_SET} pairs.NAME")
        raise NotVerified(f"needs {what} {_SET} pairs.NAME")

    def pairs_that_are(self, reversible: bool) -> list[Pair]:
        """The pairs that may be run; not applicable if the server has no such pair at all."""
        word = "reversible" if reversible else "irreversible"
        found = [pair for pair in self.pairs() if pair.reversible is reversible]
        if found:
            return found
        if any(pair.reversible in (reversible, None) for pair in self.driver.pairs()):
            raise NotVerified(f"needs a pair that may be run and is {word}: {PREFIX}tool, {_SET}")
        raise NotApplicable(f"the server has no {word} pair")

    def crossings(self) -> list[tuple[Pair, Pair]]:
        """Every pair with every other: the user named both as safe to run."""
        pairs = self.pairs()
        if len(self.driver.pairs()) < 2:
            raise NotApplicable("the server has only one pair")
        if len(pairs) < 2:
            raise NotVerified("needs a second pair that may be run")
        return [(one, other) for one in pairs for other in pairs if one is not other]

    def pairs_apart(self) -> tuple[Pair, Pair]:
        """Two pairs whose arguments name nothing in common."""
        pairs = [(pair, _texts(pair.arguments)) for pair in self.pairs()]
        for one, names in pairs:
            for other, others in pairs:
                if one.name < other.name and not names & others:
                    return one, other
        raise NotApplicable("the pairs that may be run concern the same things")

    def pair_on_a_list(self) -> tuple[Pair, str]:
        """A pair whose safe arguments have one list of several things, and that list's name."""
        candidates = sorted(self.pairs(), key=lambda pair: pair.reversible is not False)
        lists = [
            (pair, name, value)
            for pair in candidates
            for name, value in (pair.arguments or {}).items()
            if isinstance(value, list)
        ]
        for pair, name, value in lists:
            if len(value) > 1:
                return pair, name
        if not lists:
            raise NotApplicable("no pair that may be run takes a list of things")
        raise NotVerified("needs a pair whose arguments list two things")

    # ---- honest steps: if one fails, nothing else can be judged

    def preview(
        self, pair: Pair | None = None, arguments: Any = None, *, session: Session | None = None
    ) -> Preview:
        """An honest preview, of things that are in place."""
        pair = pair or self.pair
        try:
            self.put_in_place(pair)
            preview = self.driver.prepare(pair, arguments, session=session)
        except DriverError as error:
            if self.driver.may_be_gone(pair):
                raise self._gone(pair, str(error)) from error
            raise NotVerified(f"an honest prepare failed: {error}") from error
        if not preview.items and self.driver.may_be_gone(pair):
            raise self._gone(pair, f"{pair.prepare} lists nothing")
        return preview

    def awkward(self, *, need_not_be: bool = False) -> list[tuple[Pair, Mapping[str, Any]]]:
        """The arguments with odd ids that the user named."""
        sets = [(pair, one) for pair in self.pairs() for one in pair.awkward]
        what = f"awkward = [{{ ... }}], arguments with odd ids, {_SET} pairs.NAME"
        if not sets and need_not_be:
            raise NotApplicable(f"no pair has {what}")
        if not sets:
            raise NotVerified(f"needs {what}")
        return sets

    def awkward_preview(self, pair: Pair, arguments: Mapping[str, Any]) -> Preview:
        self.make(pair.awkward_before)
        return self.preview(pair, arguments)

    def _gone(self, pair: Pair, what: str) -> NotVerified:
        return NotVerified(
            f"needs restore {_SET} pairs.{pair.name}, calls that put back what its arguments name: "
            f"it may be gone since something was confirmed before ({neutralise(what, 120)})"
        )

    def need_in_place(self, preview: Preview) -> None:
        """If the table does not say how to put things back, "nothing was done" proves nothing,
        unless a fresh preview of the same can be confirmed now."""
        pair = preview.pair
        if not self.driver.may_be_gone(pair):
            return
        outcome = self.confirm(self.preview(pair, preview.arguments))
        if not outcome.succeeded or not _did_something(outcome):
            raise self._gone(pair, f"with a fresh preview, too: {outcome.describe()}")

    def need_shown(self, preview: Preview, ids: list[str]) -> None:
        """If a thing may be gone, it proves nothing that it is not shown."""
        missing = [one for one in ids if one not in preview.ids]
        if missing and self.driver.may_be_gone(preview.pair):
            raise self._gone(preview.pair, f"{preview.pair.prepare} does not list {missing[0]}")

    def put_in_place(self, pair: Pair) -> None:
        if pair.restore and pair.name not in self._fresh:
            self.make(pair.restore)
        self._fresh.add(pair.name)

    def make(self, calls: tuple[ToolCall, ...]) -> None:
        """Calls that the user named; their effects do not count as ours."""
        with self.honest_step("a call of the table failed"):
            self.driver.make(calls)
        self.driver.forget()

    def honest(self, pair: Pair | None = None, arguments: Any = None) -> TwoStepOutcome:
        """The positive twin: prepare and confirm. If it fails, nothing here can be judged."""
        preview = self.preview(pair, arguments)
        outcome = self.confirm(preview)
        if not outcome.served and self.driver.may_be_gone(preview.pair):
            raise self._gone(preview.pair, f"{preview.pair.confirm}: {outcome.describe()}")
        self.need_served(outcome, f"an honest {preview.pair.confirm} failed")
        return outcome

    # ---- calls

    def confirm(self, preview: Preview, token: Any = NOT_GIVEN, **more: Any) -> TwoStepOutcome:
        """Submit a confirmation; see `PrepareConfirm.confirm` for the other keywords."""
        return self._seen(self.driver.confirm(preview, token, **more))

    def life_of_a_token(self, pair: Pair) -> Iterator[tuple[str, str]]:
        """Has a token prepared, refused, used and used again: each time what was done with it, and
        the token."""
        preview = self.preview(pair)
        yield "prepared", preview.token
        others = [one for one in self.pairs() if one.name != pair.name][:1]
        for name, token, at in (
            ("refused for its signature", f"{preview.token}0", [pair]),
            ("refused at another tool", preview.token, others),
            ("used", preview.token, [pair]),
            ("used again", preview.token, [pair]),
        ):
            for one in at:
                self.confirm(preview, token, pair=one)
                yield name, preview.token

    def submit(self, pair: Pair, arguments: Any) -> TwoStepOutcome:
        """The confirm tool with exactly these arguments."""
        return self._seen(self.driver.submit(pair, {"name": pair.confirm, "arguments": arguments}))

    def _seen(self, outcome: TwoStepOutcome) -> TwoStepOutcome:
        if outcome.executed or not outcome.refused:
            self.disturbed()
        return outcome

    def disturbed(self) -> None:
        """Things may not be in place any more: the next preview puts them back."""
        self._fresh.clear()

    # ---- other people

    @contextlib.contextmanager
    def somebody_else(self, who: str) -> Iterator[Session]:
        """Another conversation: of another client, or of another user if the table names one."""
        if isinstance(self.target.transport, StdioTransport):
            raise NotApplicable("a pipe has one session")
        headers = None
        if who == "another user":
            # The document knows no users: a server need not tell them apart.
            headers = headers_of_second_user(self.target, known_to_document=False)
        name = "pytest-mcp-approval, second client"
        with self.target.new_session(name, headers=headers) as session:
            yield session

    # ---- expectations

    def expect_done(self, outcome: TwoStepOutcome, preview: Preview, *, sent: str) -> None:
        """What the preview showed was done, all of it and nothing else, and the answer says so."""
        difference = what_differs(preview, outcome)
        if difference:
            if not _did_something(outcome):
                self.need_in_place(preview)
            shown = f"{len(preview.ids)} thing(s) done as shown" if preview.ids else "done as shown"
            raise Finding(sent=sent, expected=f"success, {shown}", got=difference)

    def expect_refusal(
        self, outcome: TwoStepOutcome, *reasons: TwoStepReason, sent: str, plain_form: bool = True
    ) -> None:
        """Refused with success false for one of these reasons (none: for any), and nothing done.

        The reading: a message is judged by its meaning. One that means something else is a finding,
        one without a clear meaning a warning; so is a tool error instead of success false, if
        `plain_form` is set.
        """
        wanted = " or ".join(reasons)
        expected = f"success false{f', {wanted}' if wanted else ''}, nothing done"
        got = outcome.describe()
        if outcome.executed or outcome.succeeded:
            raise finding_of(outcome, sent=sent, expected=expected, grade=Grade.RAN)
        if not outcome.refused:
            raise finding_of(outcome, sent=sent, expected=expected)
        if reasons and not outcome.meanings & set(reasons):
            if outcome.meanings - {TwoStepReason.MALFORMED}:
                remark, grade = " (refused, but in other words)", Grade.OTHER_WORDS
                raise finding_of(outcome, sent=sent, expected=expected, grade=grade, remark=remark)
            if TwoStepReason.USED in reasons and self.driver.may_be_gone(outcome.pair):
                # It may have been the token, or the things that are missing.
                raise self._gone(outcome.pair, f"{sent}: {got}")
            self.warn(f"{sent}: {got}; its words do not say {wanted}")
        elif outcome.contradicts_itself:
            raise finding_of(
                outcome, sent=sent, expected=expected, remark=" (another part of it says success)"
            )
        elif plain_form and outcome.answer.is_error:
            self.warn(f"{sent}: {got}; expected a result with {self.table.success} false")

    def expect_all_refused(
        self,
        preview: Preview,
        change: Callable[[Preview], Mapping[str, str]],
        *reasons: TwoStepReason,
        what: str,
    ) -> None:
        """Every token that `change` makes of the preview's is refused for one of the reasons.

        The effects are read once for all: most servers do nothing for any. Reading: one that was
        taken for the very token, because blanks and the like do not count, is a warning.
        """
        left, lenient = list(change(preview)), False
        with self.several() as several:
            while left:
                tokens = change(preview)
                names = [name for name in left if not (lenient and is_ignorable(name))]
                tried = {name: tokens[name] for name in names}
                outcomes, runs, _ = self.driver.watch(
                    partial(self._until_taken, preview.pair, tried)
                )
                left = names[len(outcomes) :]
                last = next(reversed(outcomes), "")
                if is_ignorable(last) and not what_differs(preview, outcomes[last]):
                    self.warn(f"{what}, {last}: it is taken for the token")
                    lenient = True
                    del outcomes[last]
                    runs = 0
                for name, outcome in outcomes.items():
                    with several.one(name):
                        sent = f"{preview.pair.confirm} with {what}, {name}"
                        self.expect_refusal(outcome, *reasons, sent=sent)
                with several.one("the effects"):
                    if self.driver.effects is not None and runs != 0:
                        raise Finding(
                            sent=f"{preview.pair.confirm} with {what}, changed in many ways",
                            expected="nothing done",
                            got=f"{'something' if runs is None else runs} done",
                            grade=Grade.RAN,
                        )
                if left:
                    self.disturbed()
                    preview = self.preview(preview.pair, preview.arguments)

    def _until_taken(self, pair: Pair, tokens: Mapping[str, str]) -> dict[str, TwoStepOutcome]:
        """What came of each, up to the first that was taken: after it the others prove nothing."""
        outcomes = {}
        for name, token in tokens.items():
            params = self.driver.confirm_params(pair, token)
            outcomes[name] = self.driver.seen(pair, self.session.call("tools/call", params))
            if outcomes[name].succeeded:
                break
        return outcomes

    def expect_clear(self, outcome: TwoStepOutcome, *, sent: str) -> None:
        """An error that says what is wrong, and no exception that escaped."""
        expected = unclear(outcome.answer, outcome.message or outcome.answer.text)
        if expected:
            raise finding_of(outcome, sent=sent, expected=expected)

    def still_serves(self, preview: Preview, *, after: str) -> None:
        """The same token still serves the honest call."""
        outcome = self.confirm(preview)
        self.expect_done(
            outcome, preview, sent=f"{preview.pair.confirm} with the real token, after {after}"
        )

    def outlives_forgeries(self, preview: Preview) -> None:
        """The same after forgeries were refused: a warning if not. The document says to get a new
        token after a bad signature, and nothing about the real one."""
        try:
            self.still_serves(preview, after="forgeries of it were refused")
        except Finding as finding:
            self.warn(f"{finding.sent}: {finding.got}; expected that the real token serves")

    # ---- other servers

    def over(self, target: Target | None, what: str) -> TwoStep:
        """The same view of another server, which is closed with the scenario."""
        other = self.need_target(target, what)
        self.driver.shares_things_with(other)
        return TwoStep(PrepareConfirm(other), self.warn, self._close_later)

    def twin(self) -> TwoStep:
        return self.over(self.target.twin(), "a second instance of the target")

    def with_expiry(self, minutes: float) -> TwoStep:
        return self._configured(
            self.table.expiry_setting, self.table.expiry_environment, "expiry", minutes
        )

    def with_key(self, key: str) -> TwoStep:
        return self._configured(self.table.key_setting, self.table.key_environment, "key", key)

    def _configured(self, setting: str, variable: str, what: str, value: Any) -> TwoStep:
        if not (setting or variable):
            raise NotApplicable(
                f"the {what} cannot be configured, as far as the table says "
                f'({what}-environment = "VARIABLE" {_SET})'
            )
        return self.over(
            self.driver.configured(setting, variable, value),
            f'a server that the suite starts, and {what}-environment = "VARIABLE" {_SET}, '
            "which configures it",
        )

    def with_back_end(self, kind: str) -> TwoStep:
        """The same server over a back end that is broken in some way."""
        how = self.table.back_end
        if kind not in how:
            raise NotApplicable("the back end of this server cannot be broken by the suite")
        other = self.target.variant(FAMILY, how["setting"], how[kind])
        return self.over(other, "a back end that can be broken: only the reference server's can")

    def in_zone(self, zone: str) -> TwoStep:
        other = self.target.with_environment({"TZ": zone})
        if other is None and self.table.zone_setting:
            other = self.target.variant(FAMILY, self.table.zone_setting, zone)
        return self.over(other, "a server that the suite starts, in another time zone")


def _texts(value: Any) -> set[str]:
    return {one for _, one in values_in(value) if isinstance(one, str)}


def _did_something(outcome: TwoStepOutcome) -> bool:
    """By its effect if that can be seen, else by the answer."""
    if outcome.probed:
        return outcome.executed
    return outcome.succeeded and outcome.claimed_count != 0
