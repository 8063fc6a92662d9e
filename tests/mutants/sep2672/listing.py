"""Servers that list, declare or gate wrongly: sections 4.2, 4.3 and 4.4."""

from __future__ import annotations

from typing import Any

from mcp.shared.exceptions import MCPError

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, GatedTool
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.server.extension import Caller, Method
from pytest_mcp_approval.reference_server.server.mcp_server import ReferenceServer
from tests.mutants.registry import mutant


def annotated(listing: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A listing with other members in its annotation, if it has one."""
    meta = listing.get("_meta", {})
    if words.META_KEY not in meta:
        return listing
    return {**listing, "_meta": {**meta, words.META_KEY: {**meta[words.META_KEY], **members}}}


# ---- section 4.2


@mutant(kills="sep2672/4.2-required-literal", because="required True")
class ListsRequiredTrue(Sep2672Extension):
    """Lists required: true instead of the literal."""

    def listing(self, tool: Tool) -> dict[str, Any]:
        return annotated(super().listing(tool), required=True)


@mutant(kills="sep2672/4.2-required-literal", because="required 'Verified'")
class CapitalisesRequired(Sep2672Extension):
    """Lists required: "Verified" for one of its tools."""

    def listing(self, tool: Tool) -> dict[str, Any]:
        listing = super().listing(tool)
        return annotated(listing, required="Verified") if tool.name == "wipe_cache" else listing


@mutant(
    kills="sep2672/4.2-required-literal",
    because='carries no annotation, without evidence[^§]*"reason":"missing_evidence"',
)
class ForgetsToAnnotate(Sep2672Extension):
    """Asks for evidence for a tool whose listing does not say so."""

    def listing(self, tool: Tool) -> dict[str, Any]:
        listing = super().listing(tool)
        if tool.name == "delete_resource":
            del listing["_meta"]
        return listing


@mutant(kills="sep2672/4.2-class-values", because="authenticatorClass 'any'")
class ListsAnyClass(Sep2672Extension):
    """Lists authenticatorClass: "any" for its platform tools."""

    def listing(self, tool: Tool) -> dict[str, Any]:
        listing = super().listing(tool)
        gate = tool.gate
        if gate is None or gate.authenticator_class is not AuthenticatorClass.PLATFORM:
            return listing
        return annotated(listing, authenticatorClass="any")


@mutant(
    kills="sep2672/4.2-class-default",
    because="internal-only credential in it|signed by an internal-only",
)
class OmittedClassIsPlatform(ApprovalGate):
    """Treats a tool without a class as a platform tool."""

    def class_of(self, tool: GatedTool) -> AuthenticatorClass:
        return tool.authenticator_class or AuthenticatorClass.PLATFORM


@mutant(
    kills="sep2672/4.2-plain-tools-untouched",
    because='not annotated, without evidence[^§]*"reason":"missing_evidence"',
)
class AsksEvidenceForEveryTool(Sep2672Extension):
    """Refuses every call without evidence, whatever the tool's listing says."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if words.META_KEY not in (meta or {}):
            raise ApprovalRefusal(Reason.MISSING_EVIDENCE, "evidence: got none")
        return super().call_tool(user, tool, arguments, meta)


@mutant(
    kills="sep2672/4.2-plain-tools-untouched",
    because='with evidence that is worth nothing[^§]*"reason":"tool_not_approved_required"',
)
class VerifiesWhateverCarriesEvidence(Sep2672Extension):
    """Verifies evidence wherever it finds some, also for tools that need none."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if words.META_KEY in (meta or {}):
            self.gate.verify(user, tool.name, arguments, meta)
            return self.execute(tool, arguments)
        return super().call_tool(user, tool, arguments, meta)


# ---- section 4.3


@mutant(kills="sep2672/4.3-capability-declared", because=r"capabilities\.verifiedApproval \{\}")
class DeclaresBesideExtensions(Sep2672Extension):
    """Declares the capability at capabilities.verifiedApproval."""

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        return {**capabilities, words.CAPABILITY_KEY: {}}


@mutant(kills="sep2672/4.3-capability-declared", because="io.modelcontextprotocol")
class DeclaresUnderTheLongKey(Sep2672Extension):
    """Declares the capability under the reverse-DNS key only."""

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        return {**capabilities, "extensions": {words.META_KEY: {}}}


@mutant(kills="sep2672/4.3-capability-declared", because="extensions {'verifiedApproval': True}")
class DeclaresTrue(Sep2672Extension):
    """Declares true instead of an object."""

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        return {**capabilities, "extensions": {words.CAPABILITY_KEY: True}}


@mutant(
    kills="sep2672/4.3-capability-declared",
    because="^initialize, then tools/list[^§]*no such capability",
)
class DeclaresInOneEraOnly(ReferenceServer):
    """Declares in server/discover and forgets initialize, as an SDK's extensions may."""

    async def middleware(self, ctx: Any, call_next: Any) -> Any:
        if ctx.method == "initialize":
            return await call_next(ctx)
        return await super().middleware(ctx, call_next)


@mutant(
    kills="sep2672/4.3-methods-understood",
    because="approval/enroll/finish.*(\n.*)*-32601[^§]*error -32601",
)
class HasNoEnrolment(Sep2672Extension):
    """Declares the capability and knows only approval/challenge/create."""

    def methods(self) -> dict[str, Method]:
        known = super().methods()
        return {method: known[method] for method in known if method == words.CHALLENGE_CREATE}


@mutant(kills="sep2672/4.3-missing-evidence", because="without evidence\n(.*\n)*.*tool run")
class RunsWithoutEvidence(ApprovalGate):
    """Lets a call without evidence through, for clients that do not know the extension."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> Any:
        if words.META_KEY not in (meta or {}):
            return None
        return super().verify(user, tool, arguments, meta)


@mutant(
    kills="sep2672/4.3-missing-evidence",
    because="tool run; also tools/call place_trade .*refused, but in other words",
)
class RunsOneToolAndRefusesAnother(ApprovalGate):
    """Runs most tools without evidence, and refuses the first one in words of its own."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> Any:
        if words.META_KEY not in (meta or {}):
            if tool == "place_trade":
                raise ApprovalRefusal(Reason.CHALLENGE_UNKNOWN, "_meta: something is missing")
            return None
        return super().verify(user, tool, arguments, meta)


@mutant(
    kills="sep2672/4.3-missing-evidence",
    because="right after the same call was approved[^§]*a result, tool run",
)
class ApprovesForGood(ApprovalGate):
    """Remembers an approval, and lets the same tool run without evidence ever after."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> Any:
        approved = self.__dict__.setdefault("approved", set())
        if words.META_KEY not in (meta or {}) and (user, tool) in approved:
            return None
        given = super().verify(user, tool, arguments, meta)
        approved.add((user, tool))
        return given


@mutant(
    kills="sep2672/4.3-missing-evidence",
    because="while a challenge for it is pending[^§]*a result, tool run",
)
class TakesTheChallengeForEvidence(ApprovalGate):
    """Lets a call without evidence through once a challenge was issued for it."""

    issued: tuple[str, bytes] | None = None

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        envelope = super().create_challenge(user, tool, arguments)
        self.issued = (tool, words.canonical_arguments(arguments))
        return envelope

    def step_01_evidence_present(self, attempt: ApprovalAttempt) -> None:
        self.attempted = (attempt.tool.name, words.canonical_arguments(attempt.arguments))
        super().step_01_evidence_present(attempt)

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> Any:
        try:
            return super().verify(user, tool, arguments, meta)
        except ApprovalRefusal as refusal:
            if refusal.reason is Reason.MISSING_EVIDENCE and self.issued == self.attempted:
                return None
            raise


# ---- section 4.4


@mutant(kills="sep2672/4.4-method-not-found", because="-32600")
class CallsUndeclaredMethodsInvalid(Sep2672Extension):
    """Answers -32600 to the methods of a capability that it has not declared."""

    def methods(self) -> dict[str, Method]:
        return super().methods() or dict.fromkeys(words.METHODS, self.on_undeclared)

    def on_undeclared(self, caller: Caller, method: str, params: Any) -> dict[str, Any]:
        raise MCPError(-32600, "Invalid request")


@mutant(
    kills="sep2672/4.4-method-not-found",
    because="not declared the capability\n.*\n.*options",
)
class ServesUndeclaredMethods(Sep2672Extension):
    """Serves the methods whether or not it has declared the capability."""

    def methods(self) -> dict[str, Method]:
        return dict.fromkeys(words.METHODS, self.on_approval)
