"""Broken servers of SEP-2672 that no scenario of their rule finds out yet.

Each breaks the document; the comment above it says what would show it over the wire. The registry
does not load them: whoever writes the scenario moves the server to the module of its class.
"""

from __future__ import annotations

import copy
import datetime
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from webauthn.helpers import encode_cbor, parse_authenticator_data
from webauthn.helpers.structs import AttestationObject, AuthenticatorData

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from pytest_mcp_approval.reference_server.sep2672 import public_keys
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ApprovedCall,
    ChallengeRecord,
    CredentialRecord,
    EnrolmentRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    Registration,
    RelyingParty,
)
from pytest_mcp_approval.reference_server.sep2672.store import ApprovalStore
from pytest_mcp_approval.reference_server.server.clock import iso_8601
from pytest_mcp_approval.reference_server.server.visible_text import visible
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant
from tests.mutants.sep2672.absent import _AsksForWhatIsThere
from tests.mutants.sep2672.coerced import parsed
from tests.mutants.sep2672.compared_loosely import _ReadsIdsItsWay
from tests.mutants.sep2672.forgotten import _RemembersUseItself
from tests.mutants.sep2672.fractions import BERLIN
from tests.mutants.sep2672.neighbours_by_name import _FindsTheKey
from tests.mutants.sep2672.parts import (
    FindsCredentialsItsWay,
    HashesWhatItMeans,
    KeepsTimesItself,
    WritesArguments,
    challenges,
    credentials,
    enrolments,
    everywhere,
    with_id,
)

# ---- absent


# shows: an assertion signed over client data without origin (or with an empty one) runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class NeedsNoOrigin(_AsksForWhatIsThere):
    """Compares the origin of an assertion where there is one."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        if not self.lacks(client_data, "origin"):
            super().check_origin(client_data)


# shows: an assertion signed over client data without type runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class NeedsNoType(_AsksForWhatIsThere):
    """Compares the type of an assertion where there is one."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if expected != self.at or not self.lacks(client_data, "type"):
            super().check_type(client_data, expected)


# shows: an assertion signed over client data without challenge (or with an empty one) runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class NeedsNoChallenge(_AsksForWhatIsThere):
    """Compares the challenge in an assertion where there is one."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        if not self.lacks(client_data, "challenge"):
            super().check_challenge(client_data, expected)


# shows: a registration whose client data has no type is confirmed
@mutant(kills="sep2672/4.4.2-response-verified", because=".")
class EnrolsWithoutAType(_AsksForWhatIsThere):
    """Compares the type of a registration where there is one."""

    at = "webauthn.create"

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if expected != self.at or not self.lacks(client_data, "type"):
            super().check_type(client_data, expected)


# shows: a registration whose client data has no challenge is confirmed while one is pending
@mutant(kills="sep2672/4.4.2-challenge-must-match", because=".")
class EnrolsWithoutAChallenge(_AsksForWhatIsThere):
    """Compares the challenge in a registration where there is one."""

    at = "webauthn.create"

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        if not self.lacks(client_data, "challenge"):
            super().check_challenge(client_data, expected)


# ---- coerced


# shows: challenges for [1, 1] and for [1] have the same second half
@mutant(kills="sep2672/4.6-jcs", because=".")
class ListsAreSets(HashesWhatItMeans):
    """Hashes each item of a list once."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return list({words.canonical_arguments(one): one for one in value}.values())


# shows: good evidence whose response is its JSON in a text runs the tool
@mutant(kills="sep2672/4.8-02-evidence-well-formed", because=".")
class ParsesAResponseGivenAsText(ApprovalGate):
    """Takes a response that is a text for the object that it is the JSON of."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        if isinstance(attempt.evidence, Mapping) and "response" in attempt.evidence:
            response = parsed(attempt.evidence["response"])
            attempt.evidence = {**attempt.evidence, "response": response}
        super().step_02_evidence_well_formed(attempt)


# ---- compared loosely


# shows: challenges for "é" and for "e" have the same second half (not NFC against NFD)
@mutant(kills="sep2672/4.6-jcs", because=".")
class HashesWithoutAccents(HashesWhatItMeans):
    """Hashes letters without their accents, as some collations compare them."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        apart = unicodedata.normalize("NFD", value)
        return "".join(one for one in apart if not unicodedata.combining(one))


# shows: challenges for "%41" and for "A" have the same second half
@mutant(kills="sep2672/4.6-jcs", because=".")
class HashesDecodedTexts(HashesWhatItMeans):
    """Decodes percent escapes in texts before it hashes."""

    def meant(self, value: Any) -> Any:
        return unquote(value) if isinstance(value, str) else value


