"""Servers that read something from a place where it does not belong."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from webauthn.helpers import encode_cbor, parse_authenticator_data

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
)
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    Registration,
    RelyingParty,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import FindsCredentialsItsWay, challenges, with_id

# ---- calls


@mutant(kills="sep2672/4.8-01-evidence-present", because="a result, tool run")
class TakesEvidenceFromTheArguments(Sep2672Extension):
    """Takes evidence that stands in a _meta of the arguments where the call itself has none."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        inside = arguments.get("_meta") if isinstance(arguments, Mapping) else None
        known = meta if isinstance(meta, Mapping) else {}
        if isinstance(inside, Mapping) and words.META_KEY not in known:
            rest = {name: one for name, one in arguments.items() if name != "_meta"}
            return super().call_tool(user, tool, rest, inside)
        return super().call_tool(user, tool, arguments, meta)


@mutant(kills="sep2672/4.8-12-argument-hash", because="a result, tool run")
class HashesTheArgumentsOfTheEvidence(ApprovalGate):
    """Hashes arguments that stand in the evidence, and runs those of the call."""

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        called = attempt.arguments
        attempt.arguments = attempt.evidence.get("arguments", called)
        super().step_12_argument_hash(attempt)
        attempt.arguments = called


@mutant(kills="sep2672/4.8-07-challenge-tool", because="a result, tool run")
class TakesTheToolOfTheEvidence(ApprovalGate):
    """Compares and hashes a toolName that stands in the evidence, and runs the tool of the call."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        attempt.tool = self.tools.get(attempt.evidence.get("toolName"), attempt.tool)
        super().step_07_challenge_tool(attempt)


@mutant(kills="sep2672/4.8-11-counter", because="a result, tool run")
class ReadsTheCounterBesideTheData(ApprovalGate):
    """Takes a signCount that stands beside the authenticator data for the counter."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        super().step_10_signature(attempt)
        told = attempt.evidence["response"]["response"].get("signCount")
        if isinstance(told, int):
            attempt.counter = told


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="a result, tool run")
class GoesByRawId(FindsCredentialsItsWay):
    """Looks credentials up by rawId, and does not look at id."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        return with_id(response.get("rawId"), known)


@mutant(kills="sep2672/4.8-04-challenge-known", because="a result, tool run")
class GoesByTheSignedChallenge(ApprovalGate):
    """Finds a challenge by what was signed, and does not look at challengeId."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            try:
                signed = attempt.evidence["response"]["response"]["clientDataJSON"]
                wire = json.loads(words.base64url_decode(signed))["challenge"]
                found = challenges(self).find(
                    {"user": attempt.user, "wire_challenge": words.base64url_decode(wire)}
                )
            except (ValueError, TypeError, LookupError):
                found = []
            attempt.challenge = next(iter(found), None)
        return super().challenge_of(attempt)


# ---- enrolments


@mutant(kills="sep2672/4.4.2-persisted", because="a result, tool run")
class KeepsTheKeyBesideTheAttestation(RelyingParty):
    """Keeps the publicKey that browsers add to a response, and not the one that is attested."""

    def verify_registration(self, response: Any, challenge: bytes) -> Registration:
        registration = super().verify_registration(response, challenge)
        try:
            spki = words.base64url_decode(response["response"].get("publicKey"))
            key = load_der_public_key(spki)
        except ValueError:
            return registration
        if not isinstance(key, EllipticCurvePublicKey):
            return registration
        point = key.public_numbers()
        x, y = (one.to_bytes(32, "big") for one in (point.x, point.y))
        cose = encode_cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})
        return replace(registration, public_key=cose)


@mutant(kills="sep2672/4.4.2-uv-asserted", because='"success":true')
class ReadsTheFlagsBesideTheAttestation(RelyingParty):
    """Looks for UV in the authenticatorData that browsers add to a response, where it is there."""

    def _verify_registration(self, response: Any, challenge: bytes) -> Registration:
        party, inner = copy.copy(self), self.check_envelope(response)
        if inner.get("authenticatorData"):
            beside = parse_authenticator_data(words.base64url_decode(inner["authenticatorData"]))
            vars(party)["check_user_verified"] = lambda _: self.check_user_verified(beside)
        return RelyingParty._verify_registration(party, response, challenge)


@mutant(kills="sep2672/4.7-transports-persisted", because="it is offered")
class ReadsTransportsBesideTheResponse(RelyingParty):
    """Keeps transports that stand beside the inner response, where there are some."""

    def verify_registration(self, response: Any, challenge: bytes) -> Registration:
        registration = super().verify_registration(response, challenge)
        beside = response.get("transports")
        if beside is None:
            return registration
        return replace(registration, transports=self.check_transports(beside))


# ---- plain tools


@mutant(
    kills="sep2672/4.2-plain-tools-untouched",
    because="an ungated call used up the challenge of",
    warned=True,
)
class PlainToolsUseUpChallenges(Sep2672Extension):
    """Uses up the challenge of evidence that comes with a tool that needs none."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        evidence = meta.get(words.META_KEY) if isinstance(meta, Mapping) else None
        if not self.is_gated(tool) and isinstance(evidence, Mapping):
            self.store.consume_challenge(str(evidence.get("challengeId")), self.clock.now())
        return super().call_tool(user, tool, arguments, meta)
