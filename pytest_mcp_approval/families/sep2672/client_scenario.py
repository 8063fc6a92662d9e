"""What the scenarios about clients that approve are written with: the review, the signature, the
call.

    approving.asks()                      # the person reads displayText; nothing is signed yet
    done = approving.agrees()
    approving.expect_run(done, sent="...")

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...catalogue import Finding, NotVerified
from ...clients.messages import Incoming, ScriptedRefusal
from ...clients.opened import ClientUnderTest
from ...clients.person import ClientPrompt, SeenText
from ..base.client_scenario import ClientScenario, Warn, shortly
from . import vocabulary as words
from .client_expectations import ClientExpectations
from .scripted_approvals import (
    ARGUMENTS,
    GATED,
    ScriptedApprovals,
    SignedApproval,
    SuiteAuthenticator,
)

_NOT_OURS = "needs to see what is signed: {authenticator} in the client's command (docs/clients.md)"


@dataclass(frozen=True)
class ClientCall:
    """What became of one call of the gated tool."""

    challenges: Sequence[Incoming]
    calls: Sequence[Incoming]
    signed: Sequence[SignedApproval]
    said: str
    """What the client has shown since the person was last asked."""

    @property
    def evidence(self) -> Any:
        return self.calls[-1].meta.get(words.META_KEY) if self.calls else None

    def describe(self) -> str:
        parts = [
            f"{len(self.challenges)} challenges",
            f"{len(self.signed)} signatures",
            f"{len(self.calls)} tools/call",
        ]
        return f"{', '.join(parts)}; the client shows {shortly(self.said)}"


class ApprovingClient(ClientScenario, ClientExpectations):
    """A client whose server wants calls approved."""

    def __init__(
        self, client: ClientUnderTest, authenticator: SuiteAuthenticator, warn: Warn
    ) -> None:
        super().__init__(client, warn)
        self.script = ScriptedApprovals(client.server, authenticator)
        self._before = (0, 0, 0)
        self._enrolled = self._signs_with_ours

    @property
    def _signs_with_ours(self) -> bool:
        in_a_browser = self.description.page.url is not None
        return in_a_browser or "{authenticator}" in (self.description.command or "")

    def sent_calls(self) -> list[Incoming]:
        return self.server.calls(GATED)

    @property
    def signed(self) -> list[SignedApproval]:
        return self.script.authenticator.signed

    # ---- honest steps

    def calls_gated(self, arguments: Mapping[str, Any] = ARGUMENTS) -> None:
        """The person has the gated tool called; a client with an authenticator of its own is
        enrolled before."""
        if not self._enrolled and self.description.enroll and not self.description.once_per_call:
            self.person.enrolls()
        self._enrolled = True
        self._before = (
            len(self.server.of(words.CHALLENGE_CREATE)),
            len(self.sent_calls()),
            len(self.signed),
        )
        self.calls(GATED, arguments)

    def so_far(self, said: str | None = None) -> ClientCall:
        """What the client has done since the call was asked for."""
        challenges, calls, signed = self._before
        return ClientCall(
            self.server.of(words.CHALLENGE_CREATE)[challenges:],
            self.sent_calls()[calls:],
            self.signed[signed:],
            self.screen() if said is None else said,
        )

    def asks(self, arguments: Mapping[str, Any] = ARGUMENTS) -> SeenText:
        """The person has the gated tool called, and is asked to approve. `NotVerified` if the
        client does not ask."""
        self.calls_gated(arguments)
        seen = self.person.sees()
        if seen.prompt is not ClientPrompt.DECIDE:
            raise NotVerified(
                f"the client did not ask its person (it shows {self.description.decide[0]!r} when "
                f"it does, says the description); {self.so_far().describe()}"
            )
        return seen

    def decides(self, typed: str) -> ClientCall:
        seen = self.person.answers(typed)
        self.finishes(seen)
        return self.so_far(seen.text)

    def agrees(self) -> ClientCall:
        return self.decides(self.description.agree)

    def approves(self, arguments: Mapping[str, Any] = ARGUMENTS) -> ClientCall:
        """A gated call that the person approves; `NotVerified` if it does not go through."""
        self.asks(arguments)
        done = self.agrees()
        if not done.calls:
            raise NotVerified(f"the person approved, and nothing was called: {done.describe()}")
        return done

    def is_started_anew(self) -> None:
        """The client is ended, and lists the tools anew with its next call. A passkey that it had
        in its memory is gone, so it is enrolled again."""
        self.person.leaves()
        self._enrolled = self._signs_with_ours

    def approves_when_started_anew(self) -> None:
        """The honest twin of a change in what is listed: without it, being started anew changes
        nothing. After this the change can be made."""
        self.approves()
        self.is_started_anew()
        self.approves()
        self.is_started_anew()

    def is_told(self, answers: Mapping[str, ScriptedRefusal]) -> str:
        """What the client says if these methods are refused; the person agrees to all."""
        self.script.instead = dict(answers)
        try:
            self.calls_gated()
            seen = self.person.answers(self.description.agree)
            self.finishes(seen)
            return seen.text
        finally:
            self.script.instead = {}

    def need_signatures(self, done: ClientCall) -> None:
        """A client with an authenticator of its own is not seen signing."""
        if not done.signed:
            raise NotVerified(_NOT_OURS, minor=True)

    # ---- expectations

    def expect_run(self, done: ClientCall, *, sent: str) -> None:
        """The call was approved and made, once."""
        self.expect(
            len(done.calls) == 1 and isinstance(done.evidence, Mapping),
            sent=sent,
            expected="a challenge, a review, and one tools/call with evidence",
            got=done.describe(),
        )

    def expect_approval(self, *, sent: str) -> ClientCall:
        """A call that went through before still does: the client copes with what changed."""
        try:
            done = self.approves()
        except NotVerified as error:
            expected = "a review and an approval, as before"
            raise Finding(sent=sent, expected=expected, got=str(error.msg)) from None
        self.expect_run(done, sent=sent)
        return done
