"""What several broken servers of SEP-2672 are made of. Knows no scenario."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.demonstration import DEMONSTRATION_TOOLS
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
)


def everywhere(change: Callable[[Any], Any], value: Any) -> Any:
    """The value with every value in it changed, the innermost first."""
    if isinstance(value, Mapping):
        value = {name: everywhere(change, one) for name, one in value.items()}
    elif isinstance(value, list):
        value = [everywhere(change, one) for one in value]
    return change(value)


def known_members(tool: str, arguments: Any) -> dict[str, Any]:
    """The arguments that the schema of a tool of the reference knows."""
    (entry,) = (one.entry for one in DEMONSTRATION_TOOLS if one.name == tool)
    properties = entry["inputSchema"]["properties"]
    return {name: value for name, value in arguments.items() if name in properties}


class HashesWhatItMeans(ApprovalGate):
    """Changes the arguments before it hashes them, at the challenge and at the call alike."""

    def meant(self, value: Any) -> Any:
        """What is hashed in the place of a value, at any depth."""
        raise NotImplementedError

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of(tool, everywhere(self.meant, arguments), server_id)


class WritesArguments(ApprovalGate):
    """Something to write the arguments with."""

    separator = b"\0"

    def write(self, arguments: Any) -> bytes:
        return words.canonical_arguments(arguments)

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        parts = (tool.encode(), self.write(arguments), server_id.encode())
        return hashlib.sha256(self.separator.join(parts)).digest()


def with_id(claimed: Any, known: Iterable[CredentialRecord]) -> CredentialRecord | None:
    """The credential whose id is written so."""
    return next(
        (one for one in known if words.base64url_encode(one.credential_id) == claimed), None
    )


class FindsCredentialsItsWay(ApprovalGate):
    """Looks for the credential of a call in a way of its own, and goes on with what it found."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        """One of the user's credentials; None leaves it to the healthy way."""
        raise NotImplementedError

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        if attempt.credential is None:
            response = attempt.evidence["response"]
            found = self.sought(response, self.store.credentials(attempt.user))
            if found is not None:
                own = words.base64url_encode(found.credential_id)
                mended = {**response, "id": own, "rawId": own}
                attempt.evidence = {**attempt.evidence, "response": mended}
        return super().credential_of(attempt)


class KeepsTimesItself(ApprovalGate):
    """Keeps beside the store until when each challenge is good."""

    def good_until(self) -> dict[str, datetime.datetime]:
        found: dict[str, datetime.datetime] = self.__dict__.setdefault("_good_until", {})
        return found

    def renew(self, record: ChallengeRecord) -> None:
        """Give a challenge its whole lifetime again, unless it is over."""
        now = self.clock.now()
        if now < self.good_until().get(record.challenge_id, record.expires_at):
            self.good_until()[record.challenge_id] = now + self.challenge_ttl

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        record = self.challenge_of(attempt)
        until = self.good_until().get(record.challenge_id, record.expires_at)
        attempt.challenge = replace(record, expires_at=until)
        super().step_06_challenge_unexpired(attempt)


def challenges(gate: ApprovalGate) -> Any:
    """The table of challenges, behind the store's interface."""
    return gate.store._challenges


def enrolments(gate: ApprovalGate) -> Any:
    """The table of registration challenges, behind the store's interface."""
    return gate.store._enrolments


def credentials(gate: ApprovalGate) -> Any:
    """The table of credentials, behind the store's interface."""
    return gate.store._credentials
