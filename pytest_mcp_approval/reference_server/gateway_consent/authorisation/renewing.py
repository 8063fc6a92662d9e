"""A bearer token that is renewed automatically before it expires.

Of several calls at once one renews, and the others use its token. Each way in knows where a new
token comes from. Knows no page.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from ....families.gateway_consent import vocabulary as words
from .. import http_client
from ..descriptors import App
from ..log import logger
from .ways import Asking, Sending, WayIn


class RenewalRefusedError(Exception):
    """The app issues no new token for the stored one."""


class RenewingWay(WayIn):
    early: ClassVar[int]
    """A token is renewed this many milliseconds before it expires."""

    @abstractmethod
    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        """The members of a new token; `RenewalRefusedError` if the app gives none."""

    def serves(self, record: Mapping[str, Any], asking: Asking) -> bool:  # noqa: ARG002
        """Whether the token is good for what is asked."""
        return True

    def sending(self, asking: Asking) -> Sending | None:
        record = self.load(asking)
        if record is None or not self.serves(record, asking):
            return None
        if self.is_due(record):
            record = self.renewed(asking)
        if record is None:
            return None
        return Sending(headers={"Authorization": f"Bearer {record[words.ACCESS_TOKEN]}"})

    def is_due(self, record: Mapping[str, Any]) -> bool:
        return bool(self.credentials.now() >= record[words.EXPIRES_AT] - self.early)

    def is_over(self, record: Mapping[str, Any]) -> bool:
        return bool(self.credentials.now() >= record[words.EXPIRES_AT])

    def renewed(self, asking: Asking) -> dict[str, Any] | None:
        """The record with a new token; None if a person must be asked again."""
        app, caller = asking.app, asking.caller
        with self.credentials.alone(caller, app.id):
            record = self.load(asking)
            if record is None or not self.is_due(record):  # another call was quicker
                return record
            try:
                fresh = self.fresh(app, record)
            except RenewalRefusedError:
                return self.after_refusal(asking, record)
            except http_client.SendingError:
                if self.is_over(record):
                    raise
                return record
            record |= fresh
            self.credentials.save(caller, app.id, record)
            self.credentials.note_renewal(caller, app.id)
            return record

    def after_refusal(self, asking: Asking, record: dict[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """The stored record is worthless."""
        logger.info("an app refused to renew a token: a person is asked again")
        self.credentials.forget(asking.caller, asking.app.id)
        return None

    def rejected(self, app: App, caller: str) -> None:
        """The token counts as expired now, unless it is new: then another would not help."""
        with self.credentials.alone(caller, app.id):
            record = self.credentials.load(caller, app.id)
            if record is None:
                return
            if self.credentials.renewed_lately(caller, app.id):
                self.credentials.forget(caller, app.id)
                return
            self.credentials.save(caller, app.id, {**record, words.EXPIRES_AT: 0})
