"""How a gateway that differs is called and how it words a refusal: templates, codes, members.

    [gateway_consent.call]
    tool = "exec"
    arguments = { app = "{app}", tool = "{tool}", arguments = "{arguments}" }

    [gateway_consent.codes]
    CONSENT_REQUIRED = -32010
    CONSENT_DENIED = { code = -32011, message = "said no" }

Anything not set is as in the document. Knows no server and no verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...config.reader import setting
from ...support.json_reading import with_texts
from ...support.nearest import expected
from .vocabulary import Refusal

_PLACES = ("name", "app", "tool", "arguments", "arguments_json")
_PLACE = re.compile(f"{{({'|'.join(_PLACES)})}}")


@dataclass(frozen=True)
class Template:
    """The params of a tools/call, with places for the app, its tool and the arguments."""

    tool: str = setting("{name}", filled=True, expected="a tool's name")
    arguments: Any = "{arguments}"

    def __post_init__(self) -> None:
        used = re.findall("{([a-z_]+)}", json.dumps([self.tool, self.arguments], default=str))
        for place in used:
            if place not in _PLACES:
                known = ", ".join(f"{{{one}}}" for one in _PLACES)
                raise ValueError(f"got {{{place}}}, expected one of {known}")

    @property
    def names_each_tool(self) -> bool:
        """Whether each tool of an app is a tool of the gateway; False if all are behind one."""
        return bool(_PLACE.search(self.tool))

    def params(self, name: str, app: str, tool: str, arguments: Any) -> dict[str, Any]:
        places = {"name": name, "app": app, "tool": tool, "arguments": arguments}
        return {"name": _filled(self.tool, places), "arguments": _filled(self.arguments, places)}


def _filled(template: Any, places: Mapping[str, Any]) -> Any:
    """All at once, so that text inside a name is never taken for a placeholder."""

    def put(found: re.Match[str]) -> str:
        if found[1].startswith("arguments"):
            return json.dumps(places["arguments"])
        return str(places[found[1]])

    def fill(text: str) -> Any:
        return places["arguments"] if text == "{arguments}" else _PLACE.sub(put, text)

    return with_texts(template, fill)


@dataclass(frozen=True)
class Description(Template):
    """A call that tells what a tool does and takes, if tools/list does not, and where."""

    description: str = setting("description", expected="a place")
    parameters: str = setting("parameters", expected="a place")


@dataclass(frozen=True)
class Sign:
    """What shows that a refusal means something: a code, words of the message, or both."""

    code: str | int | None = None
    message: str = ""

    def fits(self, code: Any, message: str) -> bool:
        if self.code is not None and (type(code) is not type(self.code) or code != self.code):
            return False
        return self.message.casefold() in message.casefold()


SIGNS: dict[Refusal, tuple[Sign, ...]] = {meaning: (Sign(meaning.value),) for meaning in Refusal}
"""As the document has them."""


@dataclass(frozen=True)
class Wording:
    """How refusals are worded. `code_at` and `fields` are places, written with dots: the first in
    {error, result, text}, the others in the object beside the code."""

    signs: Mapping[Refusal, tuple[Sign, ...]] = setting(SIGNS)
    code_at: tuple[str, ...] = ()
    fields: Mapping[str, str] = setting({})

    def __post_init__(self) -> None:
        taken: dict[Sign, Refusal] = {}
        for meaning, own in self.signs.items():
            for sign in own:
                if taken.setdefault(sign, meaning) is not meaning:
                    raise ValueError(
                        f"codes.{meaning}: {sign.code!r} is {taken[sign]} already; if the message "
                        f"tells them apart: {{ code = {sign.code!r}, message = 'WORDS' }}"
                    )

    def meaning(self, code: Any, message: str) -> Refusal | None:
        """A sign with words counts more than one without."""
        fitting = [
            (len(sign.message), meaning)
            for meaning, signs in self.signs.items()
            for sign in signs
            if sign.fits(code, message)
        ]
        return max(fitting, key=lambda one: one[0])[1] if fitting else None

    @property
    def own(self) -> bool:
        """Whether the user set anything here."""
        return bool(self.code_at) or self.signs != SIGNS


_SIGN_FORM = {
    "type": ["string", "integer", "object"],
    "properties": {"code": {"type": ["string", "integer"]}, "message": {"type": "string"}},
    "additionalProperties": False,
}
SIGN_FORM = {"anyOf": [_SIGN_FORM, {"type": "array", "items": _SIGN_FORM}]}
"""What `read_signs` takes, as JSON Schema."""


def read_signs(given: Any) -> tuple[Sign, ...]:
    """For one meaning in the table `codes`: a code, a list of codes, or a code and words."""
    return tuple(map(_sign, given if isinstance(given, list) else [given]))


def _sign(given: Any) -> Sign:
    parts = given if isinstance(given, Mapping) else {"code": given}
    for key in parts:
        if key not in ("code", "message"):
            raise ValueError(f"got {key!r}, {expected(key, ('code', 'message'))}")
    code, message = parts.get("code"), parts.get("message", "")
    right = isinstance(code, (str, int)) and not isinstance(code, bool)
    if not isinstance(message, str) or not (right or (code is None and message)):
        raise ValueError("expected text, a whole number, or { code = CODE, message = 'WORDS' }")
    return Sign(code, message)
