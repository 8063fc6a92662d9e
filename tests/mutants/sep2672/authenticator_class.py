"""Servers that filter credentials wrongly: section 4.7."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    CredentialRecord,
    EnrolmentRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import Registration, RelyingParty
from tests.mutants.registry import mutant

CROSS = AuthenticatorClass.CROSS_PLATFORM


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because=r"\['hybrid', 'internal'\][^§]*it is not",
)
class ExcludesWhateverIsInternal(ApprovalGate):
    """Filters anything that contains internal."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        return wanted is not CROSS or "internal" not in credential.transports


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal", because=r"\['internal'\][\s\S]*offered"
)
class OffersSameDeviceCredentials(ApprovalGate):
    """Offers same-device credentials, and refuses them at the call."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        return self.store.credentials(user) or super().eligible_credentials(user, tool)


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because=r"a challenge for delete_resource[^§]*\ninternal, hybrid and internal",
)
class ListsNoClass(Sep2672Extension):
    """Lists a tool without the class that its gate goes by: clients read cross-platform there."""

    def listing(self, tool: Tool) -> dict[str, Any]:
        listed = super().listing(tool)
        if tool.name == "delete_resource":
            listed["_meta"] = {words.META_KEY: {"required": words.REQUIRED}}
        return listed


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal", because=r"\['internal'\][\s\S]*tool run"
)
class ClassFilteredAtIssueOnly(ApprovalGate):
    """Filters what is offered, and takes what comes."""

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        """Not looked at again."""


@mutant(kills="sep2672/4.7-cross-platform-excludes-internal", because=r"\['ble'\][^§]*it is not")
class ForgetsBluetooth(ApprovalGate):
    """Knows usb, nfc and hybrid only."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        known = {"usb", "nfc", "hybrid"}
        return wanted is not CROSS or not known.isdisjoint(credential.transports)


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because="'internal', 'internal'[^§]*it is offered",
)
class ComparesTheWholeList(ApprovalGate):
    """Excludes the list ['internal'] to the letter, and no other."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        return wanted is not CROSS or credential.transports != ("internal",)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.relying_party = _KeepsEverything()


class _KeepsEverything(RelyingParty):
    def check_transports(self, given: Any) -> tuple[str, ...]:
        super().check_transports(given)
        return tuple(given or ())


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal", because="transfer_funds[^§]*it is offered"
)
class OmittedMeansPlatform(ApprovalGate):
    """A tool that names no class takes any credential."""

    def class_of(self, tool: GatedTool) -> AuthenticatorClass:
        return tool.authenticator_class or AuthenticatorClass.PLATFORM


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because=r'was offered \(transports[^§]*"reason":"authenticator_class_mismatch"',
)
class FiltersTwoWays(ApprovalGate):
    """Offers what is not internal only, and accepts what is roaming: two filters."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        super().eligible_credentials(user, tool)
        return [c for c in self.store.credentials(user) if c.transports != ("internal",)]


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because=r"not offered \(transports[^§]*a result, tool run",
)
class AcceptsMoreThanItOffers(ApprovalGate):
    """Offers what is roaming, and accepts what is not internal only: two filters."""

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        if self.credential_of(attempt).transports == ("internal",):
            super().step_09_authenticator_class(attempt)


@mutant(
    kills="sep2672/4.7-cross-platform-excludes-internal",
    because="an honest challenge .* a list in a list[^§]*error -32603",
)
class ChokesOnNumbers(RelyingParty):
    """Stores transports that are no names, and fails at every challenge afterwards."""

    def check_transports(self, given: Any) -> tuple[str, ...]:
        return tuple(given) if isinstance(given, list) else super().check_transports(given)


