"""Verifiers that write a value in another way, or as another kind, before it is signed."""

from __future__ import annotations

import decimal
import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    WritingScopes,
    changed,
    in_extension,
)
from tests.mutants.registry import mutant

SIGNATURE = "execution_tokens/signature"
CANONICAL = "execution_tokens/canonical-string"
LANGUAGES = "execution_tokens/cross-language"
REFUSED = "accepted[^§]*bad_signature"


@mutant(kills=LANGUAGES, because=f"numbers with a fraction[^§]*{REFUSED}")
@in_extension
class WritesWholeNumbersShort(WritingScopes):
    """Writes 1.0 as 1, as JavaScript does."""

    def written(self, scope: Any) -> str:
        return json.dumps(changed(scope, _without_point), sort_keys=True)


def _without_point(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


@mutant(kills=LANGUAGES, because=f"truth[^§]*{REFUSED}")
@in_extension
class WritesTruthAsNumbers(WritingScopes):
    """Writes true and false as 1 and 0, as SQL does."""

    def written(self, scope: Any) -> str:
        change = lambda one: int(one) if isinstance(one, bool) else one  # noqa: E731
        return json.dumps(changed(scope, change), sort_keys=True)


@mutant(kills=LANGUAGES, because=f"nothing at all[^§]*{REFUSED}")
@in_extension
class WritesNullAsNothing(WritingScopes):
    """Leaves members out that are null, as Go's omitempty does."""

    def written(self, scope: Any) -> str:
        return json.dumps(_without_nulls(scope), sort_keys=True)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_nulls(one) for name, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


@mutant(kills=CANONICAL, because=f"its scope has: letters beyond ASCII[^§]*{REFUSED}")
@in_extension
class WritesEscapesInCapitals(WritingScopes):
    """Writes the digits of an escape in capital letters."""

    def written(self, scope: Any) -> str:
        text = json.dumps(scope, sort_keys=True)
        parts = text.split("\\u")
        return parts[0] + "".join(f"\\u{one[:4].upper()}{one[4:]}" for one in parts[1:])


@mutant(kills=CANONICAL, because=f"its scope has: what JSON escapes[^§]*{REFUSED}")
@in_extension
class EscapesSlashes(WritingScopes):
    """Writes a backslash before a slash, as PHP does."""

    def written(self, scope: Any) -> str:
        return json.dumps(scope, sort_keys=True).replace("/", "\\/")


@mutant(kills=CANONICAL, because=f"its scope has: letters beyond ASCII[^§]*{REFUSED}")
@in_extension
class LeavesTheDeleteSignAlone(WritingScopes):
    """Writes the sign 127 as it is: it is ASCII."""

    def written(self, scope: Any) -> str:
        return json.dumps(scope, sort_keys=True).replace("\\u007f", "\x7f")


@mutant(
    kills=CANONICAL, because=f"its scope has: keys in another order, at every depth[^§]*{REFUSED}"
)
@in_extension
class SortsWithoutCase(WritingScopes):
    """Sorts keys as a dictionary does, without a difference between small and capital letters."""

    def written(self, scope: Any) -> str:
        return json.dumps(_by_word(scope))


def _by_word(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _by_word(value[name]) for name in sorted(value, key=str.lower)}
    return [_by_word(one) for one in value] if isinstance(value, list) else value


def _numbers_first(value: Any) -> Any:
    if isinstance(value, Mapping):
        order = sorted(value, key=lambda n: (0, int(n), n) if _index(n) else (1, 0, n))
        return {name: _numbers_first(value[name]) for name in order}
    return [_numbers_first(one) for one in value] if isinstance(value, list) else value


def _index(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name[:30])) == name


