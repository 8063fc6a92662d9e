"""App credentials: id and secret are exchanged for a token, which is renewed before it ends.

Of several calls at once one renews, and the others use what it got. Knows no page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import APP_TOKEN_SECONDS, AuthType
from .. import http_client
from ..descriptors import App
from ..log import logger
from .sending import NotSentError, Sending
from .ways import (
    Asking,
    NotAcceptedError,
    Step,
    TypedWay,
    checked_secret,
    is_visible,
    lifetime,
    members_of,
    needed_setting,
    settings_of,
    text_setting,
)

EARLY = 5 * 60 * 1000
"""A token is renewed so many milliseconds before its end: it has to last for the call as well."""

_REFUSALS = (400, 401, 403)


class RefusedError(Exception):
    """The app does not know these credentials."""


class AppCredentials(TypedWay):
    kind = AuthType.APP_CREDENTIAL

    def sending(self, asking: Asking) -> Sending | None:
        record = self.load(asking)
        if record is None:
            return None
        if self.is_due(record):
            record = self.renewed(asking)
        if record is None:
            return None
        return Sending(headers={"Authorization": f"Bearer {record[words.ACCESS_TOKEN]}"})

    def is_due(self, record: Mapping[str, Any]) -> bool:
        return bool(self.credentials.now() >= record[words.EXPIRES_AT] - EARLY)

    def is_over(self, record: Mapping[str, Any]) -> bool:
        return bool(self.credentials.now() >= record[words.EXPIRES_AT])

    def renewed(self, asking: Asking) -> dict[str, Any] | None:
        """With a new token; None where the app does not know the credentials any more."""
        app, caller = asking.app, asking.caller
        with self.credentials.alone(caller, app.id):
            record = self.load(asking)
            if record is None or not self.is_due(record):  # another call was quicker
                return record
            try:
                fresh = self.exchange(app, record["appId"], record[words.APP_SECRET])
            except RefusedError:
                logger.info("an app does not know its app credentials any more")
                self.credentials.forget(caller, app.id)
                return None
            except http_client.SendingError:
                if self.is_over(record):
                    raise
                return record
            record |= fresh
            self.credentials.save(caller, app.id, record)
            self.credentials.note_renewal(caller, app.id)
            return record

    def exchange(self, app: App, app_id: str, app_secret: str) -> dict[str, Any]:
        """A token and its end, from the app's token end point."""
        answer = http_client.send(
            "POST",
            needed_setting(app, "tokenEndpoint"),
            {"Content-Type": "application/json", "Accept": "application/json"},
            json.dumps({"appId": app_id, "appSecret": app_secret}).encode(),
        )
        if answer.status in _REFUSALS:
            raise RefusedError
        members = members_of(answer)
        token = members.get(text_setting(app, "tokenType", "tenantAccessToken"))
        if not 200 <= answer.status < 300 or not is_visible(token):
            raise NotSentError("its token end point gave no token")
        told = settings_of(app).get("expiresIn")
        lasts = lifetime(members.get("expire"), lifetime(told, APP_TOKEN_SECONDS) / 1000)
        return {words.ACCESS_TOKEN: token, words.EXPIRES_AT: self.credentials.now() + lasts}

    def rejected(self, app: App, caller: str) -> None:
        """The token ends now; if it was renewed just before, it is the credentials."""
        with self.credentials.alone(caller, app.id):
            record = self.credentials.load(caller, app.id)
            if record is None:
                return
            if self.credentials.renewed_lately(caller, app.id):
                self.credentials.forget(caller, app.id)
                return
            self.credentials.save(caller, app.id, {**record, words.EXPIRES_AT: 0})

    def steps(self, app: App) -> Sequence[Step]:  # noqa: ARG002
        return (
            Step("appId", "App ID", secret=False),
            Step("appSecret", "App Secret"),
        )

    def check(self, app: App, step: Step, value: str) -> str:  # noqa: ARG002
        return checked_secret(value, step.label)

    def keep(self, app: App, caller: str, values: Mapping[str, str]) -> None:
        """Exchanged at once: who mistyped is told so while they still look at it."""
        app_id, app_secret = values["appId"], values["appSecret"]
        try:
            fresh = self.exchange(app, app_id, app_secret)
        except RefusedError:
            raise NotAcceptedError("The app does not know this App ID and App Secret.") from None
        except http_client.SendingError:
            raise NotAcceptedError("The app could not be asked: try again later.") from None
        record = {
            words.TYPE: self.kind.value,
            "appId": app_id,
            words.APP_SECRET: app_secret,
            **fresh,
            words.CREATED_AT: self.credentials.now(),
        }
        self.credentials.save(caller, app.id, record)
