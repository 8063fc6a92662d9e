"""Which of a user's settings are secret: values of headers and of the environment, parts of
addresses and commands, and what the families' tables call a secret.

`support.secrets` hides them. A secret in an address or command is recognised only by its name: a
secret path of an address is shown, and so are arguments of a command without a telling name.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ..config.settings import Settings
from ..support.secrets import LEAST_PLAIN, SCHEMES, Secrets

_PLACEHOLDER = re.compile(r"\{[a-z]+\}")
_TELLING = re.compile(
    r"auth|bearer|cookie|credential|jwt|key|pass|pin|pwd|secret|session|sig|token", re.IGNORECASE
)
_SURE = re.compile(
    r"(?:^|[-_])(?:secret|password|passphrase|passwd|pwd|credentials?|api[-_]?key|private[-_]?key|"
    r"authorization|cookie)$",
    re.IGNORECASE,
)
"""In the families' tables `token` is mostly the name of a member, not a token."""
_PAIRS = frozenset({"env", "environment", "header", "headers"})
_ASSIGNMENT = re.compile(r"(?:--?)?(?P<name>[\w.-]+)(?:=|:\s*)(?P<value>\S.*)", re.DOTALL)
_ASSIGNMENT_INSIDE = re.compile(r"(?:--?)?(?P<name>[\w.-]+)[=:](?P<value>[^\s'\"]+)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"]+", re.IGNORECASE)
_LEAST_UNNAMED = 16
"""A value in a table or address with an unclear name counts as a secret from this length on."""


def secrets_of(settings: Settings) -> Secrets:
    """Everything in these settings that must not be shown."""
    sure: list[str] = [*settings.drawn_secrets]
    unsure: list[str] = []
    given = (settings.headers, settings.second_user_headers, settings.environment)
    for name, value in (pair for one in given for pair in one.items()):
        told = _TELLING.search(name) or value.partition(" ")[0].lower() in SCHEMES
        (sure if told else unsure).append(value)
        sure += _in_addresses(value)
    values = (getattr(settings, one.name) for one in fields(settings))
    for text in (
        settings.subject,
        *settings.targets,
        *(one for one in values if isinstance(one, str)),
    ):
        sure += in_text(text)
    sure += _in_table("", settings.family_settings)
    sure += _in_table("", settings.tools)
    return Secrets(sure, unsure)


def secrets_of_options(given: Mapping[str, Any]) -> Secrets:
    """The same for options as they were typed, for the line that says what is wrong with them."""
    sure: list[str] = []
    for name, value in given.items():
        for text in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(text, str):
                sure += in_text(text)
                if name in ("header", "second-user-header", "environment", "set"):
                    _, _, rest = text.partition(":" if name.endswith("header") else "=")
                    sure += [one for one in (rest.strip(" \"'"),) if len(one) >= LEAST_PLAIN]
    return Secrets(sure)


def in_text(text: str) -> Iterator[str]:
    """The secrets in an address, a command line or a text that contains one."""
    text = _PLACEHOLDER.sub("", text)  # in whose place no secret stands
    yield from _in_addresses(text)
    if text.startswith(("http://", "https://")):
        return
    words: list[str] = []
    with contextlib.suppress(ValueError):
        words = shlex.split(text)
    before = ""
    for word in words:
        announced = re.fullmatch(r"--?([A-Za-z][\w-]*)", before)
        if announced and _TELLING.search(announced[1]) and not word.startswith("-"):
            yield word
        pair = _ASSIGNMENT.fullmatch(word)
        if pair is not None and _TELLING.search(pair["name"]):
            yield pair["value"]
        before = word
    for pair in _ASSIGNMENT_INSIDE.finditer(text):
        if _TELLING.search(pair["name"]) and "://" not in pair["value"]:
            yield pair["value"].rstrip(";,&|)")


def _in_addresses(text: str) -> Iterator[str]:
    for address in _ADDRESS.findall(text):
        try:
            parts = urlsplit(address)
            user, password = parts.username, parts.password
        except ValueError:
            continue
        if password:
            yield from (password, unquote(password))
        elif user and len(user) >= LEAST_PLAIN:
            yield from (user, unquote(user))
        for name, value in [*parse_qsl(parts.query), *parse_qsl(parts.fragment)]:
            if _TELLING.search(name) or len(value) >= _LEAST_UNNAMED:
                yield value


def _in_table(name: str, value: Any) -> Iterator[str]:
    """The secrets in a table, at any depth."""
    if isinstance(value, Mapping):
        for key, one in value.items():
            if name.lower() in _PAIRS and isinstance(one, str) and len(one) >= LEAST_PLAIN:
                yield one
            yield from _in_table(str(key), one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _in_table(name, one)
    elif isinstance(value, str):
        long = len(value) >= _LEAST_UNNAMED and any(map(str.isdigit, value))
        if _SURE.search(name) or (long and "://" not in value and _TELLING.search(name)):
            yield value
        yield from in_text(value)
