"""Verifiers that look at a part of what they should look at whole."""

from __future__ import annotations

import datetime
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.families.execution_tokens.vocabulary import (
    ACTION_TYPE,
    ALLOWED_HOSTS,
    CONTENT_HASH,
)
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.hosts import HostError, host_of
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    FittingActions,
    FittingHosts,
    OtherLogKey,
    WritingScopes,
    in_extension,
)
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"
CONTENT = "execution_tokens/content-at-execution"
SECRET = "execution_tokens/default-secret"

CANONICAL = "execution_tokens/canonical-string"
SIGNATURE = "execution_tokens/signature"
REPLAY = "execution_tokens/nonce-replay"
HOST = "execution_tokens/scope-host"


# ---- the signature


@mutant(kills=SIGNATURE, because=f"bit [0-6] of character 1 of signature changed{TAKEN}")
@in_extension
class ComparesTheLastDigits(TokenVerifier):
    """Compares the last half of the signature."""

    def check_signature(self, token: Token, request: Request) -> None:
        expected = sign(self.secret, self.canonical(token))
        if not hmac.compare_digest(expected[32:], token.signature[32:]):
            super().check_signature(token, request)


# ---- what is signed


@mutant(kills=CANONICAL, because="accepted[^§]*bad_signature")
@in_extension
class DropsUnknownMembers(TokenVerifier):
    """Reads the scope into a class of its own, which drops the members that it does not know."""

    def canonical(self, token: Token) -> bytes:
        known = (ACTION_TYPE, ALLOWED_HOSTS, CONTENT_HASH)
        return super().canonical(replace(token, scope={name: token.scope[name] for name in known}))


@mutant(kills=CANONICAL, because="accepted[^§]*bad_signature")
@in_extension
class SortsTwoLevels(TokenVerifier):
    """Sorts the scope and its members, and nothing below them."""

    def canonical(self, token: Token) -> bytes:
        scope = {name: _sorted_once(value) for name, value in sorted(token.scope.items())}
        text = json.dumps(scope)
        return f"{token.token_id}:{token.nonce}:{token.expires_at}:{text}".encode()


def _sorted_once(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


@mutant(kills=CANONICAL, because="accepted[^§]*bad_signature")
@in_extension
class SortsNothingInLists(TokenVerifier):
    """Sorts the keys of objects, but not of those that stand in a list."""

    def canonical(self, token: Token) -> bytes:
        text = json.dumps(_sorted_but_lists(token.scope))
        return f"{token.token_id}:{token.nonce}:{token.expires_at}:{text}".encode()


def _sorted_but_lists(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: _sorted_but_lists(value[name]) for name in sorted(value)}


@mutant(kills=HOST, because="accepted[^§]*host_not_allowed")
@in_extension
class LooksAtTheFirstHost(TokenVerifier):
    """Looks at the first of the allowed hosts."""

    def check_host(self, token: Token, request: Request) -> None:
        first = {**token.scope, ALLOWED_HOSTS: token.scope[ALLOWED_HOSTS][:1]}
        super().check_host(replace(token, scope=first), request)


@mutant(kills=HOST, because=f"with another host that begins alike:{TAKEN}")
@in_extension
class ComparesTheFirstLabel(TokenVerifier):
    """Compares the name of the machine, and not its domain."""

    def check_host(self, token: Token, request: Request) -> None:
        bare = (request.host or "").partition("://")[2].partition("/")[0].partition(".")[0]
        if not bare or bare not in [one.partition(".")[0] for one in token.scope[ALLOWED_HOSTS]]:
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"with a subdomain: https://x\.api\.example\.org/{TAKEN}")
@in_extension
class ComparesTheDomain(TokenVerifier):
    """Compares the last two labels, which is the domain in most countries."""

    def check_host(self, token: Token, request: Request) -> None:
        try:
            wanted = host_of(request.host or "").split(".")[-2:]
        except HostError:
            wanted = []
        if wanted not in [one.split(".")[-2:] for one in token.scope[ALLOWED_HOSTS]]:
            super().check_host(token, request)


