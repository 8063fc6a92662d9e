"""Servers that execute, or approve, something else than what they say."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import in_extension
from tests.mutants.registry import mutant

REQUIRED = "execution_tokens/nonce-required"


# ---- arbiters


class _Remade(Arbiter):
    """Changes what was approved before it is signed."""

    def changed(self, token: Token) -> Token:
        raise NotImplementedError

    def approve(
        self,
        content: bytes,
        action_type: str,
        allowed_hosts: Iterable[str],
        *,
        ttl: datetime.timedelta = datetime.timedelta(minutes=5),
    ) -> Token:
        made = self.changed(super().approve(content, action_type, allowed_hosts, ttl=ttl))
        signed = self.canonical(made.token_id, made.nonce, made.expires_at, made.scope)
        return replace(made, signature=sign(self._secret, signed))


@mutant(kills=REQUIRED, because="nonces")
@in_extension
class TakesTheContentForANonce(_Remade):
    """Makes the nonce from what is approved, so that two approvals of it have the same."""

    def changed(self, token: Token) -> Token:
        return replace(token, nonce=str(uuid.uuid5(uuid.NAMESPACE_OID, token.content_hash)))


@mutant(kills=REQUIRED, because="nonces")
@in_extension
class TakesTheTimeForANonce(_Remade):
    """Makes the nonce from the second in which it approves."""

    def changed(self, token: Token) -> Token:
        second = f"{self._now():%Y%m%d%H%M%S}"
        return replace(token, nonce=str(uuid.uuid5(uuid.NAMESPACE_OID, second)))


@mutant(kills=REQUIRED, because="nonces")
class ApprovesTheSameOnce(ExecutionExtension):
    """Keeps its approvals in a cache, and gives out the same token for the same question."""

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        cache: dict[str, dict[str, Any]] = self.__dict__.setdefault("cache", {})
        asked = repr(sorted(arguments.items()))
        if asked not in cache:
            cache[asked] = super().approve(arguments)
        return cache[asked]
