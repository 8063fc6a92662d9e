"""Verifiers that do not check what is not there, or what is empty."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.demonstration import demonstrated
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    LenientScope,
    Unsigned,
    in_extension,
)
from tests.mutants.registry import mutant

REQUIRED = "execution_tokens/nonce-required"
ACTION = "execution_tokens/scope-action"
HOST = "execution_tokens/scope-host"
CONTENT = "execution_tokens/content-at-execution"
SIGNATURE = "execution_tokens/signature"


@mutant(kills=HOST, because=f"null for a list of hosts{TAKEN}")
@in_extension
class TakesNullForAnyHost(LenientScope):
    """Takes null in the place of hosts for no limit."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        self.stand_in = []
        return words.ALLOWED_HOSTS in scope and scope[words.ALLOWED_HOSTS] is None

    def check_host(self, token: Token, request: Request) -> None:
        if token.scope[words.ALLOWED_HOSTS] is not None:
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"and a URL of api\.example\.org{TAKEN}")
@in_extension
class TakesAnEmptyHostForAny(TokenVerifier):
    """Has an empty text among the hosts fit every host, since each one ends with it."""

    def check_host(self, token: Token, request: Request) -> None:
        if "" not in token.scope[words.ALLOWED_HOSTS]:
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"with another host: evil\.example{TAKEN}")
@in_extension
class ChecksNoHostIfThereIsNone(TokenVerifier):
    """Lets a URL pass in which it finds no host."""

    def check_host(self, token: Token, request: Request) -> None:
        if (request.host or "").partition("://")[2].partition("/")[0]:
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"with names for no host in its hosts, with \S+{TAKEN}")
@in_extension
class FindsNoHostAmongTheHosts(TokenVerifier):
    """Has the host that it does not find in a URL fit an empty one that was allowed."""

    def check_host(self, token: Token, request: Request) -> None:
        authority = (request.host or "").partition("://")[2].partition("/")[0]
        if authority or "" not in token.scope[words.ALLOWED_HOSTS]:
            super().check_host(token, request)


@mutant(kills=ACTION, because=f"null for its action type{TAKEN}")
@in_extension
class NeedsNoAction(LenientScope):
    """Takes a scope without an action type for one that allows every action."""

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        return scope.get(words.ACTION_TYPE) is None

    def check_action(self, token: Token, request: Request) -> None:
        if token.scope.get(words.ACTION_TYPE) is not None:
            super().check_action(token, request)


@mutant(kills=ACTION, because=f"an empty action type{TAKEN}")
@in_extension
class TakesAnEmptyActionForAny(TokenVerifier):
    """Takes an empty action type in the scope for every action."""

    def check_action(self, token: Token, request: Request) -> None:
        if token.scope[words.ACTION_TYPE]:
            super().check_action(token, request)


@mutant(kills=ACTION, because=f"with an empty action type{TAKEN}")
@in_extension
class AsksForNoAction(TokenVerifier):
    """Compares the action type if the request names one."""

    def check_action(self, token: Token, request: Request) -> None:
        if request.action_type:
            super().check_action(token, request)


@mutant(kills=CONTENT, because=f"another content with an empty hash{TAKEN}")
@in_extension
class NeedsNoHash(LenientScope):
    """Takes a scope without a hash for one that allows every content."""

    member = words.CONTENT_HASH
    stand_in = "0" * 64

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        return not scope.get(words.CONTENT_HASH)

    def check_content(self, token: Token, request: Request) -> None:
        if token.scope.get(words.CONTENT_HASH):
            super().check_content(token, request)


@mutant(kills=CONTENT, because=f"its content changed: nothing{TAKEN}")
@in_extension
class HashesNothingOfNothing(TokenVerifier):
    """Hashes the content if there is some: an empty one fits every token."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.content:
            super().check_content(token, request)


@mutant(kills=CONTENT, because=f"its content changed: nothing{TAKEN}")
@in_extension
class HashesNothingOfBlanks(TokenVerifier):
    """Hashes the content if it is more than blanks and line ends."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.content.strip():
            super().check_content(token, request)


