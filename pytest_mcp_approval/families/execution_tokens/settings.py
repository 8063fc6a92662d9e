"""What the user says of a verifier: `[execution_tokens]` in the settings, read and checked.

Knows the keys and what they may be; nothing of how a verifier is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...config.settings import SettingsError
from ...support.nearest import meant
from . import vocabulary as words
from .token_making import Names

ARGUMENTS = {"token": "token", "content": "content", "action": "action_type", "host": "url"}
APPROVE_ARGUMENTS = {
    "content": "content",
    "action": "action_type",
    "hosts": "allowed_hosts",
    "seconds": "ttl_seconds",
}
CONTENTS = ("echo approved\n", "echo something else\n")
"""For verifiers that are no servers: what they run is ours, and only looks."""


@dataclass(frozen=True)
class Table:
    """The settings of one target."""

    secret: str | None = field(default=None, repr=False)
    secret_environment: str = words.SECRET_VARIABLE
    secret_setting: str = ""
    tool: str = words.EXECUTE_TOOL
    approve_tool: str = words.APPROVE_TOOL
    arguments: Mapping[str, str] = field(default_factory=lambda: ARGUMENTS)
    approve_arguments: Mapping[str, str] = field(default_factory=lambda: APPROVE_ARGUMENTS)
    token_as: str = "object"
    accepted: str = "accepted"
    accepted_exit_codes: tuple[int, ...] = (0,)
    reason: str = "reason"
    names: Names = field(default_factory=Names)
    contents: tuple[str, ...] = ()
    action: str = "exec"
    host: str = "api.example.org"


def read_table(given: Mapping[str, Any], *, is_server: bool) -> Table:
    """`SettingsError` says what is wrong with it, in one line."""
    known = {
        "secret": _any_text,
        "secret-environment": _text,
        "secret-setting": _text,
        "tool": _text,
        "approve-tool": _text,
        "arguments": _renamed(ARGUMENTS),
        "approve-arguments": _renamed(APPROVE_ARGUMENTS),
        "token-as": _one_of("object", "text"),
        "accepted": _text,
        "accepted-exit-codes": _codes,
        "reason": _text,
        "members": _members,
        "contents": _contents,
        "action": _text,
        "host": _text,
    }
    found: dict[str, Any] = {} if is_server else {"contents": CONTENTS}
    for name, value in given.items():
        if name not in known:
            raise SettingsError(
                f"[{words.FAMILY}] got {name!r}, expected one of {', '.join(known)}"
                f"{meant(name, known)}"
            )
        place = "names" if name == "members" else name.replace("-", "_")
        if value is not None:
            found[place] = known[name](name, value)
    return Table(**found)


def _wrong(name: str, expected: str) -> SettingsError:
    return SettingsError(f"[{words.FAMILY}] {name}: expected {expected}")


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(name, "text")
    return value


def _any_text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(name, "text")
    return value


def _one_of(*values: str) -> Any:
    def read(name: str, value: Any) -> str:
        if value not in values:
            raise _wrong(name, " or ".join(values))
        return str(value)

    return read


def _renamed(standard: Mapping[str, str]) -> Any:
    def read(name: str, value: Any) -> dict[str, str]:
        if not isinstance(value, Mapping) or not set(value) <= set(standard):
            raise _wrong(name, f"a table with {', '.join(standard)}")
        return {**standard, **{key: _text(f"{name}.{key}", own) for key, own in value.items()}}

    return read


def _members(name: str, value: Any) -> Names:
    standard = (
        words.TOKEN_ID,
        words.NONCE,
        words.EXPIRES_AT,
        words.SCOPE,
        words.SIGNATURE,
        words.ACTION_TYPE,
        words.ALLOWED_HOSTS,
        words.CONTENT_HASH,
    )
    if not isinstance(value, Mapping) or not set(value) <= set(standard):
        raise _wrong(name, f"a table with {', '.join(standard)}")
    return Names({key: _text(f"{name}.{key}", own) for key, own in value.items()})


def _codes(name: str, value: Any) -> tuple[int, ...]:
    codes = value if isinstance(value, list) else [value]
    if not codes or not all(isinstance(one, int) and 0 <= one <= 255 for one in codes):
        raise _wrong(name, "exit codes from 0 to 255")
    return tuple(codes)


def _contents(name: str, value: Any) -> tuple[str, ...]:
    contents = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in contents) or len(set(contents)) != len(contents):
        raise _wrong(name, "different texts that are safe to execute")
    return tuple(contents)
