"""What the messages of elicitation mean: what was asked, and what a person answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.decoder import DecodedMessage, Meaning, short
from . import vocabulary as words

_MESSAGE = 70


def decode(message: DecodedMessage) -> Meaning | None:
    if message.method.endswith(words.CREATE):
        told = _answer(message.answered_with) or short(message.answered_with)
        return Meaning(f"{message.method}: {told}", message.answer_in_words)
    if message.method not in words.ASKING_METHODS:
        return None
    responses = message.params.get(words.INPUT_RESPONSES)
    asks = isinstance(message.result, Mapping) and (
        message.result.get(words.RESULT_TYPE) == words.INPUT_REQUIRED
    )
    questions = [
        _question(_mapping(one.get("params")))
        for one in message.asked_meanwhile
        if one.get("method") == words.CREATE
    ]
    brings = responses is not None or words.REQUEST_STATE in message.params
    if not (brings or asks or questions):
        return None
    asked = f"{message.method} {message.tool}"
    if isinstance(responses, Mapping) and responses:
        told = "; ".join(f"{short(key)}: {_answer(one)}" for key, one in responses.items())
        asked += f", answering {told}"
    elif words.REQUEST_STATE in message.params:
        asked += ", with a state and no answer"
    if asks:
        return Meaning(asked, _asked(message.result))
    answered = "; then ".join([*questions, message.answer_in_words])
    return Meaning(asked, answered, message.is_error)


def _asked(result: Mapping[str, Any]) -> str:
    requests = result.get(words.INPUT_REQUESTS)
    listed = requests.values() if isinstance(requests, Mapping) else []
    told = [_question(_mapping(one.get("params"))) for one in listed if isinstance(one, Mapping)]
    return "; ".join(told) or "asks to be called again"


def _question(params: Mapping[str, Any]) -> str:
    mode = words.mode_of(params)
    kind = mode.value if mode is not None else "in an unknown mode"
    return f"asks a person ({kind}): {str(params.get(words.MESSAGE, ''))[:_MESSAGE]}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _answer(response: Any) -> str:
    if not isinstance(response, Mapping):
        return ""
    said = str(response.get(words.ACTION, "no action"))
    content = response.get(words.CONTENT)
    if isinstance(content, Mapping) and content:
        said += f" ({', '.join(f'{name} = {short(value)}' for name, value in content.items())})"
    return said
