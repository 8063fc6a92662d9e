"""A gateway of another kind: all tools behind one, its own codes, and dialogs instead of pages.

    python exec_gateway.py PORT FOLDER [--waits] [--empty-names] [--FAULT ...]

It speaks MCP of the handshake era over HTTP, and has three tools: `exec {app, tool, arguments}`,
`describe {app, tool}` and `consents`. A person is asked in a dialog of the desktop: after a refusal
with the code -32010, or with --waits while the call waits. `Desktop` stands for the screen, and
POST /desktop for the person in front of it. What is decided is kept in one encrypted file. It
shares nothing with the reference gateway but the idea. FAULTS are what it can do wrong; to take an
empty name for a name is none, since the document's own code does.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import secrets
import sys
from pathlib import Path
from threading import RLock
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.families.gateway_consent.mcp_over_http import failed, serve

FAULTS = (
    "runs-first",
    "bypasses-commands",
    "caller-from-exec",
    "keyed-by-app",
    "joins-names",
    "opens-the-app",
    "opens-everything",
    "forgets-denials",
    "keeps-always",
    "hides-the-app-id",
    "lacks-deny",
    "plain-file",
    "flat-export",
)
CHOICES = ["Allow", "Allow all of this app", "No", "Do not ask again"]


def app(app_id: str, kind: str, *tools: str) -> dict[str, Any]:
    inputs = {"text": {"type": "string", "description": "What to write."}}
    made = [{"name": one, "description": f"Does {one}.", "parameters": inputs} for one in tools]
    return {"id": app_id, "name": app_id.title(), "type": kind, "tools": made}


APPS = [
    app("mail", "web", "send", "read"),
    app("notes", "desktop", "add", "read"),
    app("my-notes", "command", "add"),
]


class Desktop:
    """The screen: which dialogs came up, and what is done there."""

    def __init__(self) -> None:
        self.plan: dict[str, Any] = {}
        self.shown: list[dict[str, Any]] = []

    def ask(self, about: list[str], text: str, choices: list[str]) -> tuple[str, bool] | None:
        self.shown.append({"kind": "consent", "text": text, "choices": choices})
        plan = self.plan
        if about != [plan.get("caller"), plan.get("appId"), plan.get("tool")]:
            return None
        return None if plan["decision"] == "leave" else (plan["decision"], plan["remember"])


class ExecGateway:
    """Who may do what is caller -> app -> {allTools, tools}."""

    name = "exec-gateway"
    persons_path = "/desktop"

    def __init__(self, folder: Path, flags: list[str]) -> None:
        self.file, self.key_file = folder / "decisions", folder / "key"
        self.faults = {flag.removeprefix("--") for flag in flags}
        self.waits = "waits" in self.faults
        unknown = self.faults - {"waits", "empty-names", *FAULTS}
        assert not unknown, unknown
        self.lock = RLock()
        self.once: dict[tuple[str, ...], bool] = {}
        self.done: list[str] = []
        self.desktop = Desktop()
        more = os.environ.get("EXEC_GATEWAY_APPS")
        given = [*APPS, *(json.loads(Path(more).read_text()) if more else [])]
        self.apps = {one["id"]: one for one in given if "auth" not in one}

    # ---- what is kept

    def sealed(self, content: bytes) -> bytes:
        if "plain-file" in self.faults:
            return content
        if not self.key_file.exists():
            self.key_file.write_bytes(secrets.token_bytes(32))
        key, stream = self.key_file.read_bytes(), b""
        while len(stream) < len(content):
            stream += hashlib.sha256(key + len(stream).to_bytes(8, "big")).digest()
        return bytes(one ^ two for one, two in zip(content, stream, strict=False))

    def kept(self) -> dict[str, Any]:
        if not self.file.exists():
            return {}
        found: dict[str, Any] = json.loads(self.sealed(self.file.read_bytes()))
        return found

    def place(self, caller: str, app_id: str) -> tuple[str, str]:
        if "keyed-by-app" in self.faults:
            return "", app_id
        if "joins-names" in self.faults:
            return "", f"{caller}-{app_id}"
        return caller, app_id

    def decide(self, caller: str, app_id: str, tool: str, choice: str, *, remember: bool) -> None:
        with self.lock:
            if "keeps-always" in self.faults:
                remember = True
            if "forgets-denials" in self.faults and choice == "deny":
                return
            if not remember:
                self.once[caller, app_id, tool] = choice != "deny"
                return
            kept = self.kept()
            first, second = self.place(caller, app_id)
            record = kept.setdefault(first, {}).setdefault(second, {"allTools": False, "tools": {}})
            if choice == "all" or (choice == "tool" and "opens-the-app" in self.faults):
                record["allTools"] = True
            record["tools"][tool] = {
                "granted": choice != "deny",
                "grantedAt": datetime.datetime.now(datetime.UTC).isoformat(),
                "remember": True,
            }
            self.file.write_bytes(self.sealed(json.dumps(kept).encode()))

    def decision(self, caller: str, app_id: str, tool: str) -> bool | None:
        kept = self.kept()
        first, second = self.place(caller, app_id)
        record = kept.get(first, {}).get(second, {"allTools": False, "tools": {}})
        own = record["tools"].get(tool)
        if own is not None:
            return bool(own["granted"])
        everything = "opens-everything" in self.faults and any(
            one["allTools"] for one in kept.get(first, {}).values()
        )
        if record["allTools"] or everything:
            return True
        return self.once.pop((caller, app_id, tool), None)

    # ---- calls

    def caller_named(self, name: object) -> str:
        if isinstance(name, str) and (name or "empty-names" in self.faults):
            return name
        return "Unknown Client"

    def listing(self) -> list[dict[str, Any]]:
        schema = {"type": "object"}
        return [{"name": name, "inputSchema": schema} for name in ("exec", "describe", "consents")]

    def execute(self, caller: str, given: dict[str, Any]) -> dict[str, Any]:
        own = self.apps.get(given.get("app", ""))
        tools = own["tools"] if own else []
        tool = next((one for one in tools if one["name"] == given.get("tool")), None)
        if own is None or tool is None or not isinstance(given.get("arguments"), dict):
            return failed(-32602, "no such tool of an app")
        if "caller-from-exec" in self.faults:
            caller = given.get("caller", caller)
        with self.lock:
            if "runs-first" in self.faults:
                self.done.append(tool["name"])
            granted = self.decision(caller, own["id"], tool["name"])
            if "bypasses-commands" in self.faults and own["type"] == "command":
                granted = True
            if granted is None and self.waits:
                granted = self.asked(caller, own, tool)
            if granted is None and self.waits:
                return failed(-32012, "the dialog was closed")
            if granted is None:
                data = {
                    "application": {"id": own["id"], "title": own["name"]},
                    "action": tool["name"],
                    "summary": tool["description"],
                    "inputs": tool["parameters"],
                }
                return failed(-32010, "ask the person", data)
            if not granted:
                return failed(-32000, "the person said no")
            self.done.append(tool["name"])
        return {"result": {"content": [{"type": "text", "text": "done"}]}}

    def asked(self, caller: str, own: dict[str, Any], tool: dict[str, Any]) -> bool | None:
        """While the call waits; an answer that is not to be remembered is for this call."""
        answer = self.desktop.ask(
            [caller, own["id"], tool["name"]], *self.dialog(caller, own, tool)
        )
        if answer is None:
            return None
        self.decide(caller, own["id"], tool["name"], answer[0], remember=answer[1])
        return self.decision(caller, own["id"], tool["name"])

    def dialog(
        self, caller: str, own: dict[str, Any], tool: dict[str, Any]
    ) -> tuple[str, list[str]]:
        app_id = "" if "hides-the-app-id" in self.faults else f"({own['id']})"
        inputs = ", ".join(f"{name}: {one}" for name, one in tool["parameters"].items())
        text = (
            f"{caller} wants to use {tool['name']} of {own['name']} {app_id}\n"
            f"{tool['description']}\n{inputs}"
        )
        lacking = ["No"] if "lacks-deny" in self.faults else []
        return text, [one for one in CHOICES if one not in lacking]

    def describe(self, given: dict[str, Any]) -> dict[str, Any]:
        for tool in self.apps.get(given["app"], {"tools": []})["tools"]:
            if tool["name"] == given["tool"]:
                told = {"does": tool["description"], "takes": tool["parameters"]}
                return {"result": {"content": [], "structuredContent": told}}
        return failed(-32602, "no such tool of an app")

    def export(self) -> dict[str, Any]:
        kept: Any = self.kept()
        if "flat-export" in self.faults:
            kept = {"consents": [[caller, *apps] for caller, apps in kept.items()]}
        return {"result": {"content": [], "structuredContent": kept}}

    def told(self, what: dict[str, Any]) -> Any:
        """By the person in front of the screen."""
        if what["do"] == "attend":
            self.desktop.plan, self.desktop.shown = what, []
        elif what["do"] == "report":
            return self.desktop.shown
        else:
            own = self.apps[what["appId"]]
            tool = next(one for one in own["tools"] if one["name"] == what["tool"])
            text, choices = self.dialog(what["caller"], own, tool)
            about = (what["caller"], what["appId"], what["tool"])
            self.decide(*about, what["decision"], remember=what["remember"])
            return {"text": text, "choices": choices}
        return None

    def call(self, caller: str, params: dict[str, Any]) -> dict[str, Any]:
        name, given = params.get("name"), params.get("arguments") or {}
        if name == "exec":
            return self.execute(caller, given)
        if name == "describe":
            return self.describe(given)
        return self.export() if name == "consents" else failed(-32602, "no such tool")


if __name__ == "__main__":
    serve(ExecGateway(Path(sys.argv[2]), sys.argv[3:]), int(sys.argv[1]))
