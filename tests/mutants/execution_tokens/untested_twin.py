"""Verifiers that look well in one way, and not in the other that they also have."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    LenientScope,
    in_extension,
)
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"
CANONICAL = "execution_tokens/canonical-string"
EXPIRY = "execution_tokens/expiry"
SIGNATURE = "execution_tokens/signature"
HOST = "execution_tokens/scope-host"
CONTENT = "execution_tokens/content-at-execution"
REPLAY = "execution_tokens/nonce-replay"


# ---- other algorithms


@mutant(kills=CONTENT, because=f"another content with another algorithm named before its{TAKEN}")
@in_extension
class TakesUnknownHashes(LenientScope):
    """Hashes with SHA-256, and leaves hashes of other algorithms alone."""

    member = words.CONTENT_HASH
    stand_in = "0" * 64

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        kind, colon, _ = str(scope.get(words.CONTENT_HASH)).partition(":")
        return bool(colon) and kind != "sha256"

    def check_content(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_content(token, request)


# ---- other kinds of request


@mutant(kills=REPLAY, because=f"with no host, as its token has none{TAKEN}")
@in_extension
class SpendsWithAHostOnly(TokenVerifier):
    """Writes a nonce down when something is reached, and not for what runs on the spot."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if request.host is not None:
            super().spend_nonce(token, request)


# ---- other kinds of hosts


def _authority(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


@mutant(kills=HOST, because=rf"with an address of this machine: http://127\.0\.0\.1/{TAKEN}")
@in_extension
class ChecksNamesOnly(TokenVerifier):
    """Compares names, and leaves addresses in numbers alone."""

    def check_host(self, token: Token, request: Request) -> None:
        if not _authority(request.host or "").startswith((*"0123456789", "[")):
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"with an address of this machine: http://127\.0\.0\.1/{TAKEN}")
@in_extension
class AlwaysReachesItself(TokenVerifier):
    """Lets every token reach the machine that it runs on."""

    def check_host(self, token: Token, request: Request) -> None:
        bare = _authority(request.host or "").partition(":")[0]
        if bare not in ("localhost", "127.0.0.1", "[", "0.0.0.0"):
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"with another host: evil\.example{TAKEN}")
@in_extension
class ChecksWholeAddressesOnly(TokenVerifier):
    """Finds the host of a URL with a scheme, and none in a bare host or after two slashes."""

    def check_host(self, token: Token, request: Request) -> None:
        if "://" in (request.host or ""):
            super().check_host(token, request)


@mutant(kills=HOST, because=f"with the allowed host as user and password:{TAKEN}")
@in_extension
class LeavesOddPortsAlone(TokenVerifier):
    """Takes a host with a port for another kind of target, and does not look at it."""

    def check_host(self, token: Token, request: Request) -> None:
        if ":" not in _authority(request.host or ""):
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"an address of this machine: http://127\.0\.0\.1/{TAKEN}")
@in_extension
class ChecksHttpsOnly(TokenVerifier):
    """Finds the host of a URL that begins with https://, and leaves http:// alone."""

    def check_host(self, token: Token, request: Request) -> None:
        if not (request.host or "").startswith("http://"):
            super().check_host(token, request)


@mutant(kills=CONTENT, because=f"with no host, as its token has none{TAKEN}")
@in_extension
class HashesWithAHostOnly(TokenVerifier):
    """Hashes what is sent to a host, and not what runs on the spot."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.host is not None:
            super().check_content(token, request)


@mutant(kills=EXPIRY, because=f"with no host, as its token has none{TAKEN}")
@in_extension
class LooksAtTheClockWithAHostOnly(TokenVerifier):
    """Looks at the expiry when a host is reached, and not for what runs on the spot."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if request.host is not None:
            super().check_expiry(token, request)


