"""What the user says about a verifier: the table [execution_tokens]. Cannot ask one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...config.reader import Place, Sources, read, setting
from ..base.paths import value_at
from . import vocabulary as words
from .token_making import Names

ARGUMENTS = {"token": "token", "content": "content", "action": "action_type", "host": "url"}
APPROVE_ARGUMENTS = {
    "content": "content",
    "action": "action_type",
    "hosts": "allowed_hosts",
    "seconds": "ttl_seconds",
}
MEMBERS = (
    words.TOKEN_ID,
    words.NONCE,
    words.EXPIRES_AT,
    words.SCOPE,
    words.SIGNATURE,
    words.ACTION_TYPE,
    words.ALLOWED_HOSTS,
    words.CONTENT_HASH,
)
CONTENTS = ["echo approved\n", "echo something else\n"]
"""For verifiers that are not servers: they run our contents, which change nothing."""


def _contents(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in listed) or len(set(listed)) != len(listed):
        raise ValueError("expected different texts that are safe to execute")
    return tuple(listed)


def _exit_codes(value: Any) -> tuple[int, ...]:
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(isinstance(one, int) and 0 <= one <= 255 for one in listed):
        raise ValueError("expected exit codes from 0 to 255")
    return tuple(listed)


@dataclass(frozen=True)
class ExecutionTokensTable:
    secret: str | None = setting(None, secret=True)
    """What tokens are signed with in tests; without it they come from the approving tool."""
    secret_environment: str = setting(words.SECRET_VARIABLE, filled=True)
    """The variable by which a verifier that the suite starts gets the secret."""
    secret_setting: str = setting("", filled=True)
    """The setting of the reference server that takes it, for its own tests."""
    tool: str = setting(words.EXECUTE_TOOL, filled=True)
    """The tool that executes on a token."""
    approve_tool: str = setting(words.APPROVE_TOOL, filled=True)
    """The tool that gives one."""
    arguments: Mapping[str, str] = setting(ARGUMENTS, names=ARGUMENTS, filled=True)
    """What the executing tool calls its arguments."""
    approve_arguments: Mapping[str, str] = setting(
        APPROVE_ARGUMENTS, names=APPROVE_ARGUMENTS, filled=True
    )
    """What the approving tool calls its arguments."""
    token_as: str = setting("object", choices=("object", "text"))
    """Whether the token is an object, or JSON as text."""
    accepted: str = setting("accepted", filled=True)
    """Where an answer says whether the token was accepted."""
    accepted_exit_codes: tuple[int, ...] = setting((0,), parse=_exit_codes)
    """Of a command that accepts."""
    reason: str = setting("reason", filled=True)
    """Where an answer says why not."""
    members: Mapping[str, str] = setting(
        {}, names=dict.fromkeys(MEMBERS), verbatim=True, filled=True
    )
    """What the members of a token are called, if not as in the document."""
    contents: tuple[str, ...] = setting((), parse=_contents)
    """Contents that are safe to execute, again and again; the first two are used most."""
    action: str = setting("exec", filled=True)
    """The action_type of honest tokens."""
    host: str = setting("api.example.org", filled=True)
    """The host of honest tokens."""

    @cached_property
    def names(self) -> Names:
        return Names(self.members)

    def read_answer(self, value: Any) -> tuple[bool, str | None]:
        """Whether an answer is not a refusal, and its reason."""
        reason = value_at(value, self.reason)
        yes = value_at(value, self.accepted) in (True, None)
        return yes, None if reason is None else str(reason)


TABLE_CLASS = ExecutionTokensTable


def read_table(
    given: Mapping[str, Any], sources: Sources | None = None, *, is_server: bool = True
) -> ExecutionTokensTable:
    """`SettingsError` says what is wrong with it, in one line."""
    usual = {} if is_server else {"contents": CONTENTS}
    return read(
        ExecutionTokensTable, {**usual, **given}, Place((words.FAMILY,), sources or Sources())
    )