# shows: challenges for a text with a backslash and without it have the same second half
@mutant(kills="sep2672/4.6-jcs", because=".")
class HashesWithoutBackslashes(HashesWhatItMeans):
    """Takes backslashes out of texts before it hashes, as PHP's stripslashes does."""

    def meant(self, value: Any) -> Any:
        return re.sub(r"\\(.?)", r"\1", value) if isinstance(value, str) else value


# shows: good evidence with the case of its challengeId swapped runs the tool
@mutant(kills="sep2672/4.8-04-challenge-known", because=".")
class FoldsChallengeIds(_ReadsIdsItsWay):
    """Looks challengeIds up without regard to case, as some databases do."""

    def same(self, claimed: str, issued: str) -> bool:
        return claimed.lower() == issued.lower()


# shows: good evidence with a blank before or after its challengeId runs the tool
@mutant(kills="sep2672/4.8-04-challenge-known", because=".")
class TrimsChallengeIds(_ReadsIdsItsWay):
    """Trims white space off a challengeId."""

    def same(self, claimed: str, issued: str) -> bool:
        return claimed.strip() == issued


# shows: good evidence with a letter of its challengeId as %xx runs the tool
@mutant(kills="sep2672/4.8-04-challenge-known", because=".")
class UnquotesChallengeIds(_ReadsIdsItsWay):
    """Decodes percent escapes in a challengeId."""

    def same(self, claimed: str, issued: str) -> bool:
        return unquote(claimed) == issued


# shows: good evidence with the case of response.id swapped runs the tool
@mutant(kills="sep2672/4.8-08-credential-enrolled", because=".")
class FoldsCredentialIds(FindsCredentialsItsWay):
    """Looks credentials up without regard to the case of their ids."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        claimed = str(response.get("id")).lower()
        return next(
            (one for one in known if words.base64url_encode(one.credential_id).lower() == claimed),
            None,
        )


# shows: an assertion signed over client data of type payment.get runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class TakesEveryGet(RelyingParty):
    """Takes client data of every type that ends with .get, such as a payment's."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if expected != "webauthn.get" or not str(client_data.get("type")).endswith(".get"):
            super().check_type(client_data, expected)


# ---- forgotten too soon, or never


# shows: after a hundred more challenges the honest call on the first, in its lifetime, is refused
@mutant(kills="sep2672/4.8-04-challenge-known", because=".")
class KeepsAHundredChallenges(ApprovalGate):
    """Keeps the latest hundred pending challenges, and forgets older ones before their time."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        for one in challenges(self).find({"consumed_at": None})[:-100]:
            challenges(self).remove(one.challenge_id)
        return made


# shows: evidence that was used runs the tool again after eleven other approved calls
@mutant(kills="sep2672/8.2.3-exactly-once", because=".")
class RemembersTenUses(_RemembersUseItself):
    """Remembers the latest ten challenges that were used."""

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        super().step_13_consume(attempt)
        while len(self.used()) > 10:
            self.used().popitem(last=False)


# shows: after a success and another begin, a new credential over the used challenge is confirmed
@mutant(kills="sep2672/4.4.2-no-pending", because=".")
class ForgetsUsedEnrolmentsAtTheNextBegin(ApprovalGate):
    """Forgets with every begin which registration challenges were used."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        enrolments(self).change_all({"user": user}, consumed_at=None)
        return super().begin_enrolment(user)


# shows: evidence refused as unknown_credential is still refused once that credential is enrolled
@mutant(kills="sep2672/4.8-08-credential-enrolled", because=".")
class RemembersUnknownCredentials(ApprovalGate):
    """Remembers which credentials it did not know, also once they are enrolled."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        unknown: set[str] = vars(self.store).setdefault("_unknown", set())
        claimed = str(attempt.evidence["response"].get("id"))
        if claimed in unknown:
            raise ApprovalRefusal(Reason.UNKNOWN_CREDENTIAL, "response.id: not known")
        try:
            return super().credential_of(attempt)
        except ApprovalRefusal:
            unknown.add(claimed)
            raise


# shows: after a call with counter 9 and the enrolment of another credential, counter 8 runs the
#   tool
@mutant(kills="sep2672/4.8-14-counter-updated", because=".")
class ANewCredentialResetsTheOthers(ApprovalGate):
    """Writes all credentials of a user anew with each one, with their counters of the enrolment."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        super().keep_credential(credential)
        enrolled: dict[bytes, int] = vars(self.store).setdefault("_enrolled", {})
        enrolled[credential.credential_id] = credential.counter
        for one in self.store.credentials(credential.user):
            set_counter(self.store, one.credential_id, enrolled[one.credential_id])


# ---- fractions of time


