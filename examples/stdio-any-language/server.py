"""A user desk over stdio that asks before it deletes: the protocol by hand, without an SDK.

It can be written again in any language: one message a line on standard input, one a line on
standard output, and nothing else there. Standard library only, no threads: a question that is open
is an entry in a table.
"""

import argparse
import itertools
import json
import os
import select
import sys
import time

TOOLS = [
    {
        "name": "delete_user",
        "description": "Delete a user for ever.",
        "inputSchema": {
            "type": "object",
            "properties": {"user": {"type": "string"}, "reason": {"type": "string"}},
            "required": ["user", "reason"],
            "additionalProperties": False,
        },
        "annotations": {"destructiveHint": True},
    },
    {
        "name": "list_deleted",
        "description": "What was deleted so far.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    },
]
FORM = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Delete this user"}},
    "required": ["confirm"],
}
options = argparse.ArgumentParser(description="A user desk that asks first, over stdio.")
options.add_argument("--patience", type=float, default=60, metavar="SECONDS")
given = options.parse_args()

client = {}  # what the client declared that it can do
deleted = []
questions = {}  # by the id of the question: the call that waits, its arguments, until when
numbers = itertools.count(1)


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def tell(call_id, text, failed=True):
    """The answer to a tools/call."""
    content = [{"type": "text", "text": text}]
    send(id=call_id, result={"content": content, "isError": failed})


def can_show_a_form():
    declared = client.get("elicitation")
    # `{}` means forms; a client that names only `url` cannot show one.
    return isinstance(declared, dict) and (not declared or isinstance(declared.get("form"), dict))


def ask_to_delete(call_id, arguments):
    """Ask inside the call, which stays open until there is an answer."""
    known = set(arguments) == {"user", "reason"}
    if not known or not all(isinstance(one, str) for one in arguments.values()):
        return tell(call_id, "Expected user and reason, both text.")
    if not can_show_a_form():
        return tell(call_id, "Nothing was done: this client cannot ask a person.")
    # All that is about to happen. json.dumps spells out control and direction characters, so that
    # a value cannot rewrite the sentence.
    user, reason = json.dumps(arguments["user"]), json.dumps(arguments["reason"])
    message = f"Delete the user {user} for ever? The reason: {reason}"
    question_id = f"question-{next(numbers)}"
    questions[question_id] = (call_id, arguments, time.monotonic() + given.patience)
    send(
        id=question_id,
        method="elicitation/create",
        params={"message": message, "requestedSchema": FORM},
    )


def is_yes(answer):
    """Exactly what was asked for, and nothing that only looks like it: 1, "yes", more members."""
    if not isinstance(answer, dict) or answer.get("action") != "accept":
        return False
    content = answer.get("content")
    return isinstance(content, dict) and list(content) == ["confirm"] and content["confirm"] is True


def finish(question_id, answer):
    """A question is over with its first answer. Errors, cancelled calls and silence are no yes."""
    call_id, arguments, _ = questions.pop(question_id)
    if not is_yes(answer):
        return tell(call_id, "Nothing was done: it was not confirmed.")
    if arguments["user"] == "nobody":
        return tell(call_id, "There is no such user.")
    deleted.append({"tool": "delete_user", "arguments": arguments})
    tell(call_id, f"Deleted {arguments['user']}.", failed=False)


def call_tool(call_id, params):
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(arguments, dict):
        tell(call_id, "Expected arguments as an object.")
    elif name == "delete_user":
        ask_to_delete(call_id, arguments)
    elif name == "list_deleted":
        tell(call_id, json.dumps(deleted), failed=False)
    else:
        tell(call_id, "There is no such tool.")


def initialize(call_id, params):
    capabilities = params.get("capabilities")
    client.clear()
    client.update(capabilities if isinstance(capabilities, dict) else {})
    send(
        id=call_id,
        result={
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "user-desk", "version": "1.0"},
        },
    )


METHODS = {
    "initialize": initialize,
    "ping": lambda call_id, _: send(id=call_id, result={}),
    "tools/list": lambda call_id, _: send(id=call_id, result={"tools": TOOLS}),
    "tools/call": call_tool,
}


def read(line):
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return send(id=None, error={"code": -32700, "message": "Parse error"})
    if not isinstance(message, dict):
        return send(id=None, error={"code": -32600, "message": "Invalid Request"})
    method, given_id, params = message.get("method"), message.get("id"), message.get("params", {})
    if method is None:
        if isinstance(given_id, str) and given_id in questions:
            finish(given_id, message.get("result"))
    elif not isinstance(params, dict):
        send(id=given_id, error={"code": -32602, "message": "Invalid params"})
    elif method == "notifications/cancelled":
        for question_id, (call_id, _, _) in list(questions.items()):
            if call_id == params.get("requestId"):
                finish(question_id, None)
    elif "id" in message and method in METHODS:
        METHODS[method](given_id, params)
    elif "id" in message:
        send(id=given_id, error={"code": -32601, "message": "Method not found"})


buffer = b""
while True:
    soonest = min((until for _, _, until in questions.values()), default=None)
    left = None if soonest is None else max(0, soonest - time.monotonic())
    if select.select([sys.stdin], [], [], left)[0]:
        came = os.read(sys.stdin.fileno(), 65_536)
        if not came:
            break
        *lines, buffer = (buffer + came).split(b"\n")
        for line in filter(None, lines):
            read(line)
    for question_id, (_, _, until) in list(questions.items()):
        if time.monotonic() >= until:
            finish(question_id, None)
