"""A gateway that is not ours, to try the suite's table and its hook for decisions on.

    python other_gateway.py PORT FOLDER [--keyed-by-app]

It speaks MCP of the handshake era over HTTP. The code of a refusal is a word, as in the document,
its members are in snake_case, and consent_url leads to a native dialog, which nobody can open: POST
/decide stands for the person. It shares nothing with the reference gateway but the idea.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from threading import Lock
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.families.gateway_consent.mcp_over_http import failed, serve

TOOLS = {
    "mail.send": ("acme-mail", "Acme Mail", "send"),
    "mail.read": ("acme-mail", "Acme Mail", "read"),
    "notes.add": ("notes", "Notes", "add"),
    "acme-notes.add": ("acme-notes", "Acme Notes", "add"),
}


class OtherGateway:
    """Who may do what is one JSON file."""

    name = "other-gateway"
    persons_path = "/decide"

    def __init__(self, folder: Path, *, keyed_by_app: bool) -> None:
        self.file = folder / "decisions.json"
        self.keyed_by_app = keyed_by_app
        self.lock = Lock()
        self.once: dict[str, str] = {}
        self.done: list[str] = []

    def key(self, caller: str, app: str, tool: str) -> str:
        return json.dumps(["", app, tool] if self.keyed_by_app else [caller, app, tool])

    def kept(self) -> dict[str, str]:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    def caller_named(self, name: object) -> str:
        return name if isinstance(name, str) and name else "Unknown Client"

    def told(self, what: dict[str, Any]) -> dict[str, Any]:
        self.decide(what)
        return {}

    def decide(self, told: dict[str, Any]) -> None:
        with self.lock:
            tool = "*" if told["decision"] == "all" and told["remember"] else told["tool"]
            key = self.key(told["caller"], told["appId"], tool)
            if told["remember"]:
                self.file.write_text(json.dumps({**self.kept(), key: told["decision"]}))
            else:
                self.once[key] = told["decision"]

    def call(self, caller: str, params: dict[str, Any]) -> dict[str, Any]:
        name = params.get("name", "")
        if name not in TOOLS:
            return failed(-32601, "not here")
        app, app_name, tool = TOOLS[name]
        own, every = self.key(caller, app, tool), self.key(caller, app, "*")
        with self.lock:
            kept = self.kept()
            decision = kept.get(own) or kept.get(every) or self.once.pop(own, None)
            if decision == "deny":
                return failed("DENIED", "The user said no.")
            if decision is None:
                data = {
                    "app_id": app,
                    "app_name": app_name,
                    "tool": tool,
                    "tool_description": f"Does {tool}.",
                    "tool_parameters": {"text": {"type": "string"}},
                    "consent_url": f"aai://consent?app={app}&tool={tool}",
                }
                return failed("CONSENT_REQUIRED", "Ask.", data)
            self.done.append(name)
        return {"result": {"content": [{"type": "text", "text": "done"}]}}

    def listing(self) -> list[dict[str, Any]]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        return [
            {"name": name, "description": f"Does {tool}.", "inputSchema": schema}
            for name, (_, _, tool) in TOOLS.items()
        ]


if __name__ == "__main__":
    served = OtherGateway(Path(sys.argv[2]), keyed_by_app="--keyed-by-app" in sys.argv)
    serve(served, int(sys.argv[1]))
