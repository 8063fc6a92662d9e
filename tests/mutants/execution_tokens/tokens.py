"""Verifiers and arbiters that sign another string, or look at a part of it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import Lenient, in_extension
from tests.mutants.registry import mutant

CANONICAL = "execution_tokens/canonical-string"
VECTOR = "execution_tokens/test-vector"
LANGUAGES = "execution_tokens/cross-language"
SIGNATURE = "execution_tokens/signature"
REFUSED = "[^§]*bad_signature"
TAKEN = "[^§]*refused, content not run[^§]*accepted"


def joined(token: Token, scope: str, expires_at: str = "") -> bytes:
    parts = (token.token_id, token.nonce, expires_at or token.expires_at, scope)
    return ":".join(parts).encode()


# ---- canonical-string


@mutant(kills=CANONICAL, because=f"a good token, its scope has{REFUSED}")
@in_extension
class WritesCompactJson(TokenVerifier):
    """Takes "no extra whitespace" at its word."""

    def canonical(self, token: Token) -> bytes:
        return joined(token, json.dumps(token.scope, sort_keys=True, separators=(",", ":")))


@mutant(kills=CANONICAL, because=f"keys in another order{REFUSED}")
@in_extension
class SortsTheOuterKeys(TokenVerifier):
    """Sorts the members of the scope, and not those of its members."""

    def canonical(self, token: Token) -> bytes:
        return joined(token, json.dumps(dict(sorted(token.scope.items()))))


@mutant(kills=CANONICAL, because=f"letters beyond ASCII{REFUSED}")
@in_extension
class WritesLettersAsTheyAre(TokenVerifier):
    """Does not escape letters beyond ASCII."""

    def canonical(self, token: Token) -> bytes:
        scope = json.dumps(token.scope, sort_keys=True, ensure_ascii=False)
        return joined(token, scope.encode("utf-8", "replace").decode())


@mutant(
    kills=CANONICAL, because="an approval[^§]*signature [0-9a-f]{16}[^§]*signature [0-9a-f]{16}"
)
@in_extension
class ApprovesCompactJson(Arbiter):
    """Signs compact JSON, as an arbiter in another language might."""

    def canonical(
        self, token_id: str, nonce: str, expires_at: str, scope: Mapping[str, Any]
    ) -> bytes:
        scope_json = json.dumps(scope, sort_keys=True, separators=(",", ":"))
        return f"{token_id}:{nonce}:{expires_at}:{scope_json}".encode()


# ---- test-vector


@mutant(kills=VECTOR, because=f"a line end after it signed{TAKEN}")
@in_extension
class SignsALineEnd(TokenVerifier):
    """Ends the signed string with a line end, as echo does."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(token) + b"\n"


@mutant(kills=VECTOR, because=f"Z for \\+00:00 signed{TAKEN}")
@in_extension
class WritesTheExpiryAnew(TokenVerifier):
    """Reads the expiry and writes it with Z before it is signed."""

    def canonical(self, token: Token) -> bytes:
        expires_at = token.expires_at.replace("+00:00", "Z")
        return joined(token, json.dumps(token.scope, sort_keys=True), expires_at)


@mutant(kills=VECTOR, because="not for what a wrong signature[^§]*bad_signature")
@in_extension
class SignsAnotherVector(TokenVerifier):
    """Leaves plain hashes alone and prefixes others, so that only the vector itself differs."""

    def canonical(self, token: Token) -> bytes:
        found = super().canonical(token)
        return found.replace(b"a" * 64, b"sha256:" + b"a" * 64)


# ---- cross-language


@mutant(kills=LANGUAGES, because=f"whole numbers beyond a double{REFUSED}")
@in_extension
class CountsInDoubles(TokenVerifier):
    """Reads every number as JavaScript does."""

    def canonical(self, token: Token) -> bytes:
        scope = json.loads(json.dumps(token.scope), parse_int=_doubled)
        return joined(token, json.dumps(scope, sort_keys=True))


