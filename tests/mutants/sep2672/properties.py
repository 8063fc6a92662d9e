"""Servers without the properties that section 8 promises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from webauthn.helpers.structs import AuthenticatorData

from pytest_mcp_approval.families.sep2672.vocabulary import (
    Reason,
    base64url_decode,
    base64url_encode,
)
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, CredentialRecord
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    Registration,
    RelyingParty,
    VerificationError,
)
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import having, mutant, told

REWRITTEN = "sep2672/8.1.3-rewritten-call"
ONCE = "sep2672/8.2.3-exactly-once"
ZERO = "sep2672/8.3.2-counter-zero"

# ---- 8.1.3


@mutant(kills=REWRITTEN, because="rewritten to another pending challenge[^§]*tool run")
class BindsTheCallNotTheChallenge(RelyingParty):
    """Looks whether the signed challenge has the action hash of the call, whatever its nonce."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = base64url_decode(client_data.get("challenge"))
        if len(expected) != 64 or claimed[32:] != expected[32:]:
            super().check_challenge(client_data, expected)


@mutant(kills=REWRITTEN, because="arguments rewritten to[^§]*tool run")
class BindsNoArguments(ApprovalGate):
    """Leaves the arguments out of the hash."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of(tool, {}, server_id)


@mutant(kills=REWRITTEN, because="tools/call [a-z_]+ rewritten to [a-z_]+\\n[^§]*tool run")
class BindsNoTool(ApprovalGate):
    """Takes the tool from the challenge, and runs the one that is called."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        attempt.tool = self.tools[self.challenge_of(attempt).tool]


@mutant(kills=REWRITTEN, because="client data: white space[^§]*tool run")
class VerifiesWhatItParsed(RelyingParty):
    """Writes the client data anew before it verifies the signature over it."""

    def _verify_assertion(self, response: Any, challenge: bytes, key: CredentialRecord) -> Any:
        inner = response["response"]
        parsed = json.loads(base64url_decode(inner["clientDataJSON"]))
        written = base64url_encode(json.dumps(parsed, separators=(",", ":")).encode())
        response = {**response, "response": {**inner, "clientDataJSON": written}}
        return super()._verify_assertion(response, challenge, key)


@mutant(kills=REWRITTEN, because="signature empty[^§]*tool run")
class TakesAnEmptySignatureForNone(RelyingParty):
    """Verifies a signature only where there is one."""

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        if signature:
            super().check_signature(key, signature, signed)


@mutant(kills=REWRITTEN, because="signature of another genuine one[^§]*tool run")
class RemembersGoodSignatures(RelyingParty):
    """Takes a signature that it could have verified for some challenge of the same key."""

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        if signature[:1] != b"\x30":
            super().check_signature(key, signature, signed)


# ---- 8.2.3


class _RemembersUseItself(ApprovalGate):
    """Keeps in its own memory, under some key, which challenges were used; not in the store."""

    def used_by(self, attempt: ApprovalAttempt) -> set[Any]:
        return self.__dict__.setdefault("used", set())

    def key_of(self, challenge_id: str) -> Any:
        return challenge_id

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        if self.key_of(self.challenge_of(attempt).challenge_id) in self.used_by(attempt):
            raise ApprovalRefusal(Reason.CHALLENGE_CONSUMED, "challenge: got a used one")

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        self.used_by(attempt).add(self.key_of(self.challenge_of(attempt).challenge_id))


@mutant(kills=ONCE, because="on the same connection[^§]*tool run")
class ForgetsUse(_RemembersUseItself):
    """Never keeps that a challenge was used."""

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        pass


@mutant(kills=ONCE, because="on another replica[^§]*tool run")
class RemembersUsePerProcess(_RemembersUseItself):
    """Keeps used challenges in the memory of one process, behind several replicas."""


@mutant(kills=ONCE, because="after a restart[^§]*tool run")
class ForgetsUseAtRestart(_RemembersUseItself):
    """Keeps challenges on disk, but only in memory which of them were used."""


