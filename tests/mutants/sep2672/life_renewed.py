"""Servers on which something lives longer because somebody looked at it, or asked for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, ApprovedCall
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import KeepsTimesItself, challenges, enrolments

UNEXPIRED = "sep2672/4.8-06-challenge-unexpired"


@mutant(kills=UNEXPIRED, because="a result, tool run")
class CountsFromTheFirstLook(KeepsTimesItself):
    """Starts to count a challenge's lifetime when it is first presented."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        first = self.clock.now() + self.challenge_ttl
        self.good_until().setdefault(self.challenge_of(attempt).challenge_id, first)
        super().step_06_challenge_unexpired(attempt)


@mutant(kills=UNEXPIRED, because="a result, tool run")
class ARefusalRenewsTheChallenge(KeepsTimesItself):
    """Gives a challenge its whole lifetime again when a call with it is refused."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> ApprovedCall:
        try:
            return super().verify(user, tool, arguments, meta)
        except ApprovalRefusal:
            evidence = meta.get(words.META_KEY) if isinstance(meta, Mapping) else None
            claimed = evidence.get("challengeId") if isinstance(evidence, Mapping) else None
            for record in challenges(self).find({"challenge_id": claimed, "user": user}):
                self.renew(record)
            raise


@mutant(kills=UNEXPIRED, because="a result, tool run")
class AskingAgainRenewsTheChallenge(KeepsTimesItself):
    """Gives the pending challenges of a call their whole lifetime again with each new one."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        issued = self.store.challenge(made["challengeId"])
        assert issued is not None
        for one in challenges(self).find({"user": user, "action_hash": issued.action_hash}):
            if one.challenge_id != issued.challenge_id:
                self.renew(one)
        return made


@mutant(kills=UNEXPIRED, because="a result, tool run")
class AnApprovalRenewsTheOthers(KeepsTimesItself):
    """Takes an approved call for a sign of life, and renews whatever else the user has pending."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        super().step_14_update_counter(attempt)
        for one in challenges(self).find({"user": attempt.user}):
            self.renew(one)


class _RenewsEnrolments(ApprovalGate):
    def renew_enrolments(self, user: str) -> None:
        now = self.clock.now()
        for one in self.store.enrolments(user):
            if one.consumed_at is None and now < one.expires_at:
                enrolments(self).change(one.challenge, expires_at=now + self.enrolment_ttl)


@mutant(kills="sep2672/4.4.1-ttl", because='"success":true')
class ARefusedFinishRenewsTheEnrolment(_RenewsEnrolments):
    """Gives a registration challenge five more minutes when a finish is refused."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        try:
            return super().finish_enrolment(user, response)
        except ApprovalRefusal:
            self.renew_enrolments(user)
            raise


@mutant(kills="sep2672/4.4.1-ttl", because='"success":true')
class BeginningAgainRenewsTheEnrolment(_RenewsEnrolments):
    """Gives pending registration challenges five more minutes with every further begin."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        self.renew_enrolments(user)
        return super().begin_enrolment(user)
