"""The model of confirmation tokens for a session (section 5.4): so many uses, in it alone, and none
after its end."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...catalogue import Grade
from ...wire import HANDSHAKE_REVISIONS, Era, Session, StdioTransport, WireError, open_session
from ..base.exploration import LeftOut, one_of, transition, which
from ..base.token_exploration import TokenModel
from ..base.token_state import CLOSE
from . import vocabulary as words
from .driver import ConfirmationTokens, IssuedToken
from .outcome import ConfirmationOutcome
from .settings import NamedOperation

SCOPE, BOUND, EXPIRY = "5.4-session-scope", "5.4-session-bound", "5.4-session-expiry"
_MOST = 3
_NO_SESSIONS = "exploration: no sessions"


@dataclass
class SessionToken:
    """A token, and the session that it is for."""

    issued: IssuedToken
    session: Session
    left: int
    over: datetime.datetime | None
    good_until: datetime.datetime | None
    certain: bool = True
    """Whether the server must still know it, and the session is the same."""
    ended: bool = False


class SessionTokensModel(TokenModel):
    """Tokens that serve several times."""

    driver: ConfirmationTokens

    def __init__(self, target: Any, exercised: Any = None) -> None:
        super().__init__(target, exercised)
        self.for_sessions: list[SessionToken] = []

    def scoped(self) -> Sequence[NamedOperation]:
        found = self.driver.binding.table.operations
        return [one for one in found if one.gated and one.max_uses > 1 and not one.quota]

    def end_of(
        self, issued: IssuedToken
    ) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        """When it is certainly over, and until when it is certainly good (section 5.1)."""
        end = issued.expiry.at if issued.expiry is not None else None
        tolerance = self.driver.binding.table.tolerance
        late = words.DEFAULT_TOLERANCE if tolerance is None else tolerance
        return None if end is None else end + datetime.timedelta(seconds=late), end

    @property
    def can_scope(self) -> bool:
        known = self.target.remembered.get(_NO_SESSIONS)
        return not known and len(self.for_sessions) < _MOST and bool(self.scoped())

    @property
    def has_scoped(self) -> bool:
        return bool(self.for_sessions)

    @transition("a token for a session is issued", when="can_scope", number=which(3))
    def issue_for_session(self, number: int) -> None:
        operation: NamedOperation = self.pick(self.scoped(), number)
        session = self._own_session()
        with self.honest_steps(
            self.rules.served, "an honest approval is refused", sent="what asks for an approval"
        ):
            issued = self.driver.issue(operation.name, operation.params, session=session)
        over, end = self.end_of(issued)
        self.for_sessions.append(SessionToken(issued, session, operation.max_uses, over, end))
        self.say(
            f"{operation.name} is approved for a session, {operation.max_uses} times",
            f"session token {len(self.for_sessions)}",
        )

    @transition(
        "a token for a session is used",
        when="has_scoped",
        rules=(SCOPE, BOUND, EXPIRY),
        weight=3,
        number=which(),
        elsewhere=one_of(False, False, True),
    )
    def use_in_session(self, number: int, elsewhere: bool) -> None:
        token: SessionToken = self.pick(self.for_sessions, number)
        if token.ended and not elsewhere:
            raise LeftOut
        session = self.driver.session if elsewhere else token.session
        outcome = self.driver.redeem(token.issued, session=session)
        self.look_at(outcome)
        where = "outside its session" if elsewhere else "in its session"
        self.say(
            f"session token {self.for_sessions.index(token) + 1} is used {where}",
            outcome.describe(),
        )
        rule, why = self._refusal_due(token, elsewhere)
        left = token.left
        if outcome.executed:
            token.left -= 1
        self.checked(rule or SCOPE)
        if rule:
            self._expect_nothing(outcome, rule, why)
        elif not outcome.served and self._must_serve(token):
            raise self.broken(
                SCOPE,
                "a token for a session is refused",
                sent=f"a session token with {left} uses left",
                expected="it runs",
                got=outcome.describe(),
            )

    def _refusal_due(self, token: SessionToken, elsewhere: bool) -> tuple[str, str]:
        now = self.target.clock.now()
        if token.left <= 0:
            return BOUND, "a session token whose uses are gone"
        if token.over is not None and now > token.over + CLOSE:
            return EXPIRY, "a session token that is over"
        if elsewhere:
            return BOUND, "a session token outside its session"
        return "", ""

    def _must_serve(self, token: SessionToken) -> bool:
        now = self.target.clock.now()
        return token.certain and (token.good_until is None or now < token.good_until - CLOSE)

    def _expect_nothing(self, outcome: ConfirmationOutcome, rule: str, why: str) -> None:
        if outcome.executed or outcome.succeeded:
            raise self.broken(
                rule,
                f"{why} runs",
                sent=why,
                expected="refused, operation not run",
                got=outcome.describe(),
                grade=Grade.RAN,
            )

    @transition("the session of a token ends", when="has_scoped", number=which())
    def end_session(self, number: int) -> None:
        token: SessionToken = self.pick(self.for_sessions, number)
        if token.ended or isinstance(self.target.transport, StdioTransport):
            raise LeftOut
        token.session.close()
        token.ended = True
        self.say(f"the session of session token {self.for_sessions.index(token) + 1} ends")

    def forget_sessions(self) -> None:
        """The server was restarted."""
        for one in self.for_sessions:
            one.certain, one.ended = False, True

    def _own_session(self) -> Session:
        """On a pipe, the only one; else one that can end. Some eras and servers have none."""
        shared = self.driver.session
        if isinstance(self.target.transport, StdioTransport):
            return shared
        known = shared.revision if shared.era is Era.HANDSHAKE else max(HANDSHAKE_REVISIONS)
        try:
            session = open_session(self.target.transport, known, deadline=shared.deadline)
        except WireError as error:
            self.target.remembered[_NO_SESSIONS] = True
            raise LeftOut from error
        self.close_later(session.close)
        if session.session_id is None:
            self.target.remembered[_NO_SESSIONS] = True
            raise LeftOut
        return session