# ---- the log of nonces


@mutant(kills=REPLAY, because="another token with a spent nonce: accepted", warned=True)
@in_extension
class LogsTheTokenId(OtherLogKey):
    """Writes down which token was used, and not which nonce."""

    def key(self, token: Token, request: Request) -> str:
        return token.token_id


@mutant(kills=REPLAY, because=f"a spent token with others executed since{TAKEN}")
@in_extension
class KeepsOneNonceForEachAction(NonceStore):
    """Keeps the last nonce only."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        last = self.__dict__.get("last")
        self.__dict__["last"] = nonce.lower()
        return last != nonce.lower()


@mutant(kills=SIGNATURE, because=f"bit [0-6] of character [0-9]+ of signature changed{TAKEN}")
@in_extension
class ReadsSignaturesAsNumbers(TokenVerifier):
    """Reads both signatures with parseInt, whose doubles keep the first fourteen digits."""

    def check_signature(self, token: Token, request: Request) -> None:
        expected = sign(self.secret, self.canonical(token))
        if float(int(expected, 16)) != float(int(token.signature, 16)):
            super().check_signature(token, request)


@mutant(kills=SIGNATURE, because=f"bit [0-6] of character [0-9]+ of [a-z_.]+ changed{TAKEN}")
@in_extension
class XorsTheDifferences(TokenVerifier):
    """Compares in constant time with ^= where |= belongs, so that two equal differences cancel."""

    def check_signature(self, token: Token, request: Request) -> None:
        difference = 0
        expected = sign(self.secret, self.canonical(token))
        for one, other in zip(expected, token.signature, strict=True):
            difference ^= ord(one) ^ ord(other)
        if difference:
            super().check_signature(token, request)


@mutant(kills=SIGNATURE, because=f"a token like one that was served, with a fresh nonce{TAKEN}")
@in_extension
class RemembersVerifiedIds(TokenVerifier):
    """Keeps the ids of tokens whose signature was good, and looks at no other signature of them."""

    def check_signature(self, token: Token, request: Request) -> None:
        good: set[str] = self.__dict__.setdefault("good", set())
        if token.token_id not in good:
            super().check_signature(token, request)
            good.add(token.token_id)


@mutant(kills=REPLAY, because=f"a spent token with its members in another order{TAKEN}")
class LogsTheTokenAsItCame(ExecutionExtension):
    """Writes the hash of a token's text into its log, which another spelling does not have."""

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        text = given if isinstance(given, str) else repr(given)
        verifier, spend = self.operator.verifier, type(self.operator.verifier).spend_nonce
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

        def spend_nonce(token: Token, request: Request) -> None:
            spend(verifier, replace(token, nonce=digest), request)

        verifier.__dict__["spend_nonce"] = spend_nonce
        return read


@mutant(kills=REPLAY, because=f"two hosts that was spent with one, with the other host{TAKEN}")
@in_extension
class LogsTheNonceWithItsUrl(OtherLogKey):
    """Writes the nonce into its log with the URL, so that a token serves once for each."""

    def key(self, token: Token, request: Request) -> str:
        return f"{token.nonce} {request.host}"


@mutant(
    kills=REPLAY,
    because="a spent one in: character 21[^§]*accepted[^§]*nonce_spent",
)
@in_extension
class LogsTheFirstHalfOfANonce(OtherLogKey):
    """Writes half of a nonce into its log, and takes another one that begins alike for spent."""

    def key(self, token: Token, request: Request) -> str:
        return token.nonce[:18]


@mutant(
    kills=REPLAY,
    because="a spent one in: character 1[^§]*accepted[^§]*nonce_spent",
)
@in_extension
class LogsTheLastDigitsOfANonce(OtherLogKey):
    """Writes the last group of a nonce into its log; another that ends alike is then spent too."""

    def key(self, token: Token, request: Request) -> str:
        return token.nonce.rpartition("-")[2]


