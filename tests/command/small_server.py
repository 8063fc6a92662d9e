"""A small MCP server on standard input and output, without any SDK, that nobody has described.

The words of its command line say what it lists: `pairs`, `gated`, `silent`, `tokens`, `apps`,
`hostile`, `asking`. It has no gates: it is looked at, and never checked. Only the tools of
`asking` may be called, and they ask: `wipe_disk` by a form, `drop_table` on a page.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
READ_ONLY = {"readOnlyHint": True}


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": SCHEMA, **more}


LISTED = {
    "plain": [tool("list_users", inputSchema={"type": "object"}, annotations=READ_ONLY)],
    "pairs": [tool("prepare_delete_user"), tool("confirm_delete_user")],
    "gated": [
        tool(
            "refund", _meta={"io.modelcontextprotocol/verified-approval": {"required": "verified"}}
        )
    ],
    "silent": [tool("purge_cache", annotations={"destructiveHint": True})],
    "tokens": [
        tool("mcp_aql"),
        tool("execute_action", inputSchema={"type": "object", "properties": {"token": {}}}),
    ],
    "apps": [tool("files:delete")],
    "asking": [
        tool("wipe_disk", annotations={"destructiveHint": True}),
        tool("drop_table"),
    ],
    "modern": [],
    "careless": [tool("delete_all", annotations={"destructiveHint": True})],
    "hostile": [
        tool('prepare_x"\n[tool]\nevil = 1 #\x1b[31m\u202e'),
        tool('confirm_x"\n[tool]\nevil = 1 #\x1b[31m\u202e'),
        tool("\ud800", annotations={"destructiveHint": True}),
        {"name": 7},
        {"name": "prepare_null", "inputSchema": {"type": "object", "default": {"id": None}}},
        {"name": "confirm_null", "annotations": []},
    ],
}


QUESTIONS: dict[str, dict[str, Any]] = {
    "wipe_disk": {
        "mode": "form",
        "message": "Wipe the disk 'test'?",
        "requestedSchema": {
            "type": "object",
            "properties": {"really": {"type": "boolean"}},
            "required": ["really"],
        },
    },
    "drop_table": {
        "mode": "url",
        "message": "Drop the table 'test'?",
        "url": "http://localhost/approve",
        "elicitationId": "e-1",
    },
}


def ask(question: dict[str, Any]) -> dict[str, Any]:
    """Ask inside the open call, and do nothing whatever the answer is."""
    said = {"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create", "params": question}
    print(json.dumps(said), flush=True)
    for line in sys.stdin:
        if json.loads(line).get("id") == "q-1":
            break
    return {"content": [{"type": "text", "text": "nothing was done"}], "isError": True}


def answer(message: dict[str, Any], words: list[str]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-11-25" if "modern" in words else "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shop", "version": "1.4"},
            }
        case "server/discover" if "modern" in words:
            return {
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shop", "version": "1.4"},
            }
        case "tools/call" if "modern" in words and "_meta" in message["params"]:
            # Serves the newer era, and can ask nobody in it.
            return {"content": [{"type": "text", "text": "cannot ask here"}], "isError": True}
        case "tools/list":
            return {"tools": [one for word in ("plain", *words) for one in LISTED[word]]}
        case "approval/enroll/begin":
            return {"options": {"rp": {"id": "shop.example"}}}
        case "tools/call" if "careless" in words:
            return {"content": [{"type": "text", "text": "deleted"}]}
        case "tools/call" if "asking" in words:
            return ask(QUESTIONS[message["params"]["name"]])
    raise KeyError(message["method"])


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            reply["result"] = answer(message, sys.argv[1:])
        except KeyError:
            if message["method"] == "tools/call":
                sys.exit("a tool was called")  # nobody may do that here
            reply["error"] = {"code": -32601, "message": "not here"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
