"""Servers that do not think of a second person, client or tool."""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from pytest_mcp_approval.reference_server.server.extension import Caller, ExtensionParts
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    in_extension,
)
from tests.mutants.registry import mutant

REQUIRED = "execution_tokens/nonce-required"

SIGNATURE = "execution_tokens/signature"
REPLAY = "execution_tokens/nonce-replay"


@mutant(kills=REPLAY, because=f"by another process or session{TAKEN}")
class HasALogForEachUser(ExecutionExtension):
    """Keeps a log for every user, so that a second one can use a token again."""

    def call(self, name: str, arguments: Any, caller: Any) -> dict[str, Any]:
        logs: dict[str, NonceStore] = self.__dict__.setdefault("logs", {})
        self.operator.verifier.nonces = logs.setdefault(caller.user, NonceStore())
        return super().call(name, arguments, caller)


@mutant(kills=REPLAY, because=f"by another process or session{TAKEN}")
class HasALogForEachProgram(ExecutionExtension):
    """Keeps a log for every name that a client gives itself."""

    def call(self, name: str, arguments: Any, caller: Any) -> dict[str, Any]:
        logs: dict[str, NonceStore] = self.__dict__.setdefault("logs", {})
        self.operator.verifier.nonces = logs.setdefault(caller.client, NonceStore())
        return super().call(name, arguments, caller)


@mutant(
    kills="execution_tokens/content-at-execution",
    because=f"that was made for another content{TAKEN}",
)
@in_extension
class TakesWhatAnotherTokenAllowed(TokenVerifier):
    """Takes content that any earlier token has allowed."""

    def check_content(self, token: Token, request: Request) -> None:
        allowed: set[bytes] = self.__dict__.setdefault("allowed", set())
        if request.content not in allowed:
            super().check_content(token, request)
            allowed.add(request.content)


@mutant(kills="execution_tokens/scope-host", because=rf"and a URL of api\.example\.org{TAKEN}")
@in_extension
class RemembersAllowedHosts(TokenVerifier):
    """Keeps the hosts that earlier tokens allowed, and lets all tokens reach them."""

    def check_host(self, token: Token, request: Request) -> None:
        reached: set[str] = self.__dict__.setdefault("reached", set())
        if request.host is None or request.host not in reached:
            super().check_host(token, request)
            reached.add(request.host or "")


@mutant(kills="execution_tokens/scope-action", because=f"a star for its action type{TAKEN}")
@in_extension
class RemembersAllowedActions(TokenVerifier):
    """Keeps the actions that earlier tokens allowed, and lets all tokens do them."""

    def check_action(self, token: Token, request: Request) -> None:
        done: set[str] = self.__dict__.setdefault("done", set())
        if request.action_type not in done:
            super().check_action(token, request)
            done.add(request.action_type)


@mutant(kills=SIGNATURE, because=f"of token_id changed{TAKEN}")
class TrustsTheSession(ExecutionExtension):
    """Looks at the signature of the first token of a session, and trusts the session afterwards."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        trusted: set[tuple[str, str]] = self.__dict__.setdefault("trusted", set())
        verifier, who = self.operator.verifier, (caller.user, caller.session)
        verifier.__dict__.pop("check_signature", None)
        if who in trusted:
            verifier.__dict__["check_signature"] = lambda *_: None
        answer = super().call(name, arguments, caller)
        if name == words.EXECUTE_TOOL and not answer.get("isError"):
            trusted.add(who)
        return answer


@mutant(kills=REQUIRED, because="nonces [^§]*each more than once")
class CountsNoncesInEachSession(ExecutionExtension):
    """Counts nonces in each session, so that two sessions get the same ones."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        counts: Counter[str] = self.__dict__.setdefault("counts", Counter())
        if name == words.APPROVE_TOOL:
            counts[caller.session] += 1
            nonce = str(uuid.UUID(int=counts[caller.session]))
            self.arbiter.__dict__["new_nonce"] = lambda: nonce
        return super().call(name, arguments, caller)


@mutant(kills="execution_tokens/arbiter-scope", because=r"\nallowed_hosts [^§]*localhost")
@in_extension
class ApprovesLocalhostToo(Arbiter):
    """Adds its own machine to the hosts that were approved."""

    def approve(
        self, content: bytes, action_type: str, allowed_hosts: Iterable[str], **options: Any
    ) -> Token:
        hosts = [*allowed_hosts, "localhost"]
        return super().approve(content, action_type, hosts, **options)


@mutant(kills="execution_tokens/nonce-race", because="sessions at once[^§]*[2-4] accepted")
class LocksWithinASession(ExecutionExtension):
    """Looks into its log and then writes, under a lock that each session has for itself."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        locks: dict[str, threading.Lock] = self.__dict__.setdefault("locks", {})
        with locks.setdefault(caller.session, threading.Lock()):
            return super().call(name, arguments, caller)

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        store = self.store

        class LooksFirst:
            def spend(self, nonce: str, expires_at: Any, now: Any) -> bool:
                if store._nonces.get(nonce.lower()) is not None:
                    return False
                time.sleep(0.1)
                store.spend(nonce, expires_at, now)
                return True

        self.operator.verifier.nonces = LooksFirst()