# shows: createdAt is an hour or more off the server's clock (its Date header, the clock of the
#   target)
@mutant(kills="sep2672/4.4.2-confirmation-shape", because=".")
class ConfirmsInLocalTime(ApprovalGate):
    """Writes createdAt in the time of its own zone, and calls that UTC."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        made = super().finish_enrolment(user, response)
        wall = self.clock.now().astimezone(BERLIN).replace(tzinfo=datetime.UTC)
        return {**made, "createdAt": iso_8601(wall)}


# ---- life renewed


# shows: 50 s after issue a bad signature, 20 s later the honest call on that challenge: it runs
@mutant(kills="sep2672/4.8-06-challenge-unexpired", because=".")
class ARefusalRenewsTheChallenge(KeepsTimesItself):
    """Gives a challenge its whole lifetime again when a call with it is refused."""

    def verify(self, user: str, tool: str, arguments: Any, meta: Any) -> ApprovedCall:
        try:
            return super().verify(user, tool, arguments, meta)
        except ApprovalRefusal:
            evidence = meta.get(words.META_KEY) if isinstance(meta, Mapping) else None
            claimed = evidence.get("challengeId") if isinstance(evidence, Mapping) else None
            for record in challenges(self).find({"challenge_id": claimed, "user": user}):
                self.renew(record)
            raise


# shows: 50 s after issue another challenge for the same call, 20 s later the call on the first runs
@mutant(kills="sep2672/4.8-06-challenge-unexpired", because=".")
class AskingAgainRenewsTheChallenge(KeepsTimesItself):
    """Gives the pending challenges of a call their whole lifetime again with each new one."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        made = super().create_challenge(user, tool, arguments)
        issued = self.store.challenge(made["challengeId"])
        assert issued is not None
        for one in challenges(self).find({"user": user, "action_hash": issued.action_hash}):
            if one.challenge_id != issued.challenge_id:
                self.renew(one)
        return made


# shows: 50 s after issue another call is approved, 20 s later the honest call on the first one runs
@mutant(kills="sep2672/4.8-06-challenge-unexpired", because=".")
class AnApprovalRenewsTheOthers(KeepsTimesItself):
    """Takes an approved call for a sign of life, and renews whatever else the user has pending."""

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        super().step_14_update_counter(attempt)
        for one in challenges(self).find({"user": attempt.user}):
            self.renew(one)


class _RenewsEnrolments(ApprovalGate):
    def renew_enrolments(self, user: str) -> None:
        now = self.clock.now()
        for one in self.store.enrolments(user):
            if one.consumed_at is None and now < one.expires_at:
                enrolments(self).change(one.challenge, expires_at=now + self.enrolment_ttl)


# shows: 250 s after begin a refused finish, 100 s later the honest finish is confirmed
@mutant(kills="sep2672/4.4.1-ttl", because=".")
class ARefusedFinishRenewsTheEnrolment(_RenewsEnrolments):
    """Gives a registration challenge five more minutes when a finish is refused."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        try:
            return super().finish_enrolment(user, response)
        except ApprovalRefusal:
            self.renew_enrolments(user)
            raise


# shows: 250 s after begin a second begin, 100 s later the finish of the first is confirmed
@mutant(kills="sep2672/4.4.1-ttl", because=".")
class BeginningAgainRenewsTheEnrolment(_RenewsEnrolments):
    """Gives pending registration challenges five more minutes with every further begin."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        self.renew_enrolments(user)
        return super().begin_enrolment(user)


# ---- neighbours by name


# shows: an assertion from http://evil<rpId> runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class AssertsFromOriginsThatEndAlike(RelyingParty):
    """Takes an assertion of every origin that ends like its RP ID."""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        ends_alike = str(client_data.get("origin")).endswith(self.id)
        if client_data.get("type") != "webauthn.get" or not ends_alike:
            super().check_origin(client_data)


class _AnyScheme(RelyingParty):
    at = ""

    def check_origin(self, client_data: Mapping[str, Any]) -> None:
        host = str(client_data.get("origin")).partition("://")[2]
        known = {origin.partition("://")[2] for origin in self.origins}
        if client_data.get("type") != self.at or host not in known:
            super().check_origin(client_data)


# shows: an assertion from the same host with another scheme runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class AssertsFromAnyScheme(_AnyScheme):
    """Compares the host of an assertion's origin, and not its scheme."""

    at = "webauthn.get"


# shows: a registration from the same host with another scheme is confirmed
@mutant(kills="sep2672/4.4.2-response-verified", because=".")
class EnrolsFromAnyScheme(_AnyScheme):
    """Compares the host of a registration's origin, and not its scheme."""

    at = "webauthn.create"


