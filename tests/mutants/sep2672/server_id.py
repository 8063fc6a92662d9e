"""Servers whose serverId tells nobody apart, or does not stay: section 4.6."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, ChallengeRecord
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import mutant, told

UNIQUE = "sep2672/4.6-server-id-unique"
STABLE = "sep2672/4.6-server-id-stable"


@mutant(kills=UNIQUE, because="the serverId is 'mcp-default'")
def ConstantServerId(**options: Any) -> ReferenceServer:  # noqa: N802
    """The serverId is the constant default 'mcp-default'."""
    return told(options, server_id="mcp-default")


@mutant(kills=UNIQUE, because="the same second half from both")
def ServerIdOfTheSoftware(**options: Any) -> ReferenceServer:  # noqa: N802
    """The serverId is a constant of this software, and random only to look at."""
    return told(options, server_id="8a6d1b3c-65b8-4f0a-9a53-0e7d2c2f9c11")


@mutant(
    kills=UNIQUE,
    because="with an approval for the other[^§]*a result, tool run",
)
class AcceptsForeignChallenges(ApprovalGate):
    """Trusts the challenge inside the client data, whoever issued it."""

    def step_04_challenge_known(self, attempt: ApprovalAttempt) -> None:
        try:
            super().step_04_challenge_known(attempt)
        except Exception:
            known = self.store._challenges.find()
            signed = json.loads(
                words.base64url_decode(attempt.evidence["response"]["response"]["clientDataJSON"])
            )
            if not known:
                raise
            attempt.challenge = replace(
                known[-1],
                wire_challenge=words.base64url_decode(signed["challenge"]),
                tool=attempt.tool.name,
                action_hash=self.hash_of(attempt.tool.name, attempt.arguments, self.server_id),
                consumed_at=None,
            )


@mutant(kills=STABLE, because="two different second halves")
class NewServerIdEachTime(ApprovalGate):
    """The serverId is made anew at each challenge."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        self.server_id = str(uuid.uuid4())
        return super().create_challenge(user, tool, arguments)


@mutant(kills=STABLE, because="after a restart[^§]*two different second halves")
def NewServerIdAtEachStart(**options: Any) -> ReferenceServer:  # noqa: N802
    """The serverId is made anew at each start, while the store is kept."""
    return told(options, server_id=str(uuid.uuid4()))


@mutant(
    kills=STABLE,
    because="beginning and end[^§]*two different second halves",
)
class RotatesTheServerId(ApprovalGate):
    """The serverId changes every 20 seconds, pending challenges or not."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        turn = int(self.clock.now().timestamp()) // 20
        return super().hash_of(tool, arguments, f"{server_id}-{turn}")


@mutant(
    kills=STABLE,
    because="another enrolment[^§]*two different second halves",
)
class ServerIdWithTheCredentials(ApprovalGate):
    """The serverId depends on how many credentials are enrolled."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        usual = self.server_id
        self.server_id = f"{usual}-{len(self.store.credentials(user))}"
        try:
            return super().create_challenge(user, tool, arguments)
        finally:
            self.server_id = usual

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        """Compared elsewhere."""


@mutant(
    kills=STABLE, warned=True, because="after a restart: another serverId, and the first challenge"
)
class ANewServerAtEachStart(ApprovalGate):
    """Has a new serverId at each start, and does not know the challenges of the last one."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{**given, "server_id": str(uuid.uuid4())})

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        record = super().challenge_of(attempt)
        if record.server_id != self.server_id:
            raise ApprovalRefusal(Reason.CHALLENGE_UNKNOWN, "challengeId: got an unknown one")
        return record
