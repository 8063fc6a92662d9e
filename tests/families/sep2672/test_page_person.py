"""A person on pages that do not show when they work, let go of answers, or are for one tool."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pytest_mcp_approval.catalogue import NotApplicable
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.sep2672.driver import Approval, ListedTool
from pytest_mcp_approval.families.sep2672.page import PageDriver
from pytest_mcp_approval.families.sep2672.page_person import PageVisitor
from pytest_mcp_approval.families.sep2672.settings import read_table
from pytest_mcp_approval.families.sep2672.vocabulary import Annotation, AuthenticatorClass
from pytest_mcp_approval.target import open_target

DESCRIPTION = {"ready": [], "tool": [], "arguments": [], "ask": "#ask", "outcome": "#said"}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}
MARKUP = "<!doctype html><button id=ask>Ask</button><p id=said></p><pre id=text hidden></pre>"
SEND = """
const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'wipe' } };
const send = (options = {}) =>
  fetch('/mcp', { method: 'POST', body: JSON.stringify(call), ...options });
const pause = () => new Promise(resolve => setTimeout(resolve, 60));
"""


class Site(ThreadingHTTPServer):
    """Serves a page, and answers what it posts with an event; the stream stays open if asked to."""

    daemon_threads = True
    script = ""
    ends = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self._begin("text/html")
        self.wfile.write(f"{MARKUP}<script>{SEND}{self.server.script}</script>".encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._begin("text/event-stream")
        self.wfile.write(f"data: {json.dumps(ANSWER)}\n\n".encode())
        self.wfile.flush()
        if not self.server.ends:
            self.server.over.wait(10)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site():
    server = Site()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join(5)


@pytest.fixture
def person(approval_page, site):
    target = open_target(
        "http://localhost:9/mcp", Settings(family_settings={"sep2672": {"page": {"url": site.url}}})
    )
    listed = [
        ListedTool(name, {}, Annotation(AuthenticatorClass.CROSS_PLATFORM, True), {})
        for name in ("wipe", "other")
    ]
    target.remembered["tools"] = listed
    driver = PageDriver(approval_page, site.url, read_table({"page": DESCRIPTION}).page)
    return PageVisitor(Approval(target), approval_page, driver, list[str]().append)


def test_without_busy_what_the_page_says_while_it_works_is_not_the_outcome(person, site):
    site.script = """ask.onclick = async () => {
      said.textContent = 'Working'; await pause(); await send(); await pause();
      said.textContent = 'Done';
    };"""
    person.opens()
    done = person.observes(lambda: person.driver.ask("wipe", {}))
    assert done.text == "Done"
    assert done.succeeded


def test_an_answer_that_the_page_let_go_of_is_no_missing_one(person, site):
    site.ends = False
    site.script = """ask.onclick = async () => {
      const control = new AbortController();
      const answer = await send({ signal: control.signal });
      await answer.body.getReader().read();
      control.abort();
      said.textContent = 'Done';
    };"""
    person.opens()
    done = person.observes(lambda: person.driver.ask("wipe", {}))
    assert done.text == "Done"
    assert done.answer_is_hidden
    assert "the browser does not show what it was answered" in done.describe()


def test_a_request_is_sent_again_past_a_page_that_answers_itself(person, site):
    site.script = """ask.onclick = async () => {
      await send(); said.textContent = 'Done'; window.fetch = async () => new Response('nothing');
    };"""
    person.opens()
    done = person.observes(lambda: person.driver.ask("wipe", {}))
    assert json.dumps(ANSWER) in (person.sends_again(done.calls[-1]) or "")


def test_a_page_for_one_tool_is_not_asked_for_another(person):
    with pytest.raises(NotApplicable, match="no place to choose a tool, such as other"):
        person.asks(person.approval.tool("other"))
    with pytest.raises(NotApplicable, match="that needs no approval"):
        person.plain_tool()