@mutant(kills="sep2672/4.7-platform-accepts-all", because="transports usb[^§]*it is not")
class PlatformMeansInternal(ApprovalGate):
    """Platform means internal only."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        if wanted is CROSS:
            return super().satisfies_class(credential, wanted)
        return "internal" in credential.transports


@mutant(kills="sep2672/4.7-platform-accepts-all", because="transports internal[^§]*it is not")
class PlatformMeansCrossPlatform(ApprovalGate):
    """Every class is treated as cross-platform."""

    def class_of(self, tool: GatedTool) -> AuthenticatorClass:
        return CROSS


@mutant(
    kills="sep2672/4.7-platform-accepts-all", because="transports (none|left out)[^§]*it is not"
)
class PlatformNeedsTransports(ApprovalGate):
    """A credential without transports is never eligible."""

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        return bool(credential.transports) and super().satisfies_class(credential, wanted)


@mutant(
    kills="sep2672/4.7-platform-accepts-all",
    because='a call of[^§]*"reason":"authenticator_class_mismatch"',
)
class PlatformRefusesBluetooth(ApprovalGate):
    """Offers all credentials for a platform tool, and refuses Bluetooth keys at the call."""

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        super().step_09_authenticator_class(attempt)
        platform = self.class_of(attempt.tool) is not CROSS
        if platform and self.credential_of(attempt).transports == ("ble",):
            raise ApprovalRefusal(words.Reason.AUTHENTICATOR_CLASS_MISMATCH, "not built in")


class _Trusting(ApprovalGate):
    """Lets a call pass that claims to come from elsewhere."""

    def claims(self, evidence: Mapping[str, Any]) -> bool:
        raise NotImplementedError

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        if not self.claims(attempt.evidence):
            super().step_09_authenticator_class(attempt)


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="claims to be cross-platform in authenticatorAttachment[^§]*a result, tool run",
)
class TrustsTheAttachmentOfTheCall(_Trusting):
    """Trusts authenticatorAttachment of the call."""

    def claims(self, evidence: Mapping[str, Any]) -> bool:
        return bool(evidence["response"].get("authenticatorAttachment") == "cross-platform")


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="in response.response.transports[^§]*a result, tool run",
)
class TrustsTheTransportsOfTheCall(_Trusting):
    """Trusts transports inside the assertion."""

    def claims(self, evidence: Mapping[str, Any]) -> bool:
        return "transports" in evidence["response"]["response"]


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="in response.transports[^§]*a result, tool run",
)
class TrustsTheTransportsOfTheCredential(_Trusting):
    """Trusts transports beside the assertion."""

    def claims(self, evidence: Mapping[str, Any]) -> bool:
        return "transports" in evidence["response"]


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="in evidence.transports[^§]*a result, tool run",
)
class TrustsTheEvidence(_Trusting):
    """Trusts a class that the evidence names."""

    def claims(self, evidence: Mapping[str, Any]) -> bool:
        return "authenticatorClass" in evidence


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="Attachment 'platform'[^§]*built in .*authenticator_class_mismatch",
)
class RefusesReportedPlatform(ApprovalGate):
    """Refuses a roaming credential whose client calls it built in."""

    def step_09_authenticator_class(self, attempt: ApprovalAttempt) -> None:
        super().step_09_authenticator_class(attempt)
        said = attempt.evidence["response"].get("authenticatorAttachment")
        if self.class_of(attempt.tool) is CROSS and said == "platform":
            raise ApprovalRefusal(words.Reason.AUTHENTICATOR_CLASS_MISMATCH, "built in")


class _ByAttachment(RelyingParty):
    def verify_registration(self, response: Any, challenge: bytes) -> Registration:
        registration = super().verify_registration(response, challenge)
        if response.get("authenticatorAttachment") != "cross-platform":
            return registration
        return replace(registration, transports=(*registration.transports, "usb"))


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because=r"transports \['internal'\] and authenticatorAttachment 'cross-platform'[^§]*\noffered",
)
class EnrolsByAttachment(_ByAttachment):
    """Takes a credential for roaming whose client says so at enrolment."""


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="further member .'authenticatorClass'[^§]*offered",
)
class LetsTheRequestChooseTheClass(ApprovalGate):
    """A challenge request may name the class."""

    chosen: AuthenticatorClass | None = None

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        given = params.get("authenticatorClass") if isinstance(params, dict) else None
        self.chosen = AuthenticatorClass(given) if given else None
        return super().handle(user, method, params)

    def class_of(self, tool: GatedTool) -> AuthenticatorClass:
        return self.chosen or super().class_of(tool)


@mutant(
    kills="sep2672/4.7-transports-persisted",
    because="after the same registration[^§]*it is offered",
)
class UpdatesTransportsUnverified(ApprovalGate):
    """A registration that is refused still updates the transports of its credential."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        try:
            known = self.store.credential(words.base64url_decode(response.get("id")))
        except ValueError:
            known = None
        if known is not None:
            given = self.relying_party.check_transports(response["response"].get("transports"))
            self.store.remove_credential(known.credential_id)
            self.store.add_credential(replace(known, transports=given))
        return super().finish_enrolment(user, response)


@mutant(
    kills="sep2672/4.7-transports-persisted", because=r"after a restart[^§]*more: \['internal'\]"
)
class KeepsTransportsInMemory(ApprovalGate):
    """Keeps transports beside the store, and not in it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.transports: dict[bytes, tuple[str, ...]] = {}

    def keep_credential(self, credential: CredentialRecord) -> None:
        self.transports[credential.credential_id] = credential.transports
        super().keep_credential(replace(credential, transports=()))

    def satisfies_class(self, credential: CredentialRecord, wanted: AuthenticatorClass) -> bool:
        # What is not known any more gets the benefit of the doubt.
        known = self.transports.get(credential.credential_id, ("usb",))
        return super().satisfies_class(replace(credential, transports=known), wanted)


# ---- enrolment is open to every class


@mutant(kills="sep2672/4.7-enrolment-open", because=r"\['internal'\][^§]*verification_failed")
class EnrolsRoamingCredentialsOnly(ApprovalGate):
    """Refuses to enrol what a cross-platform tool would not admit."""

    def check_not_enrolled(self, registration: Registration) -> None:
        super().check_not_enrolled(registration)
        if set(registration.transports) == {"internal"}:
            raise ApprovalRefusal(Reason.VERIFICATION_FAILED, "a security key is wanted")


@mutant(kills="sep2672/4.7-enrolment-open", because="authenticatorAttachment 'cross-platform'")
class AsksForASecurityKey(ApprovalGate):
    """Lets the browser offer roaming devices only."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        options["authenticatorSelection"]["authenticatorAttachment"] = "cross-platform"
        return options
