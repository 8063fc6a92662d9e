"""How a target is named: reference, http(s)://..., stdio:<command>, python:<module>:<factory>.

`reference` can say how it is reached and what it remembers in, for trying things out:
`reference:http+sqlite`. Knows nothing of what is behind a name.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from ..settings import PREFIX, SettingsError

Kind = Literal["reference", "http", "stdio", "python"]
REFERENCE_TRANSPORTS = ("in-process", "http", "stdio")
REFERENCE_STORES = ("memory", "sqlite")


@dataclass(frozen=True)
class TargetSpec:
    """A target as it was named."""

    text: str
    kind: Kind
    url: str = ""
    command: tuple[str, ...] = ()
    module: str = ""
    factory: str = ""
    transport: str = "in-process"
    store: str = "memory"


def parse_target(text: str) -> TargetSpec:
    """Read a target's name; `SettingsError` says what the grammar is."""
    if text == "reference" or text.startswith("reference:"):
        return _reference(text)
    if text.startswith(("http://", "https://")):
        return _http(text)
    if text.startswith("stdio:"):
        return _stdio(text)
    if text.startswith("python:"):
        return _python(text)
    raise SettingsError(
        f"{PREFIX}target: got {text!r}, expected reference, http(s)://..., "
        "stdio:<command line> or python:<module>:<factory>"
    )


def _reference(text: str) -> TargetSpec:
    _, _, rest = text.partition(":")
    words = rest.split("+") if rest else []
    transport, store = "in-process", "memory"
    for word in words:
        if word in REFERENCE_TRANSPORTS:
            transport = word
        elif word in REFERENCE_STORES:
            store = word
        else:
            known = ", ".join((*REFERENCE_TRANSPORTS, *REFERENCE_STORES))
            raise SettingsError(f"{PREFIX}target: got {word!r} in {text!r}, expected {known}")
    return TargetSpec(text, "reference", transport=transport, store=store)


def _http(text: str) -> TargetSpec:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise SettingsError(f"{PREFIX}target: got {text!r}, expected a URL with a host")
    return TargetSpec(text, "http", url=text)


def _stdio(text: str) -> TargetSpec:
    try:
        command = tuple(shlex.split(text.removeprefix("stdio:")))
    except ValueError as error:
        raise SettingsError(f"{PREFIX}target: cannot read {text!r}: {error}") from None
    if not command:
        raise SettingsError(f"{PREFIX}target: got {text!r}, expected stdio:<command line>")
    return TargetSpec(text, "stdio", command=command)


def _python(text: str) -> TargetSpec:
    module, _, factory = text.removeprefix("python:").partition(":")
    if not module or not factory.isidentifier():
        raise SettingsError(f"{PREFIX}target: got {text!r}, expected python:<module>:<factory>")
    return TargetSpec(text, "python", module=module, factory=factory)
