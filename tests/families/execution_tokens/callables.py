"""Verifiers that are callables, as a team might have them: for tests of the suite."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.settings import read_secret
from pytest_mcp_approval.reference_server.execution_tokens.store import FolderNonceLog
from pytest_mcp_approval.reference_server.execution_tokens.strict_json import read_json

seen: set[str] = set()


def verify(token: bytes, content: bytes, action: str, host: str | None, *, nonce_log: Path) -> bool:
    """A good one: its secret is in the environment, its log in a folder."""
    verifier = TokenVerifier(
        read_secret(os.environ),
        FolderNonceLog(nonce_log),
        lambda: datetime.datetime.now(datetime.UTC),
    )
    try:
        data = read_json(token)
    except ExecutionRefusal:
        return False
    verifier.verify(data, Request(content, action, host))
    return True


def forgetful(token: bytes, content: bytes, action: str, host: str | None) -> bool:
    """Keeps its log in memory."""

    class Log:
        def spend(self, nonce: str, *_: object) -> bool:
            fresh = nonce not in seen
            seen.add(nonce)
            return fresh

        def reset(self) -> None: ...

        def close(self) -> None: ...

    clock = lambda: datetime.datetime.now(datetime.UTC)  # noqa: E731
    try:
        TokenVerifier(read_secret(os.environ), Log(), clock).verify(
            read_json(token), Request(content, action, host)
        )
    except ExecutionRefusal:
        return False
    return True
