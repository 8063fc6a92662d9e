"""A person at plain pages: forms as browsers send them, cookies, and nowhere but here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import pytest

from pytest_mcp_approval.families.base.form_client import FetchedPage, FormClient, FormClientError

PAGE = """<!doctype html><title>t</title><script>var text = "<form><button>Deny</button>"</script>
<form method="post" action="/take"><button disabled hidden></button>
<input type="hidden" name="csrf" value="a&amp;b"><input name="name" value="old">
<label><input type="checkbox" name="remember" value="yes"> Remember <b>this</b> decision</label>
<label for="note">A note</label><textarea id="note" name="note">some
text</textarea>
<button name="choice" value="tool">Authorize
 Tool</button><button name="choice" value="deny">Deny</button></form>"""


class Handler(BaseHTTPRequestHandler):
    received: list[tuple[str, str, dict[str, Any]]]
    gone = threading.Event()
    """Never set: waiting on it takes the whole time."""

    def do_GET(self) -> None:
        self.received.append((self.path, self.headers.get("cookie", ""), {}))
        if self.path == "/away":
            return self.answer(302, {"Location": "http://elsewhere.example/"})
        if self.path == "/broken":
            return self.answer(302, {"Location": "http://[broken"})
        if self.path == "/round":
            return self.answer(302, {"Location": "/round"})
        if self.path == "/drip":
            return self.drip()
        if self.path == "/to":
            return self.answer(303, {"Location": "/page", "Set-Cookie": "seen=1; Path=/"})
        return self.answer(200, {"Set-Cookie": "own=2; Path=/take; HttpOnly"}, PAGE)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        told = {**dict(parse_qsl(body)), "origin": self.headers.get("origin")}
        self.received.append((self.path, self.headers.get("cookie", ""), told))
        self.answer(200, {"Set-Cookie": "own=; Path=/take; Max-Age=0"}, "<p>Done</p>")

    def drip(self) -> None:
        """A piece before every time-out of a socket, until nobody listens any more."""
        with contextlib.suppress(OSError):
            self.answer(200, {}, "<p>")
            for _ in range(500):
                self.wfile.write(b".")
                self.gone.wait(0.05)

    def answer(self, status: int, headers: dict[str, str], text: str = "") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def site() -> Iterator[tuple[str, list[Any]]]:
    received: list[Any] = []
    handler = type("Own", (Handler,), {"received": received})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://localhost:{server.server_address[1]}", received
    server.shutdown()
    thread.join(10)
    server.server_close()


def test_a_form_is_sent_as_a_browser_sends_it(site):
    url, received = site
    browser = FormClient()
    page = browser.get(f"{url}/to")
    (form,) = page.forms()
    box = form.box("Remember this decision")
    assert box is not None
    assert not box.checked
    box.checked = True
    assert [one.name for one in form.fields()] == ["name", "note"]
    form.fields()[0].value = "new & more"
    assert form.button("Allow") is None
    done = browser.submit(page, form, form.button("Authorize Tool"))
    assert done.body == b"<p>Done</p>"
    path, cookies, told = received[-1]
    assert path == "/take"
    assert sorted(cookies.split("; ")) == ["own=2", "seen=1"]
    assert told == {
        "csrf": "a&b",
        "name": "new & more",
        "remember": "yes",
        "note": "some\ntext",
        "choice": "tool",
        "origin": url,
    }
    browser.submit(page, form, form.button("Deny"))
    path, cookies, told = received[-1]
    assert told["choice"] == "deny"
    assert cookies == "seen=1", "a cookie that was taken away is gone"


def test_cookies_are_sent_below_their_path_only(site):
    url, received = site
    browser = FormClient()
    browser.get(f"{url}/page")
    browser.get(f"{url}/taken")
    assert received[-1][1] == ""
    other = browser.copy()
    other.get(f"{url}/take")
    assert received[-1][1] == "own=2"


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("http://elsewhere.example/", "expected a page on loopback"),
        ("http://0.0.0.0:1/", "expected a page on loopback"),
        ("https://127.0.0.1.elsewhere.example/", "expected a page on loopback"),
        ("aai://consent?app=a", "which is no page"),
        ("file:///etc/passwd", "which is no page"),
        ("http://[broken", "expected a URL"),
        ("http://127.0.0.1:1/", "connection refused"),
    ],
)
def test_nothing_is_fetched_from_elsewhere(place: str, said: str):
    with pytest.raises(FormClientError, match=said):
        FormClient().get(place)


def test_redirects_lead_nowhere_else_and_not_for_ever(site):
    url, _ = site
    with pytest.raises(FormClientError, match="expected a page on loopback"):
        FormClient().get(f"{url}/away")
    with pytest.raises(FormClientError, match="more than 10 redirects"):
        FormClient().get(f"{url}/round")
    assert FormClient().get(f"{url}/away", follow=False).location == "http://elsewhere.example/"
    assert FormClient().get(f"{url}/broken").describe() == "HTTP 302"


def test_broken_markup_is_read_as_far_as_it_goes():
    text = "<form><input name=a><label>x<button>Go<form method=post action='/b'><button value=Go>"
    first, second = FetchedPage("http://localhost/", 200, {}, text.encode()).forms()
    assert first.button("Go") is not None
    assert second.action == "/b"
    assert FetchedPage("http://localhost/", 200, {}, b"\xff<form>\x00").forms()[0].controls == []


def test_an_answer_that_never_ends_is_ended(site):
    """A socket's own time-out begins anew with every byte. On a busy machine not even the head
    may come in time, which is as good."""
    url, _ = site
    with pytest.raises(FormClientError, match=r"no (whole )?answer within 0\.3 s"):
        FormClient(timeout=0.3).get(f"{url}/drip")


def test_a_button_may_send_its_form_elsewhere(site):
    url, received = site
    text = "<form action=/a><button formaction=/b formmethod=post name=x value=y>Go</button></form>"
    page = FetchedPage(f"{url}/page", 200, {}, text.encode())
    (form,) = page.forms()
    FormClient().submit(page, form, form.button("Go"))
    assert received[-1][0] == "/b"
    assert received[-1][2]["x"] == "y"
