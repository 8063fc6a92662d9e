"""A user's secrets are not shown, however they are written."""

from __future__ import annotations

import base64
import json
import random
import string
from time import thread_time

import pytest

from pytest_mcp_approval.support import secrets as process_wide
from pytest_mcp_approval.support.secrets import HIDDEN, Secrets
from pytest_mcp_approval.support.text import first_line, first_sentence, last_lines, neutralise
from tests.spellings import SPELLINGS, leaks

ODD = "s3/cr&t\"Tök<e>n+x'y-%41\\b 9z"
"""Something to escape for everybody."""
EVEN = "sk-live-4eC39HqLyjWDarjtT1zdp7dc"


@pytest.mark.parametrize("secret", [ODD, EVEN, "hunter2!", "кукуруза/🌽/1"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_secret_is_hidden_in_every_spelling(spelling, secret):
    text = f"before {SPELLINGS[spelling](secret)}| after"
    assert leaks(text, spelling, secret)
    shown = Secrets([secret]).hide(text)
    assert leaks(shown, spelling, secret) == []
    assert shown.startswith("before ")
    assert shown.endswith("| after")
    assert HIDDEN in shown


def test_what_is_around_a_secret_in_base64_stays():
    secrets = Secrets([EVEN])
    for before in range(6):
        data = b"x" * before + EVEN.encode() + b"yyyyyyyyyyyy"
        shown = secrets.hide(base64.b64encode(data).decode())
        head, _, tail = shown.partition(HIDDEN)
        assert len(head) in (before * 8 // 6 - 1, before * 8 // 6)
        assert len(tail) >= 14


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_half_of_a_secret_is_left_at_a_cut(spelling):
    secrets = Secrets([EVEN])
    whole = "x" * 40 + SPELLINGS[spelling](EVEN) + "y" * 40
    for limit in range(40, len(whole)):
        shown = secrets.beginning(whole, limit)
        assert len(shown) <= limit
        assert leaks(shown, spelling, EVEN) == [], limit
        # One that was cut by somebody else.
        assert leaks(secrets.hide(whole[:limit], cut=True), spelling, EVEN) == [], limit


@pytest.mark.parametrize("mark", ["…", "...", "… (400 characters)", "...'"])
def test_what_is_left_beside_a_mark_of_a_cut_is_hidden(mark):
    secrets = Secrets([EVEN], ["an-unremarkable-value"])
    for secret in (EVEN, "an-unremarkable-value"):
        for length in range(4, len(secret)):
            assert secrets.hide(f"got {secret[:length]}{mark}") == f"got {HIDDEN}{mark}"
        for length in range(4, len(secret) // 2) if mark in "…..." else ():
            assert secrets.hide(f"got {mark}{secret[-length:]}") == f"got {mark}{HIDDEN}"


def test_half_of_a_secret_is_hidden_wherever_it_stands():
    secrets = Secrets([EVEN], ["/home/somebody/project"])
    assert secrets.hide(f"a {EVEN[:16]} b") == f"a {HIDDEN} b"
    assert secrets.hide(f"a {EVEN[16:]} b") == f"a {HIDDEN} b"
    assert secrets.hide(f"a {EVEN[:7]} b") == f"a {EVEN[:7]} b"
    # Of a value that no name calls a secret only the whole.
    assert secrets.hide("/home/somebody/other") == "/home/somebody/other"


def test_short_values_do_not_hide_the_report():
    short = ["1", "abc", "Bearer x", "test", "staging"]
    shown = " ".join([*short, *short])
    assert Secrets(short[:3], short[3:]).hide(shown) == shown
    assert Secrets(["abcd"]).hide("abcd abc") == f"{HIDDEN} abc"
    assert Secrets(["sign"], ["password"]).hide("the signature's sign") == (
        f"the {HIDDEN}ature's {HIDDEN}"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("Bearer abc.def", "token abc.def was refused"),
        ("Basic dXNlcjpodW50ZXIy", "password hunter2 of user"),
        ("-----BEGIN KEY-----\nhunter2hunter2\nabc.def.abc.def\n-----END", "line hunter2hunter2"),
    ],
)
def test_a_value_is_known_by_its_parts(value, text):
    shown = Secrets([value]).hide(text)
    assert HIDDEN in shown
    assert "hunter2" not in shown
    assert "abc.def" not in shown


def test_a_longer_secret_is_hidden_whole_where_a_shorter_one_is_its_beginning():
    assert Secrets(["abcd", "abcd-efgh-ijkl"]).hide("<abcd-efgh-ijkl>") == f"<{HIDDEN}>"


def test_bytes_stay_what_they_were():
    secrets = Secrets([EVEN])
    for data in (b"\xff\xfe\x00 plain", b"", "ümlaut".encode()):
        assert secrets.hide_bytes(data) == data
    said = b"\xff" + EVEN.encode() + b"\xfe"
    assert secrets.hide_bytes(said) == b"\xff" + HIDDEN.encode() + b"\xfe"


def test_every_text_of_a_value_is_looked_at():
    secrets = Secrets(["hunter2"])
    value = {"a": ["hunter2", {"hunter2": "x hunter2"}], "c": 1, "d": None, "e": ("hunter2",)}
    assert secrets.hide_all(value) == {
        "a": [HIDDEN, {HIDDEN: f"x {HIDDEN}"}],
        "c": 1,
        "d": None,
        "e": [HIDDEN],
    }


@pytest.fixture
def kept():
    secrets = Secrets([EVEN])
    process_wide.keep(secrets)
    yield EVEN
    process_wide.forget(secrets)
    assert process_wide.hide(EVEN) == EVEN


def test_text_of_a_target_is_hidden_before_it_is_cut(kept):
    for room in range(4, len(kept) + 4):
        text = "x" * 100 + kept + "y" * 300
        for shown in (
            neutralise(text, 100 + room),
            neutralise(text.encode(), 100 + room),
            neutralise("\x1b" + text, 100 + room),
            neutralise(json.dumps(text).replace("-", "\\u002d"), 100 + room),
            first_line(text, 100 + room),
            first_sentence(text, 100 + room),
            first_sentence("x" * (8 * (100 + room) - 100) + text, 100 + room),
            last_lines(f"first\n{text}\n", limit=100 + room),
            process_wide.beginning(text, 100 + room),
        ):
            assert kept[:4] not in shown, room
            assert kept[-8:] not in shown, room


def test_last_words_are_hidden_before_they_are_divided_into_lines(kept):
    assert kept[12:] not in last_lines(f"died of {kept[:12]}\n  {kept[12:]}\n".encode())


def test_looking_takes_time_in_proportion():
    """No text makes it take much longer than others of its length: a server chooses the text.

    In time of the processor, which the machine's other work does not change."""
    chance = random.Random(1)
    letters = string.ascii_letters + string.digits + "+/"
    secrets = Secrets(["".join(chance.choices(letters, k=40)) for _ in range(10)] + ["a" * 40])
    evil = [
        "\\u0026%41&amp;\n",
        "\\\\\\\\",
        "aaaa...",
        "a",
        "%C3%A4",
        "&lt",
    ]
    for piece in evil:
        times = []
        for size in (8_000, 64_000):
            text = (piece * (size // len(piece) + 1))[:size]
            began = thread_time()
            secrets.hide(text, cut=True)
            times.append(thread_time() - began)
        assert times[1] < 40 * times[0] + 0.5, piece
        assert times[1] < 10, piece
