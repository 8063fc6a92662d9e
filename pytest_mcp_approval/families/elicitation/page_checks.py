"""What is wrong with the address of a page, and what a page shows to somebody who is not known.

Knows no wire and no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from ...support.connection import is_loopback
from ...support.text import neutralise
from .question_checks import leaves_of

_CREDENTIAL = re.compile(
    r"token|secret|password|passwd|pwd|api_?key|auth|session_?id|jwt|bearer|credential|sig",
    re.IGNORECASE,
)
_PERSON = re.compile(r"e?mail|user(?:_?(?:name|id))?|phone|ssn|account|person", re.IGNORECASE)
_ADDRESS = re.compile(r"[^@\s/]+@[^@\s/]+\.[a-z]{2,}", re.IGNORECASE)
_WEB_TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.")
_SHORTEST = 4


def wrong_with_url(url: Any) -> tuple[list[str], list[str]]:
    """What breaks the rule, and what is only advice."""
    if not isinstance(url, str) or not url:
        return [f"url is {neutralise(repr(url), 60)}, expected an address"], []
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or ""), parts.port
    except ValueError:
        return [f"{neutralise(url, 80)} is no URL"], []
    if parts.scheme not in ("http", "https") or not host:
        return [f"{neutralise(url, 80)} is no absolute URL of a page"], []
    if re.search(r"[\s\x00-\x1f]", url):
        return [f"{neutralise(url, 80)} has blanks or control characters"], []
    if parts.scheme == "http" and not is_loopback(host):
        return [], [f"{neutralise(url, 80)} is not https"]
    return [], []


def data_in_url(url: str, secrets: Iterable[str], arguments: Any) -> tuple[list[str], list[str]]:
    """Credentials and a person's data in an address: for certain, and by their names."""
    certain: list[str] = []
    likely: list[str] = []
    parts = urlsplit(url)
    readable = unquote(url)
    if parts.username or parts.password:
        certain.append("a user or a password before the host")
    for secret in secrets:
        for word in secret.split():
            if len(word) >= 2 * _SHORTEST and word in readable:
                certain.append("a header that this client sends")
    if _WEB_TOKEN.search(readable):
        certain.append("a JSON Web Token")
    if _ADDRESS.search(readable.partition("//")[2].partition("/")[2]):
        certain.append("an e-mail address")
    for name, _ in [*parse_qsl(parts.query), *parse_qsl(parts.fragment)]:
        if _CREDENTIAL.search(name) or _PERSON.fullmatch(name):
            certain.append(f"a member {neutralise(name, 40)}")
    for place, value in leaves_of(arguments):
        if isinstance(value, str) and len(value) >= _SHORTEST and value in readable:
            likely.append(f"the argument {place}")
    return list(dict.fromkeys(certain)), likely


def protected_texts(body: bytes, arguments: Any) -> list[str]:
    """The arguments whose values a page shows."""
    text = body.decode("utf-8", "replace")
    return [
        place
        for place, value in leaves_of(arguments)
        if isinstance(value, str)
        and len(value) >= _SHORTEST
        and re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text)
    ]


def mixed_addresses(own: str, other: str) -> dict[str, str]:
    """Addresses made of parts of two pages', by what they are: a server that reads an id in two
    places may check one and use the other. Empty if one part alone says which page it is."""
    one, two = urlsplit(own), urlsplit(other)
    found: dict[str, str] = {}
    segments, others = one.path.split("/"), two.path.split("/")
    differ = [at for at, (a, b) in enumerate(zip(segments, others, strict=False)) if a != b]
    if len(segments) == len(others) and len(differ) > 1:
        for at in differ:
            path = "/".join([*segments[:at], others[at], *segments[at + 1 :]])
            found[f"part {at} of the other path"] = urlunsplit(one._replace(path=path))
    if one.query != two.query:
        found["the query of the other"] = urlunsplit(one._replace(query=two.query))
        found["the path of the other"] = urlunsplit(two._replace(query=one.query))
        for name, query in {
            "both queries": f"{one.query}&{two.query}",
            "both queries, the other first": f"{two.query}&{one.query}",
        }.items():
            found[name] = urlunsplit(one._replace(query=query))
    return {name: url for name, url in found.items() if url not in (own, other)}
