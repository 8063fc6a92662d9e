"""A bearer token that is renewed by itself before it ends.

Of several calls at once one renews, and the others use what it got. Where a new token comes from is
the way's own affair. Knows no page.
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
    """The app gives no token for what is kept."""


class RenewingWay(WayIn):
    early: ClassVar[int]
    """A token is renewed so many milliseconds before its end."""

    @abstractmethod
    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        """The members of a new token; `RenewalRefusedError` where the app gives none."""

    def serves(self, record: Mapping[str, Any], asking: Asking) -> bool:  # noqa: ARG002
        """Whether the token is for what it is sought for."""
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
        """With a new token; None where a person has to be asked again."""
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
        """Nothing of what is kept is good any more."""
        logger.info("an app refused to renew a token: a person is asked again")
        self.credentials.forget(asking.caller, asking.app.id)
        return None

    def rejected(self, app: App, caller: str) -> None:
        """The token ends now; if it is a new one, another would be no better."""
        with self.credentials.alone(caller, app.id):
            record = self.credentials.load(caller, app.id)
            if record is None:
                return
            if self.credentials.renewed_lately(caller, app.id):
                self.credentials.forget(caller, app.id)
                return
            self.credentials.save(caller, app.id, {**record, words.EXPIRES_AT: 0})
