"""A pump station with the two-person rule: an MCP server over stdio, on the standard library alone.

    python server.py [--broken same-person|again|expiry]

It shares no code with the suite. Each kind of `--broken` leaves out one check.
"""

from __future__ import annotations

import argparse
import datetime
import json
import secrets
import sys
import time
from typing import Any

PEOPLE = {"1815": "ada", "1906": "grace"}
LIFE = 5 * 60
MOST_GUESSES = 5
TEXT = {"type": "string"}


class Refused(Exception):  # noqa: N818  # an answer like any other
    pass


class Station:
    def __init__(self, broken: str | None) -> None:
        self.broken = broken
        self.runs: list[str] = []
        self.requests: dict[str, dict[str, Any]] = {}

    def request(self, action: str, pin: str) -> dict[str, Any]:
        if pin not in PEOPLE:
            raise Refused("wrong_pin")
        key, ends = secrets.token_hex(8), time.time() + LIFE
        self.requests[key] = {"action": action, "by": PEOPLE[pin], "ends": ends, "guesses": 0}
        moment = datetime.datetime.fromtimestamp(ends, datetime.UTC)
        return {"state": "pending", "requestId": key, "expiresAt": moment.isoformat()}

    def approve(self, requestId: str, pin: str) -> dict[str, Any]:  # noqa: N803  # the wire's word
        found = self.requests.get(requestId)
        if found is None or (found.get("done") and self.broken != "again"):
            raise Refused("already_done")
        if time.time() > found["ends"] and self.broken != "expiry":
            raise Refused("expired")
        if found["guesses"] >= MOST_GUESSES:
            raise Refused("closed")
        if pin not in PEOPLE:
            found["guesses"] += 1
            raise Refused("wrong_pin")
        if PEOPLE[pin] == found["by"] and self.broken != "same-person":
            raise Refused("same_person")
        found["done"] = True
        self.runs.append(found["action"])
        return {"state": "done"}

    def list_runs(self) -> dict[str, Any]:
        return {"runs": self.runs}


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": arguments, "required": [*arguments]}
    return {"name": name, "inputSchema": schema}


TOOLS = [
    tool("request", action=TEXT, pin=TEXT),
    tool("approve", requestId=TEXT, pin=TEXT),
    tool("list_runs"),
]


def answer(station: Station, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """None for a method that is not known."""
    if method == "initialize":
        info = {"name": "pump-station", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method != "tools/call" or params.get("name") not in {one["name"] for one in TOOLS}:
        return None
    failed = False
    try:
        said = getattr(station, params["name"])(**params.get("arguments", {}))
    except Refused as error:
        said, failed = {"state": "refused", "reason": str(error)}, True
    content = [{"type": "text", "text": json.dumps(said)}]
    return {"content": content, "structuredContent": said, "isError": failed}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--broken", choices=["same-person", "again", "expiry"])
    station = Station(parser.parse_args().broken)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        found = answer(station, message.get("method", ""), message.get("params") or {})
        reply = {"jsonrpc": "2.0", "id": message["id"]}
        reply |= {"result": found} if found else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
