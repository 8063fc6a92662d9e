"""A small web site on loopback for the tests of the browser layer, and how they talk to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pytest_mcp_approval.browser.pages import ApprovalPage

PLAIN = "<!doctype html><meta charset=utf-8><title>A page</title><h1>A page</h1>"


class Site:
    """Serves the documents that a test puts up, at http://localhost:<port>."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.origin = f"http://localhost:{port}"
        self.documents: dict[str, tuple[str, dict[str, str]]] = {}

    def put(self, path: str, body: str = PLAIN, **headers: str) -> str:
        """A document at a path; its address."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.documents[path] = (body, named)
        return f"{self.origin}{path}"

    def host(self, name: str) -> str:
        """The same site under another name of this machine: another origin."""
        return f"http://{name}:{self.port}"


@contextmanager
def serving() -> Iterator[Site]:
    """A site on a free port, until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body, headers = site.documents.get(self.path.partition("?")[0], (PLAIN, {}))
            sent = body.encode()
            self.send_response(200)
            for name, value in {"Content-Type": "text/html", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


_ASK = """([kind, options, more]) => {
  globalThis.outcome = null;
  const parse = kind === 'create' ? 'parseCreationOptionsFromJSON' : 'parseRequestOptionsFromJSON';
  globalThis.stop = new AbortController();
  Promise.resolve().then(() => navigator.credentials[kind]({
    publicKey: PublicKeyCredential[parse](options),
    ...(more.abortable ? {signal: stop.signal} : {}),
    ...(more.mediation ? {mediation: more.mediation} : {}),
  })).then(
    (credential) => { globalThis.outcome = {response: credential.toJSON()}; },
    (error) => { globalThis.outcome = {error: error.name, message: error.message,
                                       isDom: error instanceof DOMException}; },
  );
}"""


class Asking:
    """Calls navigator.credentials in a page or frame as its own script would."""

    def __init__(self, opened: ApprovalPage, frame: Any = None) -> None:
        self.opened = opened
        self.frame = frame or opened.page

    def begin(self, kind: str, options: dict[str, Any], **more: Any) -> None:
        self.frame.evaluate(_ASK, [kind, options, more])

    def outcome(self) -> dict[str, Any]:
        """What came of it: `response`, or `error`, `message` and `isDom`."""
        self.opened.until(lambda: self._look() is not None, "the page's outcome")
        found: dict[str, Any] = self._look()
        return found

    def _look(self) -> Any:
        return self.frame.evaluate("globalThis.outcome ?? null")

    def __call__(self, kind: str, options: dict[str, Any], **more: Any) -> dict[str, Any]:
        self.begin(kind, options, **more)
        return self.outcome()

    def response(self, kind: str, options: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The response of a ceremony that has to go well."""
        outcome = self(kind, options, **more)
        assert "error" not in outcome, (outcome, self.opened.asked[-1].why)
        found: dict[str, Any] = outcome["response"]
        return found
