"""Clients that get SEP-2672 wrong, each in one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY
from pytest_mcp_approval.reference_client.client import ReferenceClient
from pytest_mcp_approval.reference_client.connection import ServerError
from pytest_mcp_approval.reference_client.outcomes import Outcome, Refused, Unusable
from pytest_mcp_approval.reference_client.people import Decision, Review
from pytest_mcp_approval.reference_client.program import Program
from pytest_mcp_approval.reference_client.screen import Screen
from pytest_mcp_approval.reference_client.transports import BrokenOff
from tests.mutants.clients.parts import client_mutant, impatient, timed_out

Params = Mapping[str, Any]

# ---- sections 4.2 and 4.3


@client_mutant(kills="sep2672/4.2-client-ignores-unannotated", because="approval/challenge/create")
class AsksForEveryTool(ReferenceClient):
    """Opens a ceremony whatever tool it is."""

    def needs_approval(self, tool: Params) -> bool:
        return True


@client_mutant(kills="sep2672/4.2-client-ignores-unannotated", because="with evidence")
class ShowsItsEvidenceAround(ReferenceClient):
    """Sends the last evidence along with every later call."""

    last: Mapping[str, Any] = {}

    def with_evidence(self, params: Params, envelope: Params, response: Params) -> dict[str, Any]:
        made = super().with_evidence(params, envelope, response)
        self.last = {"_meta": made["_meta"]}
        return made

    def called(self, params: Params) -> Outcome:
        return super().called({**self.last, **params})


@client_mutant(kills="sep2672/4.2-client-class-default", because="did not ask its person")
class NeedsAClass(ReferenceClient):
    """Takes a tool without a class for one that needs no approval."""

    def needs_approval(self, tool: Params) -> bool:
        own = (tool.get("_meta") or {}).get(META_KEY) or {}
        return "authenticatorClass" in own


@client_mutant(kills="sep2672/4.2-client-tolerates-siblings", because="did not ask its person")
class ClosedAnnotation(ReferenceClient):
    """Reads the annotation by a closed schema, and takes any other for none."""

    def needs_approval(self, tool: Params) -> bool:
        own: Params = (tool.get("_meta") or {}).get(META_KEY) or {}
        return bool(own) and own.keys() <= {"required", "authenticatorClass"}


@client_mutant(kills="sep2672/4.3-client-tolerates-subfields", because="did not ask its person")
class EmptyCapabilityOnly(ReferenceClient):
    """Gives up on a server whose capability is not {}."""

    def call(self, name: str, arguments: Params) -> Outcome:
        extensions = self.connection.server_capabilities.get("extensions") or {}
        if any(extensions.values()):
            return Unusable("an unknown version of the extension")
        return super().call(name, arguments)


@client_mutant(
    kills="sep2672/4.3-client-warns-inconsistent", because="nothing that it does not show"
)
class SaysNothingOfIt(ReferenceClient):
    """Does not notice that the capability is missing."""

    def look_for_inconsistency(self) -> None:
        """Nothing."""


# ---- section 4.4.3


@client_mutant(kills="sep2672/4.4.3-client-verbatim", because="a screen that ends")
class CutsAtEighty(Screen):
    """Shows the first 80 characters of displayText."""

    def review(self, review: Review) -> Decision:
        return super().review(Review(review.server, review.tool, review.display_text[:80]))


@client_mutant(kills="sep2672/4.4.3-client-verbatim", because="a screen that ends")
class ClientComposesLetters(Screen):
    """Normalises displayText before it is shown."""

    def review(self, review: Review) -> Decision:
        import unicodedata

        text = unicodedata.normalize("NFKC", review.display_text)
        return super().review(Review(review.server, review.tool, text))


@client_mutant(kills="sep2672/4.4.3-client-verbatim", because="First")
class ShowsTheFirstTextAgain(Screen):
    """Keeps the text of a tool's first challenge for all that follow."""

    kept = ""

    def review(self, review: Review) -> Decision:
        self.kept = self.kept or review.display_text
        return super().review(Review(review.server, review.tool, self.kept))


# ---- section 4.5


@client_mutant(
    kills="sep2672/4.5-client-attaches-evidence", because="another response.clientExtension"
)
class DropsWhatItDoesNotKnow(ReferenceClient):
    """Forwards the members of the response that it knows."""

    def signed(self, envelope: Params) -> Params:
        response = super().signed(envelope)
        return {**response, "clientExtensionResults": {}}


@client_mutant(kills="sep2672/4.5-client-attaches-evidence", because="none there")
class EvidenceAmongTheArguments(ReferenceClient):
    """Puts the evidence into the arguments."""

    def with_evidence(self, params: Params, envelope: Params, response: Params) -> dict[str, Any]:
        made = super().with_evidence(params, envelope, response)
        return {**params, "arguments": {**params["arguments"], **made["_meta"]}}


