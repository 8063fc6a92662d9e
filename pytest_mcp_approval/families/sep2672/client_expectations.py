"""What SEP-2672 expects of any client, be it a page in a browser or a program in a terminal.

The classes that scenarios are written with have these beside their own steps. Knows no page and no
terminal.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ...catalogue import Finding
from ...support.text import neutralise
from . import vocabulary as words
from .vocabulary import Reason


class SentCall(Protocol):
    """A tools/call that a client sent."""

    @property
    def meta(self) -> Mapping[str, Any]: ...


class ClientExpectations:
    """Expectations that all clients share; `sent_calls` and `expect` are the other class's."""

    def sent_calls(self) -> Sequence[SentCall]:
        """Every tools/call that the client sent."""
        raise NotImplementedError

    def expect(self, holds: bool, *, sent: str, expected: str, got: str) -> None:
        raise NotImplementedError

    def expect_evidence(self, evidence: Any, expected: Mapping[str, Any], *, sent: str) -> None:
        """Evidence in a call is what the server and the authenticator gave, unmodified."""
        wanted = (
            f"_meta[{words.META_KEY!r}] with method, challengeId, and the authenticator's response"
        )
        if not isinstance(evidence, Mapping):
            raise Finding(sent=sent, expected=wanted, got=f"{shown(str(evidence))} under that key")
        for member in ("method", "challengeId"):
            got, owed = evidence.get(member), expected[member]
            self.expect(
                got == owed,
                sent=sent,
                expected=f"{wanted} ({member} {owed!r})",
                got=f"{member} {shown(str(got))}",
            )
        wrong = sorted(_differences(expected["response"], evidence.get("response")))
        self.expect(not wrong, sent=sent, expected=wanted, got=f"another {', '.join(wrong[:6])}")

    def expect_each_challenge_once(self, *, sent: str) -> None:
        """No challengeId went out on two calls."""
        evidence = [call.meta.get(words.META_KEY) for call in self.sent_calls()]
        used = Counter(str(one.get("challengeId")) for one in evidence if isinstance(one, Mapping))
        for name, count in used.items():
            self.expect(
                count == 1,
                sent=sent,
                expected="each challengeId on one tools/call only",
                got=f"challengeId {shown(name)} on {count} of them",
            )

    def expect_told_apart_from_all(self, said: str, reason: Reason, told: dict[str, str]) -> None:
        """What the client says about a reason is not what it said about another, kept in `told`."""
        sent = f"a refusal for {reason}"
        expected = "words that no other reason has"
        for other, text in told.items():
            got = f"{shown(said)}, as for {other}"
            self.expect(gist(said) != gist(text), sent=sent, expected=expected, got=got)
        got = "nothing that a person could read"
        self.expect(bool(gist(said)), sent=sent, expected=expected, got=got)
        told[str(reason)] = said

    def expect_told_alike(
        self,
        usual: tuple[str, Mapping[str, Any]],
        other: tuple[str, Mapping[str, Any]],
        *,
        sent: str,
    ) -> None:
        """What the client says about two errors with one reason is the same. A client may show
        what the server says: an error's own words do not count."""
        texts = {*_texts_in(usual[1]), *_texts_in(other[1])}
        told = [gist(_without(said, texts)) for said, _ in (usual, other)]
        self.expect(
            told[0] == told[1],
            sent=sent,
            expected=f"the words for that reason: {shown(usual[0])}",
            got=shown(other[0]),
        )


def _without(said: str, texts: Iterable[str]) -> str:
    """What a client says, without the names and texts that answers brought."""
    for one in sorted(texts, key=len, reverse=True):
        said = said.replace(one, " ")
    return said


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            if name not in ("error", "data", "message", "code", "reason"):
                yield name
            if name != "reason":
                yield from _texts_in(one)
    elif value is None or isinstance(value, (bool, str)):
        yield value if isinstance(value, str) else json.dumps(value)


def gist(text: str) -> str:
    """What a text tells a person, without times and numbers, which change by themselves."""
    return re.sub(r"[\d\W_]+", " ", text).strip().casefold()


def plain_line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def difference(wanted: str, got: str) -> str:
    """Where two texts begin to differ."""
    place = next(
        (at for at, (a, b) in enumerate(zip(wanted, got, strict=False)) if a != b),
        min(len(wanted), len(got)),
    )
    if len(got) < len(wanted) and place == len(got):
        return f"{len(got)} characters, without what follows {shown(got[-30:])}"
    there = shown(ascii(got[place : place + 30]))
    return f"{len(got)} characters, from number {place + 1} on {there}"


def _differences(wanted: Any, got: Any, place: str = "response") -> set[str]:
    """The members that are missing, added or changed; null and absent are the same."""
    if not isinstance(wanted, Mapping) or not isinstance(got, Mapping):
        return set() if wanted == got else {place}
    return {
        one
        for name in {*wanted, *got}
        for one in _differences(wanted.get(name), got.get(name), f"{place}.{name}")
    }


def shown(text: str, longest: int = 80) -> str:
    """A text of the client's, for a finding."""
    return repr(neutralise(" ".join(text.split()), longest))
