"""A page on this machine on which a person signs with a passkey of their own.

Served on localhost while one ceremony lasts; the browser does the signing. A passkey belongs to a
host, so this works for servers whose rp.id is localhost. Knows no MCP.
"""

from __future__ import annotations

import json
import queue
import secrets
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from .authenticators import NoSignature

_SECONDS = 120
_LARGEST = 1024 * 1024
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sign with your passkey</title>
<body style="font-family: system-ui; max-width: 40rem; margin: 4rem auto">
<h1>Sign with your passkey</h1>
<p>What you sign for is shown in the terminal.</p>
<button id="sign">Sign</button> <button id="leave">Leave</button>
<p id="outcome" role="status"></p>
<script>
const what = %(what)s, options = %(options)s, outcome = document.getElementById("outcome");
async function send(answer) {
  await fetch("/%(key)s", { method: "POST", body: JSON.stringify(answer) });
  outcome.textContent = "error" in answer ? answer.error : "Done. You can close this page.";
}
document.getElementById("leave").onclick = () => send({ error: "the person left" });
document.getElementById("sign").onclick = async () => {
  try {
    const read = what === "create" ? "parseCreationOptionsFromJSON" : "parseRequestOptionsFromJSON";
    const publicKey = PublicKeyCredential[read](options);
    const made = await navigator.credentials[what]({ publicKey });
    await send({ response: made.toJSON() });
  } catch (error) {
    await send({ error: String(error) });
  }
};
</script></body></html>
"""


class PageSigner:
    """Shows where the page is, opens it, and waits for what the browser signs."""

    def __init__(self, say: Callable[[str], None], open_page: Callable[[str], object]) -> None:
        self._say, self._open = say, open_page

    def create(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._ceremony("create", options)

    def get(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._ceremony("get", options)

    def _ceremony(self, what: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        answers: queue.Queue[Mapping[str, Any]] = queue.Queue()
        key = secrets.token_urlsafe(16)
        written = json.dumps(options).replace("<", "\\u003c")
        page = _PAGE % {"what": json.dumps(what), "options": written, "key": key}
        server = HTTPServer(("127.0.0.1", 0), _handler(page.encode(), key, answers))
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        url = f"http://localhost:{server.server_port}/{key}"
        self._say(f"passkey   {url}")
        self._open(url)
        try:
            told = answers.get(timeout=_SECONDS)
        except queue.Empty:
            raise NoSignature(f"nobody signed within {_SECONDS} s") from None
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
        response = told.get("response")
        if not isinstance(response, Mapping):
            raise NoSignature(str(told.get("error", "the page sent nothing")))
        return response


def _handler(
    page: bytes, key: str, answers: queue.Queue[Mapping[str, Any]]
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 10

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: this is a part of the terminal's program."""

        def do_GET(self) -> None:
            known = self.path == f"/{key}"
            self._send(200 if known else 404, page if known else b"")

        def do_POST(self) -> None:
            body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _LARGEST))
            try:
                told = json.loads(body) if self.path == f"/{key}" else None
            except ValueError:
                told = None
            self._send(204 if isinstance(told, dict) else 404, b"")
            if isinstance(told, dict):
                answers.put(told)

        def _send(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler
