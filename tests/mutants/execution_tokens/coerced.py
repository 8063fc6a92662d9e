"""Verifiers that turn one kind of value into another before they compare it."""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    LenientScope,
    Unsigned,
    in_extension,
)
from tests.mutants.registry import mutant

EXPIRY = "execution_tokens/expiry"
HOST = "execution_tokens/scope-host"

SIGNATURE = "execution_tokens/signature"
ACTION = "execution_tokens/scope-action"
REFUSED = "accepted[^§]*bad_signature"


@mutant(kills="execution_tokens/signature", because=f"true for a signature{TAKEN}")
class ComparesLikePhp(Unsigned):
    """Compares with ==, for which true and zero are like any text."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return token.get(words.SIGNATURE) in (True, 0) and words.SIGNATURE in token


@mutant(kills="execution_tokens/signature", because=f"a list with its signature{TAKEN}")
class TakesAListForASignature(Unsigned):
    """Ends the comparison without a result at a list in the place of the signature."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return isinstance(token.get(words.SIGNATURE), (list, dict))


@mutant(kills=ACTION, because=f"a list with the action type{TAKEN}")
@in_extension
class SearchesAListOfActions(LenientScope):
    """Takes a list of action types, where the document has one."""

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        return isinstance(scope.get(words.ACTION_TYPE), list)

    def check_action(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope) or request.action_type not in token.scope["action_type"]:
            super().check_action(token, request)


@mutant(kills="execution_tokens/scope-host", because=f"true for a list of hosts{TAKEN}")
@in_extension
class TakesTrueForAnyHost(LenientScope):
    """Takes true in the place of hosts for a yes."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        self.stand_in = []
        return scope.get(words.ALLOWED_HOSTS) is True

    def check_host(self, token: Token, request: Request) -> None:
        if token.scope[words.ALLOWED_HOSTS] is not True:
            super().check_host(token, request)


@mutant(kills=ACTION, because=f"a token whose action type is no text, with its text: 7{TAKEN}")
@in_extension
class ComparesActionsAsText(LenientScope):
    """Turns the approved action type into text before it compares, a number or a truth too."""

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        return isinstance(scope.get(words.ACTION_TYPE), (int, float))

    def check_action(self, token: Token, request: Request) -> None:
        given = token.scope[words.ACTION_TYPE]
        if isinstance(given, str) or request.action_type not in (str(given), json.dumps(given)):
            super().check_action(token, request)


@mutant(kills=ACTION, because=f"true for its action type{TAKEN}")
@in_extension
class ComparesActionsLikePhp(LenientScope):
    """Compares action types with ==, for which true and zero are like any text."""

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        given = scope.get(words.ACTION_TYPE)
        return isinstance(given, (bool, int)) and given in (True, 0) and given is not False

    def check_action(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_action(token, request)


@mutant(kills=HOST, because=f"true in the list of hosts{TAKEN}")
@in_extension
class ComparesHostsLikePhp(LenientScope):
    """Searches the list with ==, for which true and zero are like any text."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        hosts, self.stand_in = scope.get(words.ALLOWED_HOSTS), []
        return isinstance(hosts, list) and any(one is True or one == 0 for one in hosts)

    def check_host(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_host(token, request)


@mutant(kills=HOST, because=f"an object with the host for a list of hosts{TAKEN}")
@in_extension
class TakesKeysForHosts(LenientScope):
    """Asks whether the host is in what the scope has, which also holds for a name of an object."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        self.stand_in = []
        return isinstance(scope.get(words.ALLOWED_HOSTS), Mapping)

    def check_host(self, token: Token, request: Request) -> None:
        hosts = [*token.scope[words.ALLOWED_HOSTS]]
        super().check_host(
            replace(token, scope={**token.scope, words.ALLOWED_HOSTS: hosts}), request
        )


@mutant(kills=EXPIRY, because=f"a number of seconds in text{TAKEN}")
@in_extension
class TakesASpanForAnExpiry(TokenVerifier):
    """Takes a number of seconds, written as text, for a time that begins when it is read."""

    def _read_span(self, given: Any) -> str | None:
        if not isinstance(given, str) or not re.fullmatch("[0-9]{1,6}", given):
            return None
        return (self.now() + datetime.timedelta(seconds=int(given) + 1)).isoformat()

    def read(self, data: Any) -> Token:
        end = self._read_span(data.get(words.EXPIRES_AT)) if isinstance(data, Mapping) else None
        if end is None:
            return super().read(data)
        token = super().read({**data, words.EXPIRES_AT: end})
        return replace(token, expires_at=data[words.EXPIRES_AT])

    def check_expiry(self, token: Token, request: Request) -> None:
        end = self._read_span(token.expires_at) or token.expires_at
        super().check_expiry(replace(token, expires_at=end), request)

    def spend_nonce(self, token: Token, request: Request) -> None:
        end = self._read_span(token.expires_at) or token.expires_at
        super().spend_nonce(replace(token, expires_at=end), request)


@mutant(kills=SIGNATURE, because=f"with Z in expires_at{TAKEN}")
@in_extension
class WritesTheExpiryWithAnOffset(TokenVerifier):
    """Reads the expiry and signs it as Python writes it, with +00:00 for a Z."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(replace(token, expires_at=token.expiry().isoformat()))


@mutant(kills=SIGNATURE, because=f"with a fraction of zero in expires_at{TAKEN}")
@in_extension
class SignsWholeSeconds(TokenVerifier):
    """Drops the fraction of the expiry before it signs."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(
            replace(token, expires_at=re.sub(r"\.[0-9]+", "", token.expires_at))
        )


@mutant(kills=SIGNATURE, because="a word for a nonce: accepted", warned=True)
@in_extension
class TakesShortNonces(TokenVerifier):
    """Takes any word for a nonce, and logs it."""

    def read(self, data: Any) -> Token:
        nonce = data.get(words.NONCE) if isinstance(data, Mapping) else None
        if not isinstance(nonce, str) or not re.fullmatch("[0-9A-Za-z_-]+", nonce):
            return super().read(data)
        return replace(super().read({**data, words.NONCE: str(uuid.UUID(int=0))}), nonce=nonce)


@mutant(kills=SIGNATURE, because="a token_id in braces: accepted", warned=True)
@in_extension
class ReadsUuidsInAnySpelling(TokenVerifier):
    """Reads ids as Python's uuid does: in braces, without hyphens, with urn:uuid: before them."""

    def read(self, data: Any) -> Token:
        try:
            read = {name: str(uuid.UUID(data[name])) for name in (words.TOKEN_ID, words.NONCE)}
        except (TypeError, KeyError, AttributeError, ValueError):
            return super().read(data)
        given = {name: data[name] for name in read}
        return replace(super().read({**data, **read}), **given)

    def spend_nonce(self, token: Token, request: Request) -> None:
        super().spend_nonce(replace(token, nonce=str(uuid.UUID(token.nonce))), request)
