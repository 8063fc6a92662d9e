"""Answers that are none: other actions, other keys, other types, deep and huge. By their names.

Knows no question's content but what it is given, and no verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...wire import RawJson
from .form_answers import LEFT_OUT
from .outcome import HONEST

if TYPE_CHECKING:
    from .honest_questions import QuestionKind

_DEEP = 150
"""Levels: what is deeper, many parsers do not read at all."""
_HUGE = 1_000_000

UNKNOWN_ACTIONS: Mapping[str, Any] = {
    "no action": LEFT_OUT,
    "an empty one": "",
    "ACCEPT": "ACCEPT",
    "Accept": "Accept",
    "accepted": "accepted",
    "acceptable": "acceptable",
    "accept with a blank": "accept ",
    "accept with a line end": "accept\n",
    "a wide letter": "\uff41ccept",
    "yes": "yes",
    "approve": "approve",
    "confirm": "confirm",
    "ok": "ok",
    "submit": "submit",
    "null": None,
    "true": True,
    "1": 1,
    "0": 0,
    "a list with accept": ["accept"],
    "an object": {"accept": True},
    "not accept": "not accept",
    "accept, decline": "accept,decline",
    "DECLINE": "DECLINE",
    "declined": "declined",
    "timeout": "timeout",
}


def contents_of_refusals(kind: QuestionKind | None) -> dict[str, Any]:
    """What may stand beside a decline or a cancel."""
    contents: dict[str, Any] = {
        "alone": LEFT_OUT,
        "with null as its content": None,
        "with an empty content": {},
        "with a content that approves": HONEST,
        "with accept in its content": {"action": "accept"},
    }
    approving = kind.approving if kind is not None else None
    if approving is not None:
        contents["with nothing but the yes"] = {approving.name: approving.yes}
    return contents


def other_keys() -> dict[str, Callable[[str, Any], Any]]:
    """Maps of responses in which the answer stands under a key that was not asked."""
    return {
        "a random one": lambda _, answer: {"not-asked": answer},
        "an empty one": lambda _, answer: {"": answer},
        "the key in another case": lambda key, answer: {_another_case(key): answer},
        "the key with a blank": lambda key, answer: {f"{key} ": answer},
        "the key and more": lambda key, answer: {f"{key}0": answer},
        "the key cut short": lambda key, answer: {key[:-1] or "x": answer},
        "a special member": lambda _, answer: {"__proto__": answer},
        "an index": lambda _, answer: {"0": answer},
        "one level deeper": lambda key, answer: {"inputResponses": {key: answer}},
        "the answer itself": lambda _, answer: answer,
        "a list of answers": lambda _, answer: [answer],
    }


def _another_case(key: str) -> str:
    swapped = key.swapcase()
    return swapped if swapped != key else f"{key}-"


def other_ids() -> dict[str, Callable[[Any], Any]]:
    """Ids of no open request, made of that of the open one. None: there is none of this kind."""
    return {
        "the next id": lambda one: one + 1 if type(one) is int else f"{one}1",
        "a far id": lambda one: one + 1_000_000 if type(one) is int else f"not-{one}",
        "the id as a text": lambda one: f"{one}x" if type(one) is int else None,
        "an empty id": lambda _: "",
        "a negative id": lambda one: -one - 7 if type(one) is int else None,
    }


def malformed_responses() -> dict[str, Any]:
    """What stands in place of responses (sessionless) or of a result (handshake)."""
    return {
        "null": None,
        "a list": [],
        "a list of accepts": [{"action": "accept"}],
        "a text": "accept",
        "a number": 1,
        "true": True,
        "an object of nulls": {"a": None},
        "an object of texts": {"a": "accept"},
        "deep": RawJson('{"a":' * _DEEP + "1" + "}" * _DEEP),
        "huge": {"a": "x" * _HUGE},
        "of many members": {f"m{number}": {"action": "accept"} for number in range(5_000)},
    }


def malformed_answers() -> dict[str, Any]:
    """What stands in place of the answer to one question, under its own key."""
    return {
        "null": None,
        "a list": [],
        "a list with an accept": [{"action": "accept"}],
        "a text": "accept",
        "a number": 1,
        "true": True,
        "an empty object": {},
        "deep": RawJson('{"action":' * _DEEP + "1" + "}" * _DEEP),
    }


def of_other_types(approving: Mapping[str, Any]) -> dict[str, Any]:
    """Answers to a form with one member that is none; `approving` is a content that approves."""
    answers: dict[str, tuple[Any, Any]] = {
        "action is an unknown word": ("agree", approving),
        "action is a list": (["accept"], approving),
        "action is an object": ({"accept": True}, approving),
        "content is empty": ("accept", {}),
        "content is null": ("accept", None),
        "content is a list": ("accept", [approving]),
        "content is a text": ("accept", "yes"),
        "content is a number": ("accept", 1),
        "content is true": ("accept", True),
    }
    return {
        name: {"action": action, "content": content} for name, (action, content) in answers.items()
    }


def malformed_states(real: Any) -> dict[str, Any]:
    """`real` is one of the server's own, of which some are made; anything else if it has none."""
    return {
        "null": None,
        "a number": 7,
        "zero": 0,
        "true": True,
        "false": False,
        "an object": {"state": "x"},
        "a list": ["x"],
        "empty": "",
        "a blank": " ",
        "one character": "A",
        "not base64": "*** not base64 ***",
        "beyond ASCII": "\u00e9\u4e2d\U0001f511",
        "a zero byte": "\0",
        "a line end": "a\r\nb",
        "dots": "..",
        "JSON": '{"approved":true}',
        "a megabyte": "A" * _HUGE,
        **(_spoilt(real) if isinstance(real, str) and real else {}),
    }


def _spoilt(state: str) -> dict[str, str]:
    """With a character that no encoding has, where each of its parts may be."""
    places = {"at its beginning": 0, "in its middle": len(state) // 2, "at its end": -1}
    return {
        f"its own with an asterisk {where}": f"{state[:at]}*{state[at:][1:]}"
        for where, at in places.items()
    }
