"""SEP-2672 as it binds a client, seen on the page: what the person reads before the assertion."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.sep2672.page_scenario import Visit
from pytest_mcp_approval.families.sep2672.vocabulary import CHALLENGE_CREATE

SENTENCE = "Pay 4.50 EUR to Example Ltd for invoice 2024-17. "
LONG = {
    "longer than a line": SENTENCE * 3,
    "longer than a screen": "".join(f"{n}. {SENTENCE}\n" for n in range(1, 301)) + "END",
    "one word without a break": "x" * 5_000 + "END",
}
SPACED = {
    "line breaks and tabs": "Pay\n\n\tto:\tExample\r\n  twice  \n  indented   END",
    "blanks around it": "   Pay 4 EUR \n",
}
MARKED = {
    "markup": "<b>Pay</b> <script>nothing()</script> <img src=x> &amp; &lt;ok&gt; <!-- 9 --> END",
    "Markdown": "**Pay** [nothing](http://localhost/) `x` # 1\n* 9 EUR\n\n> END",
    "placeholders": "{amount} ${x} %s %(a)s {{ 7 * 7 }} $& $1 \\n \\u0041 END",
}
BEYOND_ASCII = {
    "text from right to left": "Pay \u202e50.4\u202c to \u2067\u05d0\u05d1\u05d2\u2069 \u200f END",
    "zero width": "Pay\u200b 4\u200d\ufeff EUR\u2060 END",
    "not composed": "Cafe\u0301 \u1100\u1161 \ufb01 \u212b END",
    "beyond the BMP": "\U0001f469\u200d\U0001f52c \U0001d4d0 \U0001f1e9\U0001f1ea END",
}


def give(visit: Visit, text: str) -> None:
    """The page gets this displayText instead of the server's own."""

    def change(message):
        return {**message, "result": {**message.get("result", {}), "displayText": text}}

    visit.traffic.change_answer(CHALLENGE_CREATE, change)


@requirement("sep2672/4.4.3-client-verbatim")
@pytest.mark.parametrize(
    "texts",
    [LONG, SPACED, MARKED, BEYOND_ASCII],
    ids=["long", "spaced", "marked up", "beyond ASCII"],
)
def test_the_text_is_shown_as_it_came(visit, texts):
    """Every character of displayText is shown, in its place, and can be reached."""
    visit.enrols()
    visit.approves_a_call()
    for kind, text in texts.items():
        give(visit, text)
        review = visit.asks()
        visit.expect_verbatim(review, sent=f"displayText: {kind} ({len(text)} characters)")
        visit.declines(review)


@requirement("sep2672/4.4.3-client-verbatim")
def test_the_text_is_there_before_the_assertion_begins(visit):
    """What the person reads is the server's own text, and stays there until they have agreed."""
    key = visit.enrols()
    key.person.will("wait")
    review = visit.asks()
    sent = "a challenge, and its displayText"
    visit.expect_verbatim(review, sent=sent)
    visit.expect(
        not visit.assertions(),
        sent=sent,
        expected="the text first, the assertion only after it",
        got="the assertion had begun when the text appeared",
    )

    def act() -> None:
        visit.driver.approve()
        key.asked()
        key.person.approves()

    visit.expect_run(visit.observes(act), sent="the approval of that text")


@requirement("sep2672/4.4.3-client-verbatim")
def test_each_challenge_has_its_own_text(visit):
    """A second challenge is not shown with the words of the first."""
    visit.enrols()
    for text in (f"First: {SENTENCE}", "Second: delete everything"):
        give(visit, text)
        review = visit.asks()
        visit.expect_verbatim(review, sent=f"displayText {text!r}")
        visit.declines(review)


@requirement("sep2672/4.9-client-review-before-assertion")
def test_no_assertion_begins_before_the_person_has_agreed(visit):
    """With displayText on the screen the page waits, however long the person reads."""
    key = visit.enrols()
    key.person.will("wait")
    review = visit.asks()
    visit.settles()
    sent = "a challenge; the person reads, and presses nothing"
    visit.expect(
        not visit.assertions(),
        sent=sent,
        expected="no assertion before the person agrees",
        got="navigator.credentials.get was called",
    )
    visit.expect(
        not visit.calls_of(review.tool),
        sent=sent,
        expected="no tools/call before the person agrees",
        got=f"{len(visit.calls_of(review.tool))} tools/call",
    )

    def act() -> None:
        visit.driver.approve()
        key.asked()
        key.person.approves()

    visit.expect_run(visit.observes(act), sent="the approval, after the review")


@requirement("sep2672/4.9-client-review-before-assertion")
def test_a_person_who_declines_is_not_asked_for_a_passkey(visit):
    """Declining on the page ends it: no assertion, no call, and the page says so."""
    visit.enrols()
    honest = visit.approves_a_call()
    before = len(visit.assertions())
    done = visit.declines(visit.asks())
    visit.settles()
    sent = "a challenge; the person declines on the page"
    visit.expect(
        len(visit.assertions()) == before,
        sent=sent,
        expected="no assertion",
        got="navigator.credentials.get was called",
    )
    visit.expect_nothing_called(done, sent=sent, success=honest.text)
    visit.expect_run(visit.approves(visit.asks()), sent="the same call, approved, after that")