_CLIENT: ContextVar[str] = ContextVar("client", default="")


class _RemembersUsePerClient(_RemembersUseItself):
    def key_of(self, challenge_id: str) -> Any:
        return (_CLIENT.get(), challenge_id)


class _KnowsItsClient(ReferenceServer):
    """Tells the gate which session a call came in: by its id, or by the client that it names."""

    async def on_call_tool(self, ctx: Any, params: Any) -> Any:
        meta = (ctx.params or {}).get("_meta") or {}
        client = meta.get("io.modelcontextprotocol/clientInfo") or {}
        session = ctx.request.headers.get("mcp-session-id") if ctx.request is not None else None
        _CLIENT.set(session or str(client.get("name")))
        return await super().on_call_tool(ctx, params)


@mutant(kills=ONCE, because="in another session[^§]*tool run")
def remembers_use_per_session(**options: Any) -> ReferenceServer:
    """Keeps used challenges per session."""
    return having(_RemembersUsePerClient, {**options, "server_class": _KnowsItsClient})


@mutant(kills=ONCE, because="three times after a restart[^§]*tool run[^§]*tool run")
class StopsRememberingAtRestart(ApprovalGate):
    """Lets challenges from before its start pass as often as they come."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        self.__dict__.setdefault("own", set()).add(made["challengeId"])
        return made

    def is_own(self, attempt: ApprovalAttempt) -> bool:
        return self.challenge_of(attempt).challenge_id in self.__dict__.get("own", ())

    def step_05_challenge_unconsumed(self, attempt: ApprovalAttempt) -> None:
        if self.is_own(attempt):
            super().step_05_challenge_unconsumed(attempt)

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        if self.is_own(attempt):
            super().step_13_consume(attempt)


# ---- 8.3.2


@mutant(kills=ZERO, because="signCount 0[^§]*signature_counter_regression")
class WantsACounterThatRises(ApprovalGate):
    """Wants a higher counter even where zero is stored."""

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        if attempt.counter == 0:
            raise ApprovalRefusal(Reason.SIGNATURE_COUNTER_REGRESSION, "signCount: got 0")
        super().step_11_counter(attempt)


@mutant(kills=ZERO, because="enroll/finish of a synced passkey[^§]*verification_failed")
class EnrolsNoBackupEligibleKeys(RelyingParty):
    """Refuses to enrol credentials that can be backed up."""

    def check_backup_flags(self, data: AuthenticatorData, key: CredentialRecord | None) -> None:
        if data.flags.be:
            raise VerificationError("flag BE: got 1, expected a credential bound to its device")
        super().check_backup_flags(data, key)


@mutant(kills=ZERO, because="enroll/finish of a synced passkey[^§]*verification_failed")
class EnrolsNoCounterlessKeys(RelyingParty):
    """Refuses to enrol credentials whose counter is zero."""

    def verify_registration(self, response: Any, challenge: bytes) -> Registration:
        registration = super().verify_registration(response, challenge)
        if registration.counter == 0:
            raise VerificationError("signCount: got 0, expected a counter")
        return registration


@mutant(kills=ZERO, because="tools/call 2, approved by a synced passkey[^§]*tool not run")
class TakesCounterlessKeysOnce(ApprovalGate):
    """Takes a second assertion with counter zero for a copied key."""

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        seen = self.__dict__.setdefault("seen", set())
        if attempt.counter == 0 and self.credential_of(attempt).credential_id in seen:
            raise ApprovalRefusal(Reason.SIGNATURE_COUNTER_REGRESSION, "signCount: got 0 again")
        super().step_11_counter(attempt)
        seen.add(self.credential_of(attempt).credential_id)


# ---- 8.3.3


@mutant(kills="sep2672/8.3.3-default-not-signed", because="restart_service: force")
def lists_a_default(**options: Any) -> ReferenceServer:
    """Lists a gated tool whose schema gives a default to a member."""
    return told(options, schema_default=True)
