"""A gateway that is none of ours: what the suite's table and its hook for decisions are tried on.

    python other_gateway.py PORT FOLDER [--keyed-by-app]

It speaks MCP of the handshake era over HTTP. The code of a refusal is a word, as the document has
it, its members are in snake_case, and consent_url leads to a native dialog, which nobody can open:
POST /decide stands for the person. It shares nothing with the reference gateway but the idea.
"""

from __future__ import annotations

import json
import secrets
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

TOOLS = {
    "mail.send": ("acme-mail", "Acme Mail", "send"),
    "mail.read": ("acme-mail", "Acme Mail", "read"),
    "notes.add": ("notes", "Notes", "add"),
    "acme-notes.add": ("acme-notes", "Acme Notes", "add"),
}


class Gateway:
    """Who may do what is one JSON file."""

    def __init__(self, folder: Path, *, keyed_by_app: bool) -> None:
        self.file = folder / "decisions.json"
        self.keyed_by_app = keyed_by_app
        self.lock = Lock()
        self.clients: dict[str, str] = {}
        self.once: dict[str, str] = {}
        self.done: list[str] = []

    def key(self, caller: str, app: str, tool: str) -> str:
        return json.dumps(["", app, tool] if self.keyed_by_app else [caller, app, tool])

    def kept(self) -> dict[str, str]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def decide(self, told: dict[str, Any]) -> None:
        with self.lock:
            tool = "*" if told["decision"] == "all" and told["remember"] else told["tool"]
            key = self.key(told["caller"], told["appId"], tool)
            if told["remember"]:
                self.file.write_text(json.dumps({**self.kept(), key: told["decision"]}))
            else:
                self.once[key] = told["decision"]

    def call(self, caller: str, name: str) -> dict[str, Any]:
        app, app_name, tool = TOOLS[name]
        own, every = self.key(caller, app, tool), self.key(caller, app, "*")
        with self.lock:
            kept = self.kept()
            decision = kept.get(own) or kept.get(every) or self.once.pop(own, None)
            if decision == "deny":
                return {"error": {"code": "DENIED", "message": "The user said no."}}
            if decision is None:
                data = {
                    "app_id": app,
                    "app_name": app_name,
                    "tool": tool,
                    "tool_description": f"Does {tool}.",
                    "tool_parameters": {"text": {"type": "string"}},
                    "consent_url": f"aai://consent?app={app}&tool={tool}",
                }
                return {"error": {"code": "CONSENT_REQUIRED", "message": "Ask.", "data": data}}
            self.done.append(name)
        return {"result": {"content": [{"type": "text", "text": "done"}]}}

    def listing(self) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return [
            {"name": name, "description": f"Does {tool}.", "inputSchema": schema}
            for name, (_, _, tool) in TOOLS.items()
        ]


class Handler(BaseHTTPRequestHandler):
    gateway: Gateway

    def do_GET(self) -> None:
        if self.path == "/done":
            self.answer(self.gateway.done)
        else:
            self.send_error(405)

    def do_DELETE(self) -> None:
        self.answer({})

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/decide":
            self.gateway.decide(message)
            return self.answer({})
        if "id" not in message:
            self.send_response(202)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        session = self.headers.get("mcp-session-id", "")
        method, params = message["method"], message.get("params") or {}
        reply: dict[str, Any] = {"error": {"code": -32601, "message": "not here"}}
        if method == "initialize":
            info = params.get("clientInfo")
            name = info.get("name") if isinstance(info, dict) else None
            session = secrets.token_hex(8)
            self.gateway.clients[session] = name if isinstance(name, str) and name else ""
            reply = {
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "other-gateway", "version": "3"},
                }
            }
        elif method == "tools/list":
            reply = {"result": {"tools": self.gateway.listing()}}
        elif method == "tools/call" and params.get("name") in TOOLS:
            caller = self.gateway.clients.get(session) or "Unknown Client"
            reply = self.gateway.call(caller, params["name"])
        return self.answer({"jsonrpc": "2.0", "id": message["id"], **reply}, session)

    def answer(self, value: Any, session: str = "") -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if session:
            self.send_header("Mcp-Session-Id", session)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


if __name__ == "__main__":
    Handler.gateway = Gateway(Path(sys.argv[2]), keyed_by_app="--keyed-by-app" in sys.argv)
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
