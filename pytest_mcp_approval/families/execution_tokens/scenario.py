"""What the scenarios are written with: good tokens, faulty ones, and what to expect of both.

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ...catalogue import Grade, NotApplicable, NotVerified
from ...wire import StdioTransport
from ..base.scenario import CloseLater, ScenarioView, Warn, finding_of
from .command_verifier import CommandVerifier
from .driver import ExecutionTokens
from .outcome import ExecutionOutcome
from .verifier_access import Verifier
from .vocabulary import FAMILY

Token = Mapping[str, Any] | bytes
Given = TypeVar("Given")


class Executions(ScenarioView):
    def __init__(self, driver: ExecutionTokens, warn: Warn, close_later: CloseLater) -> None:
        super().__init__(driver.target, warn, close_later)
        self.driver = driver
        self.table = driver.table
        self.verifier = driver.verifier

    @property
    def other_content(self) -> bytes:
        return self._safely(lambda: self.driver.other_content)

    @property
    def runs_anything(self) -> bool:
        """Whether more may be executed than the user named: where the suite itself is what runs
        it, or where nothing runs."""
        if isinstance(self.verifier, CommandVerifier):
            return self.verifier.shows_runs
        return not self.target.speaks_mcp or FAMILY in self.target.known_settings

    # ---- tokens

    def need_secret(self) -> None:
        self._safely(self.driver.known_secret)

    def need_argument(self, name: str) -> None:
        """A verifier that is not told the host or the action cannot refuse another one."""
        if not self._safely(lambda: self.verifier.takes(name)):
            raise NotVerified(
                f"needs a way to tell the {name}: {{{name}}} in the command line, or "
                f"arguments.{name} = NAME in [{FAMILY}], as the tool calls it"
            )

    def token(self, **more: Any) -> dict[str, Any]:
        """A good token, or what `more` makes of it; see `ExecutionTokens.token`."""
        return self._safely(lambda: self.driver.token(**more))

    def changed(self, token: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
        """With other members, but the old signature. None leaves one out."""
        names = self.table.names
        changed = {**token, **{names[name]: value for name, value in changes.items()}}
        return {name: value for name, value in changed.items() if value is not None}

    def with_scope(self, scope: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """A token with just this scope, signed as it is."""
        token = {**self.token(**more), self.table.names["scope"]: scope}
        return self._safely(lambda: self.driver.signed(token))

    @property
    def keeps_numbers(self) -> bool:
        """Whether numbers come as they were written: an object passes through readers of JSON."""
        return self.table.token_as == "text" or not self.target.speaks_mcp

    @property
    def keeps_lines(self) -> bool:
        """Whether a token may have line ends: on a pipe they end the message that it is part of."""
        on_a_pipe = self.target.speaks_mcp and isinstance(self.target.transport, StdioTransport)
        return self.table.token_as == "text" or not on_a_pipe

    def some(self, cases: Mapping[str, Given], *, always: int = 0) -> dict[str, Given]:
        """All of them if asking is quick; else so many from the beginning, and a few of the others,
        the same in every run."""
        first, others = list(cases.items())[:always], list(cases.items())[always:]
        most = self.verifier.samples
        if most is None or most >= len(others):
            return dict(cases)
        return dict([*first, *random.Random(6).sample(others, most)])

    def honest(self, **more: Any) -> ExecutionOutcome:
        """The positive twin: a good token is accepted. If not, nothing here can be judged."""
        answer = self.execute(self.token(), **more)
        self.need_served(answer, "an honest token is refused")
        return answer

    # ---- asking

    def execute(self, token: Token, **more: Any) -> ExecutionOutcome:
        return self._safely(lambda: self.driver.execute(token, **more))

    def execute_each(self, tokens: Sequence[Token], **more: Any) -> list[ExecutionOutcome]:
        requests = [self.driver.request(token, **more) for token in tokens]
        return self._safely(lambda: self.verifier.ask_each(requests))

    def execute_together(self, token: Token, times: int) -> list[ExecutionOutcome]:
        request = self.driver.request(token)
        return self._safely(lambda: self.verifier.ask_together(request, times))

    def _safely(self, act: Callable[[], Given]) -> Given:
        with self.honest_step():
            return act()

    # ---- expectations

    def expect_accepted(self, answer: ExecutionOutcome, *, sent: str) -> None:
        """Accepted, and run once with the bytes that were approved."""
        if not answer.served_once:
            grade = Grade.RAN if (answer.runs or 0) > 1 else Grade.BROKEN
            expected = "accepted, content run once"
            raise finding_of(answer, sent=sent, expected=expected, grade=grade)

    def expect_refused(self, answer: ExecutionOutcome, *, sent: str) -> None:
        """Refused, in any words (the document prescribes none), and nothing ran."""
        if not answer.refused:
            expected = "refused, content not run"
            raise finding_of(answer, sent=sent, expected=expected, grade=Grade.RAN)

    def expect_all_refused(
        self, tokens: Mapping[str, Token], *, sent: str = "a token", **more: Any
    ) -> None:
        """Each of these tokens is refused; its name says what is wrong with it."""
        self._expect_each(self.expect_refused, tokens, f"{sent} with ", more)

    def expect_all_accepted(self, tokens: Mapping[str, Token], *, sent: str, **more: Any) -> None:
        self._expect_each(self.expect_accepted, tokens, f"{sent}: ", more)

    def _expect_each(
        self,
        expect: Callable[..., None],
        tokens: Mapping[str, Token],
        sent: str,
        more: Mapping[str, Any],
    ) -> None:
        answers = self.execute_each(list(tokens.values()), **more)
        with self.several() as several:
            for name, answer in zip(tokens, answers, strict=True):
                with several.one(name):
                    expect(answer, sent=f"{sent}{name}")

    def still_serves(self, token: Token, *, after: str) -> None:
        """The same token is still good. A warning if not, since the document does not say so."""
        answer = self.execute(token)
        if not answer.accepted:
            self.warn(f"the honest token, after {after}: {answer.describe()}; expected accepted")

    # ---- other verifiers

    def over(self, verifier: Verifier | None, what: str, secret: str | None = None) -> Executions:
        if verifier is None:
            raise NotVerified(f"needs {what}")
        if verifier is not self.verifier:
            self._close_later(verifier.close)
        return Executions(self.driver.over(verifier, secret), self.warn, self._close_later)

    def with_secret(self, secret: str | None) -> Executions:
        made = self._safely(lambda: self.verifier.with_secret(secret))
        needed = "a verifier that the suite starts, so that it can be told another secret"
        other = self.over(made, needed)
        other.driver.secret = secret or ""
        return other

    def restart(self, *, kill: bool = False) -> None:
        self._safely(lambda: self.verifier.restart(kill=kill))

    @property
    def command(self) -> CommandVerifier:
        """The verifier, if it is a command; rules about files and processes apply to no other."""
        if not isinstance(self.verifier, CommandVerifier):
            raise NotApplicable("the content comes with the call: there is no file to change")
        if not self.verifier.shows_runs:
            raise NotVerified("needs to see what is executed: {runner} in the command line")
        return self.verifier
