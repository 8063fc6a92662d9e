"""What the scenarios of SEP-2672 are written with: honest ceremonies, faulty ones, expectations.

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from virtual_authenticator import Authenticator, Profile, WebAuthnError
from virtual_authenticator.faults import Fault

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...wire import Outcome, Reply, Session
from ..base.outcome import errs
from ..base.scenario import ScenarioView, Warn, finding_of
from ..base.second_user import OPTION, headers_of_second_user
from . import vocabulary as words
from .driver import NOT_GIVEN, Approval, Challenge, ListedTool, Passkey
from .outcome import ApprovalOutcome, reason_in
from .vocabulary import AuthenticatorClass, Reason


class ToolsView(ScenarioView):
    """The tools of the target that a scenario may use."""

    def __init__(self, approval: Approval, warn: Warn) -> None:
        super().__init__(approval.target, warn)
        self.approval = approval

    def gated_tools(self) -> list[ListedTool]:
        """Gated tools that may be run here, with their safe arguments."""
        return [tool for tool in self.approval.tools() if tool.gated and tool.arguments is not None]

    def tool_of_class(
        self, wanted: AuthenticatorClass | None = None, *, given: bool | None = None
    ) -> ListedTool:
        """A gated tool of this class that may be run; `given` asks whether the class is named.

        A server need not have one of every class: if it lists none, nothing applies to it."""
        what = "gated tool" if wanted is None else f"gated tool of class {wanted}"
        if given is False:
            what = "gated tool without authenticatorClass"
        found = [
            tool
            for tool in self.approval.tools()
            if tool.annotation is not None
            and wanted in (None, tool.annotation.authenticator_class)
            and given in (None, tool.annotation.class_is_given)
        ]
        if not found and (wanted, given) != (None, None):
            raise NotApplicable(f"this server lists no {what}")
        for tool in found:
            if tool.arguments is not None:
                return tool
        raise NotVerified(f"needs a {what} that may be run: {PREFIX}tool NAME=JSON")

    @property
    def tool(self) -> ListedTool:
        """The gated tool that most scenarios use."""
        return self.tool_of_class()

    def second_tool(self, first: ListedTool | None = None) -> ListedTool:
        """Another gated tool than the usual one or this, of the same class if there is one."""
        first = first or self.tool
        if sum(tool.gated for tool in self.approval.tools()) == 1:
            raise NotApplicable(f"this server has one gated tool only, {first.name}")
        others = [tool for tool in self.gated_tools() if tool.name != first.name]
        if not others:
            raise NotVerified(f"needs a second gated tool: {PREFIX}tool NAME=JSON")
        assert first.annotation is not None
        same = first.annotation.authenticator_class
        return next(
            (t for t in others if t.annotation and t.annotation.authenticator_class is same),
            others[0],
        )

    def plain_tool(self) -> ListedTool:
        """An ungated tool that may be run; the effects probe only if there is no other."""
        ungated = [
            tool
            for tool in self.approval.tools()
            if words.META_KEY not in (tool.listing.get("_meta") or {})
        ]
        plain = sorted(ungated, key=lambda tool: tool.name == self._probe)
        for tool in plain:
            if tool.arguments is not None and tool.name != self._probe:
                return tool
        for tool in plain:
            # A tool that says it only reads, and asks for nothing, is safe to call.
            hints = tool.listing.get("annotations") or {}
            required = (tool.listing.get("inputSchema") or {}).get("required")
            if hints.get("readOnlyHint") and not required:
                return ListedTool(tool.name, tool.listing, None, {})
        if not plain:
            raise NotApplicable("this server lists no ungated tool")
        raise NotVerified(f"needs an ungated tool that may be run: {PREFIX}tool NAME=JSON")

    @property
    def _probe(self) -> str:
        """The tool that shows the effects, if that is how they are seen."""
        named = self.target.settings.effects or self.target.default_effects or ""
        return named.partition(":")[2] if named.startswith("tool:") else ""


class Ceremony(ToolsView):
    """One scenario's view of the target: a gated tool, a passkey, and what to expect."""

    _passkey: Passkey | None = None
    _kept_as = "passkey"
    """Where its passkey is kept on a target that keeps everything."""

    @property
    def session(self) -> Session:
        return self.approval.session

    # ---- honest steps: if one fails, nothing else can be judged

    @property
    def passkey(self) -> Passkey:
        """A security key that was enrolled for this scenario.

        On a target that keeps everything, one serves all scenarios that ask for no other: a
        thousand credentials would make every challenge a thousand entries long.
        """
        if self._passkey is None:
            if self.target.can_reset or self.target.settings.reset:
                self._passkey = self.enrol()
            else:
                self._passkey = self.target.remembered.get(self._kept_as) or self.enrol()
                self.target.remembered[self._kept_as] = self._passkey
        return self._passkey

    def enrol(
        self, shape: str | Profile | Authenticator = "security-key", **changes: Any
    ) -> Passkey:
        with self.honest_step():
            return self.approval.enrol(shape, **changes)

    def challenge(
        self, tool: ListedTool | str | None = None, arguments: Any = NOT_GIVEN, **more: Any
    ) -> Challenge:
        """A challenge for the tool (or the usual one) with its safe arguments, or others."""
        _ = self.passkey
        chosen = self.tool if tool is None else tool
        if isinstance(chosen, str):
            chosen = self.approval.tool(chosen)
        call = chosen.arguments if arguments is NOT_GIVEN else arguments
        with self.honest_step("an honest challenge was refused"):
            return self.approval.challenge(chosen.name, call, **more)

    def evidence(
        self,
        challenge: Challenge,
        passkey: Passkey | None = None,
        *,
        faults: Fault | str | Iterable[Fault | str] = (),
        ignoring: Iterable[str] = (),
        origin: str | None = None,
        **members: Any,
    ) -> dict[str, Any]:
        """Evidence for a challenge; `members` replace method, challengeId or response (None stays
        null, `NOT_GIVEN` leaves the member out)."""
        try:
            signed = (passkey or self.passkey).sign(
                challenge, faults=faults, ignoring=ignoring, origin=origin
            )
        except WebAuthnError as error:
            raise NotVerified(f"a browser could not answer the requestOptions: {error}") from error
        changed = {**signed, **members}
        return {name: value for name, value in changed.items() if value is not NOT_GIVEN}

    def honest(
        self, tool: ListedTool | None = None, passkey: Passkey | None = None, **more: Any
    ) -> ApprovalOutcome:
        """The positive twin: a whole honest approval. If it fails, nothing here can be judged."""
        if passkey is not None:
            self._passkey = self._passkey or passkey
        challenge = self.challenge(tool, **more)
        outcome = self.approval.call(challenge, self.evidence(challenge, passkey))
        if not outcome.executed and passkey is None and self._kept_as in self.target.remembered:
            # Something may have spoilt the shared passkey (its counter, say): try a new one.
            self.target.remembered.pop(self._kept_as)
            self._passkey = None
            challenge = self.challenge(tool, **more)
            outcome = self.approval.call(challenge, self.evidence(challenge))
        self.need_served(outcome)
        return outcome

    # ---- calls and expectations

    def call(self, challenge: Challenge, evidence: Any = NOT_GIVEN, **more: Any) -> ApprovalOutcome:
        """Submit a call; see `Approval.call` for the other keywords."""
        return self.approval.call(challenge, evidence, **more)

    def expect_refusal(
        self,
        outcome: ApprovalOutcome,
        *reasons: Reason | str,
        sent: str,
        tolerated: Mapping[Reason | str, str] | None = None,
    ) -> None:
        """The call was refused for one of these reasons, in the form of section 4.10, and the tool
        did not run. A tolerated reason is a warning, with the reading that allows it."""
        expected = f"{_refusal(reasons)}, tool not run"
        self.target.last_sent = sent
        if outcome.executed:
            raise finding_of(outcome, sent=sent, expected=expected, grade=Grade.RAN)
        got = outcome.describe()
        self._expect_reason(outcome.reply, reasons, tolerated or {}, sent, expected, got)

    def expect_error(
        self,
        reply: Reply,
        *reasons: Reason | str,
        sent: str,
        tolerated: Mapping[Reason | str, str] | None = None,
    ) -> None:
        """The same for the three methods, which run nothing."""
        self.target.last_sent = sent
        expected, got = _refusal(reasons), reply.describe()
        self._expect_reason(reply, reasons, tolerated or {}, sent, expected, got)

    def _expect_reason(
        self,
        reply: Reply,
        reasons: tuple[Reason | str, ...],
        tolerated: Mapping[Reason | str, str],
        sent: str,
        expected: str,
        got: str,
    ) -> None:
        """Section 4.8 fixes the reason of a refusal, section 4.10 its code: if only the code
        differs, that is a failure of sep2672/4.10-code, which provokes every reason."""
        error, reason = reply.error, reason_in(reply)
        if error is None:
            grade = Grade.RAN if reply.outcome is Outcome.RESULT else Grade.BROKEN
            grade = Grade.OTHER_WORDS if errs(reply) else grade
            raise Finding(sent=sent, expected=expected, got=got, grade=grade)
        if reason in reasons:
            if error.code != words.ERROR_CODE:
                self.warn(f"{sent}: {got}; the reason is right, and section 4.10 fixes the code")
        elif reason is not None and reason in tolerated:
            self.warn(f"{sent}: {got}; {tolerated[reason]}")
        else:
            got, grade = f"{got} (refused, but in other words)", Grade.OTHER_WORDS
            raise Finding(sent=sent, expected=expected, got=got, grade=grade)

    def expect_run(self, outcome: ApprovalOutcome, *, sent: str, runs: int = 1) -> None:
        """The call was approved: a result, and the tool ran that often."""
        if not outcome.served or outcome.runs not in (None, runs):
            raise finding_of(outcome, sent=sent, expected="a result, tool run once")

    def still_serves(self, challenge: Challenge, passkey: Passkey | None = None) -> None:
        """The very same challenge still serves the honest call (section 4.8, step 13)."""
        outcome = self.call(challenge, self.evidence(challenge, passkey))
        self.expect_run(
            outcome, sent="the honest call on the same challenge, after a refused attempt on it"
        )

    # ---- what a target may lack

    def twin(self) -> Approval:
        """Another, independent instance of the target."""
        return Approval(self.need_target(self.target.twin(), "a second instance of the target"))

    def second_user(self) -> Ceremony:
        """Another person at the same server, with a conversation and passkeys of their own."""
        return SecondPerson(self)


