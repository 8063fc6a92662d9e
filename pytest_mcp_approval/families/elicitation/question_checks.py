"""What is wrong with a question as it came: its shape, its form, its words. One line each.

client/elicitation and basic/patterns/mrtr; what the document leaves open is not told. Knows no
wire and no verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...support.text import neutralise
from .form_answers import choices_of, members_of, required_of
from .vocabulary import (
    CREATE,
    INPUT_REQUEST_METHODS,
    INPUT_REQUESTS,
    MESSAGE,
    MODE,
    REQUEST_STATE,
    SCHEMA,
    URL,
    Mode,
    mode_of,
)

_TYPES = ("string", "number", "integer", "boolean", "array")
_FORMATS = ("email", "uri", "date", "date-time")
_NESTING = ("properties", "additionalProperties", "patternProperties", "$ref", "allOf", "not", "if")
_LINK = re.compile(r"(?:https?://|www\.)[^\s<>\"']+", re.IGNORECASE)


def shown(value: Any) -> str:
    return neutralise(repr(value), 60)


# ---- shape


def wrong_with_result(result: Mapping[str, Any]) -> Iterator[str]:
    """Sessionless: of a result that asks."""
    requests, state = result.get(INPUT_REQUESTS), result.get(REQUEST_STATE)
    if requests is None and state is None:
        yield f"neither {INPUT_REQUESTS} nor {REQUEST_STATE}"
    if state is not None and not isinstance(state, str):
        yield f"{REQUEST_STATE} is {shown(state)}, expected text"
    if requests is None:
        return
    if not isinstance(requests, Mapping):
        yield f"{INPUT_REQUESTS} is {shown(requests)}, expected an object"
        return
    if not requests and state is None:
        yield f"{INPUT_REQUESTS} is empty, and there is no {REQUEST_STATE}"
    for key, one in requests.items():
        yield from _wrong_with_request(key, one)


def _wrong_with_request(key: Any, one: Any) -> Iterator[str]:
    if not isinstance(key, str) or not key.strip():
        yield f"a question under the key {shown(key)}"
    if not isinstance(one, Mapping):
        yield f"{shown(key)} is {shown(one)}, expected a request"
        return
    method, params = one.get("method"), one.get("params")
    if method not in INPUT_REQUEST_METHODS:
        yield f"{shown(key)} is a request {shown(method)}, which no result may ask for"
    elif method != CREATE:
        yield f"{shown(key)} is a request {method}, for which the client declared nothing"
    elif not isinstance(params, Mapping):
        yield f"{shown(key)} has params {shown(params)}, expected an object"
    else:
        yield from wrong_with_params(params)


def wrong_with_params(params: Mapping[str, Any]) -> Iterator[str]:
    """Of elicitation/create, in both eras."""
    message = params.get(MESSAGE)
    if not isinstance(message, str) or not message.strip():
        yield f"{MESSAGE} is {shown(message)}, expected a text that says something"
    mode = mode_of(params)
    if mode is None:
        yield f"{MODE} is {shown(params.get(MODE))}, expected form or url"
    if mode is Mode.FORM and not isinstance(params.get(SCHEMA), Mapping):
        yield f"{SCHEMA} is {shown(params.get(SCHEMA))}, expected an object"
    if mode is Mode.FORM and URL in params:
        yield f"a form with a {URL}"
    if mode is Mode.URL and SCHEMA in params:
        yield f"a page with a {SCHEMA}"


# ---- forms


def wrong_with_schema(schema: Any, *, lists: bool = True) -> Iterator[str]:
    """Of a form's schema; `lists`: whether the revision knows choices of several."""
    if not isinstance(schema, Mapping):
        yield f"the schema is {shown(schema)}, expected an object"
        return
    if schema.get("type") != "object":
        yield f"its type is {shown(schema.get('type'))}, expected 'object'"
    if not isinstance(schema.get("properties"), Mapping):
        yield f"its properties are {shown(schema.get('properties'))}, expected an object"
        return
    for name, member in schema["properties"].items():
        for problem in _wrong_with_member(member, lists=lists):
            yield f"{shown(name)} {problem}"
    for name in required_of(schema):
        if name not in schema["properties"]:
            yield f"it requires {shown(name)}, which is no member of it"
    nested = [word for word in _NESTING[2:] if word in schema]
    if nested:
        yield f"it has {', '.join(nested)}"


def _wrong_with_member(member: Any, *, lists: bool) -> Iterator[str]:
    if not isinstance(member, Mapping):
        yield f"is {shown(member)}, expected an object"
        return
    for word in _NESTING:
        if word in member:
            yield f"has {word}, so it is not primitive"
    kind = member.get("type")
    if kind not in _TYPES:
        yield f"is of the type {shown(kind)}, which no form has"
    elif kind == "array":
        yield from _wrong_with_several(member, lists=lists)
    else:
        yield from _wrong_with_choices(member)
    if kind == "string" and "format" in member and member["format"] not in _FORMATS:
        yield f"has the format {shown(member['format'])}, which no form has"


def _wrong_with_several(member: Mapping[str, Any], *, lists: bool) -> Iterator[str]:
    items = member.get("items")
    if not lists:
        yield "is a list, which this revision does not know"
    elif not isinstance(items, Mapping) or not choices_of(items):
        yield "is a list of something else than choices"


