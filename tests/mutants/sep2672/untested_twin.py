"""Servers that check one of several kinds, and not the other."""

from __future__ import annotations

import copy
from typing import Any

from webauthn.helpers.structs import AttestationObject

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass
from pytest_mcp_approval.reference_server.sep2672 import public_keys
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, CredentialRecord
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
)
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import WritesArguments

SIGNATURE = "sep2672/4.8-10-signature"

# ---- algorithms and formats


class _TrustsOneAlgorithm(RelyingParty):
    trusted = 0

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        if public_keys.algorithm_of(key.public_key) != self.trusted:
            super().check_signature(key, signature, signed)


@mutant(kills=SIGNATURE, because="a result, tool run")
class TrustsEd25519(_TrustsOneAlgorithm):
    """Verifies no signature of an Ed25519 key."""

    trusted = public_keys.EDDSA


@mutant(kills=SIGNATURE, because="a result, tool run")
class TrustsRsa(_TrustsOneAlgorithm):
    """Verifies no signature of an RSA key."""

    trusted = public_keys.RS256


@mutant(kills="sep2672/4.4.2-response-verified", because='"success":true')
class VerifiesPackedStatementsOnly(RelyingParty):
    """Verifies attestation statements that are packed, and takes those of other known formats."""

    def check_attestation_statement(
        self, attestation: AttestationObject, encoded: bytes, client_data: bytes
    ) -> None:
        if attestation.fmt not in ("fido-u2f", "tpm", "apple", "android-key"):
            super().check_attestation_statement(attestation, encoded, client_data)


@mutant(kills=SIGNATURE, because="a result, tool run")
class BuiltInKeysNeedNoVerification(RelyingParty):
    """Looks for user verification only where a key is not built in."""

    def _verify_assertion(self, response: Any, challenge: bytes, key: CredentialRecord) -> int:
        party = copy.copy(self)
        if set(key.transports) == {"internal"}:
            vars(party)["check_user_verified"] = lambda _: None
        return RelyingParty._verify_assertion(party, response, challenge, key)


# ---- classes of tools


class _ForPlatformTools(ApprovalGate):
    def is_platform(self, attempt: ApprovalAttempt) -> bool:
        return self.class_of(attempt.tool) is AuthenticatorClass.PLATFORM


@mutant(kills="sep2672/4.8-11-counter", because="a result, tool run")
class PlatformToolsDoNotCount(_ForPlatformTools):
    """Looks at counters for cross-platform tools only."""

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        if not self.is_platform(attempt):
            super().step_11_counter(attempt)

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        if self.is_platform(attempt):
            set_counter(self.store, self.credential_of(attempt).credential_id, attempt.counter)
        else:
            super().step_14_update_counter(attempt)


@mutant(kills="sep2672/4.8-05-challenge-unconsumed", because="a result, tool run")
class PlatformChallengesServeOnAndOn(_ForPlatformTools):
    """Uses up the challenges of cross-platform tools only."""

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        if not self.is_platform(attempt):
            super().step_13_consume(attempt)


@mutant(kills="sep2672/4.8-06-challenge-unexpired", because="a result, tool run")
class PlatformChallengesDoNotExpire(_ForPlatformTools):
    """Looks at the time for cross-platform tools only."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        if not self.is_platform(attempt):
            super().step_06_challenge_unexpired(attempt)


@mutant(kills=SIGNATURE, because="a result, tool run")
class PlatformToolsNeedNoSignature(_ForPlatformTools):
    """Verifies signatures for cross-platform tools only."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        gate = copy.copy(self)
        if self.is_platform(attempt):
            gate.relying_party = copy.copy(self.relying_party)
            vars(gate.relying_party)["check_signature"] = lambda *_: None
        ApprovalGate.step_10_signature(gate, attempt)


@mutant(kills="sep2672/4.8-12-argument-hash", because="a result, tool run")
class ToolsWithoutAClassAreNotBound(ApprovalGate):
    """Compares the arguments only where the tool names a class."""

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        if attempt.tool.authenticator_class is not None:
            super().step_12_argument_hash(attempt)


@mutant(kills="sep2672/4.8-07-challenge-tool", because='"reason":"argument_hash_mismatch"')
class ComparesTheClassOfTheTool(ApprovalGate):
    """Looks whether a challenge is for a tool of the same class, and not for which."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        issued_for = self.tools[self.challenge_of(attempt).tool]
        if self.class_of(issued_for) is not self.class_of(attempt.tool):
            super().step_07_challenge_tool(attempt)


# ---- eras


@mutant(
    kills="sep2672/4.3-missing-evidence",
    because="without evidence[^§]*a result, tool run",
    protocol="2025-11-25",
)
class GatesCallsWithoutASession(Sep2672Extension):
    """Has its gate where requests of the new era come in: calls in a session pass it by."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if caller.session:
            return self.execute(self.tools[name], arguments)
        return super().call(name, arguments, caller)


# ---- names of members


@mutant(kills="sep2672/4.6-jcs", because="another second half")
class SortsLikeAJavaScriptObject(WritesArguments):
    """Sorts members, and writes those with a number for a name first and by their size, as an
    object of JavaScript holds them."""

    def write(self, arguments: Any) -> bytes:
        if isinstance(arguments, list):
            return b"[" + b",".join(map(self.write, arguments)) + b"]"
        if not isinstance(arguments, dict):
            return super().write(arguments)
        numbers = [name for name in arguments if name.isascii() and name.isdigit()]
        numbers = sorted((one for one in numbers if str(int(one)) == one), key=int)
        others = sorted(arguments.keys() - numbers, key=lambda one: one.encode("utf-16-be"))
        members = (
            words.canonical_arguments(one) + b":" + self.write(arguments[one])
            for one in (*numbers, *others)
        )
        return b"{" + b",".join(members) + b"}"
