"""The demonstration: two tools as they are listed, and an execution that only leaves a trace.

Knows no token: only what has been allowed comes here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from ...families.execution_tokens import vocabulary as words
from ..server.answers import tool_listing
from ..server.effects import RecordedEffects

_TEXT = {"type": "string"}

LISTINGS = [
    tool_listing(
        words.APPROVE_TOOL,
        "Approve an action",
        "Sign a token that lets just this content be executed, once.",
        {
            "action_type": _TEXT,
            "allowed_hosts": {"type": "array", "items": _TEXT},
            "content": _TEXT,
            "ttl_seconds": {"type": "number", "exclusiveMinimum": 0},
        },
        ("action_type", "allowed_hosts", "content"),
        read_only=True,
    ),
    tool_listing(
        words.EXECUTE_TOOL,
        "Execute an action",
        "Execute what a token allows. A demonstration: its hash is written down.",
        {
            "token": {"type": ["object", "string"]},
            "action_type": _TEXT,
            "content": _TEXT,
            "url": _TEXT,
        },
        ("token", "action_type", "content"),
    ),
]

SUITE_SETTINGS: Mapping[str, Any] = {
    # A token as text keeps its bytes: the strict door would refuse some of its numbers.
    "token-as": "text",
    "secret-setting": "secret",
    "contents": ["echo approved\n", "echo something else\n"],
    "action": "exec",
    "host": "api.example.org",
}
"""What a suite that checks this server is told about it: its table [execution_tokens]."""


def demonstrated(
    effects: RecordedEffects, action: str, url: str | None
) -> Callable[[bytes], dict[str, Any]]:
    """What to run with the content: its hash is recorded in the effects."""

    def run(content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        effects.record(
            words.EXECUTE_TOOL, {"action_type": action, "url": url, "content_sha256": digest}
        )
        return {"content_sha256": digest}

    return run
