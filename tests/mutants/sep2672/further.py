"""Servers of which only one scenario notices what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from webauthn.helpers.structs import AuthenticatorData

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason, base64url_encode
from pytest_mcp_approval.reference_server.assembly import build
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
    EnrolmentRecord,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import RelyingParty
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import mutant


@mutant(kills="sep2672/4.3-methods-understood", because="all of them honest[^§]*not there yet")
class VerifiesNothingYet(ApprovalGate):
    """Declares the capability and knows its methods, and accepts no evidence at all."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        raise ApprovalRefusal(Reason.SIGNATURE_VERIFICATION_FAILED, "verification is not there yet")


# ---- enrolment


class _ReadsFirst(ReferenceServer):
    """Looks at every request before MCP does, and may change it."""

    def asgi_app(self) -> Any:
        served = super().asgi_app()

        async def guarded(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await served(scope, receive, send)
                return
            came = [await receive()]
            while came[-1].get("more_body"):
                came.append(await receive())
            body = b"".join(one.get("body", b"") for one in came)
            asked = json.loads(body) if body.startswith(b"{") else {}
            refusal = self.read(asked)
            if refusal:
                await self.refuse(send, asked.get("id"), refusal)
                return
            if asked:
                body = json.dumps(asked).encode()
            headers = [
                (name, value) for name, value in scope["headers"] if name != b"content-length"
            ]
            headers.append((b"content-length", str(len(body)).encode()))
            replayed = iter([{"type": "http.request", "body": body, "more_body": False}])

            async def again() -> Any:
                return next(replayed, None) or await receive()

            await served({**scope, "headers": headers}, again, send)

        return guarded

    def read(self, asked: dict[str, Any]) -> str:
        """Why it is refused; an empty text lets it pass."""
        raise NotImplementedError

    async def refuse(self, send: Any, request_id: Any, why: str) -> None:
        error = {"code": -32000, "message": why}
        body = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@mutant(kills="sep2672/4.4.1-params-ignored", because="after one with params[^§]*shut")
class ShutsTheDoor(_ReadsFirst):
    """Takes whoever sends params that are no object for an attacker, and answers nobody since."""

    shut = False

    def read(self, asked: dict[str, Any]) -> str:
        if self.shut:
            return "the door is shut"
        self.shut = not isinstance(asked.get("params", {}), dict)
        return ""


@mutant(kills="sep2672/4.4.1-options-shape", because="1 to 64 bytes[^§]*[0-9]+ bytes")
class HasLongUserHandles(ApprovalGate):
    """Gives authenticators its whole record of the user as an id."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        handle = self.store.user_handle(record.user)
        options["user"]["id"] = base64url_encode((handle * 5)[:80])
        return options


@mutant(
    kills="sep2672/4.4.1-exclude-credentials", because="InvalidStateError[^§]*second credential"
)
class ExcludesWithAnotherType(ApprovalGate):
    """Lists credentials with a type of its own, which authenticators pass over."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        for one in options["excludeCredentials"]:
            one["type"] = "passkey"
        return options


@mutant(
    kills="sep2672/4.4.2-no-pending",
    because=r"after a refused one on the same challenge[^§]*\bverification_failed",
)
class RemembersTheFirstFailure(ApprovalGate):
    """Gives every further finish on a challenge the answer that the first one got."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        failures: dict[bytes, ApprovalRefusal] = self.__dict__.setdefault("failures", {})
        pending = self.find_pending(user, response)
        if pending.challenge in failures:
            raise failures[pending.challenge]
        try:
            return super().finish_enrolment(user, response)
        except ApprovalRefusal as refusal:
            failures[pending.challenge] = refusal
            raise


@mutant(kills="sep2672/4.4.3-allow-credentials", because="that was refused[^§]*it is offered")
class KeepsRefusedCredentials(ApprovalGate):
    """Writes a credential down before it has looked at all of the response."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        try:
            return super().finish_enrolment(user, response)
        except ApprovalRefusal:
            if isinstance(response, Mapping):
                super().finish_enrolment(user, {**response, "type": "public-key"})
            raise


@mutant(
    kills="sep2672/4.4.2-response-verified", because='with params[^§]*an error[^§]*"success":true'
)
class ConfirmsWithoutAResponse(ApprovalGate):
    """Says that an enrolment is finished where there is nothing to look at."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        told = isinstance(params, Mapping) and isinstance(params.get("response"), Mapping)
        if method == words.ENROLL_FINISH and not told:
            return {"success": True}
        return super().handle(user, method, params)


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because="params.response.(id|rawId|type) [^§]*: accepted",
    warned=True,
)
class ReadsNoNames(RelyingParty):
    """Goes by what is attested, and does not look at the names beside it."""

    def check_envelope(self, response: Any) -> Mapping[str, Any]:
        return super().check_envelope(
            {**response, "type": "public-key"} if isinstance(response, Mapping) else response
        )

    def check_credential_id(self, response: Mapping[str, Any], expected: bytes) -> None:
        pass


@mutant(
    kills="sep2672/4.4.2-response-verified",
    because=r"fault flip-flag \(.*\): accepted; WebAuthn",
    warned=True,
)
class LooksAtNoBackupFlags(RelyingParty):
    """Keeps whether a credential can be backed up, and asks no more about it."""

    def check_backup_flags(self, data: AuthenticatorData, key: CredentialRecord | None) -> None:
        pass


# ---- challenges


@mutant(kills="sep2672/4.4.3-only-gated-tools", because="params [^§]*an error[^§]*challengeId")
class TakesTheFirstToolForNone(ApprovalGate):
    """Where no tool is named, means the first one."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        if method == words.CHALLENGE_CREATE and not (
            isinstance(params, Mapping) and "toolName" in params
        ):
            params = {"toolName": next(iter(self.tools)), "arguments": {}}
        return super().handle(user, method, params)


