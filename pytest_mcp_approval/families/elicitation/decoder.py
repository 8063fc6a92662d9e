"""What the messages of elicitation mean: what was asked, and what a person answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.decoder import DecodedMessage, Meaning, short
from . import vocabulary as words

_MESSAGE = 70


def decode(message: DecodedMessage) -> Meaning | None:
    if message.method == words.CREATE:
        return Meaning(
            _question(message.params), _answer(message.result) or message.answer_in_words
        )
    if message.method not in words.ASKING_METHODS:
        return None
    responses = message.params.get(words.INPUT_RESPONSES)
    asks = isinstance(message.result, Mapping) and (
        message.result.get(words.RESULT_TYPE) == words.INPUT_REQUIRED
    )
    if responses is None and words.REQUEST_STATE not in message.params and not asks:
        return None
    asked = f"{message.method} {message.tool}"
    if isinstance(responses, Mapping) and responses:
        told = "; ".join(f"{short(key)}: {_answer(one)}" for key, one in responses.items())
        asked += f", answering {told}"
    elif words.REQUEST_STATE in message.params:
        asked += ", with a state and no answer"
    if asks:
        return Meaning(asked, _asked(message.result))
    return Meaning(asked, message.answer_in_words, message.is_error)


def _asked(result: Mapping[str, Any]) -> str:
    requests = result.get(words.INPUT_REQUESTS)
    listed = requests.values() if isinstance(requests, Mapping) else []
    told = [
        _question(params)
        if isinstance(params := one.get("params"), Mapping)
        else "nothing readable"
        for one in listed
        if isinstance(one, Mapping)
    ]
    return "; ".join(told) or "asks to be called again"


def _question(params: Mapping[str, Any]) -> str:
    mode = words.mode_of(params)
    kind = mode.value if mode is not None else "in an unknown mode"
    return f"asks a person ({kind}): {str(params.get(words.MESSAGE, ''))[:_MESSAGE]}"


def _answer(response: Any) -> str:
    if not isinstance(response, Mapping):
        return ""
    said = str(response.get(words.ACTION, "no action"))
    content = response.get(words.CONTENT)
    if isinstance(content, Mapping) and content:
        said += f" ({', '.join(f'{name} = {short(value)}' for name, value in content.items())})"
    return said