class SecondPerson(Ceremony):
    """The view of a second user, whom the server knows by other headers."""

    _kept_as = "passkey of the second user"

    def __init__(self, first: Ceremony) -> None:
        target = first.target
        headers = headers_of_second_user(target, known_to_document=True)

        def session() -> Session:
            if _SECOND_SESSION not in target.remembered:
                opened = target.new_session("pytest-mcp-approval, second user", headers=headers)
                target.remembered[_SECOND_SESSION] = opened
            found: Session = target.remembered[_SECOND_SESSION]
            return found

        super().__init__(Approval(target, session), first.warn)
        with first.honest_step(), self.honest_step():
            own, theirs = (one.approval.begin_options().get("user") or {} for one in (first, self))
            if {**own, "id": None} == {**theirs, "id": None}:
                # Only the handle differs: it may be another one at every begin (reading).
                again = first.approval.begin_options().get("user") or {}
                own = theirs if again.get("id") != own.get("id") else own
        if own == theirs:
            raise NotVerified(
                f"needs a second user: the server takes that of {OPTION} for the first",
                minor=True,
            )


_SECOND_SESSION = "conversation of the second user"


def _refusal(reasons: Iterable[Reason | str]) -> str:
    return f"{words.ERROR_CODE} {' or '.join(map(str, reasons))}"