@mutant(kills=ACTION, because=f"with no host, as its token has none{TAKEN}")
@in_extension
class ChecksActionsWithAHostOnly(TokenVerifier):
    """Compares the action type when a host is reached, and not for what runs on the spot."""

    def check_action(self, token: Token, request: Request) -> None:
        if request.host is not None:
            super().check_action(token, request)


@mutant(kills=SIGNATURE, because=f"with no host, as its token has none{TAKEN}")
@in_extension
class SignsWithAHostOnly(TokenVerifier):
    """Verifies the signature when a host is reached, and not for what runs on the spot."""

    def check_signature(self, token: Token, request: Request) -> None:
        if request.host is not None:
            super().check_signature(token, request)


@mutant(kills=EXPIRY, because=f"an end an hour ago, with Z{TAKEN}")
@in_extension
class CannotReadAZ(TokenVerifier):
    """Cannot read an expiry with Z, as Python before 3.11, and goes on."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if not token.expires_at.endswith("Z"):
            super().check_expiry(token, request)


@mutant(kills=CONTENT, because=f"its hash in capitals{TAKEN}")
@in_extension
class LeavesHashesInCapitalsAlone(LenientScope):
    """Compares hashes in small letters, and leaves alone what is written in capitals."""

    member = words.CONTENT_HASH
    stand_in = "0" * 64

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        given = str(scope.get(words.CONTENT_HASH))
        return re.fullmatch("[0-9A-F]{64}", given) is not None and not given.isdigit()

    def check_content(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_content(token, request)


@mutant(kills=CONTENT, because=f"the beginning of its hash{TAKEN}")
@in_extension
class LeavesHashesOfOtherLengthsAlone(LenientScope):
    """Knows a hash by its 64 digits, and leaves those of other lengths to others."""

    member = words.CONTENT_HASH
    stand_in = "0" * 64

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        given = str(scope.get(words.CONTENT_HASH))
        return len(given) != 64 and re.fullmatch("[0-9a-f]+", given) is not None

    def check_content(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_content(token, request)


@mutant(kills=CANONICAL, because="a letter beyond ASCII[^§]*string\nsignature [0-9a-f]{16}")
@in_extension
class ApprovesLettersAsTheyAre(Arbiter):
    """Signs letters beyond ASCII as they are, and the operator signs them escaped."""

    def canonical(
        self, token_id: str, nonce: str, expires_at: str, scope: Mapping[str, Any]
    ) -> bytes:
        text = json.dumps(scope, sort_keys=True, ensure_ascii=False)
        return f"{token_id}:{nonce}:{expires_at}:{text}".encode("utf-8", "surrogatepass")


@mutant(kills=HOST, because=f"with another host in capitals{TAKEN}")
@in_extension
class KnowsSchemesInSmallLetters(TokenVerifier):
    """Finds no host to look at in a URL whose scheme is written in capitals."""

    def check_host(self, token: Token, request: Request) -> None:
        scheme, separator, _ = (request.host or "").partition("://")
        if not separator or scheme == scheme.lower():
            super().check_host(token, request)


@mutant(kills=HOST, because=f"with a scheme without slashes{TAKEN}")
@in_extension
class TakesFewSlashesForAPath(TokenVerifier):
    """Finds no host in a URL with one slash or none after its scheme; browsers find one."""

    def check_host(self, token: Token, request: Request) -> None:
        if not re.match(r"https?:(?!//)", request.host or ""):
            super().check_host(token, request)


@mutant(kills=SIGNATURE, because=f"a wrong signature, as an object{TAKEN}")
class TrustsTokensAsObjects(ExecutionExtension):
    """Verifies the signature of a token that comes as text, and not of one that is an object."""

    def read_token(self, given: Any) -> Any:
        read, verifier = super().read_token(given), self.operator.verifier
        if not isinstance(given, Mapping):
            return read
        try:
            token = verifier.read({**given, words.SIGNATURE: "0" * 64})
        except ExecutionRefusal:
            return read
        return {**given, words.SIGNATURE: sign(self.secret, verifier.canonical(token))}


@mutant(kills=REPLAY, because=f"that came as an object before, for time 2 as it is used{TAKEN}")
class LogsTokensAsTextOnly(ExecutionExtension):
    """Writes down the nonces of tokens that come as text, and not of those that come as objects."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        kept = self.operator.verifier.nonces
        if isinstance(arguments.get("token"), Mapping):
            self.operator.verifier.nonces = NonceStore()
        try:
            return super().execute(arguments)
        finally:
            self.operator.verifier.nonces = kept


