"""Servers that take things for equal that are only alike."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server.sep2672.gate import ApprovalGate
from pytest_mcp_approval.reference_server.sep2672.records import (
    ApprovalAttempt,
    ChallengeRecord,
    CredentialRecord,
    GatedTool,
)
from pytest_mcp_approval.reference_server.sep2672.relying_party import (
    RelyingParty,
)
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import FindsCredentialsItsWay, HashesWhatItMeans, challenges

KNOWN = "sep2672/4.8-04-challenge-known"
GATED = "sep2672/4.4.3-only-gated-tools"
JCS = "sep2672/4.6-jcs"


# ---- ids


class _ReadsIdsItsWay(ApprovalGate):
    def same(self, claimed: str, issued: str) -> bool:
        raise NotImplementedError

    def challenge_of(self, attempt: ApprovalAttempt) -> ChallengeRecord:
        if attempt.challenge is None:
            claimed = attempt.evidence["challengeId"]
            found = challenges(self).find({"user": attempt.user})
            attempt.challenge = next(
                (one for one in found if self.same(claimed, one.challenge_id)), None
            )
        return super().challenge_of(attempt)


@mutant(kills=KNOWN, because="a result, tool run")
class FindsChallengeIdsInside(_ReadsIdsItsWay):
    """Takes any challengeId that contains an issued one."""

    def same(self, claimed: str, issued: str) -> bool:
        return issued in claimed


@mutant(kills=KNOWN, because="a result, tool run")
class CutsChallengeIdsAtZero(_ReadsIdsItsWay):
    """Reads a challengeId up to its first zero byte, as C does."""

    def same(self, claimed: str, issued: str) -> bool:
        return claimed.split("\x00", maxsplit=1)[0] == issued


# ---- names


@mutant(kills=GATED, because="result .*challengeId")
class TrimsToolNames(ApprovalGate):
    """Trims white space off the name of a tool at issue."""

    def create_challenge(self, user: str, tool: str, arguments: Any) -> dict[str, Any]:
        return super().create_challenge(user, tool.strip(), arguments)


@mutant(kills=GATED, because="result .*challengeId")
class ToolsByTheirBeginning(ApprovalGate):
    """Completes the name of a tool at issue."""

    def gated_tool(self, name: str) -> GatedTool:
        found = [one for one in self.tools if name and one.startswith(name)]
        return super().gated_tool(found[0] if found else name)


@mutant(kills="sep2672/4.8-03-method", because="a result, tool run")
class FindsTheMethodInside(ApprovalGate):
    """Takes every method whose name contains webauthn."""

    def step_03_method(self, attempt: ApprovalAttempt) -> None:
        if words.WEBAUTHN not in attempt.evidence["method"]:
            super().step_03_method(attempt)


# ---- arguments


@mutant(kills=JCS, because="the same second half in both")
class HashesLowerCase(HashesWhatItMeans):
    """Hashes texts in lower case."""

    def meant(self, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value


@mutant(kills=JCS, because="the same second half in both")
class HashesOneKindOfLineEnd(HashesWhatItMeans):
    """Makes all line ends line feeds before it hashes."""

    def meant(self, value: Any) -> Any:
        return re.sub(r"\r\n?", "\n", value) if isinstance(value, str) else value


@mutant(kills=JCS, because="the same second half in both")
class HashesSingleBlanks(HashesWhatItMeans):
    """Makes several blanks one before it hashes, as HTML does."""

    def meant(self, value: Any) -> Any:
        return re.sub(r"\s+", " ", value) if isinstance(value, str) else value


@mutant(kills=JCS, because="the same second half in both")
class HashesWithoutInvisibles(HashesWhatItMeans):
    """Takes characters that nobody can see out of texts before it hashes."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return "".join(one for one in value if unicodedata.category(one) != "Cf")


@mutant(kills=JCS, because="another second half")
class FoldsMemberNames(HashesWhatItMeans):
    """Hashes the names of members in lower case."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name.lower(): one for name, one in value.items()}


@mutant(kills=JCS, because="the same second half")
class HashesWithoutAccents(HashesWhatItMeans):
    """Hashes letters without their accents, as some collations compare them."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        apart = unicodedata.normalize("NFD", value)
        return "".join(one for one in apart if not unicodedata.combining(one))


@mutant(kills=JCS, because="the same second half")
class HashesDecodedTexts(HashesWhatItMeans):
    """Decodes percent escapes in texts before it hashes."""

    def meant(self, value: Any) -> Any:
        return unquote(value) if isinstance(value, str) else value


@mutant(kills=JCS, because="the same second half")
class HashesWithoutBackslashes(HashesWhatItMeans):
    """Takes backslashes out of texts before it hashes, as PHP's stripslashes does."""

    def meant(self, value: Any) -> Any:
        return re.sub(r"\\(.?)", r"\1", value) if isinstance(value, str) else value


# ---- ids, once more


@mutant(kills=KNOWN, because="a result, tool run")
class FoldsChallengeIds(_ReadsIdsItsWay):
    """Looks challengeIds up without regard to case, as some databases do."""

    def same(self, claimed: str, issued: str) -> bool:
        return claimed.lower() == issued.lower()


@mutant(kills=KNOWN, because="a result, tool run")
class TrimsChallengeIds(_ReadsIdsItsWay):
    """Trims white space off a challengeId."""

    def same(self, claimed: str, issued: str) -> bool:
        return claimed.strip() == issued


@mutant(kills=KNOWN, because="a result, tool run")
class UnquotesChallengeIds(_ReadsIdsItsWay):
    """Decodes percent escapes in a challengeId."""

    def same(self, claimed: str, issued: str) -> bool:
        return unquote(claimed) == issued


@mutant(kills=KNOWN, because="unissued challengeId[^§]*a result, tool run")
class ReadsChallengeIdsAsBase64(_ReadsIdsItsWay):
    """Compares the bytes of challengeIds, read by a decoder that skips what it does not know."""

    def same(self, claimed: str, issued: str) -> bool:
        try:
            read = base64.b64decode(claimed.encode("ascii", "replace") + b"==", altchars=b"-_")
        except binascii.Error:
            return False
        return read == words.base64url_decode(issued)


@mutant(kills="sep2672/4.8-08-credential-enrolled", because="a result, tool run")
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


# ---- types


@mutant(kills="sep2672/4.8-10-signature", because="a result, tool run")
class TakesEveryGet(RelyingParty):
    """Takes client data of every type that ends with .get, such as a payment's."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if expected != "webauthn.get" or not str(client_data.get("type")).endswith(".get"):
            super().check_type(client_data, expected)


@mutant(kills="sep2672/4.4.2-response-verified", because="enrolled all the same: type in capitals")
class FoldsTheTypeOfARegistration(RelyingParty):
    """Compares the type of a registration's client data without regard to case."""

    def check_type(self, client_data: Mapping[str, Any], expected: str) -> None:
        if str(client_data.get("type")).lower() != "webauthn.create":
            super().check_type(client_data, expected)
