"""Asks a verifier about tokens: an MCP server's tools, a command, or a callable.

    token = approval_execution.token()
    assert approval_execution.execute(token).accepted
    assert approval_execution.execute(token).refused

Knows no verdicts: it asks and reports what came back.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from ...target import Target
from ...target.verifiers import CallableTarget, CommandTarget
from ..base.driver import DriverError, table_of
from .callable_verifier import CallableVerifier
from .command_verifier import CommandVerifier
from .mcp_verifier import McpVerifier
from .outcome import ExecutionOutcome
from .settings import ExecutionTokensTable, read_table
from .token_making import ENDLESS, Signing, canonical, make_token, signed
from .verifier_access import ExecutionRequest, Verifier
from .vocabulary import FAMILY

_WANTS_HOST = "execution tokens need a host"


class RequestedHost(Enum):
    """In place of a host."""

    AS_APPROVED = "as approved"
    """One that the token allows, if the verifier wants to know it."""


class ExecutionTokens:
    """The verifier of one target."""

    def __init__(self, target: Target, verifier: Verifier | None = None) -> None:
        self.target = target
        self.table: ExecutionTokensTable = read_table(
            table_of(target, FAMILY), target.settings.sources, is_server=target.speaks_mcp
        )
        self.verifier: Verifier = verifier or self._open()
        # A command and a callable get the suite's secret, unless the user configured one.
        self.secret: str | None = getattr(self.verifier, "secret", self.table.secret)
        if self.secret is None and target.speaks_mcp:
            variable = self.table.secret_environment
            self.secret = target.settings.environment.get(variable)

    def _open(self) -> Verifier:
        if isinstance(self.target, CommandTarget):
            return CommandVerifier(self.target, self.table)
        if isinstance(self.target, CallableTarget):
            return CallableVerifier(self.target, self.table)
        return McpVerifier(self.target, self.table)

    def over(self, verifier: Verifier, secret: str | None = None) -> ExecutionTokens:
        """The same with another verifier, and another secret if one is given."""
        other = ExecutionTokens(getattr(verifier, "target", self.target), verifier)
        other.secret = self.secret if secret is None else secret
        return other

    # ---- what is safe to do

    @property
    def content(self) -> bytes:
        return self._content(0)

    @property
    def other_content(self) -> bytes:
        return self._content(1)

    def _content(self, number: int) -> bytes:
        if len(self.table.contents) <= number:
            raise DriverError(
                f"needs {number + 1} content(s) that are safe to execute: [{FAMILY}] contents"
            )
        return self.table.contents[number].encode()

    # ---- tokens

    def now(self) -> datetime.datetime:
        return self.target.clock.now()

    def token(
        self,
        *,
        content: bytes | None = None,
        action: str | None = None,
        hosts: list[str] | None = None,
        lives: datetime.timedelta = ENDLESS,
        scope: Mapping[str, Any] | None = None,
        signing: Signing = canonical,
        **changes: Any,
    ) -> dict[str, Any]:
        """A good token; from the arbiter if the secret is not known. `scope` has further members of
        its scope; other keywords replace members before signing (None leaves one out)."""
        content = self.content if content is None else content
        action = self.table.action if action is None else action
        hosts = [self.table.host] if hosts is None else hosts
        if self.secret is None and scope is None and not changes and signing is canonical:
            made = self.verifier.approve(content, action, hosts, lives.total_seconds())
            if made is not None:
                return made
        return make_token(
            self.known_secret(),
            self.table.names,
            content=content,
            action=action,
            hosts=hosts,
            now=self.now(),
            lives=lives,
            more_scope=scope,
            changes=changes,
            signing=signing,
        )

    def signed(self, token: Mapping[str, Any]) -> dict[str, Any]:
        """The same token, signed again as it is now."""
        return signed(token, self.known_secret(), self.table.names)

    def known_secret(self) -> str:
        if self.secret is None:
            raise DriverError(f"needs the secret that tokens are signed with: [{FAMILY}] secret")
        return self.secret

    # ---- asking

    def request(
        self,
        token: Mapping[str, Any] | bytes,
        *,
        content: bytes | None = None,
        action: str | None = None,
        host: str | RequestedHost | None = RequestedHost.AS_APPROVED,
        beside: Mapping[str, Any] | None = None,
    ) -> ExecutionRequest:
        text = token if isinstance(token, bytes) else json.dumps(dict(token)).encode()
        return ExecutionRequest(
            text,
            self.content if content is None else content,
            self.table.action if action is None else action,
            self.approved_host(token) if isinstance(host, RequestedHost) else host,
            beside or {},
        )

    @property
    def names_hosts(self) -> bool:
        """Whether honest requests name a host: if the verifier refuses a good token without one.
        Tried out once for each target."""
        known = self.target.lasting
        if _WANTS_HOST not in known:
            try:
                known[_WANTS_HOST] = self.verifier.takes("host") and (
                    self.execute(self.token(), host=None).refused
                )
            except DriverError:
                return False  # nobody can tell: there is no good token
        return bool(known[_WANTS_HOST])

    def approved_host(self, token: Mapping[str, Any] | bytes) -> str | None:
        """A URL of the usual host if the token allows it, else of the first one that it allows."""
        if not self.names_hosts:
            return None
        scope = None if isinstance(token, bytes) else token.get(self.table.names["scope"])
        hosts = scope.get(self.table.names["allowed_hosts"]) if isinstance(scope, Mapping) else None
        if not isinstance(hosts, list) or self.table.host in hosts:
            return f"https://{self.table.host}/"
        return f"https://{hosts[0]}/" if hosts else None

    def execute(self, token: Mapping[str, Any] | bytes, **more: Any) -> ExecutionOutcome:
        """Ask for what the token was made for, or for something else (content, action, host)."""
        return self.verifier.ask(self.request(token, **more))

    def close(self) -> None:
        self.verifier.close()