@mutant(kills=REPLAY, because=f"its second use, with a URL{TAKEN}")
@in_extension
class SpendsWithoutAHostOnly(TokenVerifier):
    """Writes a nonce down for what runs on the spot, and not when a host is reached."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().spend_nonce(token, request)


@mutant(kills=CONTENT, because=f"another content, with a URL{TAKEN}")
@in_extension
class HashesWithoutAHostOnly(TokenVerifier):
    """Hashes what runs on the spot, and not what is sent to a host."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_content(token, request)


@mutant(kills=EXPIRY, because=f"an end long past, with a URL{TAKEN}")
@in_extension
class LooksAtTheClockWithoutAHostOnly(TokenVerifier):
    """Looks at the expiry for what runs on the spot, and not when a host is reached."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_expiry(token, request)


@mutant(kills=ACTION, because=f"another action, with a URL{TAKEN}")
@in_extension
class ChecksActionsWithoutAHostOnly(TokenVerifier):
    """Compares the action type for what runs on the spot; for a host the host is enough."""

    def check_action(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_action(token, request)


@mutant(kills=SIGNATURE, because=f"a wrong signature, with a URL{TAKEN}")
@in_extension
class SignsWithoutAHostOnly(TokenVerifier):
    """Verifies the signature for what runs on the spot, and not when a host is reached."""

    def check_signature(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_signature(token, request)


@mutant(kills=CONTENT, because=f"another content, with another kind of action{TAKEN}")
@in_extension
class HashesWhatIsExecutedOnly(TokenVerifier):
    """Hashes the content of actions that execute, by their names, and of no others."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.action_type.startswith("exec"):
            super().check_content(token, request)


@mutant(kills=REPLAY, because=f"its second use, with another kind of action{TAKEN}")
@in_extension
class SpendsWhatIsExecutedOnly(TokenVerifier):
    """Writes down the nonces of actions that execute, by their names, and of no others."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if request.action_type.startswith("exec"):
            super().spend_nonce(token, request)


@mutant(kills=EXPIRY, because=f"an end a second ago, with a fraction{TAKEN}")
@in_extension
class CannotReadFractions(TokenVerifier):
    """Reads an expiry with a format that has no fractions, and goes on if that fails."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if "." not in token.expires_at:
            super().check_expiry(token, request)


@mutant(
    kills="execution_tokens/arbiter-scope",
    because="three hosts[^§]*canonical string[^§]*signature [0-9a-f]{16}",
)
@in_extension
class ApprovesHostsInOrder(Arbiter):
    """Signs the allowed hosts sorted, and gives them out in the order in which they came."""

    def canonical(
        self, token_id: str, nonce: str, expires_at: str, scope: Mapping[str, Any]
    ) -> bytes:
        hosts = sorted(scope[words.ALLOWED_HOSTS])
        return super().canonical(token_id, nonce, expires_at, {**scope, words.ALLOWED_HOSTS: hosts})


@mutant(kills=SIGNATURE, because=f"a hash of the secret and the string for a signature{TAKEN}")
@in_extension
class TakesTheHashOfAnEarlierRelease(TokenVerifier):
    """Still takes what an earlier release signed with: a hash of the secret and the string."""

    def check_signature(self, token: Token, request: Request) -> None:
        if token.signature != hashlib.sha256(self.secret + self.canonical(token)).hexdigest():
            super().check_signature(token, request)
