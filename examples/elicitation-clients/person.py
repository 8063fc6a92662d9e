"""The person at this terminal: shows who asks what, and sends nothing that they did not agree to.

What to copy: it needs the standard library only, whatever SDK the client is built on.
"""

import json
import os
import subprocess
import webbrowser
from urllib.parse import urlsplit

ANSWERS = {"y": "accept", "n": "decline", "c": "cancel"}
KINDS = {"integer": int, "number": float}


def decide(question: str) -> str:
    """accept, decline or cancel; the end of the terminal is no answer."""
    while True:
        try:
            said = input(f"{question} [y/n/c] ").strip().lower()
        except EOFError:
            return "cancel"
        if said in ANSWERS:
            return ANSWERS[said]


def fill(server: str, message: str, schema: dict) -> tuple[str, dict | None]:
    """Mode form: the action, and what the person filled in."""
    print(f"{server} asks:\n{message}")
    action = decide("Answer?")
    if action != "accept":
        return action, None
    content = {}
    for name, member in schema.get("properties", {}).items():
        value = _value(name, member, required=name in schema.get("required", []))
        if value is not None:
            content[name] = value
    print(json.dumps(content, ensure_ascii=False))
    action = decide("Send this?")
    return action, content if action == "accept" else None


def visit(server: str, message: str, url: str) -> str:
    """Mode url: the address is shown whole, opened only after a yes, and never fetched here."""
    print(f"{server} asks you to open a page:\n{message}\n{url}")
    parts = urlsplit(url)
    print(f"It leads to {parts.hostname}")
    if parts.scheme not in ("http", "https"):
        print("Careful: no web address, it will not be opened")
    if "@" in parts.netloc or "xn--" in parts.netloc or not parts.netloc.isascii():
        print("Careful: this address may look like another one")
    action = decide("Open it?")
    if action == "accept" and parts.scheme in ("http", "https"):
        browser = os.environ.get("BROWSER")
        subprocess.run([browser, url], check=False) if browser else webbrowser.open(url)
    return action


def _value(name: str, member: dict, *, required: bool):
    """What was typed, as the schema wants it; asked again until it fits."""
    while True:
        typed = input(f"{name} = ").strip()
        if not typed and ("default" in member or not required):
            return member.get("default")
        try:
            return _checked(member, typed)
        except ValueError as error:
            print(f"not taken: {error}")


def _checked(member: dict, typed: str):
    kind = member.get("type")
    if "enum" in member and typed not in member["enum"]:
        raise ValueError(f"one of {', '.join(member['enum'])}")
    if kind == "boolean":
        if typed.lower() not in ("true", "false"):
            raise ValueError("true or false")
        return typed.lower() == "true"
    if kind in KINDS:
        number = KINDS[kind](typed)
        if not member.get("minimum", number) <= number <= member.get("maximum", number):
            raise ValueError("out of range")
        return number
    if not member.get("minLength", 0) <= len(typed) <= member.get("maxLength", len(typed)):
        raise ValueError("too short or too long")
    if member.get("format") == "email" and "@" not in typed:
        raise ValueError("an address")
    if member.get("format") == "date":
        import datetime

        datetime.date.fromisoformat(typed)
    return typed
