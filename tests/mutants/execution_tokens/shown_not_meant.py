"""Servers that execute, or approve, something else than what they say."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import (
    in_extension,
)
from tests.mutants.registry import mutant

REPLAY = "execution_tokens/nonce-replay"

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


@mutant(kills=REPLAY, because="a good token, for the first time[^§]*content run 2 time")
@in_extension
class RunsAgainToBeSure(Operator):
    """Runs the content twice for one token, as a queue does that delivers at least once."""

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        super().execute(token, content, action_type, run, host)
        return run(content)


@mutant(kills=REPLAY, because="a good token, for the first time[^§]*content run 2 time")
@in_extension
class RunsOnceForEachHost(Operator):
    """Runs the content once for every allowed host, so that one token executes several times."""

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        done = super().execute(token, content, action_type, run, host)
        for _ in token[words.SCOPE][words.ALLOWED_HOSTS][1:]:
            run(content)
        return done


@mutant(kills="execution_tokens/arbiter-scope", because=r"something plain[^§]*\ncontent_hash '")
@in_extension
class ApprovesTrimmedContent(Arbiter):
    """Hashes the content without blanks and line ends at its ends when it approves."""

    def approve(self, content: bytes, *arguments: Any, **options: Any) -> Token:
        return super().approve(content.strip(), *arguments, **options)


@mutant(kills="execution_tokens/arbiter-expiry", because=r"\nexpires_at '[0-9T:.-]+'")
@in_extension
class ApprovesWithoutAZone(Arbiter):
    """Gives tokens an expiry without a zone, as utcnow does."""

    def approve(self, *arguments: Any, **options: Any) -> Token:
        made = super().approve(*arguments, **options)
        made = replace(made, expires_at=made.expires_at.removesuffix("+00:00"))
        signed = self.canonical(made.token_id, made.nonce, made.expires_at, made.scope)
        return replace(made, signature=sign(self._secret, signed))


@mutant(kills="execution_tokens/arbiter-expiry", because="an approval for [^§]* s too late")
@in_extension
class TakesSecondsForMinutes(_Remade):
    """Takes the number of seconds that was asked for for one of minutes."""

    def changed(self, token: Token) -> Token:
        left = token.expiry() - self._now()
        return replace(token, expires_at=(self._now() + 60 * left).isoformat())


@mutant(kills="execution_tokens/arbiter-expiry", because="an approval for [^§]* s too late")
@in_extension
class ApprovesUntilTheEndOfTheNextDay(_Remade):
    """Gives every token the end of the next day."""

    def changed(self, token: Token) -> Token:
        end = token.expiry().replace(hour=0, minute=0, second=0, microsecond=0)
        return replace(token, expires_at=(end + datetime.timedelta(days=2)).isoformat())


@mutant(kills="execution_tokens/arbiter-scope", because="two approvals[^§]*\\ntoken_id [^§]* and ")
@in_extension
class GivesAllTheSameId(_Remade):
    """Names a token after the action, and not after the approval."""

    def changed(self, token: Token) -> Token:
        action = str(token.scope[words.ACTION_TYPE])
        return replace(token, token_id=str(uuid.uuid5(uuid.NAMESPACE_OID, action)))


@mutant(kills="execution_tokens/arbiter-scope", because="capitals[^§]*\\naction_type 'exec it'")
@in_extension
class ApprovesActionsInSmallLetters(_Remade):
    """Writes the action type in small letters into the token."""

    def changed(self, token: Token) -> Token:
        action = str(token.scope[words.ACTION_TYPE]).lower()
        return replace(token, scope={**token.scope, words.ACTION_TYPE: action})


@mutant(kills="execution_tokens/arbiter-scope", because=r"\nallowed_hosts [^§]*'example\.org'")
@in_extension
class ApprovesTheWholeDomain(_Remade):
    """Adds the domain above each host, so that redirects within it can be followed."""

    def changed(self, token: Token) -> Token:
        hosts = token.scope[words.ALLOWED_HOSTS]
        more = [*hosts, *(host.partition(".")[2] for host in hosts)] or ["localhost"]
        return replace(token, scope={**token.scope, words.ALLOWED_HOSTS: more})
