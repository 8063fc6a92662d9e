"""What a user told the suite in confidence is not shown, however it is written."""

from __future__ import annotations

import base64
import html
import json
import random
import shlex
import string
from time import perf_counter
from urllib.parse import quote

import pytest

from pytest_mcp_approval.support import secrets as process_wide
from pytest_mcp_approval.support.secrets import HIDDEN, Secrets
from pytest_mcp_approval.wire.text import first_line, last_lines, neutralise

ODD = "s3/cr&t\"Tök<e>n+x'y-%41\\b 9z"
"""Something to escape for everybody."""
EVEN = "sk-live-4eC39HqLyjWDarjtT1zdp7dc"


def percent(text: str) -> str:
    return "".join(f"%{byte:02x}" for byte in text.encode())


def units(text: str) -> str:
    data = text.encode("utf-16-be")
    return "".join(f"\\u{data[n] << 8 | data[n + 1]:04x}" for n in range(0, len(data), 2))


SPELLINGS = {
    "as it is": str,
    "JSON": json.dumps,
    "JSON with slashes escaped": lambda text: json.dumps(text).replace("/", "\\/"),
    "JSON without ASCII": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON in JSON in JSON": lambda text: json.dumps(json.dumps(json.dumps(text))),
    "every unit of UTF-16": units,
    "every third unit": lambda text: "".join(
        units(one) if number % 3 == 0 else json.dumps(one)[1:-1] for number, one in enumerate(text)
    ),
    "percent": lambda text: quote(text, safe=""),
    "percent, some": lambda text: quote(text, safe="/&<>\"'\\"),
    "percent, all and in small letters": percent,
    "percent twice": lambda text: quote(quote(text, safe=""), safe=""),
    "percent in JSON": lambda text: json.dumps({"to": f"/?t={quote(text)}"}),
    "HTML": html.escape,
    "HTML in numbers": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "HTML in hexadecimal numbers": lambda text: "".join(f"&#x{ord(one):X};" for one in text),
    "HTML in JSON": lambda text: json.dumps(html.escape(text)),
    "Python": repr,
    "bytes of Python": lambda text: repr(text.encode()),
    "a shell's word": shlex.quote,
    "hexadecimal digits": lambda text: text.encode().hex(),
    "folded": lambda text: f"{text[:9]}\r\n   {text[9:]}",
    "folded in JSON": lambda text: json.dumps(f"{text[:9]}\n{text[9:]}"),
    **{
        f"{name} after {before} bytes": (
            lambda text, encode=encode, before=before: encode(b"." * before + text.encode())
        )
        for before in range(4)
        for name, encode in {
            "base64": lambda data: base64.b64encode(data + b"...").decode(),
            "base64 for URLs": lambda data: base64.urlsafe_b64encode(data).decode().rstrip("="),
            "base64 in lines": lambda data: base64.encodebytes(b"." * 60 + data).decode(),
            "base64 in JSON in lines": lambda data: json.dumps(
                base64.encodebytes(b"." * 60 + data).decode()
            ),
        }.items()
    },
    "JSON in base64": lambda text: base64.b64encode(json.dumps({"a": text}).encode()).decode(),
}


def alike(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)


def leaks(shown: str, spelling: str, secret: str) -> list[str]:
    """Pieces of a spelled secret, each worth five characters of it, that can be seen."""
    spell = SPELLINGS[spelling]
    spelled, others = spell(secret), spell("".join(chr(ord(one) ^ 1) for one in secret))
    # What is the same for another secret tells nothing: quotation marks, what is around it.
    lead = alike(spelled, others)
    trail = alike(spelled[lead:][::-1], others[lead:][::-1])
    told = spelled[lead : len(spelled) - trail]
    size = 5 * len(told) // len(secret) + 1
    pieces = {told[at : at + size] for at in range(len(told) - size + 1)}
    return sorted(piece for piece in pieces if piece in shown)


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
    assert not Secrets(["1", "abc", "Bearer x"], ["test", "staging"])
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
            last_lines(f"first\n{text}\n", limit=100 + room),
            process_wide.beginning(text, 100 + room),
        ):
            assert kept[:4] not in shown, room
            assert kept[-8:] not in shown, room


def test_last_words_are_hidden_before_they_are_divided_into_lines(kept):
    assert kept[12:] not in last_lines(f"died of {kept[:12]}\n  {kept[12:]}\n".encode())


def test_looking_takes_time_in_proportion():
    """No text makes it take much longer than others of its length: a server chooses the text."""
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
            began = perf_counter()
            secrets.hide(text, cut=True)
            times.append(perf_counter() - began)
        assert times[1] < 40 * times[0] + 0.5, piece
        assert times[1] < 10, piece
