"""What the scenarios in a browser are written with: a person on the page, and what is expected.

    visit.enrols("icloud-keychain")
    review = visit.asks()
    done = visit.approves(review)
    visit.expect_run(done, sent="...")

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...catalogue import Finding, NotVerified
from ..base.scenario import finding_of
from . import vocabulary as words
from .page import PageError
from .page_person import PageOutcome, PageVisitor, Review
from .page_traffic import shown
from .vocabulary import Reason


class Visit(PageVisitor):
    # ---- a call

    def expect_run(self, done: PageOutcome, *, sent: str) -> None:
        """The call went through, and the tool ran once."""
        if not done.served_once:
            raise finding_of(done, sent=sent, expected="a result, tool run once")

    def expect_refusal(self, done: PageOutcome, reason: Reason, *, sent: str) -> None:
        """The server refused the page's call for this reason, and the tool did not run."""
        expected = f"{words.ERROR_CODE} {reason}, tool not run"
        if done.answer_is_hidden and not done.executed:
            raise NotVerified(f"{sent}: {done.describe()}")
        if done.executed or done.reason != reason:
            said = done.reason or "no reason"
            raise Finding(sent=sent, expected=expected, got=f"{said}; {done.describe()}")

    def expect_nothing_called(self, done: PageOutcome, *, sent: str, success: str) -> None:
        """No call went out, nothing ran, and the page says something else than after a success."""
        expected = "no tools/call, tool not run, and a page that says so"
        if done.calls or done.executed:
            sends = f"the page sent {len(done.calls)} tools/call, " if done.calls else ""
            raise Finding(sent=sent, expected=expected, got=f"{sends}{done.describe()}")
        self.expect_told_apart(done.text, success, sent=sent, expected=expected)

    def expect_told_apart(self, said: str, other: str, *, sent: str, expected: str) -> None:
        """Two texts of the page that a person would not take for the same."""
        apart = _told(said) not in ("", _told(other))
        self.expect(apart, sent=sent, expected=expected, got=f"the page says {shown(said)}")

    # ---- what a client owes

    def expect_verbatim(self, review: Review, *, sent: str) -> None:
        """displayText is shown as it came, all of it."""
        wanted, found = review.display_text, review.shown
        expected = f"the text itself, {len(wanted)} characters, all of it within reach"
        # A text area has no carriage returns, and no page keeps them apart from line feeds.
        text, content, rendered = map(_line_ends, (wanted, found.content, found.rendered))
        for holds, got in (
            (text in (content, rendered), _difference(text, content)),
            (not found.cut, "text that is cut off at an edge"),
            (not found.too_small, "text that nobody can see"),
            (rendered.split() == text.split(), _difference(text, rendered)),
        ):
            self.expect(holds, sent=sent, expected=expected, got=got)
        if rendered.rstrip("\n") != text.rstrip("\n"):
            self.warn(
                f"{sent}: the page holds the text, but the screen shows its white space otherwise "
                "(white-space: pre-wrap keeps it)"
            )

    def expect_approval(self, *, sent: str) -> PageOutcome:
        """A call that went through before still does: the page must cope with what changed."""
        expected = "a review, and an approval as before"
        try:
            return self.approves(self.asks())
        except (PageError, NotVerified) as error:
            what = error.msg if isinstance(error, NotVerified) else str(error)
            raise Finding(sent=sent, expected=expected, got=str(what)) from None

    def expect_evidence(self, evidence: Any, expected: Mapping[str, Any], *, sent: str) -> None:
        """Evidence in a call is what the server and the browser gave, unmodified."""
        wanted = f"_meta[{words.META_KEY!r}] with method, challengeId, and the browser's response"
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
        evidence = [call.meta.get(words.META_KEY) for call in self.traffic.of("tools/call")]
        used = Counter(str(one.get("challengeId")) for one in evidence if isinstance(one, Mapping))
        for name, count in used.items():
            self.expect(
                count == 1,
                sent=sent,
                expected="each challengeId on one tools/call only",
                got=f"challengeId {shown(name)} on {count} of them",
            )

    def expect_told_apart_from_all(self, said: str, reason: Reason, told: dict[str, str]) -> None:
        """What the page says about a reason is not what it said about another, kept in `told`."""
        sent = f"a refusal for {reason}"
        expected = "words on the page that no other reason has"
        for other, text in told.items():
            got = f"{shown(said)}, as for {other}"
            self.expect(_told(said) != _told(text), sent=sent, expected=expected, got=got)
        got = "nothing that a person could read"
        self.expect(bool(_told(said)), sent=sent, expected=expected, got=got)
        told[str(reason)] = said

    def expect_told_alike(
        self,
        usual: tuple[str, Mapping[str, Any]],
        other: tuple[str, Mapping[str, Any]],
        *,
        sent: str,
    ) -> None:
        """What the page says about two errors with one reason is the same. A page may show what the
        server says: an error's own words do not count."""
        texts = {*_texts_in(usual[1]), *_texts_in(other[1])}
        told = [_told(_without(said, texts)) for said, _ in (usual, other)]
        self.expect(
            told[0] == told[1],
            sent=sent,
            expected=f"the words for that reason: {shown(usual[0])}",
            got=shown(other[0]),
        )


def _without(said: str, texts: Iterable[str]) -> str:
    """What a page says, without the names and texts that answers brought."""
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


def _told(text: str) -> str:
    """What a text tells a person, without times and numbers, which change by themselves."""
    return re.sub(r"[\d\W_]+", " ", text).strip().casefold()


def _line_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _difference(wanted: str, got: str) -> str:
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
