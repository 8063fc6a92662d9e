"""Credentials in the vault: one record for each caller and app. Nothing else reads them.

Tells the log's redactor about everything that is stored or loaded. Knows the names of records, not
their content.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from ....families.gateway_consent import vocabulary as words
from ...server.clock import Clock
from ..log import redactor, secrets_in
from ..vault import Vault

KIND = "cred"
"""As the document begins the names of credentials in a key store."""
LATELY = 60 * 1000
_STRIPES = 64
_MOST_NOTES = 1000
_NO_SECRETS = (words.TYPE, words.TOKEN_TYPE)
MASKED = "(kept)"


class Credentials:
    """Callers are separate here too: access for one is not access for another."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self._vault = vault
        self._clock = clock
        self._stripes = [threading.RLock() for _ in range(_STRIPES)]
        self._renewals: OrderedDict[tuple[str, str], int] = OrderedDict()

    def load(self, caller: str, app_id: str) -> dict[str, Any] | None:
        record = self._vault.load(KIND, caller, app_id)
        redactor.know(secrets_in(record))
        return record

    def save(self, caller: str, app_id: str, record: dict[str, Any]) -> None:
        redactor.know(secrets_in(record))
        self._vault.save(KIND, record, caller, app_id)

    def forget(self, caller: str, app_id: str) -> None:
        self._vault.delete(KIND, caller, app_id)

    def export(self) -> dict[str, dict[str, Any]]:
        """In which form they are kept, by caller and app. Every text but the few that are no secret
        is masked."""
        exported: dict[str, dict[str, Any]] = {}
        for caller, app_id in sorted(self._vault.keys(KIND)):
            record = self.load(caller, app_id)
            if record is not None:  # forgotten meanwhile
                shown = {name: _shown(name, value) for name, value in record.items()}
                exported.setdefault(caller, {})[app_id] = shown
        return exported

    def alone(self, caller: str, app_id: str) -> threading.RLock:
        """One renewal at a time. A fixed number of locks: callers choose their names freely."""
        return self._stripes[hash((caller, app_id)) % _STRIPES]

    def note_renewal(self, caller: str, app_id: str) -> None:
        """Call inside `alone`. Not in the record, whose members the document lists."""
        self._renewals[caller, app_id] = self.now()
        self._renewals.move_to_end((caller, app_id))
        while len(self._renewals) > _MOST_NOTES:
            self._renewals.popitem(last=False)

    def renewed_lately(self, caller: str, app_id: str) -> bool:
        """Whether a rejected token was a new one: then another would not help."""
        noted = self._renewals.get((caller, app_id))
        return noted is not None and abs(self.now() - noted) < LATELY

    def now(self) -> int:
        """Milliseconds since 1970, like all times stored here."""
        return int(self._clock.now().timestamp() * 1000)


def _shown(name: str, value: Any) -> Any:
    is_open = name in _NO_SECRETS or isinstance(value, (int, float))
    return value if is_open else MASKED