# shows: an assertion with SHA-256(origin) for its rpIdHash runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class TakesTheHashOfItsOrigin(RelyingParty):
    """Takes an assertion for its origin in the place of its RP ID, as U2F had it."""

    def check_relying_party_hash(self, data: AuthenticatorData) -> None:
        origins = [hashlib.sha256(origin.encode()).digest() for origin in self.origins]
        if data.attested_credential_data is not None or data.rp_id_hash not in origins:
            super().check_relying_party_hash(data)


# shows: approval/challenge/create for a name with - in the place of _ gives a challenge
@mutant(kills="sep2672/4.4.3-only-gated-tools", because=".")
class TakesHyphensForUnderscores(ApprovalGate):
    """Finds tools at issue whether their names have hyphens or underscores."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        return super().create_challenge(user, tool.replace("-", "_"), arguments)


# shows: approval/challenge/create for %, or for a name with _ in the place of a letter, gives a
#   challenge
@mutant(kills="sep2672/4.4.3-only-gated-tools", because=".")
class FindsToolsWithLike(ApprovalGate):
    """Looks tools up with LIKE, so that a name may hold wildcards."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        like = re.escape(tool).replace("%", ".*").replace("_", ".")
        found = [name for name in self.tools if re.fullmatch(like, name)]
        return super().create_challenge(user, found[0] if found else tool, arguments)


# shows: good evidence under com.example/verified-approval runs the tool
@mutant(kills="sep2672/4.8-01-evidence-present", because=".")
class TakesEvidenceOfAnyNamespace(_FindsTheKey):
    """Takes evidence under verified-approval, whatever its prefix is."""

    def means_it(self, key: str) -> bool:
        return key.rpartition("/")[2] == "verified-approval"


# ---- only a part


# shows: good evidence with the last byte of response.id changed runs the tool
@mutant(kills="sep2672/4.8-08-credential-enrolled", because=".")
class KnowsCredentialsByTheirBeginning(FindsCredentialsItsWay):
    """Looks credentials up by the first 16 bytes of their ids, as a short column holds them."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        try:
            claimed = words.base64url_decode(response.get("id"))
        except ValueError:
            return None
        return next((one for one in known if one.credential_id[:16] == claimed[:16]), None)


# shows: a new credential whose id shares 16 bytes with an enrolled one is refused as enrolled
@mutant(kills="sep2672/4.4.2-already-enrolled", because=".")
class TakesIdsThatBeginAlikeForOne(ApprovalGate):
    """Takes a new credential for an enrolled one if the first 16 bytes of their ids are alike."""

    def check_not_enrolled(self, registration: Registration) -> None:
        beginning = registration.credential_id[:16]
        if any(one.credential_id[:16] == beginning for one in credentials(self).find()):
            raise ApprovalRefusal(Reason.CREDENTIAL_ALREADY_ENROLLED, "credential: got a known one")


# shows: a credential enrolled with usb, nfc, ble and hybrid is offered with fewer or other
#   transports
@mutant(kills="sep2672/4.4.2-persisted", because=".")
class KeepsTransportsInAShortColumn(ApprovalGate):
    """Keeps transports as a text of 16 characters at most."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        kept = ",".join(credential.transports)[:16]
        transports = tuple(name for name in kept.split(",") if name)
        super().keep_credential(replace(credential, transports=transports))


# shows: enrolled with counter 70000, an assertion with counter 6000 runs the tool
@mutant(kills="sep2672/4.4.2-persisted", because=".")
class EnrolsLowCounters(ApprovalGate):
    """Keeps the low 16 bits of the counter of a registration."""

    def keep_credential(self, credential: CredentialRecord) -> None:
        super().keep_credential(replace(credential, counter=credential.counter & 0xFFFF))


# shows: with eleven eligible credentials allowCredentials has ten
@mutant(kills="sep2672/4.4.3-allow-credentials", because=".")
class OffersAPageOfCredentials(ApprovalGate):
    """Offers the first ten credentials of a user: a page of a list."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        return super().eligible_credentials(user, tool)[:10]


# shows: with eleven credentials excludeCredentials has ten
@mutant(kills="sep2672/4.4.1-exclude-credentials", because=".")
class ExcludesAPageOfCredentials(ApprovalGate):
    """Lists the first ten credentials of a user in excludeCredentials: a page of a list."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        return {**options, "excludeCredentials": options["excludeCredentials"][:10]}


# shows: an assertion signed over the issued challenge with more behind it runs the tool
@mutant(kills="sep2672/4.8-10-signature", because=".")
class TakesWhatBeginsWithTheChallenge(RelyingParty):
    """Takes every signed challenge that begins with the issued one."""

    def check_challenge(self, client_data: Mapping[str, Any], expected: bytes) -> None:
        claimed = str(client_data.get("challenge"))
        if len(expected) != 64 or not claimed.startswith(words.base64url_encode(expected)):
            super().check_challenge(client_data, expected)


