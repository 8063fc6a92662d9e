"""Servers that issue challenges wrongly: section 4.4.3."""

from __future__ import annotations

import base64
import itertools
import random
import re
import time
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ChallengeRecord,
    CredentialRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import mutant, told

# ---- which tools


@mutant(kills="sep2672/4.4.3-only-gated-tools", because="ungated tool[^§]*result .*challengeId")
class IssuesForAnyName(ApprovalGate):
    """Issues a challenge for any name."""

    def gated_tool(self, name: str) -> GatedTool:
        return self.tools.get(name) or GatedTool(name or "none", lambda _: f"Run {name}")


@mutant(kills="sep2672/4.4.3-only-gated-tools", because="PLACE_TRADE[^§]*result .*challengeId")
class FoldsTheCaseOfNames(ApprovalGate):
    """Finds tools by name in any case."""

    def gated_tool(self, name: str) -> GatedTool:
        return super().gated_tool(name.lower())


@mutant(
    kills="sep2672/4.4.3-only-gated-tools",
    because="toolName a list of the name[^§]*result .*challengeId",
)
class TakesAListForItsText(ApprovalGate):
    """Takes a list of one name for the name, as JavaScript's String() does."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        if method == words.CHALLENGE_CREATE and isinstance(params.get("toolName"), list):
            params = {**params, "toolName": ",".join(map(str, params["toolName"]))}
        return super().handle(user, method, params)


@mutant(kills="sep2672/4.4.3-only-gated-tools", because="-32602 unknown tool")
class UnknownToolsAreBadParams(Sep2672Extension):
    """Answers -32602 without a reason for a tool that needs no approval."""

    def refuse(self, refusal: ApprovalRefusal) -> dict[str, Any]:
        from mcp.shared.exceptions import MCPError

        if refusal.reason is words.Reason.TOOL_NOT_APPROVED_REQUIRED:
            raise MCPError(-32602, "unknown tool")
        return super().refuse(refusal)


# ---- the envelope


class _Envelope(ApprovalGate):
    """Something to change the envelope of."""

    def change(self, envelope: dict[str, Any]) -> None:
        raise NotImplementedError

    def envelope(
        self, record: ChallengeRecord, display_text: str, eligible: list[CredentialRecord]
    ) -> dict[str, Any]:
        envelope = super().envelope(record, display_text, eligible)
        self.change(envelope)
        return envelope


@mutant(kills="sep2672/4.4.3-envelope-shape", because=r"expiresAt: \d+")
class ExpiresAtAnEpochNumber(_Envelope):
    """expiresAt is a number of seconds."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["expiresAt"] = int(time.time()) + 60


@mutant(kills="sep2672/4.4.3-envelope-shape", because=r"challenge: '.*='")
class PadsTheChallenge(_Envelope):
    """The challenge is standard base64, padded."""

    def change(self, envelope: dict[str, Any]) -> None:
        options = envelope["requestOptions"]
        wire = words.base64url_decode(options["challenge"])
        options["challenge"] = base64.b64encode(wire).decode()


@mutant(kills="sep2672/4.4.3-envelope-shape", because="challengeId: 1")
class NumbersItsChallenges(_Envelope):
    """challengeId is a number."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["challengeId"] = 17


@mutant(kills="sep2672/4.4.3-envelope-shape", because="1 different")
class OneChallengeIdForAll(_Envelope):
    """Every challenge has the same id."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["challengeId"] = "current"


@mutant(kills="sep2672/4.4.3-envelope-shape", because="allowCredentials: None")
class LeavesAllowCredentialsOut(_Envelope):
    """allowCredentials is left out: whatever the browser finds."""

    def change(self, envelope: dict[str, Any]) -> None:
        del envelope["requestOptions"]["allowCredentials"]


@mutant(kills="sep2672/4.4.3-envelope-shape", because="requestOptions.challenge: None")
class WrapsTheOptions(_Envelope):
    """requestOptions hold a publicKey member, as navigator.credentials.get takes it."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["requestOptions"] = {"publicKey": envelope["requestOptions"]}


@mutant(kills="sep2672/4.4.3-uv-required", because="'preferred'")
class ChallengePrefersVerification(_Envelope):
    """userVerification is 'preferred'."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["requestOptions"]["userVerification"] = "preferred"