@mutant(kills=CONTENT, because=f"for almost the hash of its content, with digit 16 changed{TAKEN}")
@in_extension
class ComparesShortHashes(TokenVerifier):
    """Compares the first eight digits of the hash, as one does with commits."""

    def check_content(self, token: Token, request: Request) -> None:
        if not token.content_hash.startswith(hashlib.sha256(request.content).hexdigest()[:8]):
            super().check_content(token, request)


@mutant(kills=CONTENT, because=f"for almost the hash of its content, with digit 1 changed{TAKEN}")
@in_extension
class ComparesTheTailOfAHash(TokenVerifier):
    """Compares the last half of the hash."""

    def check_content(self, token: Token, request: Request) -> None:
        if not token.content_hash.endswith(hashlib.sha256(request.content).hexdigest()[32:]):
            super().check_content(token, request)


class _FirstKilobyteApproved(Arbiter):
    def approve(self, content: bytes, *arguments: Any, **options: Any) -> Token:
        return super().approve(content[:1024], *arguments, **options)


class _FirstKilobyteVerified(TokenVerifier):
    def check_content(self, token: Token, request: Request) -> None:
        super().check_content(token, replace(request, content=request.content[:1024]))


@mutant(kills=CONTENT, because=f"1024 bytes, with 1514 that begin with them{TAKEN}")
class HashesAKilobyteOfContent(ExecutionExtension):
    """Hashes the first kilobyte of a content, when it approves and when it executes."""

    arbiter_class = _FirstKilobyteApproved
    verifier_class = _FirstKilobyteVerified


@mutant(kills=CANONICAL, because="a long text[^§]*accepted[^§]*bad_signature")
@in_extension
class SignsFourKilobytes(TokenVerifier):
    """Reads the string to sign into a buffer of 4096 bytes, and signs what has room there."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(token)[:4096]


@mutant(kills=CANONICAL, because="many members, and many levels[^§]*accepted[^§]*bad_signature")
@in_extension
class WritesTenLevels(WritingScopes):
    """Writes null for what is nested deeper than ten levels, as loggers and some encoders do."""

    def written(self, scope: Any) -> str:
        return json.dumps(_flattened(scope, 10), sort_keys=True)


def _flattened(value: Any, levels: int) -> Any:
    if isinstance(value, Mapping):
        kept = value.items() if levels else ()
        return {name: _flattened(one, levels - 1) for name, one in kept} if levels else None
    if isinstance(value, list):
        return [_flattened(one, levels - 1) for one in value] if levels else None
    return value


@mutant(
    kills=HOST,
    because="for 151 hosts, with a URL of the last[^§]*host_not_allowed",
    warned=True,
)
@in_extension
class LooksAtTenHosts(TokenVerifier):
    """Has columns for ten hosts, and drops the others."""

    def check_host(self, token: Token, request: Request) -> None:
        first = {**token.scope, words.ALLOWED_HOSTS: token.scope[words.ALLOWED_HOSTS][:10]}
        super().check_host(replace(token, scope=first), request)


@mutant(kills=ACTION, because=f"with the other: the end of a long text{TAKEN}")
@in_extension
class ComparesThirtyTwoLetters(FittingActions):
    """Keeps an action type in a column of 32 letters, which cuts longer ones."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked[:32] == approved[:32]


@mutant(kills=HOST, because=f"with another top-level domain{TAKEN}")
@in_extension
class IgnoresTheLastLabel(FittingHosts):
    """Compares a host without its top-level domain."""

    def fits(self, authority: str, allowed: str) -> bool:
        return authority.rpartition(".")[0] == allowed.rpartition(".")[0] != ""


@mutant(
    kills=SECRET,
    because="than a block of SHA-256[^§]*accepted[^§]*bad_signature",
)
class CutsALongSecret(ExecutionExtension):
    """Takes the first 64 bytes of a secret for the key, where a longer one is to be hashed."""

    def read_secret(self, given: Any) -> bytes:
        return super().read_secret(given)[:64]
