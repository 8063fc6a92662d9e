"""Servers that turn one kind of value into another before they compare."""

from __future__ import annotations

import datetime
import json
import re
import struct
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server.sep2672.demonstration import Tool
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt, EnrolmentRecord
from pytest_mcp_approval.reference_server.sep2672.refusals import ApprovalRefusal
from tests.mutants.memory import set_counter
from tests.mutants.registry import mutant
from tests.mutants.sep2672.listing import annotated
from tests.mutants.sep2672.parts import HashesWhatItMeans

JCS = "sep2672/4.6-jcs"


@mutant(kills=JCS, because="the same second half in both")
class EmptyTextIsNothing(HashesWhatItMeans):
    """Leaves members out of the hash whose text is empty."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if one != ""}


@mutant(kills=JCS, because="the same second half in both")
class EmptyListsAreNothing(HashesWhatItMeans):
    """Leaves members out of the hash that are an empty list or object."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if one not in ([], {})}


@mutant(kills=JCS, because="the same second half in both")
class FalseIsNothing(HashesWhatItMeans):
    """Leaves members out of the hash that are false or zero."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if one or isinstance(one, str | list)}


@mutant(kills=JCS, because="the same second half in both")
class CutsFractions(HashesWhatItMeans):
    """Hashes numbers without their fractions, as int() makes them."""

    def meant(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) else value


@mutant(kills=JCS, because="the same second half in both")
class SignsDoNotCount(HashesWhatItMeans):
    """Hashes numbers without their sign."""

    def meant(self, value: Any) -> Any:
        return abs(value) if isinstance(value, int | float) else value


@mutant(kills=JCS, because="the same second half in both")
class OrderOfItemsDoesNotCount(HashesWhatItMeans):
    """Sorts lists before it hashes."""

    def meant(self, value: Any) -> Any:
        return sorted(value, key=words.canonical_arguments) if isinstance(value, list) else value


@mutant(kills=JCS, because="the same second half in both")
class ListsAreNumberedObjects(HashesWhatItMeans):
    """Takes a list for an object with the members 0, 1 and so on, as PHP does."""

    def meant(self, value: Any) -> Any:
        return {str(n): one for n, one in enumerate(value)} if isinstance(value, list) else value


@mutant(kills=JCS, because="another second half")
class DotsAreDepth(HashesWhatItMeans):
    """Writes nested members with dots in one flat object before it hashes."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        flat: dict[str, Any] = {}
        for name, one in value.items():
            inside = (
                {f"{name}.{inner}": deep for inner, deep in one.items()}
                if (isinstance(one, dict) and one)
                else {name: one}
            )
            flat |= inside
        return flat


@mutant(kills=JCS, because="another second half")
class MemberNamesInOneStyle(HashesWhatItMeans):
    """Hashes member names in one style: resource_id for resourceId."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            re.sub(r"(?<=[a-z0-9])([A-Z])", lambda hit: f"_{hit[1].lower()}", name): one
            for name, one in value.items()
        }


@mutant(kills=JCS, because="the same second half in both")
class NullIsEmptyText(HashesWhatItMeans):
    """Hashes null as an empty text."""

    def meant(self, value: Any) -> Any:
        return "" if value is None else value


@mutant(kills=JCS, because="the same second half")
class HashesInstants(HashesWhatItMeans):
    """Takes texts that are instants for instants, whatever their zone, as some JSON readers do."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, str) or not re.match(r"\d{4}-\d\d-\d\dT", value):
            return value
        try:
            instant = datetime.datetime.fromisoformat(value)
        except ValueError:
            return value
        return instant.astimezone(datetime.UTC).isoformat() if instant.tzinfo else value


