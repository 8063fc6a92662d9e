"""Servers that take a name for another that is like it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from webauthn.helpers.structs import AuthenticatorData

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import ApprovalAttempt
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
)
from tests.mutants.registry import mutant

SIGNATURE = "sep2672/4.8-10-signature"
GATED = "sep2672/4.4.3-only-gated-tools"
PRESENT = "sep2672/4.8-01-evidence-present"

# ---- origins and parties


@mutant(kills=SIGNATURE, because="a result, tool run")
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


@mutant(kills=SIGNATURE, because="a result, tool run")
class AssertsFromAnyScheme(_AnyScheme):
    """Compares the host of an assertion's origin, and not its scheme."""

    at = "webauthn.get"


@mutant(kills="sep2672/4.4.2-response-verified", because="enrolled all the same: origin of another")
class EnrolsFromAnyScheme(_AnyScheme):
    """Compares the host of a registration's origin, and not its scheme."""

    at = "webauthn.create"


@mutant(kills=SIGNATURE, because="a result, tool run")
class TakesTheHashOfItsOrigin(RelyingParty):
    """Takes an assertion for its origin in the place of its RP ID, as U2F had it."""

    def check_relying_party_hash(self, data: AuthenticatorData) -> None:
        origins = [hashlib.sha256(origin.encode()).digest() for origin in self.origins]
        if data.attested_credential_data is not None or data.rp_id_hash not in origins:
            super().check_relying_party_hash(data)


# ---- tools


@mutant(kills=GATED, because="result .*challengeId")
class TakesHyphensForUnderscores(ApprovalGate):
    """Finds tools at issue whether their names have hyphens or underscores."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        return super().create_challenge(user, tool.replace("-", "_"), arguments)


@mutant(kills=GATED, because="result .*challengeId")
class TakesTheLastPartOfAName(ApprovalGate):
    """Takes what comes before a slash, a dot or a colon in a tool's name for its server."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        return super().create_challenge(user, re.split("[/.:]", tool)[-1], arguments)


@mutant(kills=GATED, because="result .*challengeId")
class FindsToolsWithLike(ApprovalGate):
    """Looks tools up with LIKE, so that a name may hold wildcards."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        like = re.escape(tool).replace("%", ".*").replace("_", ".")
        found = [name for name in self.tools if re.fullmatch(like, name)]
        return super().create_challenge(user, found[0] if found else tool, arguments)


# ---- the key of the evidence


class _FindsTheKey(ApprovalGate):
    def means_it(self, key: str) -> bool:
        raise NotImplementedError

    def step_01_evidence_present(self, attempt: ApprovalAttempt) -> None:
        meta = attempt.meta if isinstance(attempt.meta, Mapping) else {}
        if words.META_KEY not in meta:
            found = [value for key, value in meta.items() if self.means_it(key)]
            attempt.meta = {**meta, words.META_KEY: found[0]} if found else meta
        super().step_01_evidence_present(attempt)


@mutant(kills=PRESENT, because="a result, tool run")
class TakesEvidenceOfAnyNamespace(_FindsTheKey):
    """Takes evidence under verified-approval, whatever its prefix is."""

    def means_it(self, key: str) -> bool:
        return key.rpartition("/")[2] == "verified-approval"


@mutant(kills=PRESENT, because="a result, tool run")
class TakesTheKeyInAnyCase(_FindsTheKey):
    """Takes evidence under its key in any case."""

    def means_it(self, key: str) -> bool:
        return key.lower() == words.META_KEY
