"""App credentials: id and secret are exchanged for a token. Knows no page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import APP_TOKEN_SECONDS, AuthType
from .. import http_client
from ..descriptors import App
from .renewing import RenewalRefusedError, RenewingWay
from .sending import NotSentError
from .ways import (
    DialogStep,
    NotAcceptedError,
    TypedWay,
    checked_secret,
    is_visible,
    lifetime,
    members_of,
    needed_setting,
    settings_of,
    text_setting,
)

_REFUSALS = (400, 401, 403)


class AppCredentials(RenewingWay, TypedWay):
    kind = AuthType.APP_CREDENTIAL
    early = 5 * 60 * 1000  # it has to last for the call as well

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        return self.exchange(app, record["appId"], record[words.APP_SECRET])

    def exchange(self, app: App, app_id: str, app_secret: str) -> dict[str, Any]:
        """A token and its end, from the app's token end point."""
        answer = http_client.send(
            "POST",
            needed_setting(app, "tokenEndpoint"),
            {"Content-Type": "application/json", "Accept": "application/json"},
            json.dumps({"appId": app_id, "appSecret": app_secret}).encode(),
        )
        if answer.status in _REFUSALS:
            raise RenewalRefusedError
        members = members_of(answer)
        token = members.get(text_setting(app, "tokenType", "tenantAccessToken"))
        if not 200 <= answer.status < 300 or not is_visible(token):
            raise NotSentError("its token end point gave no token")
        told = settings_of(app).get("expiresIn")
        lasts = lifetime(members.get("expire"), lifetime(told, APP_TOKEN_SECONDS) / 1000)
        return {words.ACCESS_TOKEN: token, words.EXPIRES_AT: self.credentials.now() + lasts}

    def steps(self, app: App) -> Sequence[DialogStep]:  # noqa: ARG002
        return (
            DialogStep("appId", "App ID", secret=False),
            DialogStep("appSecret", "App Secret"),
        )

    def check(self, app: App, step: DialogStep, value: str) -> str:  # noqa: ARG002
        return checked_secret(value, step.label)

    def keep(self, app: App, caller: str, values: Mapping[str, str]) -> None:
        """Exchanged at once: who mistyped is told so while they still look at it."""
        app_id, app_secret = values["appId"], values["appSecret"]
        try:
            fresh = self.exchange(app, app_id, app_secret)
        except RenewalRefusedError:
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
