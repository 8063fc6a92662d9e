"""What is kept of the conversations of a run: bounded for a test, and for all of them."""

from __future__ import annotations

import tracemalloc
from hashlib import sha256

import pytest

from pytest_mcp_approval.report.conversation import conversation_text
from pytest_mcp_approval.support import recording as recordings
from pytest_mcp_approval.support.exchanges import KEPT_OF_A_BODY, Excerpt, Exchange
from pytest_mcp_approval.support.recording import (
    LEAST_OF_A_TEST,
    MOST_OF_A_RUN,
    MOST_OF_A_TEST,
    Recording,
)
from pytest_mcp_approval.support.secrets import Secrets

HEADERS = tuple((f"X-{number}", "v" * 1000) for number in range(100))


@pytest.fixture(autouse=True)
def of_this_run():
    recordings.begin_run()
    yield
    recordings.begin_run()


def entry(size: int, *, headers: bool = False, mark: bytes = b"") -> Exchange:
    return Exchange(
        method="tools/call",
        sent=Excerpt.of(b"sent"),
        received=Excerpt.of(mark + b"x" * size),
        outcome="an error",
        detail="",
        status=500,
        request_headers=(),
        response_headers=HEADERS if headers else (),
        started=0.0,
        seconds=0.0,
    )


def exchanges(recording: Recording) -> list[Exchange]:
    return [what for _, what in recording.happenings if isinstance(what, Exchange)]


def weight(recording: Recording) -> int:
    return sum(what.weight for what in exchanges(recording))


def test_small_messages_stay_whole_beside_large_ones():
    recording = Recording()
    for number in range(100):
        recording.add(number, entry(300_000 if number % 10 else 50, mark=b"%d:" % number))
    kept = exchanges(recording)
    assert weight(recording) <= MOST_OF_A_TEST
    assert all(one.received.complete for one in kept[::10])
    assert not any(one.received.complete for one in kept[1::10])
    assert all(one.received.head.startswith(b"%d:" % number) for number, one in enumerate(kept))
    assert kept[1].received.length == 300_002, "how much there was is still told"


def test_headers_count_too():
    recording = Recording()
    for number in range(120):
        recording.add(number, entry(10, headers=True))
    assert weight(recording) <= MOST_OF_A_TEST
    kept = exchanges(recording)[-1].response_headers
    assert kept == HEADERS[: len(kept)]


def test_what_a_run_keeps_is_bounded():
    """However many checks there are, and however much the server says in each of them."""
    tests = 200
    texts = []
    tracemalloc.start()
    try:
        for _ in range(tests):
            recording = Recording()
            for number in range(20):
                recording.add(number, entry(64 * 1024))
            texts.append(conversation_text(recording, Secrets(), passed=False))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(texts[0]) > MOST_OF_A_TEST // 4
    assert len(texts[-1]) < 4 * LEAST_OF_A_TEST
    assert held < 1.5 * (MOST_OF_A_RUN + tests * LEAST_OF_A_TEST)


def test_a_run_of_usual_size_is_kept_whole():
    for _ in range(1000):
        recording = Recording()
        for number in range(10):
            recording.add(number, entry(1500))
        assert all(what.received.complete for what in exchanges(recording))


def test_another_run_begins_with_all_the_room():
    for _ in range(100):
        Recording().add(0, entry(64 * 1024, headers=True))
    for _ in range(100):
        full = Recording()
        for number in range(20):
            full.add(number, entry(64 * 1024))
    recordings.begin_run()
    fresh = Recording()
    for number in range(20):
        fresh.add(number, entry(64 * 1024))
    assert weight(fresh) > weight(full)


def test_a_body_is_kept_in_part_with_the_digest_of_all_of_it():
    body = b"x" * (KEPT_OF_A_BODY + 1)
    kept = Excerpt.of(body)
    assert (len(kept.head), kept.length) == (KEPT_OF_A_BODY, KEPT_OF_A_BODY + 1)
    assert not kept.complete
    assert kept.digest == sha256(body).hexdigest()
