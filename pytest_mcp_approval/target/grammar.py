"""How a target is named: reference, http(s)://..., stdio:<command>, python:<module>:<factory>;
or, for targets that are not servers, command:<command> and verifier:<module>:<callable>.

`reference` can include a transport and a store, for trying things out: `reference:http+sqlite`. A
server that the suite starts can have `{port}` and `{state}` in its URL and command. Does not know
what is behind a name.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from ..config.settings import PREFIX, Settings, SettingsError

Kind = Literal["reference", "http", "stdio", "python", "command", "verifier"]
REFERENCE_TRANSPORTS = ("in-process", "http", "stdio")
REFERENCE_STORES = ("memory", "sqlite")
PORT = "{port}"
STATE = "{state}"


@dataclass(frozen=True)
class TargetSpec:
    """A target as it was named."""

    text: str = field(repr=False)
    kind: Kind
    url: str = field(default="", repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)
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
    if text.startswith(("stdio:", "command:")):
        return _command(text)
    if text.startswith(("python:", "verifier:")):
        return _python(text)
    raise SettingsError(
        f"{PREFIX}target: got {text!r}, expected reference, http(s)://..., "
        "stdio:<command line>, python:<module>:<factory>, or for a verifier that is no server "
        "command:<command line> or verifier:<module>:<callable>"
    )


def check_launch(settings: Settings, *, workers: bool) -> None:
    """Check that the launch settings fit the target; `workers`: several processes use it at
    once."""
    target = settings.targets[0]
    if settings.launch is None:
        if PORT in target and parse_target(target).kind == "http":
            raise SettingsError(
                f"{PREFIX}target: got {target!r}, and {PORT} needs {PREFIX}launch=<command>"
            )
        return
    if parse_target(target).kind != "http":
        raise SettingsError(
            f"{PREFIX}launch: got {PREFIX}target={target}, expected the http(s) URL that the "
            "command serves"
        )
    values = [settings.launch, *settings.environment.values()]
    if PORT in target and not any(PORT in value for value in values):
        raise SettingsError(
            f"{PREFIX}launch: got {PORT} in the URL only, expected it in the command (or in "
            f"{PREFIX}environment) too, so that the server listens there"
        )
    if workers and PORT not in target:
        raise SettingsError(
            f"{PREFIX}launch: with pytest-xdist each worker starts a server of its own: write "
            f"{PORT} in the command and in the URL, or run with -n 0"
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
        parts = urlsplit(text.replace(PORT, "1"))
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        raise SettingsError(f"{PREFIX}target: got {text!r}, expected a URL with a host")
    return TargetSpec(text, "http", url=text)


def _command(text: str) -> TargetSpec:
    kind: Kind = "stdio" if text.startswith("stdio:") else "command"
    try:
        command = tuple(shlex.split(text.removeprefix(f"{kind}:")))
    except ValueError as error:
        raise SettingsError(f"{PREFIX}target: cannot read {text!r}: {error}") from None
    if not command:
        raise SettingsError(f"{PREFIX}target: got {text!r}, expected {kind}:<command line>")
    return TargetSpec(text, kind, command=command)


def _python(text: str) -> TargetSpec:
    kind: Kind = "python" if text.startswith("python:") else "verifier"
    module, _, factory = text.removeprefix(f"{kind}:").partition(":")
    if not module or not factory.isidentifier():
        what = "factory" if kind == "python" else "callable"
        raise SettingsError(f"{PREFIX}target: got {text!r}, expected {kind}:<module>:<{what}>")
    return TargetSpec(text, kind, module=module, factory=factory)
