"""How a broken part of ADR-006 gets into a server; no mutants of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
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
