"""Execution tokens as a part of the reference server: a tool that approves, and one that executes.

What is executed is a demonstration: the content's hash is written down among the effects. Knows
MCP's shapes of tools and results; the rules are the verifier's.
"""

from __future__ import annotations

import datetime
import hashlib
import secrets
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from ...families.execution_tokens import vocabulary as words
from ..server.answers import InvalidParamsError, tool_result
from ..server.extension import Caller, Extension, ExtensionParts, ExtensionSettingError
from .gate import Refusal, Verifier
from .operator import DEFAULT_TTL, LONGEST_TTL, Arbiter, Operator
from .store import MemoryNonceLog, NonceLog
from .strict_json import JsonError, read_json
from .tokens import SecretError, read_secret

_TEXT = {"type": "string"}


class ExecutionExtension(Extension):
    """The arbiter and the operator of ADR-006, behind two tools."""

    family = words.FAMILY
    environment_settings: ClassVar[Mapping[str, str]] = {"secret": words.SECRET_VARIABLE}
    known_settings: ClassVar[Mapping[str, Any]] = {
        # A token as text keeps its bytes: some of its numbers would not pass a strict door.
        "token-as": "text",
        "secret-setting": "secret",
        "contents": ["echo approved\n", "echo something else\n"],
        "action": "exec",
        "host": "api.example.org",
    }
    verifier_class: ClassVar[type[Verifier]] = Verifier
    arbiter_class: ClassVar[type[Arbiter]] = Arbiter
    operator_class: ClassVar[type[Operator]] = Operator

    @classmethod
    def trial_settings(cls) -> Mapping[str, Any]:
        return {"secret": secrets.token_hex(32)}

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.secret = self.read_secret(parts.settings.get("secret"))
        self._backing = parts.backing
        self._lock = threading.Lock()
        self._operator: Operator | None = None
        self._to_reset = False
        self.arbiter = self.arbiter_class(self.secret, self.clock.now)

    def read_secret(self, given: Any) -> bytes:
        """Without one of its own the server does not start."""
        if given is not None and not isinstance(given, str):
            raise ExtensionSettingError(f"{words.SECRET_VARIABLE}: got no text, expected a secret")
        try:
            return read_secret({} if given is None else {words.SECRET_VARIABLE: given})
        except SecretError as error:
            raise ExtensionSettingError(str(error)) from None

    @property
    def operator(self) -> Operator:
        """Made when it is first needed: who uses another family pays nothing."""
        with self._lock:
            if self._operator is None:
                nonces = self.open_nonces()
                if self._to_reset:
                    nonces.reset()
                self._operator = self.operator_class(
                    self.verifier_class(self.secret, nonces, self.clock.now)
                )
            return self._operator

    def open_nonces(self) -> NonceLog:
        """Where spent nonces are kept; it outlives this server."""
        return self._backing.keep(self.family, self._in_memory, self._in_database)

    def _in_memory(self) -> NonceLog:
        return MemoryNonceLog()

    def _in_database(self, url: str) -> NonceLog:
        from .sql_store import SqlNonceLog  # here: memory needs no database

        return SqlNonceLog(url)

    def listings(self) -> list[dict[str, Any]]:
        return _LISTINGS

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        del caller
        given = {} if arguments is None else arguments
        if not isinstance(given, Mapping):
            raise InvalidParamsError(f"arguments: got {type(given).__name__}, expected an object")
        if name == words.APPROVE_TOOL:
            return _result(self.approve(given))
        try:
            return _result(self.execute(given))
        except Refusal as refusal:
            return _result(
                {"accepted": False, "reason": str(refusal.reason), "message": str(refusal)}
            )

    def reset(self) -> None:
        with self._lock:
            if self._operator is None:
                self._to_reset = True  # done when the log is first needed
            else:
                self._operator.verifier.nonces.reset()

    # ---- the arbiter

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A token for just this content."""
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
        """Do what a token allows, once; `Refusal` for everything else."""
        action, url = _text(arguments, "action_type"), arguments.get("url")
        if url is not None and not isinstance(url, str):
            raise InvalidParamsError("url: expected text")
        token = self.read_token(arguments.get("token"))

        def run(content: bytes) -> dict[str, Any]:
            digest = hashlib.sha256(content).hexdigest()
            self.effects.record(
                words.EXECUTE_TOOL, {"action_type": action, "url": url, "content_sha256": digest}
            )
            return {"accepted": True, "token_id": token["token_id"], "content_sha256": digest}

        content = _text(arguments, "content").encode()
        return self.operator.execute(token, content, action, run, url)

    def read_token(self, given: Any) -> Any:
        """An object, or its JSON text."""
        if not isinstance(given, str):
            return given
        try:
            return read_json(given.encode())
        except JsonError as error:
            raise Refusal(words.Reason.MALFORMED, f"token: {error}") from None


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise InvalidParamsError(f"{name}: expected text")
    return value


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    return tool_result(answer, is_error=answer.get("accepted") is False)


_LISTINGS: list[dict[str, Any]] = [
    {
        "name": words.APPROVE_TOOL,
        "title": "Approve an action",
        "description": "Sign a token that lets just this content be executed, once.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "action_type": _TEXT,
                "allowed_hosts": {"type": "array", "items": _TEXT},
                "content": _TEXT,
                "ttl_seconds": {"type": "number", "exclusiveMinimum": 0},
            },
            "required": ["action_type", "allowed_hosts", "content"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": words.EXECUTE_TOOL,
        "title": "Execute an action",
        "description": "Execute what a token allows. A demonstration: its hash is written down.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "token": {"type": ["object", "string"]},
                "action_type": _TEXT,
                "content": _TEXT,
                "url": _TEXT,
            },
            "required": ["token", "action_type", "content"],
        },
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    },
]
