"""Servers that go on where nobody was asked: without the capability, after errors, in silence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from pytest_mcp_approval.families.elicitation.vocabulary import Mode, declared_modes
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.server.answers import tool_result
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.held_calls import (
    ClientReply,
    HeldCall,
    ReplyKind,
)
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant

NO_CAPABILITY = "elicitation/no-capability"
MODE = "elicitation/mode-not-declared"
THIS_REQUEST = "elicitation/capability-of-this-request"
CLIENT_ERROR = "elicitation/client-error"
SILENT = "elicitation/client-silent"
CONSENT = "elicitation/model-set-consent"


# ---- capabilities


class _AutoConfirms(ElicitationGate):
    def decide(self, call: GatedCall) -> Any:
        if not declared_modes(call.caller.capabilities):
            return call.run()
        return super().decide(call)


@mutant(kills=NO_CAPABILITY, because=RAN)
@in_extension
class ConfirmsForOldClients(_AutoConfirms):
    """Confirms by itself for a client that cannot ask: else old clients could do nothing."""


@mutant(kills=NO_CAPABILITY, because=RAN, protocol=HANDSHAKE)
@in_extension
class ConfirmsForOldClientsInside(_AutoConfirms):
    """The same in the handshake era."""


@mutant(kills=NO_CAPABILITY, because=r"a question \((form|url)\)")
@in_extension
class AsksWhoCannotBeAsked(ElicitationGate):
    """Asks every client, whatever it declared."""

    def check_capability(self, call: GatedCall) -> None:
        """Nothing."""


@mutant(kills=NO_CAPABILITY, because=r"a question \((form|url)\)", protocol=HANDSHAKE)
@in_extension
class AsksWhoCannotBeAskedInside(ElicitationGate):
    """Asks every client of the handshake era, whatever it declared."""

    def check_capability(self, call: GatedCall) -> None:
        """Nothing."""


@mutant(kills=NO_CAPABILITY, because=RAN)
@in_extension
class NullIsOld(ElicitationGate):
    """A client that declares null knows elicitation and turned it off: no question is needed."""

    def decide(self, call: GatedCall) -> Any:
        declared = call.caller.capabilities
        if isinstance(declared, Mapping) and declared.get("elicitation", 0) is None:
            return call.run()
        return super().decide(call)


@mutant(kills=NO_CAPABILITY, because=RAN, protocol=HANDSHAKE)
@in_extension
class TrustsClientsThatSample(ElicitationGate):
    """A client that declares sampling has a person in its loop anyway."""

    def decide(self, call: GatedCall) -> Any:
        declared = call.caller.capabilities or {}
        if "sampling" in declared and "elicitation" not in declared:
            return call.run()
        return super().decide(call)


@mutant(kills=NO_CAPABILITY, because=RAN)
@in_extension
class TakesAFlagInstead(ElicitationGate):
    """Without the capability it takes an argument for the yes: confirm, or force."""

    def decide(self, call: GatedCall) -> Any:
        flags = ("confirm", "confirmed", "force", "yes", "approve", "approved")
        is_set = any(call.arguments.get(flag) is True for flag in flags)
        if is_set and not declared_modes(call.caller.capabilities):
            return call.run()
        return super().decide(call)


class _AnyMode(ElicitationGate):
    def modes_of(self, call: GatedCall) -> frozenset[Mode]:
        return frozenset(Mode) if super().modes_of(call) else frozenset()


@mutant(kills=MODE, because=r"a question \((form|url)\)")
@in_extension
class AnyModeWillDo(_AnyMode):
    """Looks whether there is the capability, and not for which mode."""


@mutant(kills=MODE, because=r"a question \((form|url)\)", protocol=HANDSHAKE)
@in_extension
class AnyModeWillDoInside(_AnyMode):
    """The same in the handshake era."""


@mutant(kills=MODE, because=r"a question \(url\)")
@in_extension
class AnEmptyObjectMeansBoth(ElicitationGate):
    """Takes an empty object for all modes, not for forms only."""

    def modes_of(self, call: GatedCall) -> frozenset[Mode]:
        declared = call.caller.capabilities
        both = isinstance(declared, Mapping) and declared.get("elicitation") == {}
        return frozenset(Mode) if both else super().modes_of(call)


@mutant(kills=MODE, because=r"a question \(form\)", protocol=HANDSHAKE)
@in_extension
class PagesMeanForms(ElicitationGate):
    """Who can open a page can fill in a form."""

    def modes_of(self, call: GatedCall) -> frozenset[Mode]:
        modes = super().modes_of(call)
        return modes | {Mode.FORM} if Mode.URL in modes else modes


@mutant(kills=MODE, because=RAN)
@in_extension
class RunsInTheOtherMode(ElicitationGate):
    """What it can only ask on a page runs for clients that have forms only."""

    def decide(self, call: GatedCall) -> Any:
        modes = self.modes_of(call)
        return call.run() if modes and self.mode_of(call) not in modes else super().decide(call)


@mutant(kills=THIS_REQUEST, because=RAN)
@in_extension
class LooksAtTheFirstRequestOnly(ElicitationGate):
    """Checks the capability when it asks, and not when the answer comes."""

    def check_capability(self, call: GatedCall) -> None:
        if "requestState" not in call.caller.params:
            super().check_capability(call)


@mutant(kills=THIS_REQUEST, because="tool run")
@in_extension
class RemembersCapabilities(ElicitationGate):
    """What a user's client once declared counts for all its later requests."""

    def modes_of(self, call: GatedCall) -> frozenset[Mode]:
        known: dict[str, frozenset[Mode]] = self.__dict__.setdefault("modes", {})
        known[call.caller.user] = super().modes_of(call) | known.get(call.caller.user, frozenset())
        return known[call.caller.user]


