"""OAuth flows in progress: what a state stands for, until the browser comes back with it.

Kept in the vault, because the verifier is a secret. A state is accepted once. Knows no HTTP.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field

from ...server.secret_text import digest
from ..log import redactor
from ..vault import Vault
from .credentials import Credentials

KIND = "flow"
FLOW_MILLISECONDS = 10 * 60 * 1000
_MOST = 200


class FlowError(ValueError):
    """What the browser brought back is not accepted; the message is for the person."""


@dataclass(frozen=True)
class Flow:
    """For one caller and app, in one browser."""

    caller: str
    app_id: str
    redirect_uri: str
    tools: tuple[str, ...]
    expires_at: int
    verifier: str = field(repr=False)
    binding: str = field(repr=False)
    """Digest of the cookie that the browser got at the start."""


class Flows:
    def __init__(self, vault: Vault, credentials: Credentials) -> None:
        self._vault = vault
        self._credentials = credentials

    def begin(
        self, caller: str, app_id: str, redirect_uri: str, tools: tuple[str, ...], verifier: str
    ) -> tuple[str, str]:
        """A new state, and the cookie that goes with it."""
        state, cookie = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        redactor.know([state, cookie, verifier])
        expires_at = self._credentials.now() + FLOW_MILLISECONDS
        flow = Flow(caller, app_id, redirect_uri, tools, expires_at, verifier, digest(cookie))
        with self._vault.exclusive():
            self._clear_away()
            self._vault.save(KIND, asdict(flow), digest(state))
        return state, cookie

    def take(self, state: str) -> Flow:
        """The flow of this state, which cannot be used again."""
        with self._vault.exclusive():
            record = self._vault.load(KIND, digest(state))
            self.use_up(state)
        if record is None:
            raise FlowError("This answer belongs to no open request, or came twice.")
        flow = Flow(**{**record, "tools": tuple(record["tools"])})
        self.check_unexpired(flow)
        return flow

    def use_up(self, state: str) -> None:
        self._vault.delete(KIND, digest(state))

    def check_unexpired(self, flow: Flow) -> None:
        if self._credentials.now() >= flow.expires_at:
            raise FlowError("This took too long: start again from the agent.")

    def _clear_away(self) -> None:
        """Flows that are started and never finished must not pile up."""
        found = self._vault.keys(KIND)
        if len(found) < _MOST:
            return
        ages = {key: (self._vault.load(KIND, *key) or {}).get("expires_at", 0) for key in found}
        for key in sorted(ages, key=ages.__getitem__)[: len(found) - _MOST // 2]:
            self._vault.delete(KIND, *key)
