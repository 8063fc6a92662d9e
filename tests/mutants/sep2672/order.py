"""Servers that check in another order: section 4.8.

One mutant for each two neighbours that one call can break together. The neighbours 1 and 2 give the
same reason; 4 and 5, and 8 and 9, cannot be broken together, so there the next check that can be
changes places.
"""

from __future__ import annotations

from typing import ClassVar

from pytest_mcp_approval.families.sep2672.vocabulary import Reason, base64url_decode
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    VerificationError,
    parse_client_data,
)
from tests.mutants.registry import mutant

ORDER = "sep2672/4.8-order"


def swapped(first: int, second: int) -> tuple[str, ...]:
    """The steps of section 4.8 with two of them in each other's place."""
    steps = list(ApprovalGate.steps)
    steps[first - 1], steps[second - 1] = steps[second - 1], steps[first - 1]
    return tuple(steps)


def after(first: int, second: int) -> tuple[str, ...]:
    """The steps of section 4.8 with the first moved behind the second."""
    steps = list(ApprovalGate.steps)
    moved = steps.pop(first - 1)
    steps.insert(second - 1, moved)
    return tuple(steps)


@mutant(kills=ORDER, because=r"\(step 2\) and another method \(step 3\)[^§]*unsupported_method")
class MethodBeforeForm(ApprovalGate):
    """Looks at the method before the other members."""

    steps: ClassVar[tuple[str, ...]] = swapped(2, 3)


@mutant(kills=ORDER, because=r"\(step 3\) and an unissued[^§]*challenge_unknown")
class ChallengeBeforeMethod(ApprovalGate):
    """Looks the challenge up before it looks at the method."""

    steps: ClassVar[tuple[str, ...]] = swapped(3, 4)


@mutant(kills=ORDER, because=r"\(step 4\) and a same-device[^§]*authenticator_class_mismatch")
class CredentialBeforeChallenge(ApprovalGate):
    """Looks at the credential before the challenge."""

    steps: ClassVar[tuple[str, ...]] = after(4, 9)

    # Not before its turn: steps 5 to 7 need the challenge.
    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        if self.is_known(attempt):
            super().step_05_challenge_unconsumed(attempt)

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        if self.is_known(attempt):
            super().step_06_challenge_unexpired(attempt)

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        if self.is_known(attempt):
            super().step_07_challenge_tool(attempt)

    def is_known(self, attempt: ApprovalAttempt) -> bool:
        return self.store.challenge(str(attempt.evidence.get("challengeId"))) is not None


@mutant(
    kills=ORDER, because=r"\(step 5\) and an expired challenge \(step 6\)[^§]*challenge_expired"
)
class ExpiryBeforeUse(ApprovalGate):
    """Looks at the time before it looks whether the challenge was used."""

    steps: ClassVar[tuple[str, ...]] = swapped(5, 6)


@mutant(kills=ORDER, because=r"\(step 6\) and another tool's[^§]*challenge_wrong_tool")
class ToolBeforeExpiry(ApprovalGate):
    """Looks at the tool before the time."""

    steps: ClassVar[tuple[str, ...]] = swapped(6, 7)


@mutant(kills=ORDER, because=r"\(step 7\) and a credential never[^§]*unknown_credential")
class CredentialBeforeTool(ApprovalGate):
    """Looks the credential up before it compares the tool."""

    steps: ClassVar[tuple[str, ...]] = swapped(7, 8)


@mutant(
    kills=ORDER,
    because=r"\(step 8\) and a foreign page \(step 10\)[^§]*signature_verification_failed",
)
class ClientDataBeforeCredential(ApprovalGate):
    """Looks at the client data before it looks the credential up."""

    def step_08_credential_enrolled(self, attempt: ApprovalAttempt) -> None:
        try:
            inner = attempt.evidence["response"]["response"]
            client_data = parse_client_data(base64url_decode(inner["clientDataJSON"]))
            self.relying_party.check_origin(client_data)
        except VerificationError as error:
            raise ApprovalRefusal(Reason.SIGNATURE_VERIFICATION_FAILED, str(error)) from error
        super().step_08_credential_enrolled(attempt)


@mutant(kills=ORDER, because=r"\(step 9\) and a broken[^§]*signature_verification_failed")
class SignatureBeforeClass(ApprovalGate):
    """Verifies the signature before it looks at the class."""

    steps: ClassVar[tuple[str, ...]] = swapped(9, 10)


@mutant(kills=ORDER, because=r"\(step 10\) and an old counter \(step 11\)[^§]*counter_regression")
class CounterBeforeSignature(ApprovalGate):
    """Looks at the counter before the signature, as some libraries do."""

    steps: ClassVar[tuple[str, ...]] = swapped(10, 11)

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        data = base64url_decode(attempt.evidence["response"]["response"]["authenticatorData"])
        attempt.counter = int.from_bytes(data[33:37])
        super().step_11_counter(attempt)


@mutant(
    kills=ORDER, because=r"\(step 11\) and other arguments \(step 12\)[^§]*argument_hash_mismatch"
)
class HashBeforeCounter(ApprovalGate):
    """Compares the hash before the counter."""

    steps: ClassVar[tuple[str, ...]] = swapped(11, 12)


@mutant(kills=ORDER, because=r"\(step 8\) and other arguments[^§]*argument_hash_mismatch")
class HashFirst(ApprovalGate):
    """Compares the hash as soon as the challenge is there: the cheap check first."""

    steps: ClassVar[tuple[str, ...]] = (
        *ApprovalGate.steps[:7],
        ApprovalGate.steps[11],
        *ApprovalGate.steps[7:11],
        *ApprovalGate.steps[12:],
    )