# ---- the client's errors


class _RunsUnanswered(ElicitationGate):
    kinds: frozenset[ReplyKind]

    def unanswered(self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply) -> Any:
        if reply.kind in self.kinds and self.means_yes(reply):
            return self.run_once(call, question)
        return super().unanswered(call, question, reply)

    def means_yes(self, reply: ClientReply) -> bool:
        return True


@mutant(kills=CLIENT_ERROR, because=RAN, protocol=HANDSHAKE)
@in_extension
class AnErrorIsConsent(_RunsUnanswered):
    """A client that answers with an error cannot ask, so it goes on without."""

    kinds = frozenset({ReplyKind.ERROR})


@mutant(kills=CLIENT_ERROR, because=RAN, protocol=HANDSHAKE)
@in_extension
class AnUnknownMethodIsConsent(_RunsUnanswered):
    """Goes on if the client does not know the method: it must be an old one."""

    kinds = frozenset({ReplyKind.ERROR})

    def means_yes(self, reply: ClientReply) -> bool:
        return bool(reply.error["code"] == -32601)


@mutant(kills=CLIENT_ERROR, because=RAN, protocol=HANDSHAKE)
@in_extension
class KnowsThreeErrors(_RunsUnanswered):
    """Stops on the errors of the protocol's own list, and goes on after all others."""

    kinds = frozenset({ReplyKind.ERROR})

    def means_yes(self, reply: ClientReply) -> bool:
        return reply.error["code"] not in (-32601, -32602, -32603, -32600)


@mutant(kills=CLIENT_ERROR, because=RAN, protocol=HANDSHAKE)
@in_extension
class AnEmptyResultIsConsent(ElicitationGate):
    """A result without members says that there was nothing to object to."""

    def answered_inside(
        self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply
    ) -> Any:
        if reply.kind is ReplyKind.ANSWERED and not reply.result:
            return self.run_once(call, question)
        return super().answered_inside(call, question, reply)


# ---- silence


@mutant(kills=SILENT, because="executed", protocol=HANDSHAKE)
@in_extension
class SilenceIsConsent(_RunsUnanswered):
    """Goes on when nobody answers in time."""

    kinds = frozenset({ReplyKind.SILENT})


