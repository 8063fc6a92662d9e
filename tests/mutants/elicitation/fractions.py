"""Instants that are rounded, and ends that come too late."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from pytest_mcp_approval.reference_server.elicitation.sealing import SealedState
from tests.mutants.elicitation.parts import in_extension
from tests.mutants.registry import mutant

LIFETIME = "elicitation/state-lifetime"


@mutant(kills=LIFETIME, because="it runs .* after the question")
@in_extension
class LivesADayAndASecond(ElicitationGate):
    """A state serves for a little more than a day."""

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        later = state.expires_at + timedelta(days=1, seconds=1)
        super().check_unexpired(call, replace(state, expires_at=later))


@mutant(kills=LIFETIME, because="it ran")
@in_extension
class ComparesTimesOfDay(ElicitationGate):
    """Compares the times of day of two instants, and not the instants."""

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        if self.now().time() < state.expires_at.time():
            return
        super().check_unexpired(call, state)


@mutant(kills=LIFETIME, because="it runs .* after the question")
@in_extension
class ReadsTheClockOnce(ElicitationGate):
    """Reads the clock when it first needs it, and never again."""

    def check_unexpired(self, call: GatedCall, state: SealedState) -> None:
        now = self.__dict__.setdefault("read", self.now())
        if now >= state.expires_at:
            super().check_unexpired(call, state)
