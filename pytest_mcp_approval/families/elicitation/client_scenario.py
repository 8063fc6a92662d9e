"""What the scenarios about clients that ask are written with: the question, the person, the answer.

    seen = asked.is_asked()              # the person reads; nothing has left yet
    asked.decides(asked.description.decline)
    asked.expect_answer("decline", sent="...")

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...catalogue import Finding, NotApplicable, NotVerified
from ...clients.messages import Incoming
from ...clients.opened import ClientUnderTest
from ...clients.person import ClientPrompt, SeenText
from ...wire.eras import Era
from ..base.client_scenario import ClientScenario, Warn, shortly
from . import vocabulary as words
from .scripted_questions import ARGUMENTS, ASKING, PLAIN, Answered, ScriptedQuestions

WITH_MODES = "2025-11-25"


class AskedClient(ClientScenario):
    """A client whose server asks its person."""

    def __init__(self, client: ClientUnderTest, warn: Warn) -> None:
        super().__init__(client, warn)
        self.script = ScriptedQuestions(client.server)

    @property
    def answered(self) -> list[Answered]:
        return self.script.answered

    # ---- honest steps

    def is_asked(self, *, sent: str = "") -> SeenText:
        """The person has the tool called, and is asked. An answer that leaves before is a finding;
        a client that neither asks nor answers cannot be checked."""
        before = len(self.answered)
        self.calls_asking()
        seen = self.person.sees(or_if=lambda: len(self.answered) > before)
        if len(self.answered) > before:
            raise Finding(
                sent=sent or "a question for the person",
                expected="the person is asked before anything is answered",
                got=f"{self.answered[-1].describe()}, before the person was asked",
            )
        if seen.prompt is not ClientPrompt.DECIDE:
            raise NotVerified(
                f"the client did not ask its person (it shows {self.description.decide[0]!r} when "
                f"it does, says the description); it shows {shortly(self.screen())}"
            )
        return seen

    def calls_asking(self) -> None:
        """The person has the tool that asks called."""
        self.calls(ASKING, ARGUMENTS)

    def approves_if_form(self) -> None:
        """What the client has declared is known after this, and that it can ask, if it can."""
        self.calls_plainly()
        if words.Mode.FORM in self.script.modes:
            self.approves()

    def decides(self, typed: str, fields: Mapping[str, Sequence[str]] | None = None) -> str:
        """The person answers every prompt in this way, until the client is done with the call;
        what it has shown."""
        given = {"confirm": ["true"]} if fields is None else fields
        return self.finishes(self.person.answers(typed, given))

    def agrees(self) -> Answered:
        """The person agrees, and the answer has come."""
        before = len(self.answered)
        self.decides(self.description.agree)
        if len(self.answered) == before:
            raise NotVerified(
                f"the person agreed, and no answer came; the client shows {shortly(self.screen())}"
            )
        return self.answered[-1]

    def approves(self) -> Answered:
        """A question, and the person's yes to it."""
        self.is_asked()
        answered = self.agrees()
        if answered.action != words.Action.ACCEPT:
            raise NotVerified(f"the person agreed, and the client sent {answered.describe()}")
        return answered

    def calls_plainly(self) -> Incoming:
        """A call of the tool that asks nobody."""
        self.calls(PLAIN, {})
        self.finishes()
        calls = self.server.calls(PLAIN)
        self.need(bool(calls), f"{PLAIN} was not called")
        return calls[-1]

    # ---- what a client may lack

    @property
    def before_modes(self) -> bool:
        """Whether the revision that was agreed on is older than 2025-11-25, in which modes came,
        and what clients owe their people became a MUST."""
        return self.server.revision < WITH_MODES

    def need_mode(self, mode: words.Mode) -> None:
        """A mode that the client does not declare is not asked of it."""
        if not self.server.of("tools/call"):
            self.calls_plainly()
        if mode not in self.script.modes:
            raise NotApplicable(f"the client declares {self.script.declared_in_words}, not {mode}")

    def need_cancel(self) -> str:
        if not self.description.cancel:
            raise NotVerified("needs what a person types to leave: cancel in [client]", minor=True)
        return self.description.cancel

    # ---- expectations

    def expect_answer(self, action: words.Action, before: int, *, sent: str) -> None:
        """One answer came, and it is this one. Since 2026-07-28 a call need not be made again: a
        server that is not told that the person said no is left waiting, which is a warning."""
        came = self.answered[before:]
        if not came and self.server.era is Era.SESSIONLESS and action != words.Action.ACCEPT:
            self.warn(f"{sent}: the server is not told (no retry with {action} came)")
            return
        told = ", then ".join(one.describe() for one in came) or "no answer"
        self.expect(
            [one.action for one in came] == [action], sent=sent, expected=str(action), got=told
        )

    def first_and_retry(self) -> tuple[Incoming, Incoming]:
        """The call that was answered by a question, and the one that answered it."""
        calls = self.server.calls(ASKING)
        self.need(len(calls) >= 2, "the call was not made again after the person agreed")
        return calls[-2], calls[-1]

    def expect_clean(self, incoming: Incoming, *, sent: str) -> None:
        """A request that answers nothing carries neither a state nor answers."""
        found = [
            name for name in (words.REQUEST_STATE, words.INPUT_RESPONSES) if name in incoming.params
        ]
        self.expect(
            not found,
            sent=sent,
            expected=f"{incoming.method} without {words.REQUEST_STATE} and answers of another call",
            got=f"{incoming.method} with {', '.join(found)}",
        )


def content_of(answered: Answered) -> Mapping[str, Any]:
    return answered.content if isinstance(answered.content, Mapping) else {}
