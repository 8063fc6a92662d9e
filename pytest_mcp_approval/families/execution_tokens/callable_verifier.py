"""A verifier that is a callable in this process: `verify(token, content, action, host)`.

A true result means yes; a false one or an exception means no. If it takes `secret` (bytes) or
`nonce_log` (a folder), it gets them; the secret is also in the environment.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ...target import TargetError
from ...target.verifiers import CallableTarget
from .outcome import ExecutionOutcome
from .settings import ExecutionTokensTable
from .verifier_access import ExecutionRequest, Verifier, VerifierError, at_once


class CallableVerifier(Verifier):
    in_this_process = True

    def __init__(
        self,
        target: CallableTarget,
        table: ExecutionTokensTable,
        *,
        secret: str | None = None,
        nonce_log: Path | None = None,
    ) -> None:
        self.target = target
        self.table = table
        # One for the whole run: a module may read it only once.
        of_the_run = target.remembered.setdefault("secret", secrets.token_hex(32))
        self.secret: str | None = secret or table.secret or of_the_run
        self._nonce_log = nonce_log or Path(tempfile.mkdtemp(dir=target.folder))
        # Each scenario begins with a verifier that has seen nothing: it may keep nonces in memory.
        # Its folder is new anyway.
        self._fresh = False

    def ask(self, request: ExecutionRequest) -> ExecutionOutcome:
        with self._environment():
            return self._call(request)

    def ask_at_once(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        with self._environment():
            asking = [partial(self._call, one) for one in requests]
            return at_once(self.target.settings.timeout, asking)

    def another(self) -> Verifier | None:
        """Its module, imported once more, as another process would do."""
        made = CallableVerifier(
            self.target, self.table, secret=self.secret, nonce_log=self._nonce_log
        )
        made.restart()
        return made

    def restart(self, *, kill: bool = False) -> None:
        if kill:
            raise VerifierError("a callable has no process of its own that could be killed")
        self.target.restart()

    def with_secret(self, secret: str | None) -> Verifier | None:
        made = CallableVerifier(self.target, self.table)
        made.secret = secret
        made._fresh = True
        return made

    @contextlib.contextmanager
    def _environment(self) -> Iterator[None]:
        """The secret in the environment, as for commands, so that a module that reads it on import
        gets the right one."""
        name = self.table.secret_environment
        before = os.environ.get(name)
        _set(name, self.secret)
        if self._fresh:
            self.target.restart()
        try:
            yield
        finally:
            _set(name, before)
            if self._fresh:
                self.target.restart()

    def _call(self, request: ExecutionRequest) -> ExecutionOutcome:
        try:
            verify = self.target.callable
            more = self._more(verify)
            found = verify(request.token, request.content, request.action, request.host, **more)
        except TargetError as error:
            if self._fresh:
                return ExecutionOutcome(accepted=False, text=str(error), started=False)
            raise
        except Exception as error:
            reason = getattr(error, "reason", None)
            return ExecutionOutcome(
                accepted=False,
                text=f"{type(error).__name__}: {error}",
                reason=str(reason) if reason is not None else None,
            )
        return ExecutionOutcome(accepted=bool(found), text=repr(found))

    def _more(self, verify: Any) -> dict[str, Any]:
        try:
            takes = inspect.signature(verify).parameters
        except (TypeError, ValueError):
            return {}
        secret = None if self.secret is None else self.secret.encode()
        offered = {"secret": secret, "nonce_log": self._nonce_log}
        return {name: value for name, value in offered.items() if name in takes}


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
