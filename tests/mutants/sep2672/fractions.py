"""Servers that round time, or read it off the wall."""

from __future__ import annotations

import datetime
import zoneinfo
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
    EnrolmentRecord,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.server.clock import iso_8601
from tests.mutants.registry import mutant

UNEXPIRED = "sep2672/4.8-06-challenge-unexpired"
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")


@mutant(kills="sep2672/4.4.3-ttl", because="[0-9]{4} s ahead")
class TellsTheEndInLocalTime(ApprovalGate):
    """Writes expiresAt in the time of its own zone, and calls that UTC."""

    def envelope(
        self, record: ChallengeRecord, display_text: str, eligible: list[CredentialRecord]
    ) -> dict[str, Any]:
        told = super().envelope(record, display_text, eligible)
        wall = record.expires_at.astimezone(BERLIN).replace(tzinfo=datetime.UTC)
        return {**told, "expiresAt": iso_8601(wall)}


@mutant(kills="sep2672/4.4.3-envelope-shape", because="names no time zone", warned=True)
class TellsTheEndWithoutAZone(ApprovalGate):
    """Writes expiresAt without a zone, so that each client reads another instant."""

    def envelope(
        self, record: ChallengeRecord, display_text: str, eligible: list[CredentialRecord]
    ) -> dict[str, Any]:
        told = super().envelope(record, display_text, eligible)
        return {**told, "expiresAt": told["expiresAt"].rstrip("Z")}


@mutant(kills="sep2672/4.4.2-confirmation-shape", because=r"(^|\n)(0|86400) s apart")
class ConfirmsADay(ApprovalGate):
    """Writes the day as createdAt, without the time."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        made = super().finish_enrolment(user, response)
        return {**made, "createdAt": f"{made['createdAt'][:10]}T00:00:00.000Z"}


class _EndsEnrolmentsItsWay(ApprovalGate):
    more = datetime.timedelta(0)

    def find_pending(self, user: str, response: Any) -> EnrolmentRecord:
        given_out = [
            replace(one, expires_at=one.expires_at + self.more)
            for one in self.store.enrolments(user)
        ]
        store = self.store
        self.store = type("Late", (), {"enrolments": lambda _, __: given_out})()
        try:
            return super().find_pending(user, response)
        finally:
            self.store = store


@mutant(kills="sep2672/4.4.1-ttl", because='"success":true')
class EnrolsWithGrace(_EndsEnrolmentsItsWay):
    """Takes a registration for a minute after its challenge has expired."""

    more = datetime.timedelta(minutes=1)


@mutant(kills=UNEXPIRED, because="a result, tool run")
class SecondsThatAreLeft(ApprovalGate):
    """Reads the seconds of the time that is left, without the days: one that is over has many."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        left = self.challenge_of(attempt).expires_at - self.clock.now()
        if left.seconds <= 0:
            raise ApprovalRefusal(Reason.CHALLENGE_EXPIRED, "challenge: got an expired one")


@mutant(kills=UNEXPIRED, because="a result, tool run")
class TellsTheMinuteOfTheEnd(ApprovalGate):
    """Writes expiresAt in whole minutes, and takes a challenge until its real end."""

    def envelope(
        self, record: ChallengeRecord, display_text: str, eligible: list[CredentialRecord]
    ) -> dict[str, Any]:
        told = super().envelope(record, display_text, eligible)
        end = record.expires_at - datetime.timedelta(milliseconds=1)
        return {**told, "expiresAt": iso_8601(end.replace(second=0, microsecond=0))}


@mutant(
    kills="sep2672/4.4.2-confirmation-shape",
    because=r"createdAt [0-9]+\-[0-9]+\-[0-9]+T[0-9]+:[0-9]+:[0-9]+\.[0-9]+Z",
)
class ConfirmsInLocalTime(ApprovalGate):
    """Writes createdAt in the time of its own zone, and calls that UTC."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        made = super().finish_enrolment(user, response)
        wall = self.clock.now().astimezone(BERLIN).replace(tzinfo=datetime.UTC)
        return {**made, "createdAt": iso_8601(wall)}


@mutant(kills=UNEXPIRED, because="0.001 s before[^§]*challenge_expired")
class ExpiresInWholeSeconds(ApprovalGate):
    """Writes expiresAt to the millisecond, and compares whole seconds."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        end = self.challenge_of(attempt).expires_at
        attempt.challenge = replace(
            self.challenge_of(attempt), expires_at=end.replace(microsecond=0)
        )
        super().step_06_challenge_unexpired(attempt)


@mutant(kills=UNEXPIRED, because='end of summer time in Berlin[^§]*"reason":"challenge_expired"')
class ComparesWallClocks(ApprovalGate):
    """Compares the time on the wall, which has an hour twice in autumn and lacks one in spring."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        end = self.challenge_of(attempt).expires_at
        now, end = (one.astimezone(BERLIN).replace(tzinfo=None) for one in (self.clock.now(), end))
        if not now < end:
            raise ApprovalRefusal(Reason.CHALLENGE_EXPIRED, "challenge: got an expired one")
