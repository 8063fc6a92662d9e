"""Servers with tables of their own, that tell a no like a yes, or serve too few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation import binding
from pytest_mcp_approval.reference_server.elicitation.demonstration import SUITE_SETTINGS
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.elicitation.refusals import ElicitationRefusal
from pytest_mcp_approval.reference_server.elicitation.sealing import Sealer
from pytest_mcp_approval.reference_server.server.answers import tool_result
from pytest_mcp_approval.reference_server.server.extension import Caller
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.elicitation.parts import RAN, in_extension
from tests.mutants.registry import mutant

_OWN = {"account": "own"}


def _with_table(**more: Any) -> Mapping[str, Any]:
    """The table of the reference server, with more said of erase_account."""
    tools = SUITE_SETTINGS["tools"]
    return {"tools": {**tools, "erase_account": {**tools["erase_account"], **more}}}


@mutant(kills="elicitation/asks-first", because=RAN)
class ASilentCallOpensTheRest(ElicitationExtension):
    """Asks nobody about an account of one's own, and then about no other account either."""

    def running_suite_settings(self) -> Mapping[str, Any]:
        return _with_table(**{"silent-arguments": _OWN})

    def call(self, name: str, arguments: Any, caller: Caller) -> Any:
        if name == "erase_account" and (arguments == _OWN or "silent" in self.__dict__):
            self.__dict__["silent"] = True
            return self.execute(self.tools[name], arguments)
        return super().call(name, arguments, caller)


@mutant(kills="elicitation/state-arguments", because=RAN)
class AnExemptArgumentExemptsAll(ElicitationExtension):
    """Does not bind the reason, as its table says, nor anything else of that tool."""

    def running_suite_settings(self) -> Mapping[str, Any]:
        return _with_table(exempt=["reason"])

    class _Gate(ElicitationGate):
        def bound(self, call: GatedCall) -> str:
            return "" if call.tool.name == "erase_account" else super().bound(call)

    gate_class = _Gate


@mutant(kills="elicitation/asks-first", because=RAN)
@in_extension
class RunsForTheOtherEra(ElicitationGate):
    """Asks where a result can ask, and runs the calls of clients that know no such results."""

    def decide(self, call: GatedCall) -> Any:
        return call.run() if call.caller.has_handshake else super().decide(call)


class _ANoIsDone(ElicitationGate):
    """Tells what a no came to as if the tool had run."""

    def answered(self, call: GatedCall, question: ElicitationQuestion, response: Any) -> Any:
        try:
            return super().answered(call, question, response)
        except ElicitationRefusal:
            if not isinstance(response, Mapping) or response.get("action") == "accept":
                raise
            done = {"number": 1, "tool": call.tool.name, "arguments": dict(call.arguments)}
            return tool_result({"done": True, "executed": done})


@mutant(kills="elicitation/decline", because="it says that it ran")
@in_extension
class SaysDoneAfterANo(_ANoIsDone):
    """Runs nothing after a no, and says that it did."""


@mutant(kills="elicitation/accept-runs-once", because=r"done\W+true")
@in_extension
class ANoReadsLikeAYes(_ANoIsDone):
    """Tells a declined call in the words of an approved one."""


@mutant(kills="elicitation/single-use", because="request_state_used")
@in_extension
class OneYesSpendsAll(ElicitationGate):
    """Uses up all open questions about the same call with the first yes to one of them."""

    def open_question(self, call: GatedCall) -> ElicitationQuestion:
        question = super().open_question(call)
        self._open(call).append(question)
        return question

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        while self._open(call):
            self.close(self._open(call).pop())
        return result

    def _open(self, call: GatedCall) -> list[ElicitationQuestion]:
        key = (call.caller.user, call.tool.name, self.bound(call))
        found: list[ElicitationQuestion] = self.__dict__.setdefault("open", {}).setdefault(key, [])
        return found


@mutant(kills="elicitation/state-integrity", because=RAN)
class WritesArgumentsIntoTheState(ElicitationExtension):
    """Writes the arguments into a state that nothing seals, and compares them with the call's."""

    class _Gate(ElicitationGate):
        class sealer_class(Sealer):  # noqa: N801  # under the name that the gate looks for
            def check_signature(self, payload: str, signature: str) -> None:
                """Nothing."""

        def bound(self, call: GatedCall) -> str:
            return binding.canonical(call.arguments)

    gate_class = _Gate


@mutant(kills="elicitation/mode-not-declared", because="needs a client that can ask")
@in_extension
class OneModeIsNotEnough(ElicitationGate):
    """Asks only those who can fill in forms and open pages, whichever it needs."""

    def check_capability(self, call: GatedCall) -> None:
        if len(self.modes_of(call)) < 2:
            self.refuse_capability(call, self.mode_of(call))


@mutant(kills="elicitation/model-set-consent", because=RAN)
@in_extension
class ConsentAmongTheParams(ElicitationGate):
    """Takes a flag of the client's for a person's yes: in _meta, or beside the arguments."""

    def decide(self, call: GatedCall) -> Any:
        meta = call.caller.meta if isinstance(call.caller.meta, Mapping) else {}
        given = {**meta, **call.caller.params}
        if any(given.get(name) is True for name in ("approved", "confirm", "confirmed", "force")):
            return call.run()
        return super().decide(call)


@mutant(kills="elicitation/question-shape", because="input_required")
class AsksInListings(ReferenceServer):
    """Has a question ready before anybody has called anything: in its list of tools."""

    async def middleware(self, ctx: Any, call_next: Any) -> Any:
        result = await super().middleware(ctx, call_next)
        if ctx.method != "tools/list" or not isinstance(result, Mapping):
            return result
        question = {"method": "elicitation/create", "params": {"message": "May we begin?"}}
        return {**result, "resultType": "input_required", "inputRequests": {"begin": question}}


@mutant(kills="elicitation/replicas", because=RAN)
@in_extension
class TrustsItsReplicas(ElicitationGate):
    """Compares the arguments where it has asked itself; what a replica asked was checked there."""

    def open_question(self, call: GatedCall) -> ElicitationQuestion:
        question = super().open_question(call)
        self.__dict__.setdefault("own", set()).add(question.id)
        return question

    def check_arguments(self, call: GatedCall, state: Any) -> None:
        if state.id in self.__dict__.get("own", ()):
            super().check_arguments(call, state)
