"""Speaks the two-step tools to a target: prepare, look, confirm; as a client does, or an attacker.

    preview = approval_two_step.prepare("close_projects", {"project_ids": ["test-1"]})
    assert approval_two_step.confirm(preview).succeeded
    assert approval_two_step.confirm(preview).refused_because("already used")

Knows no verdicts: it does what it is told and reports what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ...target import Target
from ...wire import Reply, Session
from ..base.driver import Driver, DriverError, table_of
from .outcome import Preview, TwoStepAnswer, TwoStepOutcome
from .settings import Pair, PrepareConfirmTable, ToolCall, find_pairs, read_table
from .vocabulary import FAMILY

Given = TypeVar("Given")
NOT_GIVEN: Any = object()

_DISTURBED = "prepare_confirm has done something since the last reset"
"""A restart does not change that: what is gone from a server's disk stays gone."""


class PrepareConfirm(Driver):
    """The two-step tools of one target."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.table: PrepareConfirmTable = read_table(
            table_of(target, FAMILY), target.settings.sources
        )

    # ---- what there is

    def listed(self) -> list[str]:
        return list(self.listing())

    def pairs(self) -> list[Pair]:
        """All pairs, first those that may be run and undone."""
        safe = {**self.target.known_arguments, **self.target.settings.tools}
        return find_pairs(self.table, self.listed(), safe)

    def pair(self, name: str) -> Pair:
        for pair in self.pairs():
            if name in (pair.name, pair.prepare, pair.confirm):
                return pair
        raise DriverError(f"the target lists no pair {name!r}")

    def may_be_gone(self, pair: Pair) -> bool:
        """Whether what the pair's arguments name may be gone: something was done since the last
        reset, and the table does not say how to put it back."""
        return not pair.restore and _DISTURBED in self.target.lasting

    def shares_things_with(self, other: Target) -> None:
        """Another server may have the same things, and lack what is gone here."""
        if _DISTURBED in self.target.lasting:
            other.lasting[_DISTURBED] = True

    def as_new(self) -> None:
        """The server was reset: whatever was done is undone."""
        self.target.lasting.pop(_DISTURBED, None)
        self.forget()

    def configured(self, setting: str, variable: str, value: Any) -> Target | None:
        """The same server with this setting of the reference, or this variable of a server that
        the suite starts; None if neither is possible."""
        if setting:
            return self.target.variant(FAMILY, setting, value)
        return self.target.with_environment({variable: str(value)}) if variable else None

    # ---- prepare

    def request_preview(
        self, pair: Pair, arguments: Any, *, session: Session | None = None
    ) -> TwoStepAnswer:
        return self.call_tool(pair.prepare, arguments, session=session)

    def prepare(
        self, pair: Pair | str, arguments: Any = None, *, session: Session | None = None
    ) -> Preview:
        """A preview with a token; by default of the arguments named as safe."""
        pair = self.pair(pair) if isinstance(pair, str) else pair
        arguments = pair.arguments if arguments is None else arguments
        answer = self.request_preview(pair, arguments, session=session)
        preview = Preview(pair, arguments, answer, self.table)
        token = answer.member(self.table.token)
        if answer.is_error or not isinstance(token, str) or not token:
            raise DriverError(
                f"{pair.prepare} gave no {self.table.token}: {answer.describe()}", answer.reply
            )
        return preview

    # ---- confirm

    def confirm_params(
        self, pair: Pair, token: Any = NOT_GIVEN, more: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        arguments = dict(more or {})
        if token is not NOT_GIVEN:
            arguments[self.table.token_argument] = token
        return {"name": pair.confirm, "arguments": arguments}

    def confirm(
        self,
        preview: Preview,
        token: Any = NOT_GIVEN,
        *,
        pair: Pair | None = None,
        more: Mapping[str, Any] | None = None,
        session: Session | None = None,
    ) -> TwoStepOutcome:
        """Confirm what was shown; optionally with another token, pair, or more arguments."""
        given = preview.token if token is NOT_GIVEN else token
        pair = pair or preview.pair
        return self.submit(pair, self.confirm_params(pair, given, more), session)

    def submit(
        self, pair: Pair, params: Mapping[str, Any], session: Session | None = None
    ) -> TwoStepOutcome:
        """A tools/call with exactly these params, read as a confirmation."""
        call = (session or self.session).call
        reply, runs, entries = self.watch(lambda: call("tools/call", dict(params)))
        probed = self.effects is not None
        return self.seen(pair, reply, entries=entries, runs=runs, probed=probed)

    def seen(self, pair: Pair, reply: Reply, **observed: Any) -> TwoStepOutcome:
        """An answer; with effects only if they were `observed`."""
        seen = TwoStepOutcome(pair, TwoStepAnswer.of(reply), self.table, **observed)
        if seen.executed or seen.succeeded:
            self.target.lasting[_DISTURBED] = True
        return seen

    def watch(self, act: Callable[[], Given]) -> tuple[Given, int | None, tuple[Any, ...] | None]:
        """What `act` returns, how much was done meanwhile, and what, if that can be seen."""
        given, seen = self.seen_during(act)
        if seen is None:
            return given, None, None
        before, after = seen
        entries = None
        if before.entries is not None and after.entries is not None:
            entries = after.entries[len(before.entries) :]
        return given, after.runs_since(before), entries

    # ---- other tools

    def call_tool(
        self, tool: str, arguments: Any, *, session: Session | None = None
    ) -> TwoStepAnswer:
        params = {"name": tool, "arguments": arguments}
        return TwoStepAnswer.of((session or self.session).call("tools/call", params))

    def make(self, calls: tuple[ToolCall, ...]) -> None:
        """Calls that the user named, such as those that put things back."""
        for call in calls:
            answer = self.call_tool(call.tool, dict(call.arguments))
            failed = answer.member(self.table.success) is False
            if answer.is_error or failed or not answer.answered:
                raise DriverError(f"{call.tool}: {answer.describe()}", answer.reply)
