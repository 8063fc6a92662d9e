"""The kinds of tokens that a target has, and how each one is got and used.

What holds for one kind holds for all: for each level, for the end of a pause, for a session. Knows
no rule.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...catalogue import NotApplicable
from ...wire import Session
from .driver import IssuedToken
from .outcome import ConfirmationAnswer, ConfirmationOutcome
from .scenario import Confirmations
from .settings import NamedOperation
from .vocabulary import Danger

LEVELS = tuple(level.word for level in (Danger.DESTRUCTIVE, Danger.DANGEROUS, Danger.FORBIDDEN))
QUOTA, SESSION = "quota", "session"
KINDS = (*LEVELS, QUOTA, SESSION)
FEW = (Danger.DESTRUCTIVE.word, QUOTA, SESSION)
"""Where the level does not matter."""


@dataclass(frozen=True)
class KindOfToken:
    """Tokens of one kind, of one operation."""

    tokens: Confirmations
    name: str
    operation: NamedOperation
    session: Session | None = None

    def issue(self, params: Mapping[str, Any] | None = None) -> IssuedToken:
        if self.name != QUOTA:
            return self.tokens.issue(self.operation, params, session=self.session)
        given = self.operation.params if params is None else params
        with self.tokens.honest_step("the operation with a quota did not pause"):
            return self.tokens.driver.paused(self.operation.name, given)

    def redeem(self, issued: IssuedToken, **more: Any) -> ConfirmationOutcome:
        return self.tokens.redeem(issued, session=self.session, **more)

    def attempt(self, issued: IssuedToken) -> ConfirmationOutcome:
        """Redeem a token that should not serve. An operation with a quota is paused before: it
        could otherwise run without any token."""
        if self.name == QUOTA:
            self.issue()
        return self.redeem(issued)

    def expect_nothing_runs(self, attempts: Mapping[str, IssuedToken]) -> None:
        """The same for many at once, by what is sent; with one look at the effects."""
        if self.name == QUOTA:
            self.issue()
        call = self.tokens.driver.redeem_params
        calls = {sent: call(issued) for sent, issued in attempts.items()}
        self.tokens.expect_nothing_runs(calls, self.session)

    def send(self, issued: IssuedToken, *, tool: str | None = None) -> ConfirmationAnswer:
        """Redeem a token without a look at the effects."""
        driver = self.tokens.driver
        call = driver.binding.call_params(
            issued.operation, issued.params, issued.token, issued.kind, tool=tool
        )
        reply = driver.send(call, self.session)
        driver.forget()
        return driver.binding.read(reply)

    def honest(self) -> None:
        self.tokens.need_served(self.redeem(self.issue()))

    def used(self) -> IssuedToken:
        """A token that has served as often as it may."""
        issued = self.issue()
        for _ in range(self.uses):
            self.tokens.need_served(self.redeem(issued))
        return issued

    def changed(self) -> Mapping[str, Any]:
        return self.tokens.changed(self.operation)

    @property
    def uses(self) -> int:
        return self.operation.max_uses if self.name == SESSION else 1


@contextlib.contextmanager
def tokens_of_kind(tokens: Confirmations, name: str) -> Iterator[KindOfToken]:
    """`NotApplicable` if the target has none of this kind, as far as the table says."""
    if name == QUOTA:
        yield KindOfToken(tokens, name, tokens.with_("quota"))
    elif name == SESSION:
        several = [one for one in tokens.table.operations if one.gated and one.max_uses > 1]
        if not several:
            raise NotApplicable("no operation with max-uses above 1 is named in operations")
        with tokens.own_session() as session:
            yield KindOfToken(tokens, name, several[0], session)
    else:
        yield KindOfToken(tokens, name, tokens.of_level(Danger.read(name)))
