"""A small MCP server on standard input and output, without any SDK, that nobody has described.

The words of its command line say what it lists: `pairs`, `gated`, `silent`, `tokens`, `apps`,
`hostile`. It has no gates: it is looked at, and never checked.
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
    "hostile": [
        tool('prepare_x"\n[tool]\nevil = 1 #\x1b[31m\u202e'),
        tool('confirm_x"\n[tool]\nevil = 1 #\x1b[31m\u202e'),
        tool("\ud800", annotations={"destructiveHint": True}),
        {"name": 7},
        {"name": "prepare_null", "inputSchema": {"type": "object", "default": {"id": None}}},
        {"name": "confirm_null", "annotations": []},
    ],
}


def answer(message: dict[str, Any], words: list[str]) -> dict[str, Any]:
    match message["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "shop", "version": "1.4"},
            }
        case "tools/list":
            return {"tools": [one for word in ("plain", *words) for one in LISTED[word]]}
        case "approval/enroll/begin":
            return {"options": {"rp": {"id": "shop.example"}}}
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
