"""Session cookies: all of the required ones or none, to their own domain only. Knows no page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import AuthType
from ..descriptors import App
from . import cookies, domains
from .sending import Sending
from .ways import Asking, DialogStep, NotAcceptedError, OneValueWay, settings_of, text_setting


class Cookies(OneValueWay):
    kind = AuthType.COOKIE

    def sending(self, asking: Asking) -> Sending | None:
        """To another host the request goes without them, as a browser's would."""
        if not self.goes_to(asking.app, asking.url):
            return Sending()
        record = self.load(asking)
        if record is None:
            return None
        return Sending(cookies=cookies.parse(str(record[words.VALUE])))

    def goes_to(self, app: App, url: str) -> bool:
        if domains.origin_of(url) is None:
            return False
        return domains.belongs(urlsplit(url).hostname or "", text_setting(app, "domain"))

    def rejected(self, app: App, caller: str) -> None:
        """A session that has ended cannot be renewed: the person has to log in again."""
        self.credentials.forget(caller, app.id)

    def required(self, app: App) -> list[str]:
        names = settings_of(app).get("requiredCookies", [])
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def steps(self, app: App) -> Sequence[DialogStep]:
        named = ", ".join(self.required(app))
        hint = f"Required: {named}" if named else "As in name=value; other=value"
        return (DialogStep("value", "Cookies", hint),)

    def check(self, app: App, step: DialogStep, value: str) -> str:
        try:
            found = cookies.parse(value)
        except cookies.CookieError as error:
            raise NotAcceptedError(f"{step.label}: {error}.") from None
        self.check_required(app, found)
        return cookies.text_of(found)

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        lacking = cookies.missing(found, self.required(app))
        if lacking:
            raise NotAcceptedError(f"Cookies: these are missing: {', '.join(lacking)}.")
