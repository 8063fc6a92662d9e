"""What a user told the suite in confidence, and keeping it out of everything that is written.

Header values, passwords and tokens in a target's address or command, and values of its environment
are looked for wherever they might come back: a server may echo what it was sent. Knows no format.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

HIDDEN = "<hidden>"
_LEAST = 4
_LEAST_PLAIN = 8
"""Shorter ones are not looked for in text: hiding every "a" would hide the report. A value whose
name does not tell that it is one has to be longer."""
_TELLING = re.compile(
    r"auth|cookie|credential|key|pass|pin|secret|session|sig|token", re.IGNORECASE
)
_ASSIGNMENT = re.compile(r"(?:--?)?(?P<name>[\w.-]+)[=:](?P<value>[^\s'\"]+)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"]+")
_WORDS_AFTER = re.compile(r"--?(?P<name>[\w-]+)\s+(?P<value>[^\s'\"-][^\s'\"]*)")


class Secrets:
    """The values that must not be shown."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        found: set[str] = set()
        for value in values:
            found.update(_spellings(value))
        # The longest first, so that no part of a value is left standing.
        self._texts = sorted((one for one in found if len(one) >= _LEAST), key=len, reverse=True)
        self._bytes = [one.encode("utf-8", "surrogatepass") for one in self._texts]

    def __bool__(self) -> bool:
        return bool(self._texts)

    @classmethod
    def of(
        cls,
        headers: Mapping[str, str],
        commands: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Secrets:
        """Those of a run's settings; `commands` are addresses and command lines."""
        values = [
            value
            for name, value in [*headers.items(), *(environment or {}).items()]
            if _TELLING.search(name) or len(value) >= _LEAST_PLAIN
        ]
        for command in commands:
            values += _in_command(command)
        return cls(values)

    def hide(self, text: str) -> str:
        for secret in self._texts:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        return text

    def hide_bytes(self, data: bytes, *, cut: bool = False) -> bytes:
        """`cut`: the data goes on, so that its end may be the beginning of a secret."""
        for secret in self._bytes:
            if secret in data:
                data = data.replace(secret, HIDDEN.encode())
            if cut:
                data = _without_beginning(data, secret)
        return data

    def hide_all(self, value: Any) -> Any:
        """The same for every text in a JSON value."""
        if not self._texts:
            return value
        if isinstance(value, str):
            return self.hide(value)
        if isinstance(value, Mapping):
            return {key: self.hide_all(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.hide_all(one) for one in value]
        return value


def _without_beginning(data: bytes, secret: bytes) -> bytes:
    for length in range(min(len(secret) - 1, len(data)), _LEAST - 1, -1):
        if data.endswith(secret[:length]):
            return data[:-length] + HIDDEN.encode()
    return data


def _spellings(value: str) -> set[str]:
    """A value as it may stand in a message: alone, without its scheme, in JSON, in an address."""
    bare = {value.strip()}
    scheme, space, rest = value.strip().partition(" ")
    if space:
        bare.add(rest.strip())
        if scheme.lower() == "basic":
            bare |= _basic(rest.strip())
    spelled = set(bare)
    for one in bare:
        spelled.add(json.dumps(one)[1:-1])
        spelled.add(json.dumps(one, ensure_ascii=False)[1:-1])
        spelled.add(quote(one, safe=""))
    return spelled


def _basic(token: str) -> set[str]:
    """User and password of basic authentication."""
    try:
        user, colon, password = base64.b64decode(token).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return set()
    return {f"{user}:{password}", password} if colon else set()


def _in_command(command: str) -> list[str]:
    if command.startswith(("http://", "https://")):
        return _in_address(command)
    pairs = [*_ASSIGNMENT.finditer(command), *_WORDS_AFTER.finditer(command)]
    found = [pair["value"] for pair in pairs if _TELLING.search(pair["name"])]
    for address in _ADDRESS.findall(command):
        found += _in_address(address)
    return found


def _in_address(address: str) -> list[str]:
    try:
        parts = urlsplit(address)
        password = parts.password
    except ValueError:
        return []
    found = [password, unquote(password)] if password else []
    for name, value in parse_qsl(parts.query):
        if _TELLING.search(name):
            found += [value, quote(value, safe="")]
    return found
