"""A server that is not an MCP server: says over HTTP who it is, can misbehave. Stdlib only."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        never = "never" in sys.argv and self.path.startswith("/effects")
        if never or (self.path == "/effects" and "late" in sys.argv and len(ASKED) < 3):
            ASKED.append(self.path)
            self.send_error(503)
            return
        body = json.dumps(
            {
                "pid": os.getpid(),
                "children": CHILDREN,
                "directory": str(Path.cwd()),
                "now": time.time(),
                "environment": dict(os.environ),
                "words": sys.argv[1:],
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


CHILDREN: list[int] = []
ASKED: list[str] = []


def main() -> None:
    words = sys.argv[1:]
    port = int(os.environ.get("PORT") or words[0])
    if "deaf" in words:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "parent" in words:
        # One that would outlive its parent and ignores SIGTERM.
        code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
        CHILDREN.append(subprocess.Popen([sys.executable, "-c", code]).pid)
    if "loud" in words:
        for stream in (1, 2):
            for _ in range(64):
                os.write(stream, b"x" * 65536)
    if "dies" in words:
        print("some words before", flush=True)
        sys.exit("the configuration is missing")
    if "silent" in words:
        print("starting, please wait", flush=True)
        threading.Event().wait(60)
    if "busy" in words:
        sys.exit("address in use")
    server = HTTPServer(("127.0.0.1", port), Handler)
    server.serve_forever()


if __name__ == "__main__":
    main()