# shows: approved with one text of 2000 characters, called with another that differs at its end: it
#   runs
@mutant(kills="sep2672/4.8-12-argument-hash", because=".")
class HashesTheFirstKilobyte(WritesArguments):
    """Hashes the first 1024 bytes of the arguments."""

    def write(self, arguments: Any) -> bytes:
        return super().write(arguments)[:1024]


# shows: approved with one text of 300 characters, called with another that differs at its end: it
#   runs
@mutant(kills="sep2672/4.8-12-argument-hash", because=".")
class HashesTextsOfAColumn(HashesWhatItMeans):
    """Hashes the first 255 characters of each text, as many as a column holds."""

    def meant(self, value: Any) -> Any:
        return value[:255] if isinstance(value, str) else value


# shows: challenges for two lists that differ in their eleventh item have the same second half
@mutant(kills="sep2672/4.6-jcs", because=".")
class HashesTenItems(HashesWhatItMeans):
    """Hashes the first ten items of a list."""

    def meant(self, value: Any) -> Any:
        return value[:10] if isinstance(value, list) else value


# shows: challenges for values that differ four levels down have the same second half
@mutant(kills="sep2672/4.6-jcs", because=".")
class HashesDownToADepth(WritesArguments):
    """Hashes values down to the third level, and of deeper ones only that they are there."""

    def write(self, arguments: Any) -> bytes:
        return super().write(self.down_to(3, arguments))

    def down_to(self, levels: int, value: Any) -> Any:
        if not isinstance(value, dict | list):
            return value
        if levels == 0:
            return "[Object]"
        if isinstance(value, list):
            return [self.down_to(levels - 1, one) for one in value]
        return {name: self.down_to(levels - 1, one) for name, one in value.items()}


# ---- shown, not meant


# shows: two long texts that differ at their end get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class CutsWhatItShows(ApprovalGate):
    """Shows the first 200 characters of what is approved."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return super().display_text(tool, arguments)[:200]


# shows: calls that differ in memo, which the sentence does not name, get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".", warned=True)
class ShowsTheSentenceOnly(ApprovalGate):
    """Shows the author's sentence, which does not name every argument."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return super().display_text(tool, arguments).partition(". Exactly: ")[0]


# shows: calls that differ inside of an object get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class ShowsObjectsAsObjects(ApprovalGate):
    """Shows [object Object] for an argument that is an object."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown = {
            name: "[object Object]" if isinstance(one, Mapping) else one
            for name, one in arguments.items()
        }
        return super().display_text(tool, shown)


# shows: calls that differ in the fourth item of a list get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class ShowsTheFirstItems(ApprovalGate):
    """Shows the first three items of a list."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown = everywhere(lambda one: one[:3] if isinstance(one, list) else one, arguments)
        return super().display_text(tool, shown)


# shows: calls with 1.001 and with 1.002 get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class RoundsWhatItShows(ApprovalGate):
    """Shows numbers with two decimals."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        shown = everywhere(lambda one: round(one, 2) if isinstance(one, float) else one, arguments)
        return super().display_text(tool, shown)


# shows: memo "1, n: 2" and memo "1" with n "2" get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class ShowsValuesWithoutQuotes(ApprovalGate):
    """Shows texts without quotes, so that one argument may look like two."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        pairs = (
            f"{name}: {one if isinstance(one, str) else words.canonical_arguments(one).decode()}"
            for name, one in sorted(arguments.items())
        )
        return visible(f"Run {tool.name} with {', '.join(pairs)}")


# shows: calls with <a> and with <b> get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class TakesTagsOutOfTheText(ApprovalGate):
    """Takes whatever is in angle brackets out of what it shows, as PHP's strip_tags does."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return re.sub("<[^>]*>", "", super().display_text(tool, arguments))


# shows: two tools with the same arguments get the same displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class ShowsNoTool(ApprovalGate):
    """Shows what the arguments are, and not what is done with them."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        return visible(f"Approve {words.canonical_arguments(arguments).decode()}")


# shows: U+202E in a list or object of the arguments stands raw in displayText
@mutant(kills="sep2672/4.4.3-display-text", because=".")
class CleansTheTopOnly(ApprovalGate):
    """Cleans arguments that are texts, and not the texts inside of others."""

    def display_text(self, tool: GatedTool, arguments: Any) -> str:
        pairs = (
            f"{visible(name)}: {visible(text) if isinstance(one, str) else text}"
            for name, one in sorted(arguments.items())
            for text in [words.canonical_arguments(one).decode()]
        )
        return f"Run {tool.name} with {', '.join(pairs)}"