# ---- the wire challenge


@mutant(kills="sep2672/4.4.3-wire-challenge", because="the hash stands first")
class HashBeforeNonce(ApprovalGate):
    """Hash first, nonce second."""

    def wire_challenge_of(self, nonce: bytes, action_hash: bytes) -> bytes:
        return action_hash + nonce


@mutant(kills="sep2672/4.4.3-wire-challenge", because="48 bytes")
class ShortNonce(ApprovalGate):
    """A nonce of 16 bytes."""

    def wire_challenge_of(self, nonce: bytes, action_hash: bytes) -> bytes:
        return nonce[:16] + action_hash


@mutant(kills="sep2672/4.4.3-wire-challenge", because="4 different second halves")
class RandomInsteadOfHash(ApprovalGate):
    """64 random bytes, as for any other sign-in."""

    def wire_challenge_of(self, nonce: bytes, action_hash: bytes) -> bytes:
        return nonce + random.randbytes(32)


@mutant(
    kills="sep2672/4.4.3-wire-challenge", because="differ in the argument[^§]*the same second half"
)
class HashWithoutArguments(ApprovalGate):
    """The hash leaves the arguments out."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of(tool, {}, server_id)


@mutant(
    kills="sep2672/4.4.3-wire-challenge", because="with the same arguments[^§]*the same second half"
)
class HashWithoutTool(ApprovalGate):
    """The hash leaves the tool out."""

    def hash_of(self, tool: str, arguments: Any, server_id: str) -> bytes:
        return super().hash_of("tool", arguments, server_id)


@mutant(kills="sep2672/4.4.3-wire-challenge", because=r'arguments \["x"\][^§]*result .*challengeId')
class TakesAnyArguments(ApprovalGate):
    """Issues challenges for arguments that are no object."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        if method == words.CHALLENGE_CREATE and "toolName" in params:
            return self.create_challenge(user, params["toolName"], params.get("arguments"))
        return super().handle(user, method, params)


@mutant(
    kills="sep2672/4.4.3-wire-challenge", because="further member serverId[^§]*second half another"
)
class TrustsTheServerIdOfTheRequest(ApprovalGate):
    """Lets the client say the serverId."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        usual = self.server_id
        if isinstance(params, dict):
            self.server_id = params.get("serverId", usual)
        try:
            return super().handle(user, method, params)
        finally:
            self.server_id = usual


# ---- the nonce


@mutant(kills="sep2672/4.4.3-nonce-unpredictable", because="plus 0x1$")
class CountingNonce(ApprovalGate):
    """The nonce is a counter."""

    counter = itertools.count(1)

    def make_nonce(self) -> bytes:
        return next(self.counter).to_bytes(32)


@mutant(kills="sep2672/4.4.3-nonce-unpredictable", because="bits never did")
class ClockNonce(ApprovalGate):
    """The nonce is the time."""

    def make_nonce(self) -> bytes:
        return time.time_ns().to_bytes(32)


@mutant(kills="sep2672/4.4.3-nonce-unpredictable", because="bits never did")
class NonceOfText(ApprovalGate):
    """The nonce is 32 hexadecimal digits: half as random as it looks."""

    def make_nonce(self) -> bytes:
        return random.randbytes(16).hex().encode()


@mutant(kills="sep2672/4.4.3-nonce-unpredictable", because=r"32 times[\s\S]*\b1 different ones")
class OneNonce(ApprovalGate):
    """One nonce for the life of the server."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.nonce = super().make_nonce()

    def make_nonce(self) -> bytes:
        return self.nonce


@mutant(kills="sep2672/4.4.3-nonce-unpredictable", because="a restart[^§]*[0-9]+ of them twice")
class SeededNonces(ApprovalGate):
    """Nonces come from a generator with a fixed seed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.random = random.Random("nonces")

    def make_nonce(self) -> bytes:
        return self.random.randbytes(32)


@mutant(
    kills="sep2672/4.4.3-nonce-unpredictable", because="all gated tools in turn[^§]*different ones"
)
class NonceByTool(ApprovalGate):
    """Each tool has its own generator, all with one seed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seed = random.randbytes(32)
        self.generators: dict[str, random.Random] = {}

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        self.tool = tool
        return super().create_challenge(user, tool, arguments)

    def make_nonce(self) -> bytes:
        return self.generators.setdefault(self.tool, random.Random(self.seed)).randbytes(32)


