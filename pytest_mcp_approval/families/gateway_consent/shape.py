"""How a gateway of another make is called and how it words a refusal: templates, codes, members.

    [gateway_consent.call]
    tool = "exec"
    arguments = { app = "{app}", tool = "{tool}", arguments = "{arguments}" }

    [gateway_consent.codes]
    CONSENT_REQUIRED = -32010
    CONSENT_DENIED = { code = -32011, message = "said no" }

What is not said is as the document has it. Reads its part of the user's table, each mistake in one
line. Knows no server and no verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...config.settings import SettingsError
from ...support.nearest import expected
from .vocabulary import FAMILY, MEMBERS, Refusal

_PLACES = ("name", "app", "tool", "arguments", "arguments_json")
_PLACE = re.compile(f"{{({'|'.join(_PLACES)})}}")


@dataclass(frozen=True)
class Template:
    """The params of a tools/call, with places for the app, its tool and the arguments."""

    tool: str = "{name}"
    arguments: Any = "{arguments}"

    @property
    def names_each_tool(self) -> bool:
        """Whether each tool of an app is a tool of the gateway, or all of them are behind one."""
        return bool(_PLACE.search(self.tool))

    def params(self, name: str, app: str, tool: str, arguments: Any) -> dict[str, Any]:
        places = {"name": name, "app": app, "tool": tool, "arguments": arguments}
        return {"name": _filled(self.tool, places), "arguments": _filled(self.arguments, places)}


def _filled(template: Any, places: Mapping[str, Any]) -> Any:
    """In one go: what stands in a name is never taken for a place."""
    if isinstance(template, Mapping):
        return {key: _filled(value, places) for key, value in template.items()}
    if isinstance(template, (list, tuple)):
        return [_filled(value, places) for value in template]
    if not isinstance(template, str):
        return template
    if template == "{arguments}":
        return places["arguments"]

    def put(found: re.Match[str]) -> str:
        if found[1].startswith("arguments"):
            return json.dumps(places["arguments"])
        return str(places[found[1]])

    return _PLACE.sub(put, template)


@dataclass(frozen=True)
class Description:
    """A call that tells what a tool does and takes, where tools/list does not."""

    call: Template
    description: str = "description"
    parameters: str = "parameters"


@dataclass(frozen=True)
class Sign:
    """What shows that a refusal means something: a code, words of the message, or both."""

    code: str | int | None = None
    message: str = ""

    def fits(self, code: Any, message: str) -> bool:
        if self.code is not None and (type(code) is not type(self.code) or code != self.code):
            return False
        return self.message.casefold() in message.casefold()


def _standard() -> dict[Refusal, tuple[Sign, ...]]:
    return {meaning: (Sign(meaning.value),) for meaning in Refusal}


@dataclass(frozen=True)
class Wording:
    """How refusals are told. `code_at` and `fields` are places, written with dots: the first in
    {error, result, text}, the others in the object beside the code."""

    signs: Mapping[Refusal, tuple[Sign, ...]] = field(default_factory=_standard)
    code_at: tuple[str, ...] = ()
    fields: Mapping[str, str] = field(default_factory=dict)

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
        """Whether something was said of it at all."""
        return bool(self.code_at) or self.signs != _standard()


# ---- reading the table


def read_template(place: str, given: Any, known: tuple[str, ...] = ()) -> Template:
    _known_keys(place, given, ("tool", "arguments", *known))
    tool = given.get("tool", "{name}")
    if not isinstance(tool, str) or not tool:
        raise SettingsError(f"[{FAMILY}.{place}] tool: got {tool!r}, expected a tool's name")
    template = Template(tool, given.get("arguments", "{arguments}"))
    for found in re.findall("{([a-z_]+)}", json.dumps([tool, template.arguments], default=str)):
        if found not in _PLACES:
            raise SettingsError(
                f"[{FAMILY}.{place}]: got {{{found}}}, expected one of "
                f"{', '.join(f'{{{one}}}' for one in _PLACES)}"
            )
    return template


def read_description(given: Any) -> Description:
    call = read_template("describe", given, ("description", "parameters"))
    places = {key: given[key] for key in ("description", "parameters") if key in given}
    for key, value in places.items():
        if not isinstance(value, str):
            raise SettingsError(f"[{FAMILY}.describe] {key}: got {value!r}, expected a place")
    return Description(call, **places)


def read_codes(given: Any) -> dict[Refusal, tuple[Sign, ...]]:
    _known_keys("codes", given, tuple(one.value for one in Refusal))
    signs = _standard()
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        signs[Refusal(name)] = tuple(_sign(name, one) for one in values)
    taken: dict[Sign, Refusal] = {}
    for meaning, own in signs.items():
        for sign in own:
            if taken.setdefault(sign, meaning) is not meaning:
                raise SettingsError(
                    f"[{FAMILY}.codes] {meaning}: {sign.code!r} is {taken[sign]} already; if the "
                    f"message tells them apart: {{ code = {sign.code!r}, message = 'WORDS' }}"
                )
    return signs


def _sign(name: str, given: Any) -> Sign:
    if isinstance(given, Mapping):
        _known_keys(f"codes.{name}", given, ("code", "message"))
        code, message = given.get("code"), given.get("message", "")
    else:
        code, message = given, ""
    right = isinstance(code, (str, int)) and not isinstance(code, bool)
    if not isinstance(message, str) or not (right or (code is None and message)):
        raise SettingsError(
            f"[{FAMILY}.codes] {name}: got {given!r}, expected text, a whole number, or "
            "{ code = CODE, message = 'WORDS' }"
        )
    return Sign(code, message)


def read_fields(given: Any) -> dict[str, str]:
    _known_keys("fields", given, MEMBERS)
    for key, value in given.items():
        if not isinstance(value, str) or not value:
            raise SettingsError(f"[{FAMILY}.fields] {key}: got {value!r}, expected a place")
    return dict(given)


def _known_keys(place: str, given: Any, known: tuple[str, ...]) -> None:
    if not isinstance(given, Mapping):
        raise SettingsError(f"[{FAMILY}] {place}: got {str(given)[:60]!r}, expected a table")
    for key in given:
        if key not in known:
            raise SettingsError(f"[{FAMILY}.{place}]: got {key!r}, {expected(key, known)}")
