"""What a suite that checks the reference gateway is told about it: tools that are safe to run, and
where things are. Names in braces are members of what the status tool answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...families.gateway_consent.vocabulary import (
    CREDENTIALS_TOOL,
    EXPORT_TOOL,
    KEY_STORE_TOOL,
    STATUS_TOOL,
)
from .demonstration import CLIENT_ID

_LOOK: Mapping[str, Any] = {"kind": "desktop", "arguments": {}}

SUITE_SETTINGS: Mapping[str, Any] = {
    "status": STATUS_TOOL,
    "export": f"tool:{EXPORT_TOOL}",
    "credentials": f"tool:{CREDENTIALS_TOOL}",
    "key-store": f"tool:{KEY_STORE_TOOL}",
    "files": ["{folder}"],
    "log": "{logFile}",
    "descriptors-setting": "more_apps",
    "storage-setting": "storage",
    "tools": {
        "com.example.calendar:createEvent": {
            "kind": "desktop",
            "arguments": {"title": "A test", "day": "2030-01-31"},
        },
        "com.example.calendar:listEvents": {"kind": "desktop", "arguments": {}},
        "org.example.files:countCharacters": {"kind": "command", "arguments": {"text": "abc"}},
        "org.example.files:deleteAllFiles": {"kind": "command", "arguments": {}},
        "com.example.mail:readInbox": {"kind": "web", "arguments": {}, "own-authorisation": True},
        "com.example.mail:listContacts": {
            "kind": "web",
            "arguments": {},
            "own-authorisation": True,
        },
        "com.x:look": _LOOK,
        "com.x:touch": _LOOK,
        "b-com.x:look": _LOOK,
        "b-com.x:touch": _LOOK,
    },
    "oauth": {
        "authorize": "{demonstrationUrl}/mail/authorize",
        "token": "{demonstrationUrl}/mail/oauth/token",
        "client": CLIENT_ID,
        "redirect": "{pagesUrl}/callback/com.example.mail",
        "scope": "read write",
        "tools": ["readInbox", "listContacts"],
        "resource": "{demonstrationUrl}/mail/tools/readInbox",
        "other-client": "neighbour-gateway",
        "other-redirect": "{demonstrationUrl}/neighbour/callback",
    },
}
