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
from .ways import (
    DialogStep,
    NotAcceptedError,
    NotSentError,
    TypedWay,
    is_visible,
    lifetime,
    members_of,
    needed_setting,
    settings_of,
    text_setting,
)

_APP_ID = "appId"
_REFUSALS = (400, 401, 403)


class AppCredentials(RenewingWay, TypedWay):
    kind = AuthType.APP_CREDENTIAL
    early = 5 * 60 * 1000  # it must also last for the call

    def fresh(self, app: App, record: Mapping[str, Any]) -> dict[str, Any]:
        """A token and its expiry, from the app's token endpoint."""
        told = {name: record[name] for name in (_APP_ID, words.APP_SECRET)}
        answer = http_client.send(
            "POST",
            needed_setting(app, "tokenEndpoint"),
            {"Content-Type": "application/json", "Accept": "application/json"},
            json.dumps(told).encode(),
        )
        if answer.status in _REFUSALS:
            raise RenewalRefusedError
        members = members_of(answer.body)
        token = members.get(text_setting(app, "tokenType", "tenantAccessToken"))
        if not 200 <= answer.status < 300 or not is_visible(token):
            raise NotSentError("its token endpoint gave no token")
        usual = lifetime(settings_of(app).get("expiresIn"), APP_TOKEN_SECONDS) / 1000
        lasts = lifetime(members.get("expire"), usual)
        return {words.ACCESS_TOKEN: token, words.EXPIRES_AT: self.credentials.now() + lasts}

    def steps(self, app: App) -> Sequence[DialogStep]:  # noqa: ARG002
        return (
            DialogStep(_APP_ID, "App ID", secret=False),
            DialogStep(words.APP_SECRET, "App Secret"),
        )

    def members(self, app: App, values: Mapping[str, str]) -> Mapping[str, Any]:
        """Exchanged at once, so that a person learns of a typing error while the page is open."""
        try:
            return {**values, **self.fresh(app, values)}
        except RenewalRefusedError:
            raise NotAcceptedError("The app does not know this App ID and App Secret.") from None
        except http_client.SendingError:
            raise NotAcceptedError("The app could not be asked: try again later.") from None
