"""Servers that turn one kind of value into another before they compare."""

from __future__ import annotations

import re
from typing import Any

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from tests.mutants.registry import mutant
from tests.mutants.sep2672.parts import HashesWhatItMeans

JCS = "sep2672/4.6-jcs"


@mutant(kills=JCS, because="the same second half in both")
class EmptyTextIsNothing(HashesWhatItMeans):
    """Leaves members out of the hash whose text is empty."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if one != ""}


@mutant(kills=JCS, because="the same second half in both")
class EmptyListsAreNothing(HashesWhatItMeans):
    """Leaves members out of the hash that are an empty list or object."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if one not in ([], {})}


@mutant(kills=JCS, because="the same second half in both")
class FalseIsNothing(HashesWhatItMeans):
    """Leaves members out of the hash that are false or zero."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: one for name, one in value.items() if one or isinstance(one, str | list)}


@mutant(kills=JCS, because="the same second half in both")
class CutsFractions(HashesWhatItMeans):
    """Hashes numbers without their fractions, as int() makes them."""

    def meant(self, value: Any) -> Any:
        return int(value) if isinstance(value, float) else value


@mutant(kills=JCS, because="the same second half in both")
class SignsDoNotCount(HashesWhatItMeans):
    """Hashes numbers without their sign."""

    def meant(self, value: Any) -> Any:
        return abs(value) if isinstance(value, int | float) else value


@mutant(kills=JCS, because="the same second half in both")
class OrderOfItemsDoesNotCount(HashesWhatItMeans):
    """Sorts lists before it hashes."""

    def meant(self, value: Any) -> Any:
        return sorted(value, key=words.canonical_arguments) if isinstance(value, list) else value


@mutant(kills=JCS, because="the same second half in both")
class ListsAreNumberedObjects(HashesWhatItMeans):
    """Takes a list for an object with the members 0, 1 and so on, as PHP does."""

    def meant(self, value: Any) -> Any:
        return {str(n): one for n, one in enumerate(value)} if isinstance(value, list) else value


@mutant(kills=JCS, because="another second half")
class DotsAreDepth(HashesWhatItMeans):
    """Writes nested members with dots in one flat object before it hashes."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        flat: dict[str, Any] = {}
        for name, one in value.items():
            inside = (
                {f"{name}.{inner}": deep for inner, deep in one.items()}
                if (isinstance(one, dict) and one)
                else {name: one}
            )
            flat |= inside
        return flat


@mutant(kills=JCS, because="another second half")
class MemberNamesInOneStyle(HashesWhatItMeans):
    """Hashes member names in one style: resource_id for resourceId."""

    def meant(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {
            re.sub(r"(?<=[a-z0-9])([A-Z])", lambda hit: f"_{hit[1].lower()}", name): one
            for name, one in value.items()
        }


@mutant(kills=JCS, because="the same second half in both")
class NullIsEmptyText(HashesWhatItMeans):
    """Hashes null as an empty text."""

    def meant(self, value: Any) -> Any:
        return "" if value is None else value
