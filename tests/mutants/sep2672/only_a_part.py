"""Servers that look at a part of something and take it for the whole."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass
from pytest_mcp_approval.reference_server.sep2672.gate import ROAMING_TRANSPORTS, ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    CredentialRecord,
)
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
    VerificationError,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import (
    WritesArguments,
    credentials,
)

NONCE = "sep2672/4.4.3-nonce-unpredictable"


# ---- what is signed


class _ComparesAPart(RelyingParty):
    """Compares a part of the challenge, at assertions only or at registrations only."""

    at = "webauthn.get"
    part = slice(None)

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge"))
        if client_data.get("type") != self.at:
            super().check_challenge(client_data, expected)
        elif claimed[self.part] != words.base64url_encode(expected)[self.part]:
            raise VerificationError("challenge: got another")


@mutant(kills="sep2672/4.4.2-challenge-must-match", because='"success":true')
class ComparesHalfOfTheRegistrationChallenge(_ComparesAPart):
    """Compares the first half of a registration challenge."""

    at = "webauthn.create"
    part = slice(0, 22)


# ---- nonces


@mutant(kills=NONCE, because="1 different ones")
class HashesTheTimeForANonce(ApprovalGate):
    """Makes the nonce from a hash of the time in milliseconds, which looks random."""

    def make_nonce(self) -> bytes:
        return hashlib.sha256(self.clock.now().isoformat(timespec="milliseconds").encode()).digest()


# ---- credentials


@mutant(kills="sep2672/4.8-14-counter-updated", because="a result, tool run")
class UpdatesLowCounters(ApprovalGate):
    """Keeps the low 16 bits of a counter after a call."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        super().step_14_update_counter(attempt)
        credential_id = self.credential_of(attempt).credential_id
        credentials(self).change(credential_id, counter=attempt.counter & 0xFFFF)


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because=r"'internal', '[a-z]+'\][^§]*it is not",
)
class LooksAtTheFirstTransport(ApprovalGate):
    """Goes by the first of a credential's transports."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        if wanted is AuthenticatorClass.PLATFORM:
            return True
        return not ROAMING_TRANSPORTS.isdisjoint(credential.transports[:1])


# ---- arguments

JCS = "sep2672/4.6-jcs"


@mutant(kills=JCS, because="another second half")
class WritesTheNamesOfTheTopOnly(WritesArguments):
    """Writes only members whose names are among those of the arguments themselves, at any depth, as
    JSON.stringify does with a sorted list of names."""

    def write(self, arguments: Any) -> bytes:
        return super().write(self.named(frozenset(arguments), arguments))

    def named(self, names: frozenset[str], value: Any) -> Any:
        if isinstance(value, list):
            return [self.named(names, one) for one in value]
        if isinstance(value, dict):
            return {name: self.named(names, one) for name, one in value.items() if name in names}
        return value