@mutant(kills=SIGNATURE, because=f"no signature{TAKEN}")
class NeedsNoSignature(Unsigned):
    """Compares the signature if there is one."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return words.SIGNATURE not in token


@mutant(kills=SIGNATURE, because=f"an empty signature{TAKEN}")
class TakesAnEmptyHmac(Unsigned):
    """Compares as many digits as came, also none."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return token.get(words.SIGNATURE) == ""


class _NoExpiry(TokenVerifier):
    """Reads a token whose expiry may be missing."""

    def means_never(self, given: Any) -> bool:
        raise NotImplementedError

    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping) or not self.means_never(data.get(words.EXPIRES_AT)):
            return super().read(data)
        token = super().read({**data, words.EXPIRES_AT: "2999-01-01T00:00:00Z"})
        given = data.get(words.EXPIRES_AT)
        return replace(token, expires_at="" if given is None else str(given))

    def check_expiry(self, token: Token, request: Request) -> None:
        if token.expires_at[4:5] == "-":
            super().check_expiry(token, request)

    def spend_nonce(self, token: Token, request: Request) -> None:
        end = datetime.datetime(2999, 1, 1, tzinfo=datetime.UTC).isoformat()
        known = token.expires_at[4:5] == "-"
        super().spend_nonce(token if known else replace(token, expires_at=end), request)


@mutant(kills="execution_tokens/expiry", because=f"no expires_at{TAKEN}")
@in_extension
class NeedsNoExpiry(_NoExpiry):
    """Takes a token without an expiry for one that does not expire."""

    def means_never(self, given: Any) -> bool:
        return given is None


@mutant(kills="execution_tokens/expiry", because=f"a number for expires_at{TAKEN}")
@in_extension
class ReadsSecondsForAnExpiry(_NoExpiry):
    """Takes a number for an expiry, and looks at texts only."""

    def means_never(self, given: Any) -> bool:
        return isinstance(given, (int, float)) and not isinstance(given, bool)


@mutant(kills="execution_tokens/expiry", because=f"no expires_at{TAKEN}")
@in_extension
class KnowsAWordForNever(_NoExpiry):
    """Knows words for tokens that do not expire."""

    def means_never(self, given: Any) -> bool:
        return str(given).lower() in ("never", "none", "null", "infinity", "0", "-1")


class _WritesAbsence(TokenVerifier):
    """Writes a word into the signed string where a nonce is missing, and into the log."""

    word = ""

    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping) or data.get(words.NONCE) is not None:
            return super().read(data)
        nonce = str(uuid.UUID(int=0))
        return replace(super().read({**data, words.NONCE: nonce}), nonce=self.word)

    def spend_nonce(self, token: Token, request: Request) -> None:
        if token.nonce != self.word:
            super().spend_nonce(token, request)


@mutant(kills=REQUIRED, because=f"null for a nonce{TAKEN}")
@in_extension
class SignsNoneForANonce(_WritesAbsence):
    """Writes None where a nonce is missing, as Python's f-strings do, and verifies that."""

    word = "None"


class _RunsWithout(ExecutionExtension):
    """Asks for a token only if there is one to look at."""

    def is_none(self, given: Any) -> bool:
        raise NotImplementedError

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not self.is_none(arguments.get("token")):
            return super().execute(arguments)
        content, action = arguments.get("content"), arguments.get("action_type")
        if not isinstance(content, str) or not isinstance(action, str):
            return super().execute(arguments)
        run = demonstrated(self.effects, action, arguments.get("url"))
        return {"accepted": True, **run(content.encode())}


@mutant(kills=SIGNATURE, because=f"a call with no token{TAKEN}")
class RunsWithoutAToken(_RunsWithout):
    """Verifies the token if there is one, and executes without one."""

    def is_none(self, given: Any) -> bool:
        return given is None