# ---- somebody else (shows with a second user only)


# shows: a second user's credential is in the first one's allowCredentials
@mutant(kills="sep2672/4.4.3-allow-credentials", because=".")
class OffersEverybodysCredentials(ApprovalGate):
    """Offers the credentials of all users."""

    def eligible_credentials(self, user: str, tool: GatedTool) -> list[CredentialRecord]:
        super().eligible_credentials(user, tool)
        wanted = self.class_of(tool)
        return [one for one in credentials(self).find() if self.satisfies_class(one, wanted)]


# shows: a second user's credential is in the first one's excludeCredentials
@mutant(kills="sep2672/4.4.1-exclude-credentials", because=".")
class ExcludesEverybodysCredentials(ApprovalGate):
    """Lists the credentials of all users in excludeCredentials."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        everybodys = [self.descriptor(one) for one in credentials(self).find()]
        return {**super().creation_options(record), "excludeCredentials": everybodys}


# shows: the first user's challenge, signed with the second one's credential, runs the tool
@mutant(kills="sep2672/4.8-08-credential-enrolled", because=".")
class TakesAnyonesCredential(ApprovalGate):
    """Looks whether a credential is enrolled, and not by whom."""

    def credential_of(self, attempt: ApprovalAttempt) -> CredentialRecord:
        if attempt.credential is None:
            claimed = attempt.evidence["response"].get("id")
            attempt.credential = next(
                (
                    replace(one, user=attempt.user)
                    for one in credentials(self).find()
                    if words.base64url_encode(one.credential_id) == claimed
                ),
                None,
            )
        return super().credential_of(attempt)


# shows: the second user calls with the first one's challenge and an own signature: the tool runs
@mutant(kills="sep2672/4.8-04-challenge-known", because=".")
class TakesAnyonesChallenge(ApprovalGate):
    """Looks whether a challenge was issued, and not to whom."""

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            found = challenges(self).find({"challenge_id": attempt.evidence["challengeId"]})
            attempt.challenge = next((replace(one, user=attempt.user) for one in found), None)
        return super().challenge_of(attempt)


# shows: the second user's finish over the first one's registration challenge is confirmed
@mutant(kills="sep2672/4.4.2-challenge-must-match", because=".")
class FinishesAnyonesEnrolment(ApprovalStore):
    """Finds a registration challenge whoever has begun with it."""

    def enrolments(self, user: str) -> list[EnrolmentRecord]:
        return self._enrolments.find()


# shows: the second user enrols the first one's credential id, and the first one's is gone
@mutant(kills="sep2672/4.4.2-already-enrolled", because=".")
class LetsAnotherUserTakeACredential(ApprovalGate):
    """Looks for a credential among the user's own, and overwrites the one of somebody else."""

    def check_not_enrolled(self, registration: Registration) -> None:
        pass

    def keep_credential(self, credential: CredentialRecord) -> None:
        known = self.store.credential(credential.credential_id)
        if known is not None and known.user == credential.user:
            raise ApprovalRefusal(Reason.CREDENTIAL_ALREADY_ENROLLED, "credential: got a known one")
        credentials(self).put([credential])


# shows: the first user begins, the second one begins, the first one finishes: refused
@mutant(kills="sep2672/4.4.2-no-pending", because=".")
class ABeginEndsThoseOfOthers(ApprovalGate):
    """Keeps the registration challenges of one user at a time."""

    def begin_enrolment(self, user: str) -> dict[str, Any]:
        enrolments(self).remove_all(lambda kept: (kept.user < user) | (user < kept.user))
        return super().begin_enrolment(user)


# shows: the second user enrols the first one's credential id: error.message has the first one's
#   name
@mutant(kills="sep2672/4.10-message", because=".")
class NamesTheOwnerOfADuplicate(ApprovalGate):
    """Says who has enrolled the credential that somebody tries to enrol again."""

    def check_not_enrolled(self, registration: Registration) -> None:
        known = self.store.credential(registration.credential_id)
        if known is not None:
            raise ApprovalRefusal(
                Reason.CREDENTIAL_ALREADY_ENROLLED, f"credential: got one of {known.user}"
            )


# ---- undone by failure


