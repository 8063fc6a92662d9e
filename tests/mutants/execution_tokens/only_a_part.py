"""Verifiers that look at a part of what they should look at whole."""

from __future__ import annotations

import datetime
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens.vocabulary import (
    ACTION_TYPE,
    ALLOWED_HOSTS,
    CONTENT_HASH,
)
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.hosts import HostError, host_of
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import (
    Token,
    sign,
)
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    OtherLogKey,
    in_extension,
)
from tests.mutants.registry import mutant

CANONICAL = "execution_tokens/canonical-string"
SIGNATURE = "execution_tokens/signature"
REPLAY = "execution_tokens/nonce-replay"
HOST = "execution_tokens/scope-host"


# ---- the signature


@mutant(kills=SIGNATURE, because=f"bit 0 of character 1 of signature changed{TAKEN}")
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


@mutant(kills=SIGNATURE, because=f"bit 0 of character [0-9]+ of signature changed{TAKEN}")
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
