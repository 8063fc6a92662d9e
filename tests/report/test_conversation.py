"""What is kept of a conversation: everything as it was, but bounded and without secrets."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json

import pytest

from pytest_mcp_approval.report.conversation import KEPT_OF_A_PASS, body, conversation_text
from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.exchanges import Excerpt, Exchange
from pytest_mcp_approval.support.recording import KEPT_FIRST, KEPT_LAST, Recording
from pytest_mcp_approval.support.secrets import HIDDEN, Secrets
from tests.report import samples

NOBODY = Secrets()


def entry(sent: bytes = b"{}", received: bytes = b"{}", started: float = 0.0) -> Exchange:
    return Exchange(
        method="tools/call",
        sent=Excerpt.of(sent),
        received=Excerpt.of(received),
        outcome="a result",
        detail="",
        status=200,
        request_headers=(("X-Token", "s3cret-value"),),
        response_headers=(),
        started=started,
        seconds=0.5,
    )


def told(recorded: Recording, secrets: Secrets = NOBODY, *, passed: bool = False):
    return json.loads(conversation_text(recorded, secrets, passed=passed))


def test_bytes_come_back_as_they_were():
    for data in (b"", b'{"a": "\xc3\xa4"}', b"\xff\x00\xfe", "\u202e".encode(), b'\\"\n'):
        kept = body(Excerpt.of(data), 1000, NOBODY)
        again = base64.b64decode(kept["base64"]) if "base64" in kept else kept["text"].encode()
        assert again == data
        assert kept["bytes"] == len(data)
        assert "more" not in kept


def test_a_cut_falls_between_characters_and_is_counted():
    data = "ä€🎉".encode() * 100
    for limit in range(1, 30):
        kept = body(Excerpt.of(data), limit, NOBODY)
        assert "base64" not in kept
        assert data.decode().startswith(kept["text"])
        assert kept["more"] == len(data) - len(kept["text"].encode())
        assert kept["sha256"] == hashlib.sha256(data).hexdigest()


def test_a_large_message_is_told_by_its_length_and_digest():
    data = b"y" * 7_000_000
    kept = body(Excerpt.of(data), 1000, NOBODY)
    assert (kept["bytes"], kept["more"]) == (7_000_000, 6_999_000)
    assert kept["sha256"] == hashlib.sha256(data).hexdigest()
    # Cut again, and once more: it is still the digest of all of it.
    again = body(Excerpt.of(data).cut_to(300).cut_to(20), 1000, NOBODY)
    assert (again["more"], again["sha256"]) == (6_999_980, kept["sha256"])


def test_steps_stand_in_the_order_in_which_they_began():
    recorded = Recording()
    try:
        recorded = recording.begin()
        recorded.add(recorded.began + 2, entry())
        recorded.add(recorded.began + 1, entry())
        recording.note("clock", "moved", instant=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
    finally:
        recording.end()
    steps = told(recorded)["steps"]
    assert [step["kind"] for step in steps] == ["clock", "exchange", "exchange"]
    assert steps[0]["details"] == {"instant": "2026-01-01T00:00:00+00:00"}
    assert [step["at"] for step in steps[1:]] == [1.0, 2.0]


def test_nothing_is_recorded_when_nobody_asked():
    recording.end()
    recording.note("clock", "moved")
    assert recording.current() is None


def test_of_a_very_long_conversation_both_ends_are_kept():
    recorded = Recording()
    count = KEPT_FIRST + KEPT_LAST + 1000
    for number in range(count):
        recorded.add(recorded.began + number, entry(sent=str(number).encode()))
    found = told(recorded)
    assert found["leftOut"] == {"after": KEPT_FIRST, "steps": 1000}
    sent = [step["sent"]["text"] for step in found["steps"]]
    assert sent[0] == "0"
    assert sent[-1] == str(count - 1)
    assert len(sent) == KEPT_FIRST + KEPT_LAST


def test_all_messages_together_keep_to_a_budget_and_small_ones_stay_whole():
    recorded = Recording()
    for number in range(20):
        recorded.add(float(number), entry(sent=b"small", received=b"x" * 50_000))
    text = conversation_text(recorded, NOBODY, passed=True)
    assert len(text) < KEPT_OF_A_PASS + 20_000
    for step in json.loads(text)["steps"]:
        assert step["sent"] == {"bytes": 5, "text": "small"}
        assert step["received"]["more"] + len(step["received"]["text"]) == 50_000


@pytest.mark.parametrize(
    "said",
    [
        b'{"message": "you sent s3cret-value"}',
        b"\xff s3cret-value \xfe",
        b"before s3cret-value after s3cret-value",
    ],
)
def test_secrets_are_hidden_wherever_a_server_repeats_them(said):
    recorded = Recording()
    recorded.add(0.0, entry(received=said))
    secrets = Secrets(["s3cret-value"])
    text = conversation_text(recorded, secrets, passed=False)
    assert "s3cret" not in text
    received = json.loads(text)["steps"][0]["received"]
    shown = (
        base64.b64decode(received["base64"]) if "base64" in received else received["text"].encode()
    )
    assert HIDDEN.encode() in shown


def test_no_beginning_of_a_secret_is_left_at_a_cut():
    secrets = Secrets(["a-very-long-secret-token"])
    data = b"x" * 90 + b"a-very-long-secret-token"
    for limit in range(91, len(data)):
        kept = body(Excerpt.of(data), limit, secrets)
        assert "a-ve" not in kept["text"], limit


def test_a_real_conversation_has_all_that_happened():
    steps = json.loads(samples.real_conversation())["steps"]
    kinds = [step["kind"] for step in steps]
    assert {"exchange", "authenticator", "clock", "effects"} == set(kinds)
    # The authenticator signs before the call that carries what it signed.
    signed = next(n for n, s in enumerate(steps) if s.get("what") == "signed")
    signature = steps[signed]["details"]["response"]["response"]["signature"]
    carried = next(n for n, s in enumerate(steps) if signature in s.get("sent", {}).get("text", ""))
    assert signed < carried
    moved = next(step for step in steps if step["kind"] == "clock")
    before, after = (
        datetime.datetime.fromisoformat(moved["details"][name]) for name in ("before", "instant")
    )
    assert (after - before).total_seconds() == pytest.approx(61, abs=1)
