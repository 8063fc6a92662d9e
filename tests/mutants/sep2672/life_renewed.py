"""Servers on which something lives longer because somebody looked at it, or asked for another."""

from __future__ import annotations

from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import KeepsTimesItself

UNEXPIRED = "sep2672/4.8-06-challenge-unexpired"


@mutant(kills=UNEXPIRED, because="a result, tool run")
class CountsFromTheFirstLook(KeepsTimesItself):
    """Starts to count a challenge's lifetime when it is first presented."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        first = self.clock.now() + self.challenge_ttl
        self.good_until().setdefault(self.challenge_of(attempt).challenge_id, first)
        super().step_06_challenge_unexpired(attempt)