@mutant(kills=SILENT, because="2 runs", protocol=HANDSHAKE)
@in_extension
class ALostClientIsConsent(_RunsUnanswered):
    """Finishes what it was told to do, if the call is cancelled or its connection cut."""

    kinds = frozenset({ReplyKind.GONE})


@mutant(kills=SILENT, because="2 runs", protocol=HANDSHAKE)
@in_extension
class AnEndedSessionIsConsent(_RunsUnanswered):
    """Finishes what is open when a session ends; the SDK tells that as an error."""

    kinds = frozenset({ReplyKind.ERROR, ReplyKind.GONE})

    def means_yes(self, reply: ClientReply) -> bool:
        return reply.kind is ReplyKind.GONE or "closed" in str(reply.error).lower()


@mutant(kills=SILENT, because="the call is still open", protocol=HANDSHAKE, timeout=2.0)
@in_extension
class NeverGivesUp(ElicitationGate):
    """Never gives a question up."""

    def ask_inside(self, call: GatedCall) -> HeldCall:
        held = super().ask_inside(call)
        return HeldCall(held.then, timedelta(days=365), held.question, held.ready, held.news)


@mutant(kills=SILENT, because=RAN, protocol=HANDSHAKE)
class AnswersLate(ElicitationExtension):
    """Gives up in time, and still takes the answer when it comes: the next call runs at once."""

    class _Gate(ElicitationGate):
        def unanswered(
            self, call: GatedCall, question: ElicitationQuestion, reply: ClientReply
        ) -> Any:
            if reply.kind in (ReplyKind.SILENT, ReplyKind.GONE):
                self.__dict__.setdefault("open", set()).add(self.bound(call))
            return super().unanswered(call, question, reply)

        def decide(self, call: GatedCall) -> Any:
            late = self.__dict__.setdefault("open", set())
            if self.bound(call) in late:
                late.discard(self.bound(call))
                return call.run()
            return super().decide(call)

    gate_class = _Gate


# ---- what a model may set


class _TakesFlags(ElicitationGate):
    flags: tuple[str, ...] = ()

    def is_set(self, value: Any) -> bool:
        return value is True

    def decide(self, call: GatedCall) -> Any:
        if any(self.is_set(call.arguments.get(flag)) for flag in self.flags):
            return call.run()
        return super().decide(call)


@mutant(kills=CONSENT, because=RAN)
@in_extension
class ConfirmSkipsTheQuestion(_TakesFlags):
    """An argument `confirm` that is true skips the question."""

    flags = ("confirm",)


@mutant(kills=CONSENT, because=RAN, protocol=HANDSHAKE)
@in_extension
class ForceSkipsTheQuestion(_TakesFlags):
    """An argument `force` that is true skips the question."""

    flags = ("force",)


@mutant(kills=CONSENT, because=RAN)
@in_extension
class ManyWordsSkipTheQuestion(_TakesFlags):
    """Arguments that say so skip the question: approved, acknowledged, yes."""

    flags = ("approved", "acknowledged", "yes")


@mutant(kills=CONSENT, because=RAN, protocol=HANDSHAKE)
@in_extension
class SkipConfirmationIsThere(_TakesFlags):
    """Has an argument for scripts, that nobody lists: skip_confirmation."""

    flags = ("skip_confirmation", "skipConfirmation")


@mutant(kills=CONSENT, because=RAN)
class FlagsInThePastOfTheCall(ElicitationExtension):
    """A second call with `confirmed` runs, if the first has asked: the model confirms itself."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any] | HeldCall:
        seen = self.__dict__.setdefault("seen", set())
        if isinstance(arguments, Mapping) and arguments.get("confirmed") is True and name in seen:
            executed = self.effects.record(name, arguments)
            return tool_result({"done": True, "executed": executed})
        seen.add(name)
        return super().call(name, arguments, caller)