# ---- evidence


class _AsTheTextSays(ApprovalGate):
    """Reads evidence after it has put in what is missing."""

    def completed(self, attempt: ApprovalAttempt, evidence: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        if isinstance(attempt.evidence, Mapping):
            attempt.evidence = self.completed(attempt, dict(attempt.evidence))
        super().step_02_evidence_well_formed(attempt)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="evidence.method ''[^§]*tool run")
class HasADefaultMethod(_AsTheTextSays):
    """Takes an empty method for the only one that there is."""

    def completed(self, attempt: ApprovalAttempt, evidence: dict[str, Any]) -> dict[str, Any]:
        return {**evidence, "method": evidence.get("method") or words.WEBAUTHN}


class _DropsBadMeta(_ReadsFirst):
    def read(self, asked: dict[str, Any]) -> str:
        params = asked.get("params")
        if isinstance(params, dict) and not isinstance(params.get("_meta", {}), dict):
            del params["_meta"]
        return ""


class _NeedsNoMeta(Sep2672Extension):
    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if meta is None:
            return self.execute(tool, arguments)
        return super().call_tool(user, tool, arguments, meta)


@mutant(
    kills="sep2672/4.8-01-evidence-present",
    because="_meta is [^§]*tool not run[^§]*tool run",
    protocol="2025-11-25",
)
def drops_what_it_cannot_read(**options: Any) -> ReferenceServer:
    """Drops a _meta of another type, and asks for evidence only where there is a _meta."""
    others = options.get("extensions", {})
    extensions = {**others, "sep2672": _NeedsNoMeta}
    return build(**{**options, "server_class": _DropsBadMeta, "extensions": extensions})


@mutant(kills="sep2672/4.8-04-challenge-known", because="of a pending enrolment[^§]*tool run")
class TakesAnyChallengeOfItsOwn(ApprovalGate):
    """Knows what it has given out, and not what for."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            claimed = attempt.evidence.get("challengeId")
            known = [base64url_encode(one.challenge) for one in self.store.enrolments(attempt.user)]
            if claimed in known:
                signed = attempt.evidence["response"]["response"]["clientDataJSON"]
                wire = json.loads(words.base64url_decode(signed))["challenge"]
                attempt.challenge = next(
                    (
                        one
                        for one in self.__dict__.get("issued", [])
                        if base64url_encode(one.wire_challenge) == wire
                    ),
                    None,
                )
        return super().challenge_of(attempt)

    def envelope(self, record: ChallengeRecord, *more: Any) -> dict[str, Any]:
        self.__dict__.setdefault("issued", []).append(record)
        return super().envelope(record, *more)


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="never enrolled[^§]*signature_verif")
class TriesTheUsersFirstCredential(ApprovalGate):
    """Where it does not find a credential, it looks whether the user's first one will do."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        try:
            return super().credential_of(attempt)
        except ApprovalRefusal:
            found = self.store.credentials(attempt.user)
            if not found:
                raise
            attempt.credential = found[0]
            return found[0]


@mutant(kills="sep2672/4.8-11-counter", because="on the laptop[^§]*regression")
class WantsOneDeviceForEachPasskey(ApprovalGate):
    """Takes a synced passkey for a copied one where its counter does not move."""

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        key = self.credential_of(attempt)
        used: dict[bytes, int] = self.__dict__.setdefault("used", {})
        if attempt.counter == 0 and used.get(key.credential_id):
            raise ApprovalRefusal(Reason.SIGNATURE_COUNTER_REGRESSION, "signCount: got 0 again")
        super().step_11_counter(attempt)
        used[key.credential_id] = 1


# ---- arguments


@mutant(kills="sep2672/4.8-12-argument-hash", because="approved with others[^§]*, tool run")
class NeedsNoArguments(Sep2672Extension):
    """Runs a call without arguments with those that were approved."""

    class Remembers(ApprovalGate):
        def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
            if attempt.arguments:
                super().step_12_argument_hash(attempt)

    gate_class = Remembers

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if not self.is_gated(tool) or arguments:
            return super().call_tool(user, tool, arguments, meta)
        approved = self.gate.verify(user, tool.name, arguments, meta)
        record = self.store.challenge(approved.challenge_id)
        assert record is not None
        return self.execute(tool, json.loads(record.canonical_arguments))


@mutant(kills="sep2672/4.8-12-argument-hash", because="arguments with [^§]*argument_hash_mismatch")
class ComparesArgumentsAsWritten(ApprovalGate):
    """Compares the members of a call in the order in which they came."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        self.__dict__.setdefault("written", {})[made["challengeId"]] = json.dumps(arguments)
        return made

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        written = self.__dict__["written"].get(self.challenge_of(attempt).challenge_id)
        if json.dumps(attempt.arguments) != written:
            raise ApprovalRefusal(Reason.ARGUMENT_HASH_MISMATCH, "arguments: got others")
        super().step_12_argument_hash(attempt)


@mutant(kills="sep2672/8.1.3-rewritten-call", because="rewritten to [^§]*not run[^§]*tool run")
class LooksAtTheSignatureOnly(ApprovalGate):
    """Verifies that a person has approved something, and neither which tool nor what."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        pass

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        pass
