"""The two spellings of OAuth's parameters: this profile's camelCase, and RFC 6749's.

Requests are translated on arrival, and an answer has the spelling of its request. The only rules of
OAuth known here: no parameter twice, and an empty one counts as absent (RFC 6749, section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from ....families.gateway_consent.vocabulary import PROFILE_NAMES, RFC_NAMES

_SAME_IN_BOTH = frozenset({"scope", "state", "code"})
_LARGEST = 16_384
_MOST_FIELDS = 100


class SpellingError(ValueError):
    """Ambiguous parameters. Says the name, never a value."""


@dataclass(frozen=True)
class Parameters:
    """Under the names of the RFC."""

    values: Mapping[str, str]
    camel: bool
    """Whether the request was written in this profile's spelling."""

    def answer(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """The members of an answer as the asker spells them."""
        if not self.camel:
            return dict(members)
        return {PROFILE_NAMES.get(name, name): value for name, value in members.items()}


def read(text: str) -> Parameters:
    """The parameters of a query string or of a form."""
    if len(text) > _LARGEST:
        raise SpellingError(f"parameters: got {len(text)} characters, expected {_LARGEST} or fewer")
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise SpellingError("parameters: got something else, expected a form in UTF-8") from None
    values: dict[str, str] = {}
    given: set[str] = set()
    for name, value in pairs:  # a parameter in both spellings is there twice
        rfc = RFC_NAMES.get(name, name)
        if rfc not in PROFILE_NAMES and rfc not in _SAME_IN_BOTH:
            continue  # it means nothing here
        if rfc in values:
            raise SpellingError(f"{name}: got it twice, expected it once")
        given.add(name)
        values[rfc] = value
    return Parameters(
        {name: value for name, value in values.items() if value},
        camel=not given & PROFILE_NAMES.keys(),
    )
