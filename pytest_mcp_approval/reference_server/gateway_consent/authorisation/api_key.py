"""API keys: asked for once, kept, and sent where the descriptor says. Knows no page."""

from __future__ import annotations

from collections.abc import Sequence

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import AuthType
from ..descriptors import App
from .sending import NotSentError, Sending
from .ways import (
    Asking,
    DialogStep,
    OneValueWay,
    checked_secret,
    header_name,
    needed_setting,
    text_setting,
)


class ApiKeys(OneValueWay):
    kind = AuthType.API_KEY

    def sending(self, asking: Asking) -> Sending | None:
        record = self.load(asking)
        if record is None:
            return None
        return self.placed(asking.app, str(record[words.VALUE]))

    def placed(self, app: App, key: str) -> Sending:
        """Location, name and prefix as the descriptor has them."""
        name, location = needed_setting(app, "name"), text_setting(app, "location", "header")
        if location == "query":
            return Sending(query={name: key})
        if location != "header":
            raise NotSentError("its descriptor's location is neither header nor query")
        prefix = text_setting(app, "prefix")
        return Sending(headers={header_name(name): f"{prefix} {key}" if prefix else key})

    def rejected(self, app: App, caller: str) -> None:
        """A key does not expire: one that is not taken was revoked."""
        self.credentials.forget(caller, app.id)

    def steps(self, app: App) -> Sequence[DialogStep]:  # noqa: ARG002
        return (DialogStep("value", "API key", "Just the key, as the app shows it"),)

    def check(self, app: App, step: DialogStep, value: str) -> str:  # noqa: ARG002
        return checked_secret(value, step.label)