def _without_prototype(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = (name for name in value if name != "__proto__")
        return {name: _without_prototype(value[name]) for name in kept}
    return [_without_prototype(one) for one in value] if isinstance(value, list) else value


@mutant(kills=LANGUAGES, because=f"numbers with a fraction[^§]*{REFUSED}")
@in_extension
class WritesShortExponents(WritingScopes):
    """Writes 1e-07 as 1e-7, as JavaScript does."""

    def written(self, scope: Any) -> str:
        return _numbers_written(scope, lambda text: re.sub(r"e([-+])0+", r"e\1", text))


def _numbers_written(scope: Any, write: Callable[[str], str]) -> str:
    """As JSON, with numbers that have a fraction written in another way."""
    numbers: list[str] = []

    def kept(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        numbers.append(write(json.dumps(value)))
        return f"\ue000{len(numbers) - 1}\ue000"

    text = json.dumps(changed(scope, kept), sort_keys=True)
    return re.sub(r'"\\ue000([0-9]+)\\ue000"', lambda found: numbers[int(found[1])], text)


@mutant(kills=LANGUAGES, because=f"numbers with a fraction[^§]*{REFUSED}")
@in_extension
class WritesSmallNumbersInFull(WritingScopes):
    """Writes 1e-05 as 0.00001, as JavaScript does down to a millionth."""

    def written(self, scope: Any) -> str:
        return _numbers_written(scope, _in_full)


def _in_full(text: str) -> str:
    value = float(text)
    return f"{decimal.Decimal(text):f}" if 1e-6 <= abs(value) < 1e-4 else text


@mutant(kills=LANGUAGES, because=f"generated scope [^§]*{REFUSED}")
@in_extension
class RoundsNumbersInScopes(WritingScopes):
    """Writes numbers with fifteen digits, as many languages do."""

    def written(self, scope: Any) -> str:
        change = lambda one: float(f"{one:.15g}") if isinstance(one, float) else one  # noqa: E731
        return json.dumps(changed(scope, change), sort_keys=True)


@mutant(kills=LANGUAGES, because=f"numbers with a fraction[^§]*{REFUSED}")
@in_extension
class LosesTheSignOfZero(WritingScopes):
    """Writes -0.0 as 0.0."""

    def written(self, scope: Any) -> str:
        change = lambda one: one + 0.0 if isinstance(one, float) else one  # noqa: E731
        return json.dumps(changed(scope, change), sort_keys=True)


@mutant(kills=LANGUAGES, because=f"nothing at all[^§]*{REFUSED}")
@in_extension
class SignsNothingThatIsEmpty(WritingScopes):
    """Leaves members out that are empty, zero or false, as Go's omitempty does."""

    def written(self, scope: Any) -> str:
        return json.dumps(_without_empties(scope), sort_keys=True)


def _without_empties(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            name: _without_empties(one)
            for name, one in value.items()
            if one or one is None or name in (words.ACTION_TYPE, words.ALLOWED_HOSTS)
        }
    return [_without_empties(one) for one in value] if isinstance(value, list) else value


@mutant(kills=LANGUAGES, because=f"nothing at all[^§]*{REFUSED}")
@in_extension
class WritesEmptyObjectsAsLists(WritingScopes):
    """Writes an empty object as an empty list, as PHP does."""

    def written(self, scope: Any) -> str:
        return json.dumps(_php_arrays(scope, numbered=False), sort_keys=True)


def _php_arrays(value: Any, *, numbered: bool) -> Any:
    if isinstance(value, Mapping):
        inner = {name: _php_arrays(one, numbered=numbered) for name, one in value.items()}
        in_turn = list(inner) == [str(place) for place in range(len(inner))]
        return [*inner.values()] if in_turn and bool(inner) == numbered else inner
    if isinstance(value, list):
        return [_php_arrays(one, numbered=numbered) for one in value]
    return value


@mutant(kills=LANGUAGES, because=f"generated scope [^§]*{REFUSED}")
@in_extension
class WritesNumberedObjectsAsLists(WritingScopes):
    """Writes an object whose names are 0, 1, 2 and so on as a list, as PHP does."""

    def written(self, scope: Any) -> str:
        return json.dumps(_php_arrays(scope, numbered=True), sort_keys=True)


@mutant(kills=LANGUAGES, because=f"names that are numbers[^§]*{REFUSED}")
@in_extension
class PutsNumbersFirst(WritingScopes):
    """Writes names that are numbers first and in their order, as JavaScript's objects have them."""

    def written(self, scope: Any) -> str:
        return json.dumps(_numbers_first(scope))


@mutant(kills=CANONICAL, because="what HTML escapes[^§]*accepted[^§]*bad_signature")
@in_extension
class EscapesHtml(WritingScopes):
    """Writes <, > and & as escapes, as Go does."""

    def written(self, scope: Any) -> str:
        text = json.dumps(scope, sort_keys=True)
        return re.sub("[<>&]", lambda one: f"\\u{ord(one[0]):04x}", text)


@mutant(kills=CANONICAL, because="what JSON escapes[^§]*accepted[^§]*bad_signature")
@in_extension
class WritesControlsByNumber(WritingScopes):
    """Writes a backspace and a form feed by their numbers, as Go did for years."""

    def written(self, scope: Any) -> str:
        text = json.dumps(scope, sort_keys=True)
        short = {"\\b": "\\u0008", "\\f": "\\u000c"}
        return re.sub(r"\\.", lambda one: short.get(one[0], one[0]), text)


@mutant(
    kills=CANONICAL,
    because=f"letters in two parts, and blanks around[^§]*{REFUSED}",
)
@in_extension
class ComposesLetters(WritingScopes):
    """Writes text in its composed Unicode form before it is signed."""

    def written(self, scope: Any) -> str:
        return json.dumps(changed(scope, _composed), sort_keys=True)


def _composed(value: Any) -> Any:
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


@mutant(kills=SIGNATURE, because="pair read as U\\+FFFD: accepted", warned=True)
@in_extension
class ReplacesHalfLetters(WritingScopes):
    """Puts the replacement character in the place of half a surrogate pair, as encoders do."""

    def written(self, scope: Any) -> str:
        return json.dumps(changed(scope, _whole_letters), sort_keys=True)


def _whole_letters(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@mutant(
    kills=LANGUAGES,
    because=f"names that mean something elsewhere[^§]*{REFUSED}",
)
@in_extension
class LosesThePrototype(WritingScopes):
    """Loses a member called __proto__, as JavaScript's objects do when it is assigned."""

    def written(self, scope: Any) -> str:
        return json.dumps(_without_prototype(scope), sort_keys=True)


@mutant(kills=CANONICAL, because="hosts that are not in order[^§]*accepted[^§]*bad_signature")
@in_extension
class SortsListsToo(WritingScopes):
    """Sorts the allowed hosts too before it signs."""

    def written(self, scope: Any) -> str:
        hosts = sorted(scope[words.ALLOWED_HOSTS])
        return json.dumps({**scope, words.ALLOWED_HOSTS: hosts}, sort_keys=True)


@mutant(kills=CANONICAL, because=f"hosts in small letters signed{TAKEN}")
@in_extension
class WritesHostsInSmallLetters(WritingScopes):
    """Writes the allowed hosts in small letters before it signs."""

    def written(self, scope: Any) -> str:
        hosts = [one.lower() for one in scope[words.ALLOWED_HOSTS]]
        return json.dumps({**scope, words.ALLOWED_HOSTS: hosts}, sort_keys=True)


@mutant(kills=CANONICAL, because=f"each of its hosts once signed{TAKEN}")
@in_extension
class WritesEachHostOnce(WritingScopes):
    """Keeps the allowed hosts as a set, and signs each of them once."""

    def written(self, scope: Any) -> str:
        hosts = [*dict.fromkeys(scope[words.ALLOWED_HOSTS])]
        return json.dumps({**scope, words.ALLOWED_HOSTS: hosts}, sort_keys=True)


@mutant(kills=CANONICAL, because="what JSON escapes[^§]*accepted[^§]*bad_signature")
@in_extension
class TrimsWhatItSigns(WritingScopes):
    """Takes blanks off the ends of all texts before it signs."""

    def written(self, scope: Any) -> str:
        change = lambda one: one.strip() if isinstance(one, str) else one  # noqa: E731
        return json.dumps(changed(scope, change), sort_keys=True)
