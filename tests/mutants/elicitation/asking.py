"""Servers that do not ask, ask too late, or run what was not asked about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.demonstration import OfferedTool
from pytest_mcp_approval.reference_server.elicitation.extension import ElicitationExtension
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import ElicitationQuestion, GatedCall
from pytest_mcp_approval.reference_server.server.held_calls import HeldCall
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.registry import mutant

ASKS_FIRST = "elicitation/asks-first"
RUNS_ONCE = "elicitation/accept-runs-once"


@mutant(kills=ASKS_FIRST, because="times before anybody answered")
@in_extension
class RunsThenAsks(ElicitationGate):
    """Does it, and asks afterwards."""

    def ask(self, call: GatedCall) -> dict[str, Any]:
        call.run()
        return super().ask(call)


@mutant(kills=ASKS_FIRST, because="times before anybody answered", protocol=HANDSHAKE)
@in_extension
class RunsThenAsksInside(ElicitationGate):
    """Does it when the question goes out inside the call."""

    def ask_inside(self, call: GatedCall) -> HeldCall:
        call.run()
        return super().ask_inside(call)


class _RemembersAYes(ElicitationGate):
    """Asks once for the same, and never again."""

    def known(self, call: GatedCall) -> Any:
        raise NotImplementedError

    def decide(self, call: GatedCall) -> Any:
        if self.known(call) in self.__dict__.setdefault("yes", set()):
            return call.run()
        return super().decide(call)

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        self.__dict__.setdefault("yes", set()).add(self.known(call))
        return result


@mutant(kills=ASKS_FIRST, because=RAN)
@in_extension
class AsksTheFirstTimeOnly(_RemembersAYes):
    """Remembers that a user has approved these arguments of this tool."""

    def known(self, call: GatedCall) -> Any:
        return call.caller.user, call.tool.name, self.bound(call)


@mutant(kills=ASKS_FIRST, because=RAN, protocol=HANDSHAKE)
@in_extension
class AsksOnceForEachSession(_RemembersAYes):
    """Remembers for the length of a session that this call was approved."""

    def known(self, call: GatedCall) -> Any:
        return call.caller.session, call.tool.name, self.bound(call)


@mutant(kills=RUNS_ONCE, because="run 2 times")
@in_extension
class RunsTwice(ElicitationGate):
    """Runs when the answer comes, and again to get the result."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        call.run()
        return result


@mutant(kills=RUNS_ONCE, because="run 2 times", protocol=HANDSHAKE)
@in_extension
class RunsTwiceInside(ElicitationGate):
    """Tries once more what has just worked, inside the call."""

    def run_once(self, call: GatedCall, question: ElicitationQuestion) -> Any:
        result = super().run_once(call, question)
        return call.run() if call.caller.has_handshake else result


@mutant(kills=RUNS_ONCE, because=r"run with .*notify")
class RunsWithDefaults(ElicitationExtension):
    """Fills in what a tool's optional arguments are by default, after the person was asked."""

    def execute(self, tool: OfferedTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return super().execute(tool, {"keep_backup": False, "tags": [], **arguments, "notify": 1})


@mutant(kills=RUNS_ONCE, because=r"run with \[", protocol=HANDSHAKE)
class RunsWithoutTheLastArgument(ElicitationExtension):
    """Hands on to the back end only those arguments that it has always had: one."""

    def execute(self, tool: OfferedTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return super().execute(tool, dict(list(arguments.items())[:1]))
