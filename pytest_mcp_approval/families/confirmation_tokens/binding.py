"""The binding: how a target expresses what the document says, by the user's table.

For what a table cannot say there is a hook, `hook = "module:Class"`: a subclass of
`ConfirmationBinding` that replaces one or more of its methods.

    class Ours(ConfirmationBinding):
        def read(self, reply):              # an answer of ours, as the suite understands it
            ...

Knows requests, answers and places to look at; no rule and no verdict.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...config.settings import SettingsError
from ...config.user_code import hook_class
from ...support.command import CommandError, run_command
from ...target import Target, TargetError, open_target
from ...wire import Reply
from ..base import probes as places
from ..base.driver import DriverError, table_of
from ..base.paths import put_at, value_at
from . import vocabulary as words
from .outcome import ConfirmationAnswer, Instant, read_answer, read_instant
from .settings import FAMILY, VARIANTS, ConfirmationTokensTable, read_table
from .vocabulary import TokenType


class ConfirmationBinding:
    """How one target is spoken to."""

    def __init__(self, target: Target, table: ConfirmationTokensTable) -> None:
        self.target = target
        self.table = table

    # ---- requests

    def call_params(
        self,
        operation: str,
        params: Mapping[str, Any],
        token: Any = None,
        kind: TokenType = TokenType.CONFIRMATION,
        *,
        tool: str | None = None,
    ) -> dict[str, Any]:
        """The params of the tools/call; without a token it is a first call."""
        table = self.table
        call: dict[str, Any] = {"name": table.tool if tool is None else tool, "arguments": {}}
        put_at(call, table.params_at, dict(params))
        put_at(call, table.operation_at, operation)
        if token is not None:
            place = table.quota_token_at if kind is TokenType.QUOTA else table.token_at
            put_at(call, place, token)
        return call

    def introspection_params(self, query: str, token: Any) -> dict[str, Any]:
        own = self.table.introspection
        call = self.call_params(own["operation"], {})
        put_at(call, own["query_at"], query)
        put_at(call, own["token_at"], token)
        return call

    # ---- answers

    def read(self, reply: Reply) -> ConfirmationAnswer:
        return read_answer(reply, self.table.answer, self.table.fields, self.table.codes)

    def instant(self, value: Any) -> Instant:
        return read_instant(value, self.table.times)

    def state(self, answer: ConfirmationAnswer) -> Any:
        """What introspection says about a token's state, in the target's own words."""
        return value_at(answer.body, self.table.introspection["state_at"])

    def params_hash(self, answer: ConfirmationAnswer) -> Any:
        return value_at(answer.body, self.table.introspection["params_hash_at"])

    # ---- beyond the wire

    def audit_entries(self) -> list[Any]:
        return places.entries(self.target, self.table.probes["audit"])

    def log_text(self) -> str:
        return places.text(self.target, self.table.probes["log"])

    def store_text(self) -> str:
        """The content of the store, as text to search for tokens."""
        return places.text(self.target, self.table.probes["store"])

    def plant(self, operation: str, params: Mapping[str, Any]) -> str:
        """Put a record without expiry into the store, for this call; returns its token."""
        how = self.table.plant
        call = {"operation": operation, "params": dict(params)}
        if how.startswith("tool:"):
            given = places.call_tool(self.target, how.removeprefix("tool:"), call)
            token = given.get("token") if isinstance(given, dict) else given
        else:
            try:
                done = run_command(
                    how,
                    given=json.dumps(call).encode(),
                    directory=self.target.settings.directory,
                    seconds=max(30.0, self.target.settings.timeout),
                ).check()
            except CommandError as error:
                raise DriverError(f"plant: {error}") from None
            token = done.output.decode("utf-8", "replace").strip()
        if not isinstance(token, str) or not token:
            raise DriverError(f"plant: got {token!r}, expected the planted token")
        return token

    def variant(self, what: str, value: Any) -> Target | None:
        """The target, started with one setting changed; None if that cannot be configured."""
        text = self.table.variants.get(what)
        if text is None:
            # The reference server has a lifetime for each level, and names its styles.
            own = {"ttl": dict.fromkeys(words.DEFAULT_TTL, value), "signed": "signed"}
            return self.target.variant(FAMILY, VARIANTS[what], own.get(what, value))
        settings = self.target.settings
        written = value if isinstance(value, str) else json.dumps(value)
        named = text.replace("{value}", written)
        probes = {n: place.replace("{value}", written) for n, place in self.table.probes.items()}
        table = {**settings.family_settings.get(FAMILY, {}), **probes}
        try:
            return open_target(
                named,
                replace(
                    settings,
                    targets=(named,),
                    family_settings={**settings.family_settings, FAMILY: table},
                ),
            )
        except SettingsError as error:
            raise TargetError(f"variants.{what}: {error}") from None

    def can_vary(self, what: str) -> bool:
        return what in self.table.variants or FAMILY in self.target.known_settings


def binding_of(target: Target) -> ConfirmationBinding:
    """The binding of a target; `SettingsError` if its table is wrong."""
    table = read_table(table_of(target, FAMILY), target.settings.sources)
    place, directory = f"[{FAMILY}] hook", target.settings.directory
    return hook_class(place, table.hook, directory, ConfirmationBinding)(target, table)
