"""The gateway's log: one logger, and nothing secret in it for any handler.

Every module of the gateway logs here, because a filter sees only records of its own logger. It
masks known secrets, and whatever is in a place where credentials usually are. Knows no consent:
decisions are not logged at all, since a log is on disk in clear text.
"""

from __future__ import annotations

import logging
import re
import threading
import traceback
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, quote_plus

NAME = "pytest_mcp_approval.reference_server.gateway_consent"
MASK = "[secret]"
_SHORTEST = 6
"""Shorter ones would mask ordinary words."""
_MOST = 2000

# Places that show a credential: authorisation schemes, cookies, members and parameters with such
# names.
_PLACES = (
    re.compile(r"(?i)\b(Bearer|Basic)\s+[^\s\"',;]+"),
    re.compile(r"(?i)\b((?:set-)?cookie\s*[:=]\s*)[^\r\n]+"),
    re.compile(
        r"(?i)((?:access|refresh|tenant)?_?(?:access)?_?(?:token|secret|password|verifier|api_?key|"
        r"csrf)[\"']?\s*[:=]\s*[\"']?)[^\s\"'&;,}]+"
    ),
    re.compile(r"(?i)([?&](?:code|state|key)=)[^\s\"'&;,}]+"),
)


class Redactor(logging.Filter):
    """Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._secrets: dict[str, None] = {}

    def know(self, secrets: Iterable[str]) -> None:
        """Mask these from now on, as they are and as URLs encode them."""
        with self._lock:
            for secret in secrets:
                if len(secret) < _SHORTEST:
                    continue
                for form in (secret, quote(secret, safe=""), quote_plus(secret)):
                    self._secrets.pop(form, None)
                    self._secrets[form] = None
            while len(self._secrets) > _MOST:
                del self._secrets[next(iter(self._secrets))]

    def redact(self, text: str) -> str:
        with self._lock:
            known = sorted(self._secrets, key=len, reverse=True)
        for secret in known:
            text = text.replace(secret, MASK)
        for place in _PLACES:
            text = place.sub(lambda found: _kept(found) + MASK, text)
        return text

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record's secrets, for every handler."""
        record.msg = self.redact(record.getMessage())
        record.args = None
        if record.exc_info:
            record.exc_text = self.redact("".join(traceback.format_exception(*record.exc_info)))
            record.exc_info = None
        return True


def _kept(found: re.Match[str]) -> str:
    """The text before the credential."""
    kept = found.group(1)
    return kept if kept[-1:] in "=: \"'" else f"{kept} "


redactor = Redactor()
logger = logging.getLogger(NAME)
if not any(isinstance(one, Redactor) for one in logger.filters):
    logger.addFilter(redactor)


def secrets_in(record: Any) -> list[str]:
    """Every text in a record of credentials, except its type."""
    if isinstance(record, str):
        return [record]
    if isinstance(record, dict):
        members = (value for name, value in record.items() if name not in ("type", "tokenType"))
        return [text for value in members for text in secrets_in(value)]
    if isinstance(record, list):
        return [text for value in record for text in secrets_in(value)]
    return []
