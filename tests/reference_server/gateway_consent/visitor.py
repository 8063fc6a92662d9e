"""A person with a browser, as far as plain forms need one: pages, forms, cookies; no script."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import DemonstrationApp

DEADLINE = 20
FORM = "application/x-www-form-urlencoded"


@dataclass
class Page:
    """What came back; `redirects` were not followed."""

    url: str
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def location(self) -> str:
        return urljoin(self.url, self.headers["location"])

    @property
    def brought(self) -> dict[str, str]:
        """The parameters of where it leads."""
        return dict(parse_qsl(urlsplit(self.location).query, keep_blank_values=True))

    @property
    def words(self) -> str:
        """The text without its markup."""
        return "".join(self.form.texts)

    @property
    def cookies(self) -> dict[str, str]:
        """Those that it sets."""
        return {
            name: morsel.value
            for line in self.headers.get_all("set-cookie", [])
            for name, morsel in SimpleCookie(line).items()
        }

    @property
    def form(self) -> Form:
        reader = Form()
        reader.feed(self.text)
        return reader


class Form(HTMLParser):
    """The one form of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.action: str | None = None
        self.members: dict[str, str] = {}
        self.inputs: dict[str, dict[str, str | None]] = {}
        self.hidden: dict[str, str] = {}
        self.buttons: list[tuple[str | None, str | None]] = []
        self.labels: dict[str, str] = {}
        """What is written on each button that can be seen, by its value."""
        self.tags: list[str] = []
        self.texts: list[str] = []
        self._button = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        if tag == "form":
            self.action = given.get("action") or ""
        elif tag == "input":
            name = given.get("name") or ""
            self.inputs[name] = given
            self.members[name] = given.get("value") or ""
            if given.get("type") == "hidden":
                self.hidden[name] = self.members[name]
        elif tag == "button":
            self.buttons.append((given.get("name"), given.get("value")))
            self._button = "" if "hidden" in given else given.get("value") or ""

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._button:
            self.labels[self._button], self._button = data, ""


def typed(app: DemonstrationApp, place: str) -> list[str]:
    """What a person copies from an app's own pages, one text for each step of the dialog."""
    known = app.locks[place].known
    if place == "social":
        return ["; ".join(f"{name}={value}" for name, value in known.items())]
    return list(known.values())


@dataclass
class Visitor:
    """Cookies are kept by host and path, whatever the port: as browsers do."""

    cookies: dict[tuple[str, str, str], str] = field(default_factory=dict)

    def get(self, url: str, **headers: str) -> Page:
        return self.request("GET", url, headers=headers)

    def post(self, url: str, members: dict[str, str], **headers: str) -> Page:
        body = urlencode(members).encode()
        return self.request("POST", url, body, {"Content-Type": FORM, **headers})

    def post_json(self, url: str, members: Any, **headers: str) -> Page:
        body = json.dumps(members).encode()
        return self.request("POST", url, body, {"Content-Type": "application/json", **headers})

    def send(self, page: Page, **members: str) -> Page:
        """The form of a page, filled in."""
        target = urljoin(page.url, page.form.action or page.url)
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(page.url))
        return self.post(target, {**page.form.members, **members}, Origin=origin)

    def request(
        self, method: str, url: str, body: bytes | None = None, headers: Any = None
    ) -> Page:
        parts = urlsplit(url)
        sent = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        kept = "; ".join(
            f"{name}={value}"
            for (host, path, name), value in self.cookies.items()
            if host == parts.hostname and parts.path.startswith(path)
        )
        if kept:
            sent.setdefault("Cookie", kept)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=DEADLINE)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, target, body, {"Host": parts.netloc, **sent})
            answer = connection.getresponse()
            page = Page(url, answer.status, answer.headers, answer.read())
        finally:
            connection.close()
        for line in page.headers.get_all("set-cookie", []):
            for name, morsel in SimpleCookie(line).items():
                self.cookies[parts.hostname or "", morsel["path"] or "/", name] = morsel.value
        return page