@client_mutant(kills="sep2672/4.5-client-attaches-evidence", because="method '?WebAuthn")
class SpellsTheMethodOtherwise(ReferenceClient):
    """Names the method as the specification's title does."""

    def with_evidence(self, params: Params, envelope: Params, response: Params) -> dict[str, Any]:
        made = super().with_evidence(params, envelope, response)
        made["_meta"][META_KEY]["method"] = "WebAuthn"
        return made


@client_mutant(kills="sep2672/4.5-client-never-reuses", because="on 2 of them")
class TriesOnceMore(ReferenceClient):
    """Sends a call again when no answer came."""

    def called(self, params: Params) -> Outcome:
        try:
            return super().called(params)
        except BrokenOff:
            return super().called(params)


@client_mutant(kills="sep2672/4.5-client-never-reuses", because="on 2 of them")
class KeepsAnUnusedApproval(ReferenceClient):
    """After an error of the server's own, the next call comes with the same approval."""

    kept: dict[str, Any] | None = None

    def approved(self, params: Params) -> dict[str, Any]:
        found, self.kept = self.kept, None
        if found is not None:
            envelope = self.challenge(params)
            self.reviewed(params, envelope)
        return found or super().approved(params)

    def called(self, params: Params) -> Outcome:
        try:
            return super().called(params)
        except ServerError as error:
            if error.code == -32603:
                self.kept = dict(params)
            raise


@client_mutant(
    kills="sep2672/4.5-client-never-reuses", because="after a tools/call that got[^§]*on 2 of"
)
class KeepsAnApprovalThatTimedOut(ReferenceClient):
    """After a time-out of its own, the next call comes with the approval that got no answer."""

    kept: dict[str, Any] | None = None

    def approved(self, params: Params) -> dict[str, Any]:
        found, self.kept = self.kept, None
        if found is not None:
            envelope = self.challenge(params)
            self.reviewed(params, envelope)
        return found or super().approved(params)

    def called(self, params: Params) -> Outcome:
        with impatient(self.connection):
            try:
                return super().called(params)
            except BrokenOff as error:
                if timed_out(error):
                    self.kept = dict(params)
                raise


# ---- section 4.6


@client_mutant(kills="sep2672/4.6-client-same-arguments", because='"force": ?false')
class ClientFillsInDefaults(ReferenceClient):
    """Fills in the schema's defaults after the approval."""

    def called(self, params: Params) -> Outcome:
        schema = self.tools[params["name"]].get("inputSchema") or {}
        usual = {
            name: one["default"]
            for name, one in (schema.get("properties") or {}).items()
            if "default" in one
        }
        return super().called({**params, "arguments": {**usual, **params["arguments"]}})


# ---- section 4.9


@client_mutant(
    kills="sep2672/4.9-client-challenge-first", because="tools/call, approval/challenge/create"
)
class TriesItsLuckFirst(ReferenceClient):
    """Calls without evidence, and asks only if that is refused."""

    def call(self, name: str, arguments: Params) -> Outcome:
        try:
            return self.called({"name": name, "arguments": arguments})
        except ServerError:
            return super().call(name, arguments)
        except BrokenOff as error:
            return Unusable(str(error))


@client_mutant(kills="sep2672/4.9-client-review-before-assertion", because="a signature, while")
class SignsAhead(ReferenceClient):
    """Lets the authenticator sign while the person reads."""

    def approved(self, params: Params) -> dict[str, Any]:
        envelope = self.challenge(params)
        response = self.signed(envelope)
        self.reviewed(params, envelope)
        return self.with_evidence(params, envelope, response)


@client_mutant(kills="sep2672/4.9-client-review-before-assertion", because="a signature$")
class TakesALeaveForAYes(ReferenceClient):
    """Signs unless the person says no in so many words."""

    def go_on_if(self, decision: Decision) -> None:
        if decision is Decision.DECLINE:
            super().go_on_if(decision)


@client_mutant(kills="sep2672/4.9-client-surfaces-errors", because="as for")
class OneMessageForAll(Program):
    """Says of every refusal that it was refused."""

    def tell(self, outcome: Outcome) -> None:
        if isinstance(outcome, Refused):
            self.screen.say("refused")
        else:
            super().tell(outcome)


# ---- section 4.10


@client_mutant(kills="sep2672/4.10-client-by-reason", because="does not know")
class ClientReadsTheMessage(Program):
    """Goes by the words of the message, if they name a reason."""

    def reason_in_words(self, refused: Refused) -> str:
        if "challenge_unknown" in refused.message:
            return "the server does not know this approval"
        return super().reason_in_words(refused)


@client_mutant(kills="sep2672/4.10-client-needs-reason-only", because="retry at once")
class BelievesFurtherMembers(ReferenceClient):
    """Tells the person what a further member of data says."""

    def refused(self, error: ServerError) -> Refused:
        if error.data.get("retryable") or error.data.get("success"):
            self.person.warn("you may retry at once")
        return super().refused(error)