def _wrong_with_choices(member: Mapping[str, Any]) -> Iterator[str]:
    for word in ("oneOf", "anyOf"):
        options = member.get(word)
        if word in member and not (
            isinstance(options, list)
            and options
            and all(isinstance(one, Mapping) and "const" in one for one in options)
        ):
            yield f"has a {word} that is no list of choices"
    choices = member.get("enum")
    if choices is not None and not (
        isinstance(choices, list) and choices and all(isinstance(one, str) for one in choices)
    ):
        yield f"has the choices {shown(choices)}, expected texts"


def texts_of_form(params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """All words of a form that a person reads, each with its place."""
    if isinstance(params.get(MESSAGE), str):
        yield MESSAGE, params[MESSAGE]
    schema = params.get(SCHEMA)
    for word in ("title", "description"):
        if isinstance(schema, Mapping) and isinstance(schema.get(word), str):
            yield f"the form's {word}", schema[word]
    for name, member in members_of(schema).items():
        for word in ("title", "description", "default"):
            if isinstance(member.get(word), str):
                yield f"{word} of {name}", member[word]
        for value, title in choices_of(member):
            yield f"a choice of {name}", f"{value} {title}"


def links_in(params: Mapping[str, Any], arguments: Any) -> Iterator[str]:
    """Links that are no part of what was asked about."""
    told = neutralise(str(arguments), 100_000)
    for place, text in texts_of_form(params):
        for link in _LINK.findall(text):
            if link.rstrip(".,;:!?)") not in told:
                yield f"{place}: {neutralise(link, 80)}"


# ---- credentials

_CREDENTIAL = re.compile(
    r"pass_?words?|passwd|pwd|pass_?phrase|passcode|pin(?:_?code)?|secret|api_?keys?|"
    r"(?:access|auth|bearer|refresh|session|api|security)_?tokens?|token|private_?key|secret_?key|"
    r"credentials?|credit_?card|card_?(?:number|no)|cvv|cvc|otp|one_?time_?(?:code|password)|"
    r"totp|mfa_?code|ssn|social_?security(?:_?number)?|"
    r"passwort|kennwort|geheimnis|mot_?de_?passe|contrase(?:ñ|n)a|clave_?secreta|senha|"
    r"parola_?chiave|wachtwoord|has(?:ł|l)o|пароль|密码|密碼|口令|パスワード|비밀번호"
)
_ASKS_FOR = re.compile(
    r"(?:enter|type|provide|give|supply|paste|input|eingeben|geben|saisir|entrez|introduzca|"
    r"ingrese|digite|inserire|voer|введите|输入|入力)\W+(?:\w+\W+){0,3}(?:"
    + _CREDENTIAL.pattern.replace("_?", "[ _-]?")
    + r")",
    re.IGNORECASE,
)


def credentials_asked(params: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Where a form asks for credentials: for certain, by a name or a format; and by its words."""
    certain, likely = [], []
    for name, member in members_of(params.get(SCHEMA)).items():
        if member.get("type") != "string" or choices_of(member):
            continue  # what cannot be typed is no credential
        if _CREDENTIAL.fullmatch(_snake(name)) or _words_name_one(_snake(name)):
            certain.append(f"a member {shown(name)}")
        elif member.get("format") == "password":
            certain.append(f"{shown(name)} has the format password")
        else:
            words = f"{member.get('title', '')} {member.get('description', '')}"
            if _words_name_one(_snake(words)):
                likely.append(f"{shown(name)}: {neutralise(words.strip(), 60)}")
    for place, text in texts_of_form(params):
        found = _ASKS_FOR.search(text)
        if found and not certain:
            likely.append(f"{place}: {neutralise(found.group(), 60)}")
    return certain, likely


def _snake(name: str) -> str:
    return re.sub(r"[\W]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)).lower().strip("_")


def _words_name_one(name: str) -> bool:
    """Whether a name holds the word for a credential, whole: passport is none."""
    return re.search(rf"(?:^|_)(?:{_CREDENTIAL.pattern})(?:_|$)", name) is not None


# ---- what a message tells

_REWRITES = re.compile(
    "[\x00-\x1f\x7f\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]"
)
_SAYS_CUT = re.compile(
    r"…|\.\.\.|characters|bytes|truncated|shortened|sha|hash|more\b", re.IGNORECASE
)


def leaves_of(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every plain value, with its place."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from leaves_of(one, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from leaves_of(one, f"{place}[{at}]")
    else:
        yield place, value


def tells(message: str, value: Any) -> bool:
    """Whether a message names a value, in one of the ways in which it may be written."""
    if isinstance(value, bool) or value is None:
        return True  # it may be told in words: keeping a backup
    text = str(value)
    if text.casefold() in message.casefold():
        return True
    if isinstance(value, (int, float)):
        digits = re.sub(r"[\s,'._\u00a0\u202f]", "", message)
        return re.sub(r"\D", "", text.removesuffix(".0")) in digits
    return "".join(text.split()).casefold() in "".join(message.split()).casefold()


def cut_without_saying(message: str, value: str) -> bool:
    return value not in message and not _SAYS_CUT.search(message)


def rewriting_characters(message: str, allowed: str = "\n\t") -> list[str]:
    """Characters by which a value can change how the message reads."""
    return sorted({f"U+{ord(one):04X}" for one in _REWRITES.findall(message) if one not in allowed})
