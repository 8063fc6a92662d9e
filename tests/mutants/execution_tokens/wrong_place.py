"""Servers that read what counts from a place where nobody has signed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    Unsigned,
    in_extension,
)
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"
CONTENT = "execution_tokens/content-at-execution"
HOST = "execution_tokens/scope-host"
REPLAY = "execution_tokens/nonce-replay"
SIGNATURE = "execution_tokens/signature"


@mutant(kills=HOST, because=f"allow another host, and that{TAKEN}")
class TakesHostsFromTheArguments(ExecutionExtension):
    """Puts the arguments of the call over the scope, and looks for the hosts in both."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return _over_the_scope(self, arguments, words.ALLOWED_HOSTS, "check_host")


def _over_the_scope(
    server: ExecutionExtension, arguments: Mapping[str, Any], member: str, check: str
) -> dict[str, Any]:
    """Execute, with a member of the scope taken from the arguments in one check, if it is there."""
    verifier = server.operator.verifier
    checked = getattr(type(verifier), check)

    def instead(token: Token, request: Request) -> None:
        given = {member: arguments[member]} if member in arguments else {}
        checked(verifier, replace(token, scope={**token.scope, **given}), request)

    verifier.__dict__[check] = instead
    return ExecutionExtension.execute(server, arguments)


@mutant(kills=CONTENT, because=f"allow another content, and that{TAKEN}")
class TakesTheHashFromTheArguments(ExecutionExtension):
    """Puts the arguments of the call over the scope, and finds the hash in both."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return _over_the_scope(self, arguments, words.CONTENT_HASH, "check_content")


@mutant(kills=REPLAY, because=f"allow another use{TAKEN}")
class TakesTheNonceFromTheArguments(ExecutionExtension):
    """Writes the nonce of the arguments into its log, if there is one beside the token."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        verifier = self.operator.verifier
        spend = type(verifier).spend_nonce

        def spend_nonce(token: Token, request: Request) -> None:
            nonce = str(arguments.get(words.NONCE, token.nonce))
            spend(verifier, replace(token, nonce=nonce), request)

        verifier.__dict__["spend_nonce"] = spend_nonce
        return super().execute(arguments)


@mutant(kills=HOST, because=f"allow another host, and that{TAKEN}")
class LooksForTheHostBesideTheUrl(ExecutionExtension):
    """Looks at an argument host if there is one, and reaches what url says."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        host = arguments.get("host")
        verifier = self.operator.verifier
        checked = type(verifier).check_host

        def check_host(token: Token, request: Request) -> None:
            asked = host if isinstance(host, str) else request.host
            checked(verifier, token, replace(request, host=asked))

        verifier.__dict__["check_host"] = check_host
        return super().execute(arguments)


class _BesideTheScope(TokenVerifier):
    """Reads a token into one flat object, in which what stands beside the scope wins."""

    member = ""
    check = ""

    def verify(self, data: Any, request: Request) -> Token:
        checked = getattr(type(self), self.check)

        def instead(token: Token, asked: Request) -> None:
            beside = {self.member: data[self.member]} if self.member in data else {}
            checked(self, replace(token, scope={**token.scope, **beside}), asked)

        self.__dict__[self.check] = instead
        return super().verify(data, request)


@mutant(kills=HOST, because=f"unsigned members that would allow another host, and that{TAKEN}")
@in_extension
class LooksBesideTheScopeForHosts(_BesideTheScope):
    """Takes allowed hosts that stand beside the scope, where nobody signs them."""

    member = words.ALLOWED_HOSTS
    check = "check_host"


@mutant(kills=ACTION, because=f"unsigned members that would allow another action, and that{TAKEN}")
@in_extension
class LooksBesideTheScopeForActions(_BesideTheScope):
    """Takes an action type that stands beside the scope, where nobody signs it."""

    member = words.ACTION_TYPE
    check = "check_action"


@mutant(kills=CONTENT, because=f"members that would allow another content, and that{TAKEN}")
@in_extension
class LooksBesideTheScopeForAHash(_BesideTheScope):
    """Takes a hash that stands beside the scope, where nobody signs it."""

    member = words.CONTENT_HASH
    check = "check_content"


@mutant(kills=SIGNATURE, because=f"a second expires_at[^§]*after the signed one{TAKEN}")
class SignsTheFirstAndReadsTheLast(ExecutionExtension):
    """Has two readers of JSON: of a repeated member one takes the first, for the signature, and the
    other the last, for all else."""

    def read_token(self, given: Any) -> Any:
        try:
            pairs = json.loads(given, object_pairs_hook=lambda found: found)
            last, first = json.loads(given), json.loads(given, object_pairs_hook=_first_wins)
        except (TypeError, ValueError, RecursionError):
            return super().read_token(given)
        if not isinstance(last, dict) or len(pairs) == len(last):
            return super().read_token(given)
        verifier = self.operator.verifier
        verifier.check_signature(verifier.read(first), Request(b"", ""))
        signed = sign(self.secret, verifier.canonical(verifier.read(last)))
        return {**last, words.SIGNATURE: signed}


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


@mutant(kills=SIGNATURE, because=f"a wrong signature, and no algorithm{TAKEN}")
class TakesTheTokensAlgorithm(Unsigned):
    """Lets the token say in alg how it is signed, and none is one of the ways."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return str(token.get("alg", "HS256")).lower() == "none"


@mutant(kills=REPLAY, because="with a second nonce[^§]*one run at most[^§]*accepted[^§]*; accepted")
class LogsTheFirstOfTwoNonces(ExecutionExtension):
    """Has two readers of JSON: of a repeated nonce one takes the last, for the signature, and the
    other the first, for the log."""

    def read_token(self, given: Any) -> Any:
        verifier = self.operator.verifier
        verifier.__dict__.pop("spend_nonce", None)
        try:
            last, first = json.loads(given), json.loads(given, object_pairs_hook=_first_wins)
        except (TypeError, ValueError, RecursionError):
            return super().read_token(given)
        if not isinstance(last, dict) or first.get(words.NONCE) == last.get(words.NONCE):
            return super().read_token(given)
        spend, nonce = type(verifier).spend_nonce, str(first[words.NONCE])

        def spend_nonce(token: Token, request: Request) -> None:
            spend(verifier, replace(token, nonce=nonce), request)

        verifier.__dict__["spend_nonce"] = spend_nonce
        return last
