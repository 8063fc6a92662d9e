"""Cookies as a person pastes them: `name=value; other=value`.

Read strictly, because the text becomes a header: nothing in it may end the header or a cookie.
Errors name cookies and never a value. Knows no app.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
"""A token of RFC 9110, section 5.6.2, as RFC 6265 section 4.1.1 asks for."""
_VALUE = re.compile(r"[\x21-\x3a\x3c-\x7e]*")
"""Visible ASCII but the semicolon: RFC 6265 leaves out more, browsers send more."""
_LONGEST = 16_384


class CookieError(ValueError):
    """Not to be taken as cookies: what is wrong, in one line."""


def parse(text: str) -> dict[str, str]:
    """The cookies of a pasted line, in their order."""
    text = text.strip()
    if text[:7].lower() == "cookie:":
        text = text[7:]
    if len(text) > _LONGEST:
        raise CookieError(f"got {len(text)} characters, expected {_LONGEST} or fewer")
    found: dict[str, str] = {}
    for number, part in enumerate(text.split(";"), 1):
        if not part.strip():
            continue
        name, equals, value = (piece.strip(" \t") for piece in part.partition("="))
        if not equals or not _NAME.fullmatch(name):
            raise CookieError(f"cookie {number}: got something else, expected name=value")
        if not _VALUE.fullmatch(value):
            raise CookieError(f"{name}: got characters that no cookie may have")
        if name in found:
            raise CookieError(f"{name}: got it twice, expected it once")
        found[name] = value
    if not found:
        raise CookieError("got no cookie, expected name=value; other=value")
    return found


def missing(cookies: Mapping[str, str], required: Iterable[str]) -> list[str]:
    """The names of those that are not there, or empty."""
    return [name for name in required if not cookies.get(name)]


def text_of(cookies: Mapping[str, str]) -> str:
    """As it is kept, and as the header is sent."""
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
