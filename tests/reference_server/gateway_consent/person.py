"""A person at the gateway's pages, with a browser that has no script: reads forms, sends them."""

from __future__ import annotations

import http.client
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice

DEADLINE = 20


class Answer:
    def __init__(self, status: int, headers: http.client.HTTPMessage, content: bytes) -> None:
        self.status, self.headers, self.content = status, headers, content
        self.html = content.decode()
        self.form = _Form()
        self.form.feed(self.html)
        self.cookies = {
            value.partition("=")[0]: value.partition("=")[2].partition(";")[0]
            for value in headers.get_all("set-cookie") or ()
        }

    @property
    def text(self) -> str:
        return "".join(self.form.texts)


class _Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hidden: dict[str, str] = {}
        self.buttons: dict[str, str] = {}
        self.action = ""
        self.texts: list[str] = []
        self.tags: list[str] = []
        self._button = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        members = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "form":
            self.action = members["action"]
        if tag == "input" and members.get("type") == "hidden":
            self.hidden[members["name"]] = members["value"]
        if tag == "button" and "hidden" not in members:
            self._button = members["value"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._button:
            self.buttons[self._button], self._button = data, ""


def request(
    url: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    body: str | None = None,
) -> Answer:
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=DEADLINE)
    try:
        query = f"?{parts.query}" if parts.query else ""
        connection.request(
            method, parts.path + query, body, {"Host": parts.netloc, **(headers or {})}
        )
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def choose(
    url: str,
    choice: Choice | str,
    *,
    remember: bool = False,
    page: Answer | None = None,
    members: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Open the page, tick the box or not, press a button. `members` and `headers` are faults."""
    page = page or request(url)
    parts = urlsplit(url)
    origin = f"http://{parts.netloc}"
    form = {**page.form.hidden, "choice": str(choice), **({"remember": "yes"} if remember else {})}
    form.update(members or {})
    sent = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": origin,
        "Cookie": "; ".join(f"{name}={value}" for name, value in page.cookies.items()),
        **(headers or {}),
    }
    body = urlencode({name: value for name, value in form.items() if value != "<none>"})
    return request(
        f"{origin}{page.form.action}",
        "POST",
        {name: value for name, value in sent.items() if value != "<none>"},
        body,
    )
