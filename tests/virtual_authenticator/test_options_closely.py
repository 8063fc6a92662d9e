"""What is read at a glance is what a close reading gives: the same options, or the same complaint.

Values of derived types (a text that is not exactly `str`) are never accepted at a glance, so that
the same options go both ways.
"""

from __future__ import annotations

import copy
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_authenticator import InvalidOptionsError
from virtual_authenticator.options import CreationOptions, creation_options, request_options

CREATION: dict[str, Any] = {
    "rp": {"id": "example.org", "name": "Example"},
    "user": {"id": "dXNlcg", "name": "user", "displayName": "User"},
    "challenge": "AAAA",
    "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
    "authenticatorSelection": {"userVerification": "required"},
}
REQUEST: dict[str, Any] = {
    "challenge": "AAAA",
    "rpId": "example.org",
    "allowCredentials": [{"type": "public-key", "id": "AAAA", "transports": ["usb"]}],
    "userVerification": "required",
    "timeout": 60000,
}
GONE = object()
"""In place of a value: the member is not there."""
BYTES = ["", "AA", "AB", "A", "AA==", "a+bc", "a/bc", "A" * 86, "A" * 87, "A" * 88, "\u00e9"]
TIMEOUTS = [0, 60000, 2**32 - 1, 2**32, -1, 1.5, True, "x"]
WORDS = ["required", "preferred", "discouraged", "new", "", []]
OFFERED: list[Any] = [
    {"type": "public-key", "alg": alg} for alg in (-7, -8, -35, -257, 0, True, 1.5, None)
]
OFFERED += [{"type": "new", "alg": -7}, {"alg": -7}, {"type": 3, "alg": -7}, "text"]
DESCRIPTORS: list[Any] = [
    *([], {}, "", 0, [3]),
    [{"type": "public-key", "id": "AAAA"}],
    [{"type": "public-key", "id": "AB"}],
    [{"type": "public-key", "id": "AAAA", "transports": "usb"}],
    [{"type": "public-key", "id": "AA=="}],
    [{"type": "new", "id": "AA"}],
    [{"id": "AA"}],
]
EXTENSIONS: list[Any] = [{}, {"credProps": True}, []]
CREATION_VALUES: dict[str, list[Any]] = {
    "rp": [{}, [], "text"],
    "rp.id": ["example.org", ""],
    "rp.name": ["", "Ex\u00e4mple"],
    "user": [{}, [], "text"],
    "user.id": BYTES,
    "user.name": [""],
    "user.displayName": ["\ud800"],
    "challenge": BYTES,
    "pubKeyCredParams": [{}, "text", [], *([OFFERED[1], one] for one in OFFERED)],
    "timeout": TIMEOUTS,
    "attestation": ["none", "direct", "enterprise", "new", "", []],
    "extensions": EXTENSIONS,
    "excludeCredentials": DESCRIPTORS,
    "authenticatorSelection": [{}, [], "text"],
    "authenticatorSelection.residentKey": WORDS,
    "authenticatorSelection.requireResidentKey": [True, False, "x"],
    "authenticatorSelection.userVerification": WORDS,
    "authenticatorSelection.authenticatorAttachment": ["platform", "cross-platform", "new", 3],
}
REQUEST_VALUES: dict[str, list[Any]] = {
    "rpId": ["", []],
    "challenge": BYTES,
    "timeout": TIMEOUTS,
    "allowCredentials": DESCRIPTORS,
    "userVerification": WORDS,
    "extensions": EXTENSIONS,
}


class Text(str):
    """Not exactly a `str`."""

    __slots__ = ()


class Number(int):
    """Not exactly an `int`."""


def derived(value: Any) -> Any:
    """The same value in types that are accepted, but not at a glance."""
    if isinstance(value, dict):
        return MappingProxyType({name: derived(member) for name, member in value.items()})
    if isinstance(value, list):
        return [derived(item) for item in value]
    if isinstance(value, str):
        return Text(value)
    return Number(value) if type(value) is int else value


def changed(options: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A copy with members changed; `a.b` is the member b of the object a."""
    made = copy.deepcopy(options)
    for path, value in changes.items():
        *parents, name = path.split(".")
        place: Any = made
        for parent in parents:
            place = place.get(parent) if isinstance(place, dict) else None
        if not isinstance(place, dict):
            continue  # another change took the object away
        if value is GONE:
            place.pop(name, None)
        else:
            place[name] = value
    return made


def outcome(read: Any, options: Any) -> Any:
    try:
        found = read(options)
    except InvalidOptionsError as error:
        return error.name, error.where, error.expected
    if isinstance(found, CreationOptions):
        return [getattr(found, member.name) for member in fields(found)]
    return list(found)


CASES = [
    *((creation_options, CREATION, name, values) for name, values in CREATION_VALUES.items()),
    *((request_options, REQUEST, name, values) for name, values in REQUEST_VALUES.items()),
]


@pytest.mark.parametrize(("read", "options", "name", "values"), CASES)
def test_both_readings_agree_on_every_single_change(
    read: Any, options: dict[str, Any], name: str, values: list[Any]
) -> None:
    assert outcome(read, options) == outcome(read, derived(options))
    seen = set()
    for value in [*values, GONE, None, 7]:
        one = changed(options, {name: value})
        before = copy.deepcopy(one)
        assert outcome(read, one) == outcome(read, derived(one)), value
        assert one == before, "the options are the caller's"
        seen.add(repr(outcome(read, one)))
    assert len(seen) > 1, "no value made a difference"


def mixtures(base: dict[str, Any], values: dict[str, list[Any]]) -> st.SearchStrategy[Any]:
    members = {name: st.sampled_from([*some, GONE, None, 7]) for name, some in values.items()}
    return st.fixed_dictionaries({}, optional=members).map(lambda changes: changed(base, changes))


@settings(max_examples=150, deadline=None)
@given(creation=mixtures(CREATION, CREATION_VALUES), request=mixtures(REQUEST, REQUEST_VALUES))
def test_both_readings_agree_on_mixtures(creation: Any, request: Any) -> None:
    for read, options in ((creation_options, creation), (request_options, request)):
        glance, close = outcome(read, options), outcome(read, derived(options))
        # Where several members are wrong, the two may name another one of them first.
        assert type(glance) is type(close)
        assert glance == close or isinstance(glance, tuple)