# shows: an approved call that the tool refuses for its arguments (-32602), again: not
#   challenge_consumed
@mutant(kills="sep2672/8.2.3-exactly-once", because=".")
class AFailedToolGivesTheApprovalBack(Sep2672Extension):
    """Makes a challenge good again when the tool itself fails, as a transaction rolls back."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if not self.is_gated(tool):
            return super().call_tool(user, tool, arguments, meta)
        approved = self.gate.verify(user, tool.name, arguments, meta)
        try:
            return self.execute(tool, arguments)
        except Exception:
            challenges(self.gate).change(approved.challenge_id, consumed_at=None)
            raise


# shows: counter 9 on a call that the tool refuses (-32602), then counter 8 on another one: it runs
@mutant(kills="sep2672/4.8-14-counter-updated", because=".")
class AFailedToolGivesTheCounterBack(Sep2672Extension):
    """Keeps the counter of a call only if the tool itself does not fail."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        if not self.is_gated(tool):
            return super().call_tool(user, tool, arguments, meta)
        before = {one.credential_id: one.counter for one in self.store.credentials(user)}
        approved = self.gate.verify(user, tool.name, arguments, meta)
        try:
            return self.execute(tool, arguments)
        except Exception:
            set_counter(self.store, approved.credential_id, before[approved.credential_id])
            raise


# ---- the untested twin


class _TrustsOneAlgorithm(RelyingParty):
    trusted = 0

    def check_signature(self, key: CredentialRecord, signature: bytes, signed: bytes) -> None:
        if public_keys.algorithm_of(key.public_key) != self.trusted:
            super().check_signature(key, signature, signed)


# shows: a bit of the signature of an Ed25519 credential flipped: the tool runs
@mutant(kills="sep2672/4.8-10-signature", because=".")
class TrustsEd25519(_TrustsOneAlgorithm):
    """Verifies no signature of an Ed25519 key."""

    trusted = public_keys.EDDSA


# shows: a bit of the signature of an RS256 credential flipped: the tool runs
@mutant(kills="sep2672/4.8-10-signature", because=".")
class TrustsRsa(_TrustsOneAlgorithm):
    """Verifies no signature of an RSA key."""

    trusted = public_keys.RS256


# shows: a registration with a broken fido-u2f statement is confirmed
@mutant(kills="sep2672/4.4.2-response-verified", because=".")
class VerifiesPackedStatementsOnly(RelyingParty):
    """Verifies attestation statements that are packed, and takes those of other known formats."""

    def check_attestation_statement(
        self, attestation: AttestationObject, encoded: bytes, client_data: bytes
    ) -> None:
        if attestation.fmt not in ("fido-u2f", "tpm", "apple", "android-key"):
            super().check_attestation_statement(attestation, encoded, client_data)


# shows: a platform tool, an internal-only credential, UV clear: the tool runs
@mutant(kills="sep2672/4.8-10-signature", because=".")
class BuiltInKeysNeedNoVerification(RelyingParty):
    """Looks for user verification only where a key is not built in."""

    def _verify_assertion(self, response: Any, challenge: bytes, key: CredentialRecord) -> int:
        party = copy.copy(self)
        if set(key.transports) == {"internal"}:
            vars(party)["check_user_verified"] = lambda _: None
        return RelyingParty._verify_assertion(party, response, challenge, key)


class _ForPlatformTools(ApprovalGate):
    def is_platform(self, attempt: ApprovalAttempt) -> bool:
        return self.class_of(attempt.tool) is AuthenticatorClass.PLATFORM


# shows: a counter that falls, on a platform tool: the tool runs
@mutant(kills="sep2672/4.8-11-counter", because=".")
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


# shows: the same evidence twice on a platform tool: the tool runs twice
@mutant(kills="sep2672/4.8-05-challenge-unconsumed", because=".")
class PlatformChallengesServeOnAndOn(_ForPlatformTools):
    """Uses up the challenges of cross-platform tools only."""

    def step_13_consume(self, attempt: ApprovalAttempt) -> None:
        if not self.is_platform(attempt):
            super().step_13_consume(attempt)


# shows: a call of a platform tool after expiresAt: the tool runs
@mutant(kills="sep2672/4.8-06-challenge-unexpired", because=".")
class PlatformChallengesDoNotExpire(_ForPlatformTools):
    """Looks at the time for cross-platform tools only."""

    def step_06_challenge_unexpired(self, attempt: ApprovalAttempt) -> None:
        if not self.is_platform(attempt):
            super().step_06_challenge_unexpired(attempt)