@mutant(kills=JCS, because="the same second half in both")
class HashesSinglePrecision(HashesWhatItMeans):
    """Hashes numbers as floats of 32 bits."""

    def meant(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return value
        if abs(value) > 3e38:
            return value
        return struct.unpack("f", struct.pack("f", value))[0]


@mutant(kills=JCS, because="the same second half")
class ListsAreSets(HashesWhatItMeans):
    """Hashes each item of a list once."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        return list({words.canonical_arguments(one): one for one in value}.values())


def parsed(value: Any) -> Any:
    """The object or list that a text is the JSON of; any other value is itself."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, dict | list) else value


@mutant(kills="sep2672/4.6-jcs", because="the same second half in both")
class ParsesTextsThatAreJson(HashesWhatItMeans):
    """Takes a text for the object or list that it is the JSON of, since some models send it so."""

    def meant(self, value: Any) -> Any:
        return parsed(value)


@mutant(kills="sep2672/4.4.3-wire-challenge", because="result .*challengeId")
class ParsesArgumentsGivenAsText(ApprovalGate):
    """Takes arguments that are a text for the object that it is the JSON of."""

    def handle(self, user: str, method: str, params: Any) -> dict[str, Any]:
        if method == words.CHALLENGE_CREATE and isinstance(params, Mapping):
            params = {**params, "arguments": parsed(params.get("arguments"))}
        return super().handle(user, method, params)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="a result, tool run")
class ParsesEvidenceGivenAsText(ApprovalGate):
    """Takes evidence that is a text for the object that it is the JSON of."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        attempt.evidence = parsed(attempt.evidence)
        super().step_02_evidence_well_formed(attempt)


@mutant(kills="sep2672/4.8-02-evidence-well-formed", because="a result, tool run")
class ParsesAResponseGivenAsText(ApprovalGate):
    """Takes a response that is a text for the object that it is the JSON of."""

    def step_02_evidence_well_formed(self, attempt: ApprovalAttempt) -> None:
        if isinstance(attempt.evidence, Mapping) and "response" in attempt.evidence:
            response = parsed(attempt.evidence["response"])
            attempt.evidence = {**attempt.evidence, "response": response}
        super().step_02_evidence_well_formed(attempt)


@mutant(kills="sep2672/4.8-11-counter", because='"reason":"signature_counter_regression"')
class ComparesCountersAsText(ApprovalGate):
    """Compares counters as texts, so that 9 comes after 10."""

    def step_11_counter(self, attempt: ApprovalAttempt) -> None:
        stored = self.credential_of(attempt).counter
        if stored > 0 and not str(attempt.counter) > str(stored):
            raise ApprovalRefusal(Reason.SIGNATURE_COUNTER_REGRESSION, "signCount: got a low one")

    def step_14_update_counter(self, attempt: ApprovalAttempt) -> None:
        set_counter(self.store, self.credential_of(attempt).credential_id, attempt.counter)


# ---- what is written


@mutant(kills="sep2672/4.4.2-confirmation-shape", because=r'result \{"success":[0-9]+')
class ConfirmsWithOne(ApprovalGate):
    """Writes success as the number 1."""

    def finish_enrolment(self, user: str, response: Any) -> dict[str, Any]:
        return {**super().finish_enrolment(user, response), "success": 1}


@mutant(
    kills="sep2672/4.3-capability-declared", because=r"capabilities\.extensions \{'verifiedApprov"
)
class DeclaresAnEmptyList(Sep2672Extension):
    """Declares an empty list, as PHP writes an empty object."""

    def declare(self, capabilities: dict[str, Any]) -> dict[str, Any]:
        declared = super().declare(capabilities)
        return {**declared, "extensions": {**declared["extensions"], words.CAPABILITY_KEY: []}}


@mutant(kills="sep2672/4.4.1-exclude-credentials", because="excludeCredentials None")
class ExcludesNull(ApprovalGate):
    """Writes null where excludeCredentials would be empty, as Go writes a list that is nil."""

    def creation_options(self, record: EnrolmentRecord) -> dict[str, Any]:
        options = super().creation_options(record)
        return {**options, "excludeCredentials": options["excludeCredentials"] or None}


@mutant(kills="sep2672/4.2-class-values", because="authenticatorClass None")
class ListsNullForNoClass(Sep2672Extension):
    """Lists authenticatorClass: null where a tool names no class."""

    def listing(self, tool: Tool) -> dict[str, Any]:
        listing = super().listing(tool)
        if tool.gate is None or tool.gate.authenticator_class is not None:
            return listing
        return annotated(listing, authenticatorClass=None)
