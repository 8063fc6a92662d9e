"""How a broken part of ADR-006 gets into a server; no mutants of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign

TAKEN = "[^§]*refused, content not run[^§]*accepted"
"""Of a mutant that takes too much: what should have been refused was accepted."""


def in_extension(part: type) -> type[ExecutionExtension]:
    """The extension that has this verifier, arbiter, operator or log; under its name and words."""
    members: dict[str, Any] = {"__doc__": part.__doc__, "__module__": part.__module__}
    if issubclass(part, TokenVerifier):
        members["verifier_class"] = part
    elif issubclass(part, Arbiter):
        members["arbiter_class"] = part
    elif issubclass(part, Operator):
        members["operator_class"] = part
    elif issubclass(part, NonceStore):
        members["store_class"] = part
    else:
        raise TypeError(f"{part.__name__}: no part of the extension")
    return type(part.__name__, (ExecutionExtension,), members)


class Lenient(TokenVerifier):
    """Reads tokens of which a member has another shape, so that a later check must find it."""

    member = "signature"
    stand_in = "0" * 64

    def read(self, data: Any) -> Token:
        given: Any = data.get(self.member) if isinstance(data, dict) else None
        token = super().read({**data, self.member: self.stand_in} if given is not None else data)
        changes: dict[str, Any] = {self.member: given}
        return replace(token, **changes)


class LenientScope(TokenVerifier):
    """Reads tokens of which a member of the scope has another shape."""

    member = "action_type"
    stand_in: Any = "exec"

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        """Whether the member is one that the mutant lets pass."""
        raise NotImplementedError

    def read(self, data: Any) -> Token:
        scope = data.get(words.SCOPE) if isinstance(data, Mapping) else None
        if not isinstance(scope, Mapping) or not self.excuses(scope):
            return super().read(data)
        token = super().read({**data, words.SCOPE: {**scope, self.member: self.stand_in}})
        return replace(token, scope=scope)


class Unsigned(ExecutionExtension):
    """Signs a token itself before it is checked, if it may come without a signature."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        raise NotImplementedError

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        if not isinstance(read, Mapping) or not self.may_be_unsigned(read):
            return read
        verifier = self.operator.verifier
        try:
            token = verifier.read({**read, words.SIGNATURE: "0" * 64})
        except Exception:
            return read
        return {**read, words.SIGNATURE: sign(self.secret, verifier.canonical(token))}


class FittingActions(TokenVerifier):
    """Takes an action for the approved one if it fits."""

    def fits(self, asked: str, approved: str) -> bool:
        raise NotImplementedError

    def check_action(self, token: Token, request: Request) -> None:
        if not self.fits(request.action_type, str(token.scope[words.ACTION_TYPE])):
            super().check_action(token, request)


class FittingHosts(TokenVerifier):
    """Takes a host for an allowed one if it fits."""

    def fits(self, authority: str, allowed: str) -> bool:
        raise NotImplementedError

    def check_host(self, token: Token, request: Request) -> None:
        authority = re.split(r"[/?#]", (request.host or "").rpartition("://")[2])[0]
        if not any(self.fits(authority, one) for one in token.scope[words.ALLOWED_HOSTS] if one):
            super().check_host(token, request)


class RewritingUrls(TokenVerifier):
    """Changes a URL before it looks for the host."""

    def rewritten(self, url: str) -> str:
        raise NotImplementedError

    def check_host(self, token: Token, request: Request) -> None:
        if request.host is not None:
            request = replace(request, host=self.rewritten(request.host))
        super().check_host(token, request)


class RewritingContent(TokenVerifier):
    """Also takes content that has the right hash once it is rewritten."""

    def rewritten(self, content: bytes) -> bytes:
        raise NotImplementedError

    def check_content(self, token: Token, request: Request) -> None:
        try:
            super().check_content(token, replace(request, content=self.rewritten(request.content)))
        except ExecutionRefusal:
            super().check_content(token, request)


class WritingScopes(TokenVerifier):
    """Writes the scope in a way of its own before it is signed."""

    def written(self, scope: Any) -> str:
        raise NotImplementedError

    def canonical(self, token: Token) -> bytes:
        text = self.written(token.scope)
        return f"{token.token_id}:{token.nonce}:{token.expires_at}:{text}".encode(
            "utf-8", "surrogatepass"
        )


def changed(value: Any, change: Any) -> Any:
    """Every value in it that is no list or object, changed."""
    if isinstance(value, Mapping):
        return {name: changed(one, change) for name, one in value.items()}
    if isinstance(value, list):
        return [changed(one, change) for one in value]
    return change(value)


class OtherLogKey(TokenVerifier):
    """Writes something else than the nonce into its log."""

    def key(self, token: Token, request: Request) -> str:
        raise NotImplementedError

    def spend_nonce(self, token: Token, request: Request) -> None:
        super().spend_nonce(replace(token, nonce=self.key(token, request)), request)