def _doubled(text: str) -> int:
    return int(float(text))


@mutant(kills=LANGUAGES, because=f"letters beyond the first plane{REFUSED}")
@in_extension
class SortsByCodeUnits(TokenVerifier):
    """Sorts keys by their UTF-16, as RFC 8785 would."""

    def canonical(self, token: Token) -> bytes:
        return joined(token, json.dumps(_by_units(token.scope)))


def _by_units(value: Any) -> Any:
    if isinstance(value, list):
        return [_by_units(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
    return {name: _by_units(value[name]) for name in names}


# ---- signature


@mutant(kills=SIGNATURE, because=f"the first half of its signature{TAKEN}")
@in_extension
class ComparesAsMuchAsThereIs(Lenient):
    """Compares as much of the signature as there is."""

    def check_signature(self, token: Token, request: Request) -> None:
        expected = sign(self.secret, self.canonical(token))
        if not token.signature or not expected.startswith(token.signature):
            super().check_signature(token, request)


@mutant(kills=SIGNATURE, because=f"bit [0-6] of character 17 of signature changed{TAKEN}")
@in_extension
class ComparesEightBytes(TokenVerifier):
    """Compares the first sixteen digits."""

    def check_signature(self, token: Token, request: Request) -> None:
        expected = sign(self.secret, self.canonical(token))
        if not hmac.compare_digest(expected[:16], token.signature[:16]):
            super().check_signature(token, request)


@mutant(kills=SIGNATURE, because="with capitals in token_id: accepted", warned=True)
@in_extension
class FoldsTheCaseOfIds(TokenVerifier):
    """Writes UUIDs in lower case before they are signed."""

    def canonical(self, token: Token) -> bytes:
        lower = replace(token, token_id=token.token_id.lower(), nonce=token.nonce.lower())
        return super().canonical(lower)


@mutant(kills=SIGNATURE, because=f"a signature signed with no secret{TAKEN}")
@in_extension
class KnowsAnEmptySecret(TokenVerifier):
    """Takes tokens that are signed with nothing, which helps in development."""

    def check_signature(self, token: Token, request: Request) -> None:
        if token.signature != sign(b"", self.canonical(token)):
            super().check_signature(token, request)


@mutant(
    kills=SIGNATURE,
    because="nonce has a colon[^§]*one run at most[^§]*accepted",
)
@in_extension
class JoinsWhateverComes(TokenVerifier):
    """Looks at no field before it joins them."""

    def read(self, data: Any) -> Token:
        if not isinstance(data, dict) or not all(
            isinstance(data.get(name), str) and len(data[name]) >= 36
            for name in ("token_id", "nonce")
        ):
            return super().read(data)
        plain = "0" * 8 + "-0000" * 3 + "-" + "0" * 12
        token = super().read({**data, "token_id": plain, "nonce": plain})
        return Token(
            data["token_id"], data["nonce"], token.expires_at, token.scope, token.signature
        )


@mutant(kills="execution_tokens/default-secret", because="the known default secret[^§]*accepted")
class StartsWithAWarning(ExecutionExtension):
    """Takes the secret that everybody knows, and says so in its log."""

    def read_secret(self, given: Any) -> bytes:
        if given == "CHANGE-ME-IN-PRODUCTION":
            return given.encode()
        return super().read_secret(given)


@mutant(kills="execution_tokens/default-secret", because="an empty secret[^§]*accepted")
class SignsWithNothing(ExecutionExtension):
    """Takes an empty secret for one."""

    def read_secret(self, given: Any) -> bytes:
        return b"" if given == "" else super().read_secret(given)


@mutant(kills="execution_tokens/default-secret", because="no secret, [^§]*accepted")
class HasADefaultSecret(ExecutionExtension):
    """Falls back on a default."""

    def read_secret(self, given: Any) -> bytes:
        return b"" if given is None else super().read_secret(given)