@mutant(kills=SIGNATURE, because=f"whose token is a text with nothing{TAKEN}")
class RunsOnAnEmptyToken(_RunsWithout):
    """Takes an empty token for none that has to be verified."""

    def is_none(self, given: Any) -> bool:
        return given in ("", {}, "{}")


@mutant(kills=SIGNATURE, because=f"null for a signature{TAKEN}")
class TakesNullForASignature(Unsigned):
    """Compares the signature if it is not null."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return token.get(words.SIGNATURE, "") is None


@mutant(kills=HOST, because=f"no list of hosts{TAKEN}")
@in_extension
class NeedsNoHosts(LenientScope):
    """Takes a scope that does not name hosts for one that allows all of them."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        self.stand_in = []
        return words.ALLOWED_HOSTS not in scope

    def check_host(self, token: Token, request: Request) -> None:
        if words.ALLOWED_HOSTS in token.scope:
            super().check_host(token, request)


@mutant(kills=ACTION, because=f"an empty scope{TAKEN}")
@in_extension
class NeedsNoScope(TokenVerifier):
    """Takes a token without a scope, or with an empty one, for one without limits."""

    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping) or data.get(words.SCOPE):
            return super().read(data)
        scope = {words.ACTION_TYPE: "", words.ALLOWED_HOSTS: [], words.CONTENT_HASH: "0" * 64}
        return replace(super().read({**data, words.SCOPE: scope}), scope={})

    def check_action(self, token: Token, request: Request) -> None:
        if token.scope:
            super().check_action(token, request)

    def check_host(self, token: Token, request: Request) -> None:
        if token.scope:
            super().check_host(token, request)

    def check_content(self, token: Token, request: Request) -> None:
        if token.scope:
            super().check_content(token, request)


class _AnyId(TokenVerifier):
    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping) or data.get(words.TOKEN_ID) != "":
            return super().read(data)
        return replace(super().read({**data, words.TOKEN_ID: str(uuid.UUID(int=0))}), token_id="")


@mutant(kills=SIGNATURE, because="no token_id: accepted", warned=True)
class NeedsNoTokenId(ExecutionExtension):
    """Takes a token without an id, since the nonce is enough for its log."""

    verifier_class = _AnyId

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        return {words.TOKEN_ID: "", **read} if isinstance(read, Mapping) else read


@mutant(kills=CONTENT, because=f"a good token, and no content{TAKEN}")
class NeedsNoContent(ExecutionExtension):
    """Hashes the content if there is some, and executes nothing if there is none."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        verifier = self.operator.verifier
        verifier.__dict__.pop("check_content", None)
        if arguments.get("content") is None:
            verifier.__dict__["check_content"] = lambda *_: None
            arguments = {**arguments, "content": ""}
        return super().execute(arguments)


@mutant(kills=REQUIRED, because=f"the UUID of zeros for a nonce, for time 2{TAKEN}")
@in_extension
class TakesTheNilUuidForNone(TokenVerifier):
    """Takes the UUID of zeros for an absent nonce, and does not write it down."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if uuid.UUID(token.nonce).int:
            super().spend_nonce(token, request)


@mutant(kills=REQUIRED, because=f"no nonce, undefined signed in its place{TAKEN}")
@in_extension
class SignsUndefinedForANonce(_WritesAbsence):
    """Writes undefined where a nonce is missing, as JavaScript does, and verifies that."""

    word = "undefined"


@mutant(kills="execution_tokens/arbiter-expiry", because=f"that was approved for (0|-60) s{TAKEN}")
class FallsBackOnTheUsualLife(ExecutionExtension):
    """Takes zero seconds, or less, for none that were named, and gives the usual life."""

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        seconds = arguments.get("ttl_seconds")
        if isinstance(seconds, (int, float)) and seconds <= 0:
            arguments = {k: v for k, v in arguments.items() if k != "ttl_seconds"}
        return super().approve(arguments)
