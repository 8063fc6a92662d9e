"""The demonstration tools: one for every way to ask, and the table that tells the suite of them.

Each records what it did in the effects, with the arguments exactly as they came. A tool knows its
arguments; it does not know who approved it, nor how. `SUITE_SETTINGS` is what a user of the suite
would write under [elicitation] for a server like this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..server.answers import invalid, tool_listing
from ..server.effects import RecordedEffects
from ..server.extension import DEFAULT_USER, USER_HEADER
from .binding import shown
from .forms import ACCEPT_ALONE, QuestionForm, box, choice
from .records import AskingTool, Describe
from .refusals import ToolBackEndError

BROKEN_ACCOUNT = "broken"
"""With this one the back end fails, after it has begun."""
ACCOUNTS = ("test-1", "test-2", BROKEN_ACCOUNT)
_TEXT = {"type": "string", "minLength": 1}
_ACCOUNT = {"account": _TEXT, "reason": {"type": "string"}, "keep_backup": {"type": "boolean"}}

_REMARK = {"remark": {"type": "string", "title": "A remark, if you like", "maxLength": 200}}
"""What people may write beside their decision; nothing depends on it."""

Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class OfferedTool:
    """A tool as it is listed and run; `asks` is None for one that asks nobody."""

    entry: Mapping[str, Any]
    check: Callable[[Arguments], None]
    run: Callable[[Arguments, RecordedEffects], dict[str, Any]]
    asks: AskingTool | None = None

    @property
    def name(self) -> str:
        return str(self.entry["name"])


# ---- arguments


def text(arguments: Arguments, name: str, *, is_needed: bool = True) -> None:
    if name in arguments or is_needed:
        value = arguments.get(name)
        if not isinstance(value, str) or (is_needed and not value):
            invalid(name, value, "text")


def check_account(arguments: Arguments) -> None:
    text(arguments, "account")
    text(arguments, "reason", is_needed=False)
    if not isinstance(arguments.get("keep_backup", False), bool):
        invalid("keep_backup", arguments["keep_backup"], "true or false")


def check_transfer(arguments: Arguments) -> None:
    to = arguments.get("to")
    if not isinstance(to, Mapping):
        invalid("to", to, "an object with iban and name")
    text(to, "iban")
    text(to, "name")
    amount = arguments.get("amount")
    if isinstance(amount, bool) or not isinstance(amount, (int, float)) or not amount > 0:
        invalid("amount", amount, "a number above 0")
    tags = arguments.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        invalid("tags", tags, "a list of texts")


# ---- tools


def _asking(
    name: str,
    title: str,
    description: str,
    describe: Describe,
    form: QuestionForm | None,
    check: Callable[[Arguments], None],
    properties: Mapping[str, Any],
    required: tuple[str, ...],
) -> OfferedTool:
    def run(arguments: Arguments, effects: RecordedEffects) -> dict[str, Any]:
        executed = effects.record(name, arguments)
        if name == "erase_account" and arguments.get("account") == BROKEN_ACCOUNT:
            raise ToolBackEndError("the back end did not answer")
        return {"done": True, "executed": executed}

    entry = tool_listing(name, title, description, properties, required)
    return OfferedTool(entry, check, run, AskingTool(name, describe, form))


def _show_accounts(_: Arguments, effects: RecordedEffects) -> dict[str, Any]:  # noqa: ARG001
    return {"accounts": list(ACCOUNTS)}


def make_tools() -> tuple[OfferedTool, ...]:
    """For each server anew."""
    return (
        _asking(
            "erase_account",
            "Erase an account",
            "Erase an account for ever. A person is asked first.",
            lambda given: f"Erase the account {shown(given['account'])} for ever.",
            box("Erase this account"),
            check_account,
            _ACCOUNT,
            ("account",),
        ),
        _asking(
            "suspend_account",
            "Suspend an account",
            "Suspend an account until somebody opens it again. A person is asked first.",
            lambda given: f"Suspend the account {shown(given['account'])}.",
            box("Suspend this account"),
            check_account,
            _ACCOUNT,
            ("account",),
        ),
        _asking(
            "wire_money",
            "Wire money",
            "Wire money to somebody. A person is asked first.",
            lambda given: f"Wire {shown(given['amount'])} to {shown(given['to'])}.",
            choice("Wire this money", "approve", "reject", texts=_REMARK),
            check_transfer,
            {
                "to": {
                    "type": "object",
                    "properties": {"iban": _TEXT, "name": _TEXT},
                    "required": ["iban", "name"],
                },
                "amount": {"type": "number", "exclusiveMinimum": 0},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            ("to", "amount"),
        ),
        _asking(
            "publish_release",
            "Publish a release",
            "Publish a release for everybody. A person is asked first.",
            lambda given: f"Publish the release {shown(given['version'])} for everybody.",
            ACCEPT_ALONE,
            lambda given: text(given, "version"),
            {"version": _TEXT},
            ("version",),
        ),
        _asking(
            "rotate_keys",
            "Rotate keys",
            "Replace the keys of a service. A person is asked first, on a page.",
            lambda given: f"Replace all keys of the service {shown(given['service'])}.",
            None,
            lambda given: text(given, "service"),
            {"service": _TEXT},
            ("service",),
        ),
        OfferedTool(
            tool_listing(
                "show_accounts", "Show accounts", "All accounts. Asks nobody.", read_only=True
            ),
            lambda _: None,
            _show_accounts,
        ),
    )


TOOLS = make_tools()

_ACCOUNT_SETTINGS: Mapping[str, Any] = {
    "arguments": {"account": "test-1", "reason": "a test", "keep_backup": True},
    "other-arguments": {"account": "test-2", "reason": "a test", "keep_backup": True},
}
SUITE_SETTINGS: Mapping[str, Any] = {
    "tools": {
        "erase_account": {**_ACCOUNT_SETTINGS, "failing-arguments": {"account": BROKEN_ACCOUNT}},
        "suspend_account": _ACCOUNT_SETTINGS,
        "wire_money": {
            "arguments": {
                "to": {"iban": "XX00 TEST 0001", "name": "Ada"},
                "amount": 10,
                "tags": ["test", "first"],
            },
            "other-arguments": {
                "to": {"iban": "XX00 TEST 0002", "name": "Ada"},
                "amount": 10,
                "tags": ["test", "first"],
            },
        },
        "publish_release": {
            "arguments": {"version": "0.0.1-test"},
            "other-arguments": {"version": "0.0.2-test"},
        },
        "rotate_keys": {
            "arguments": {"service": "test"},
            "other-arguments": {"service": "other-test"},
        },
    },
    "person": {"headers": {USER_HEADER: DEFAULT_USER}},
    "patience": 60,
    "patience-setting": "patience",
}
