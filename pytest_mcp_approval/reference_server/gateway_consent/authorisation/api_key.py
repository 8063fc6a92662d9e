"""API keys: asked for once, kept, and sent where the descriptor says. Knows no page."""

from __future__ import annotations

from collections.abc import Sequence

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import AuthType
from ..descriptors import App
from .ways import (
    Asking,
    DialogStep,
    NotSentError,
    Sending,
    TypedWay,
    header_name,
    needed_setting,
    text_setting,
)


class ApiKeys(TypedWay):
    kind = AuthType.API_KEY

    def sending(self, asking: Asking) -> Sending | None:
        record = self.load(asking)
        return None if record is None else self.placed(asking.app, record[words.VALUE])

    def placed(self, app: App, key: str) -> Sending:
        """Location, name and prefix as in the descriptor."""
        name, location = needed_setting(app, "name"), text_setting(app, "location", "header")
        if location == "query":
            return Sending(query={name: key})
        if location != "header":
            raise NotSentError("its descriptor's location is neither header nor query")
        prefix = text_setting(app, "prefix")
        return Sending(headers={header_name(name): f"{prefix} {key}" if prefix else key})

    def steps(self, app: App) -> Sequence[DialogStep]:  # noqa: ARG002
        return (DialogStep(words.VALUE, "API key", "Just the key, as the app shows it"),)
