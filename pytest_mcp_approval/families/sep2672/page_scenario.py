"""What the scenarios in a browser are written with: a person on the page, and what is expected.

    visit.enrols("icloud-keychain")
    review = visit.asks()
    done = visit.approves(review)
    visit.expect_run(done, sent="...")

Raises a `Finding` for anything unexpected, and `NotVerified` for what cannot be checked.
"""

from __future__ import annotations

from ...catalogue import Finding, NotVerified
from ..base.scenario import finding_of
from . import vocabulary as words
from .client_expectations import (
    ClientExpectations,
    difference,
    gist,
    plain_line_ends,
    shown,
)
from .page import PageError
from .page_person import PageOutcome, PageVisitor, Review
from .page_traffic import PageRequest
from .vocabulary import Reason


class Visit(PageVisitor, ClientExpectations):
    def sent_calls(self) -> list[PageRequest]:
        return self.traffic.of("tools/call")

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
        apart = gist(said) not in ("", gist(other))
        self.expect(apart, sent=sent, expected=expected, got=f"the page says {shown(said)}")

    # ---- what a client owes

    def expect_verbatim(self, review: Review, *, sent: str) -> None:
        """displayText is shown as it came, all of it."""
        wanted, found = review.display_text, review.shown
        expected = f"the text itself, {len(wanted)} characters, all of it within reach"
        # A text area has no carriage returns, and no page keeps them apart from line feeds.
        text, content, rendered = map(plain_line_ends, (wanted, found.content, found.rendered))
        for holds, got in (
            (text in (content, rendered), difference(text, content)),
            (not found.cut, "text that is cut off at an edge"),
            (not found.too_small, "text that nobody can see"),
            (rendered.split() == text.split(), difference(text, rendered)),
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
