"""What a suite that checks this server is told of it, in the form of its table [execution_tokens].

Nothing here is dangerous: what is executed leaves a trace and does nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SUITE_SETTINGS: Mapping[str, Any] = {
    # A token as text keeps its bytes: some of its numbers would not pass a strict door.
    "token-as": "text",
    "secret-setting": "secret",
    "contents": ["echo approved\n", "echo something else\n"],
    "action": "exec",
    "host": "api.example.org",
}
