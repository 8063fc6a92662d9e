"""Session cookies: all of the required ones or none, to their own domain only.

A person pastes them as `name=value; other=value`. That is read strictly, because the text becomes a
header: nothing in it may end the header or a cookie. Errors name cookies and never a value. Knows
no page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ....families.gateway_consent import vocabulary as words
from ....families.gateway_consent.vocabulary import AuthType
from ..descriptors import App
from . import domains
from .ways import (
    Asking,
    DialogStep,
    NotAcceptedError,
    Sending,
    TypedWay,
    settings_of,
    text_setting,
)

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
"""A token of RFC 9110, section 5.6.2, as RFC 6265 section 4.1.1 requires."""
_VALUE = re.compile(r"[\x21-\x3a\x3c-\x7e]*")
"""Visible ASCII except the semicolon: RFC 6265 allows less, browsers send more."""
_LONGEST = 16_384


class Cookies(TypedWay):
    kind = AuthType.COOKIE

    def sending(self, asking: Asking) -> Sending | None:
        """A request to another host goes without them, as in a browser."""
        if not self.goes_to(asking.app, asking.url):
            return Sending()
        record = self.load(asking)
        return None if record is None else Sending(headers={"Cookie": record[words.VALUE]})

    def goes_to(self, app: App, url: str) -> bool:
        if domains.origin_of(url) is None:
            return False
        return domains.belongs(urlsplit(url).hostname or "", text_setting(app, "domain"))

    def required(self, app: App) -> list[str]:
        names = settings_of(app).get("requiredCookies", [])
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def steps(self, app: App) -> Sequence[DialogStep]:
        named = ", ".join(self.required(app))
        hint = f"Required: {named}" if named else "As in name=value; other=value"
        return (DialogStep(words.VALUE, "Cookies", hint),)

    def check(self, app: App, step: DialogStep, value: str) -> str:  # noqa: ARG002
        found = parse(value)
        self.check_required(app, found)
        return text_of(found)

    def check_required(self, app: App, found: Mapping[str, str]) -> None:
        lacking = [name for name in self.required(app) if not found.get(name)]
        if lacking:
            raise NotAcceptedError(f"Cookies: these are missing: {', '.join(lacking)}.")


def parse(text: str) -> dict[str, str]:
    """The cookies of a pasted line, in their order."""
    text = text.strip()
    if text[:7].lower() == "cookie:":
        text = text[7:]
    if len(text) > _LONGEST:
        raise NotAcceptedError(f"Cookies: got more than {_LONGEST} characters.")
    found: dict[str, str] = {}
    for number, part in enumerate(text.split(";"), 1):
        if not part.strip():
            continue
        name, equals, value = (piece.strip(" \t") for piece in part.partition("="))
        if not equals or not _NAME.fullmatch(name):
            raise NotAcceptedError(f"Cookies: got no name=value as number {number}.")
        if not _VALUE.fullmatch(value):
            raise NotAcceptedError(f"Cookies: {name} has characters that no cookie may have.")
        if name in found:
            raise NotAcceptedError(f"Cookies: got {name} twice, expected it once.")
        found[name] = value
    if not found:
        raise NotAcceptedError("Cookies: got none, expected name=value; other=value.")
    return found


def text_of(cookies: Mapping[str, str]) -> str:
    """As stored, and as sent in the header."""
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
