"""Verifiers that overlook what no other verifier here overlooks, and some that refuse too much."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.families.execution_tokens.vocabulary import ExecutionReason
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.settings import SecretError
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import in_extension
from tests.mutants.registry import mutant

TAKEN = "[^§]*refused, content not run[^§]*accepted"


# ---- secrets


@mutant(kills="execution_tokens/default-secret", because="another secret[^§]*does not start")
class WantsHexadecimalDigits(ExecutionExtension):
    """Takes only secrets that look like those of its own generator."""

    def read_secret(self, given: Any) -> bytes:
        found = super().read_secret(given)
        if set(found) - set(b"0123456789abcdef"):
            raise SecretError(f"{words.SECRET_VARIABLE}: got no hexadecimal digits")
        return found


@mutant(
    kills="execution_tokens/default-secret",
    because="a secret of three letters was taken",
    warned=True,
)
class TakesSecretsOfAnyLength(ExecutionExtension):
    """Looks whether a secret is the known one, and not how long it is."""

    def read_secret(self, given: Any) -> bytes:
        text = given if isinstance(given, str) else ""
        if 0 < len(text.strip()) < words.LEAST_SECRET_BYTES:
            return text.encode()
        return super().read_secret(given)


# ---- what is signed


@mutant(kills="execution_tokens/signature", because=f"of scope.allowed_hosts changed{TAKEN}")
@in_extension
class TrustsLaterVersions(TokenVerifier):
    """Leaves a token alone whose scope has members that it does not know: it cannot sign them."""

    KNOWN: ClassVar[set[str]] = {words.ACTION_TYPE, words.ALLOWED_HOSTS, words.CONTENT_HASH}

    def check_signature(self, token: Token, request: Request) -> None:
        if set(token.scope) <= self.KNOWN:
            super().check_signature(token, request)


@mutant(
    kills="execution_tokens/canonical-string",
    because="not called as in the document: id for token_id",
    warned=True,
)
class CallsTheTokenIdOtherwise(ExecutionExtension):
    """Has a name of its own outside of what is signed, and its users say so in the table."""

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        if isinstance(read, dict) and "id" in read:
            read = {**read, words.TOKEN_ID: read["id"]}
        return read

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        made = super().approve(arguments)
        return {"id": made.pop(words.TOKEN_ID), **made}

    def running_suite_settings(self) -> Mapping[str, Any]:
        return {**super().running_suite_settings(), "members": {"token_id": "id"}}


# ---- nonces


class _AnyNonce(TokenVerifier):
    """Reads a token whatever its nonce is, also without one."""

    STAND_IN = "00000000-0000-0000-0000-000000000000"

    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping):
            return super().read(data)
        token = super().read({**data, words.NONCE: self.STAND_IN})
        return replace(token, nonce=data.get(words.NONCE) or "")


@mutant(kills="execution_tokens/nonce-required", because=f"its nonce taken off{TAKEN}")
@in_extension
class LetsOldTokensPass(_AnyNonce):
    """Takes a token without a nonce for one of an earlier release, which signed otherwise."""

    def check_signature(self, token: Token, request: Request) -> None:
        if token.nonce:
            super().check_signature(token, request)

    def spend_nonce(self, token: Token, request: Request) -> None:
        if token.nonce:
            super().spend_nonce(token, request)


@mutant(kills="execution_tokens/nonce-required", because=f"for a nonce, for time 2{TAKEN}")
@in_extension
class RemembersTextsOnly(TokenVerifier):
    """Its log holds texts. A nonce that is none is not written down."""

    def read(self, data: Any) -> Token:
        nonce = data.get(words.NONCE) if isinstance(data, Mapping) else None
        if nonce is None or isinstance(nonce, str):
            return super().read(data)
        token = super().read({**data, words.NONCE: _AnyNonce.STAND_IN})
        return replace(token, nonce=nonce)

    def spend_nonce(self, token: Token, request: Request) -> None:
        if isinstance(token.nonce, str):
            super().spend_nonce(token, request)


@mutant(
    kills="execution_tokens/nonce-replay",
    because="after it was refused for another action[^§]*is spent",
    warned=True,
)
@in_extension
class SpendsTheNonceFirst(TokenVerifier):
    """Uses a nonce up before it looks at anything else that is signed."""

    checks: ClassVar[tuple[str, ...]] = (
        "check_signature",
        "spend_nonce",
        *(name for name in TokenVerifier.checks if name not in ("check_signature", "spend_nonce")),
    )


# ---- hosts


@mutant(kills="execution_tokens/scope-host", because=f"text for a list of hosts{TAKEN}")
@in_extension
class SearchesInText(TokenVerifier):
    """Asks whether the host is in what the scope has, which also holds for a part of a text."""

    def read(self, data: Any) -> Token:
        scope = data.get(words.SCOPE) if isinstance(data, Mapping) else None
        if not isinstance(scope, Mapping) or not isinstance(scope.get(words.ALLOWED_HOSTS), str):
            return super().read(data)
        token = super().read({**data, words.SCOPE: {**scope, words.ALLOWED_HOSTS: []}})
        return replace(token, scope=scope)

    def check_host(self, token: Token, request: Request) -> None:
        hosts = token.scope[words.ALLOWED_HOSTS]
        if isinstance(hosts, str):
            token = replace(token, scope={**token.scope, words.ALLOWED_HOSTS: hosts.split()})
        super().check_host(token, request)


@mutant(kills="execution_tokens/scope-host", because="after that[^§]*accepted[^§]*is busy")
@in_extension
class StaysLockedAfterAPort(TokenVerifier):
    """Takes a lock, finds a port that it did not expect, and leaves without giving it back."""

    locked = False

    def check_host(self, token: Token, request: Request) -> None:
        if self.locked:
            raise ExecutionRefusal(ExecutionReason.HOST, "host: the resolver is busy")
        if request.host is not None and request.host.partition("://")[2].count(":") == 1:
            self.locked = True
            raise ExecutionRefusal(ExecutionReason.HOST, "host: got a port")
        super().check_host(token, request)
