"""Execution tokens as a part of the reference server: a tool that approves, and one that executes.

Executing is a demonstration: the content's hash is recorded in the effects. Knows MCP's shapes of
tools and results; the rules are in the verifier.
"""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from typing import Any, ClassVar

from ...families.execution_tokens import vocabulary as words
from ..server.answers import InvalidParamsError, object_arguments, tool_result
from ..server.extension import Caller, Extension, ExtensionParts
from .demonstration import LISTINGS, SUITE_SETTINGS, demonstrated
from .gate import TokenVerifier
from .operator import Arbiter, Operator
from .refusals import ExecutionRefusal
from .settings import DEFAULT_TTL, LONGEST_TTL, read_secret
from .store import NonceStore
from .strict_json import read_json


class ExecutionExtension(Extension):
    """The arbiter and the operator of ADR-006, behind two tools."""

    family = words.FAMILY
    waits = False
    environment_settings: ClassVar[Mapping[str, str]] = {"secret": words.SECRET_VARIABLE}
    suite_settings: ClassVar[Mapping[str, Any]] = SUITE_SETTINGS
    store: NonceStore
    store_class: ClassVar[type[NonceStore]] = NonceStore
    verifier_class: ClassVar[type[TokenVerifier]] = TokenVerifier
    arbiter_class: ClassVar[type[Arbiter]] = Arbiter
    operator_class: ClassVar[type[Operator]] = Operator

    @classmethod
    def trial_settings(cls) -> Mapping[str, Any]:
        return {"secret": secrets.token_hex(32)}

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.secret = self.read_secret(parts.settings.get("secret"))
        self.store = parts.backing.keep(self.family, self.store_class)
        self.arbiter = self.arbiter_class(self.secret, self.clock.now)
        self.operator = self.operator_class(
            self.verifier_class(self.secret, self.store, self.clock.now)
        )

    def read_secret(self, given: Any) -> bytes:
        """Without a secret of its own the server does not start."""
        return read_secret({words.SECRET_VARIABLE: given})

    def listings(self) -> list[dict[str, Any]]:
        return LISTINGS

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        del caller
        given = object_arguments(arguments)
        if name == words.APPROVE_TOOL:
            return _result(self.approve(given))
        try:
            return _result(self.execute(given))
        except ExecutionRefusal as refusal:
            return _result(
                {"accepted": False, "reason": str(refusal.reason), "message": str(refusal)}
            )

    # ---- the arbiter

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        hosts = arguments.get("allowed_hosts", [])
        if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            raise InvalidParamsError("allowed_hosts: expected a list of texts")
        ttl = arguments.get("ttl_seconds", DEFAULT_TTL.total_seconds())
        longest = LONGEST_TTL.total_seconds()
        if isinstance(ttl, bool) or not isinstance(ttl, (int, float)) or not 0 < ttl <= longest:
            raise InvalidParamsError(f"ttl_seconds: expected seconds, up to {longest:g}")
        token = self.arbiter.approve(
            _text(arguments, "content").encode(),
            _text(arguments, "action_type"),
            hosts,
            ttl=datetime.timedelta(seconds=ttl),
        )
        return token.to_json()

    # ---- the operator

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a token allows, once; `ExecutionRefusal` for everything else."""
        action, url = _text(arguments, "action_type"), arguments.get("url")
        if url is not None and not isinstance(url, str):
            raise InvalidParamsError("url: expected text")
        token = self.read_token(arguments.get("token"))
        content = _text(arguments, "content").encode()
        run = demonstrated(self.effects, action, url)
        done = self.operator.execute(token, content, action, run, url)
        return {"accepted": True, "token_id": token["token_id"], **done}

    def read_token(self, given: Any) -> Any:
        """An object, or its JSON text."""
        return read_json(given.encode()) if isinstance(given, str) else given


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise InvalidParamsError(f"{name}: expected text")
    return value


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    return tool_result(answer, is_error=answer.get("accepted") is False)