# ---- how long, and for whom


@mutant(kills="sep2672/4.4.3-ttl", because="3600 s ahead")
def LivesForAnHour(**options: Any) -> ReferenceServer:  # noqa: N802
    """Challenges live for an hour."""
    return told(options, challenge_ttl=3600)


@mutant(kills="sep2672/4.4.3-allow-credentials", because="none of them")
class OffersNothing(_Envelope):
    """allowCredentials is empty, so that any credential may answer."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["requestOptions"]["allowCredentials"] = []


@mutant(kills="sep2672/4.4.3-allow-credentials", because=r"\na synced passkey$")
class OffersTheLastOnly(_Envelope):
    """Only the newest credential is offered."""

    def change(self, envelope: dict[str, Any]) -> None:
        options = envelope["requestOptions"]
        options["allowCredentials"] = options["allowCredentials"][-1:]


@mutant(kills="sep2672/4.4.3-allow-credentials", because="a same-device passkey, a synced passkey")
class OffersTheWholePool(ApprovalGate):
    """Offers whatever is enrolled, for every class."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        super().eligible_credentials(user, tool)
        return self.store.credentials(user)


@mutant(kills="sep2672/4.4.3-allow-credentials", because=r"transports \[\]")
class OffersWithoutTransports(ApprovalGate):
    """Credentials are offered with empty transports."""

    def descriptor(self, credential: CredentialRecord) -> dict[str, Any]:
        return {**super().descriptor(credential), "transports": []}


@mutant(kills="sep2672/4.4.3-allow-credentials", because="2 times")
class OffersTwice(_Envelope):
    """Every credential is offered twice."""

    def change(self, envelope: dict[str, Any]) -> None:
        envelope["requestOptions"]["allowCredentials"] *= 2


@mutant(
    kills="sep2672/4.4.3-no-eligible-credential",
    because="nothing enrolled[^§]*result .*challengeId",
)
class IssuesForNobody(ApprovalGate):
    """Issues a challenge with an empty list where nothing is eligible."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        try:
            return super().eligible_credentials(user, tool)
        except ApprovalRefusal:
            return []


@mutant(
    kills="sep2672/4.4.3-no-eligible-credential",
    because="only an .'internal'. credential[^§]*result .*challengeId",
)
class FallsBackToIneligible(ApprovalGate):
    """Offers same-device credentials after all where there are no others."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        try:
            return super().eligible_credentials(user, tool)
        except ApprovalRefusal:
            if not self.store.credentials(user):
                raise
            return self.store.credentials(user)


# ---- what the user reads


@mutant(kills="sep2672/4.4.3-display-text", because="always 'Approve this action'")
class ConstantText(ApprovalGate):
    """The text is the same for every call."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return "Approve this action"


@mutant(kills="sep2672/4.4.3-display-text", because="a displayText that a person can read[^§]*''")
class NoText(ApprovalGate):
    """The text is empty."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return ""


@mutant(
    kills="sep2672/4.4.3-display-text",
    because="the same displayText for the same call[^§]*' and '",
)
class TextOfTheCallBefore(ApprovalGate):
    """The text describes the arguments of the challenge before."""

    before: Any = None

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown, self.before = self.before or {}, arguments
        return super().display_text(tool, shown)


@mutant(kills="sep2672/4.4.3-display-text", because=r"U\+202E.*\n.*\n.*raw")
class RawBidi(ApprovalGate):
    """Raw U+202E is passed through."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        text = super().display_text(tool, arguments)
        return re.sub(r"\\u(20[26].)", lambda found: chr(int(found[1], 16)), text)


@mutant(kills="sep2672/4.4.3-display-text", because=r"U\+001B.*\n.*\n.*raw")
class RawControls(ApprovalGate):
    """Control characters are passed through."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        text = super().display_text(tool, arguments)
        return re.sub(r"\\u00([0189][0-9a-f])", lambda found: chr(int(found[1], 16)), text)


@mutant(kills="sep2672/4.4.3-display-text", because="in a member's name[^§]*it stands there raw")
class RawNames(ApprovalGate):
    """Cleans the values of arguments, not their names."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return super().display_text(tool, arguments) + " with " + ", ".join(arguments)