# shows: a platform tool with a bit of the signature flipped: the tool runs
@mutant(kills="sep2672/4.8-10-signature", because=".")
class PlatformToolsNeedNoSignature(_ForPlatformTools):
    """Verifies signatures for cross-platform tools only."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        gate = copy.copy(self)
        if self.is_platform(attempt):
            gate.relying_party = copy.copy(self.relying_party)
            vars(gate.relying_party)["check_signature"] = lambda *_: None
        ApprovalGate.step_10_signature(gate, attempt)


# shows: a tool without a class, called with other arguments than approved: it runs
@mutant(kills="sep2672/4.8-12-argument-hash", because=".")
class ToolsWithoutAClassAreNotBound(ApprovalGate):
    """Compares the arguments only where the tool names a class."""

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        if attempt.tool.authenticator_class is not None:
            super().step_12_argument_hash(attempt)


# ---- read from the wrong place


# shows: good evidence in arguments._meta, none in params._meta: the tool runs
@mutant(kills="sep2672/4.8-01-evidence-present", because=".")
class TakesEvidenceFromTheArguments(Sep2672Extension):
    """Takes evidence that stands in a _meta of the arguments where the call itself has none."""

    def call_tool(self, user: str, tool: Tool, arguments: Any, meta: Any) -> dict[str, Any]:
        inside = arguments.get("_meta") if isinstance(arguments, Mapping) else None
        known = meta if isinstance(meta, Mapping) else {}
        if isinstance(inside, Mapping) and words.META_KEY not in known:
            rest = {name: one for name, one in arguments.items() if name != "_meta"}
            return super().call_tool(user, tool, rest, inside)
        return super().call_tool(user, tool, arguments, meta)


# shows: good evidence with the approved arguments added to it, the call with others: the tool runs
@mutant(kills="sep2672/4.8-12-argument-hash", because=".")
class HashesTheArgumentsOfTheEvidence(ApprovalGate):
    """Hashes arguments that stand in the evidence, and runs those of the call."""

    def step_12_argument_hash(self, attempt: ApprovalAttempt) -> None:
        called = attempt.arguments
        attempt.arguments = attempt.evidence.get("arguments", called)
        super().step_12_argument_hash(attempt)
        attempt.arguments = called


# shows: good evidence with the approved toolName added to it, on another tool, same arguments: it
#   runs
@mutant(kills="sep2672/4.8-07-challenge-tool", because=".")
class TakesTheToolOfTheEvidence(ApprovalGate):
    """Compares and hashes a toolName that stands in the evidence, and runs the tool of the call."""

    def step_07_challenge_tool(self, attempt: ApprovalAttempt) -> None:
        attempt.tool = self.tools.get(attempt.evidence.get("toolName"), attempt.tool)
        super().step_07_challenge_tool(attempt)


# shows: a signature with a low counter and a higher signCount in response.response: the tool runs
@mutant(kills="sep2672/4.8-11-counter", because=".")
class ReadsTheCounterBesideTheData(ApprovalGate):
    """Takes a signCount that stands beside the authenticator data for the counter."""

    def step_10_signature(self, attempt: ApprovalAttempt) -> None:
        super().step_10_signature(attempt)
        told = attempt.evidence["response"]["response"].get("signCount")
        if isinstance(told, int):
            attempt.counter = told


# shows: good evidence with an unknown response.id and its own rawId runs the tool
@mutant(kills="sep2672/4.8-08-credential-enrolled", because=".")
class GoesByRawId(FindsCredentialsItsWay):
    """Looks credentials up by rawId, and does not look at id."""

    def sought(
        self, response: Mapping[str, Any], known: list[CredentialRecord]
    ) -> CredentialRecord | None:
        return with_id(response.get("rawId"), known)


# shows: a registration with another key in response.publicKey is confirmed, and that key's
#   signature runs
@mutant(kills="sep2672/4.4.2-persisted", because=".")
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


# shows: UV clear in attestationObject, set in response.authenticatorData: the registration is
#   confirmed
@mutant(kills="sep2672/4.4.2-uv-asserted", because=".")
class ReadsTheFlagsBesideTheAttestation(RelyingParty):
    """Looks for UV in the authenticatorData that browsers add to a response, where it is there."""

    def _verify_registration(self, response: Any, challenge: bytes) -> Registration:
        party, inner = copy.copy(self), self.check_envelope(response)
        if inner.get("authenticatorData"):
            beside = parse_authenticator_data(words.base64url_decode(inner["authenticatorData"]))
            vars(party)["check_user_verified"] = lambda _: self.check_user_verified(beside)
        return RelyingParty._verify_registration(party, response, challenge)


# shows: internal-only, with transports ['usb'] beside the inner response: offered for a cross-
#   platform tool
@mutant(kills="sep2672/4.7-transports-persisted", because=".")
class ReadsTransportsBesideTheResponse(RelyingParty):
    """Keeps transports that stand beside the inner response, where there are some."""

    def verify_registration(self, response: Any, challenge: bytes) -> Registration:
        registration = super().verify_registration(response, challenge)
        beside = response.get("transports")
        if beside is None:
            return registration
        return replace(registration, transports=self.check_transports(beside))
