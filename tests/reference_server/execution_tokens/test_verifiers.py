"""The three verifiers on the command line: the same token, the same answer, in every language."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from pytest_mcp_approval.reference_server.execution_tokens.verifiers import verify
from tests.reference_server.execution_tokens.tokens import CONTENT, SECRET, signed, token

FOLDER = Path(verifiers.__file__).parent
COMMANDS = {
    "python": [sys.executable, str(FOLDER / "verify.py")],
    "bash": ["bash", str(FOLDER / "verify.sh")],
    "node": ["node", str(FOLDER / "verify.mjs")],
}
HERE = {name: command for name, command in COMMANDS.items() if shutil.which(command[0])}
DEADLINE = 60

Ask = Callable[..., tuple[int, dict[str, Any]]]


def environment(secret: str | None = SECRET) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "EXECUTION_TOKEN_SECRET"}
    return kept if secret is None else {**kept, "EXECUTION_TOKEN_SECRET": secret}


@pytest.fixture(params=COMMANDS)
def language(request: pytest.FixtureRequest) -> str:
    if request.param not in HERE:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Present a token to the verifier of a language: its exit code and its line."""

    def present(
        language: str,
        given: dict[str, Any] | bytes,
        content: bytes = CONTENT,
        *,
        action: str = "exec",
        host: str | None = "api.github.com",
        secret: str | None = SECRET,
        nonces: str = "nonces",
        then: tuple[str, ...] = (),
    ) -> tuple[int, dict[str, Any]]:
        text = given if isinstance(given, bytes) else json.dumps(given).encode()
        (tmp_path / "token").write_bytes(text)
        (tmp_path / "content").write_bytes(content)
        words = ["--token", "token", "--content", "content"]
        words += ["--nonce-log", nonces, "--action", action]
        words += ["--host", host] if host is not None else []
        words += ["--", *then] if then else []
        if language == "python" and not then:
            return in_process(words, tmp_path, secret)
        done = subprocess.run(
            [*COMMANDS[language], *words],
            cwd=tmp_path,
            env=environment(secret),
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        lines = done.stdout.splitlines()
        assert len(lines) == 1, (lines, done.stderr[-500:])
        return done.returncode, json.loads(lines[0])

    return present


def in_process(words: list[str], folder: Path, secret: str | None) -> tuple[int, dict[str, Any]]:
    """The verifier in Python without a process of its own, which most tests need not have."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(output):
        patch.chdir(folder)
        patch.delenv("EXECUTION_TOKEN_SECRET", raising=False)
        if secret is not None:
            patch.setenv("EXECUTION_TOKEN_SECRET", secret)
        code = verify.main(words)
    lines = output.getvalue().splitlines()
    assert len(lines) == 1, lines
    return code, json.loads(lines[0])


def agreed(ask: Ask, given: dict[str, Any] | bytes, **options: Any) -> tuple[int, str | None]:
    """What all verifiers here say, each with a nonce log of its own."""
    found = {}
    for language in HERE:
        code, line = ask(language, given, nonces=f"nonces-{language}", **options)
        assert line["accepted"] is (code == 0), (language, line)
        found[language] = (code, line.get("reason"))
    assert len(set(found.values())) == 1, found
    return next(iter(found.values()))


# ---- what is good


def test_a_good_token_is_accepted_once(ask, language):
    good = token()
    assert ask(language, good) == (0, {"accepted": True, "token_id": good["token_id"]})
    code, line = ask(language, good)
    assert (code, line["reason"]) == (1, "nonce_spent")


def test_a_token_spent_in_one_language_is_spent_in_all(ask):
    good = token()
    codes = [ask(language, good)[0] for language in HERE]
    assert codes == [0, *[1] * (len(HERE) - 1)]


def test_the_hash_may_have_its_prefix(ask):
    plain = token()["scope"]["content_hash"]
    assert agreed(ask, token(content_hash=f"sha256:{plain}")) == (0, None)


def test_the_command_gets_the_very_bytes(ask, language, tmp_path):
    content = b"\x00\xff bytes\n\n"
    code, line = ask(language, token(content), content, then=("sh", "-c", "cat >> ran; exit 3"))
    assert (code, line["exit_code"]) == (0, 3)
    assert (tmp_path / "ran").read_bytes() == content
    assert ask(language, token(b"other"), content, then=("sh", "-c", "cat >> ran"))[0] == 1
    assert (tmp_path / "ran").read_bytes() == content


def test_what_is_hashed_is_what_runs(language, tmp_path):
    """A pipe gives other bytes to whoever reads it a second time."""
    pipe, ran = tmp_path / "pipe", tmp_path / "ran"
    os.mkfifo(pipe)
    (tmp_path / "token").write_text(json.dumps(token()))

    def feed() -> None:
        with pipe.open("wb") as handle:
            handle.write(CONTENT)
        while True:  # until the first reader has gone: it must not get the second content
            try:
                os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                break
        with contextlib.suppress(BrokenPipeError), pipe.open("wb") as handle:
            handle.write(b"echo swapped\n")

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    command = [*COMMANDS[language], "--token", "token", "--content", "pipe", "--nonce-log", "n"]
    done = subprocess.run(
        [
            *command,
            "--action",
            "exec",
            "--host",
            "api.github.com",
            "--",
            "sh",
            "-c",
            f"cat > {ran}",
        ],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done
    assert ran.read_bytes() == CONTENT
    os.close(os.open(pipe, os.O_RDONLY))  # lets the feeder end: nobody had read a second time
    feeder.join(DEADLINE)
    assert not feeder.is_alive()


# ---- agreement


def odd_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind == 0:
        return chance.choice([0, -1, 10**18, 2**53 + 1, 10**40, -7])
    if kind == 1:
        floats = [0.1, 1.0, -0.0, 1e16, 1.5e300, 5e-324, 1e-5, 0.0001, 1e22, 1e21, -2.5e-10]
        floats += [123456789012345680.0, chance.uniform(-1e6, 1e6)]
        floats.append(chance.random() * 10.0 ** chance.randint(-20, 20))
        return chance.choice(floats)
    if kind in (2, 3):
        letters = ["a", "é", "😀", "\u2028", "\x7f", "\n", '"', "\\", "/", "\ud800", "\uffff", "漢"]
        return "".join(chance.choice(letters) for _ in range(chance.randrange(6)))
    if kind == 4:
        return chance.choice([True, False, None])
    if kind == 5:
        return []
    if kind == 6:
        return [odd_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    names = [str(odd_value(chance, 9)) for _ in range(chance.randrange(5))]
    return {name: odd_value(chance, depth + 1) for name in names}


@pytest.mark.parametrize("seed", range(8))
def test_odd_scopes_sign_alike(ask, seed: int):
    """Nesting, orders, escapes and numbers; the text spelled in two ways."""
    chance = random.Random(seed)
    more = {"é": odd_value(chance), "😀": 1, "\uffff": 2, "Z": {}, "extra": odd_value(chance)}
    good = token(**more)
    shuffled = list(good["scope"].items())
    chance.shuffle(shuffled)
    good["scope"] = dict(shuffled)
    text = json.dumps(good, ensure_ascii=True, indent=chance.choice([None, 2]))
    assert agreed(ask, text.encode()) == (0, None)
    raw = json.dumps({**good, "nonce": good["nonce"].swapcase()}, ensure_ascii=False)
    if good["nonce"] != good["nonce"].swapcase():
        other = raw.encode("utf-8", "replace")
        assert agreed(ask, other) == (1, "bad_signature"), "a nonce in another case is another"


MALFORMED = {
    "nothing": b"",
    "no end": b"{",
    "a list": b"[]",
    "null": b"null",
    "NaN": b'{"a":NaN}',
    "no UTF-8": b"\xff",
    "a surrogate in UTF-8": b'{"a":"\xed\xa0\x80"}',
    "a leading zero": b'{"a":01}',
    "beyond a double": b'{"a":1e999}',
    "no escape": b'["\\x"]',
    "a comma too many": b"[1,]",
    "a control character": b'{"a":"\x01"}',
    "too deep": b"[" * 40 + b"]" * 40,
    "a byte order mark": b"\xef\xbb\xbf{}",
    "something after it": b'{"a":1} x',
    "half a word": b"tru",
}


@pytest.mark.parametrize("part", range(4))
def test_what_can_be_misread_is_refused(ask, part: int):
    for name, text in list(MALFORMED.items())[part::4]:
        assert agreed(ask, text) == (1, "malformed"), name


def test_a_member_that_stands_twice_is_refused(ask):
    good = token()
    text = json.dumps(good).replace('"scope": {', '"scope": {"action_type": "other", ')
    assert agreed(ask, text.encode()) == (1, "malformed")


def test_every_member_is_needed(ask):
    for member in ("token_id", "nonce", "expires_at", "signature", "scope"):
        good = token()
        del good[member]
        assert agreed(ask, good) == (1, "malformed"), member


@pytest.mark.parametrize("member", ["token_id", "nonce"])
def test_ids_are_uuids(ask, member: str):
    for value in ("x:y", "", 5, None, "11111111-1111-1111-1111-11111111111٣"):
        assert agreed(ask, signed({**token(), member: value})) == (1, "malformed"), value


EXPIRIES = {
    "2026-02-14T18:00:00+00:00": "expired",
    "2030-02-30T00:00:00Z": "malformed",
    "2030-01-01T24:00:00Z": "malformed",
    "2030-01-01T00:00:60Z": "malformed",
    "0000-01-01T00:00:00Z": "malformed",
    "2030-01-01T00:00:00": "malformed",
    "2030-01-01T00:00:00+01:00": "malformed",
    "never": "malformed",
    "2999-01-01T00:00:00.123456789Z": None,
    "2992-02-29T23:59:59.9Z": None,
    "2991-02-29T23:59:59Z": "malformed",
}


@pytest.mark.parametrize("part", range(3))
def test_an_expiry_is_an_instant_in_utc(ask, part: int):
    for instant, reason in list(EXPIRIES.items())[part::3]:
        assert agreed(ask, signed({**token(), "expires_at": instant}))[1] == reason, instant


HOSTS = {
    "https://api.github.com/x": None,
    "API.GitHub.com": None,
    "api.github.com.": None,
    "https://api.github.com:443/": None,
    "https://user@api.github.com/": "refused",
    "https://api.github.com@evil.example": "refused",
    "evilapi.github.com": "refused",
    "x.api.github.com": "refused",
    "api.github.com.evil.example": "refused",
    "https://evil.example\\@api.github.com": "refused",
    "https://evil.example/api.github.com": "refused",
    "https://evil.example?://api.github.com": "refused",
    "аpi.github.com": "refused",  # noqa: RUF001  # a Cyrillic letter
    "api.github.com:99999": "refused",
    "": "refused",
    "api%2egithub.com": "refused",
    "[::1]": "refused",
    "ftp://api.github.com": "refused",
    " api.github.com": "refused",
    "api.github.com\n": "refused",
    "api.github.com\u200b": "refused",
}


@pytest.mark.parametrize("part", range(4))
def test_a_host_is_compared_whole(ask, part: int):
    for host, verdict in list(HOSTS.items())[part::4]:
        reason = "host_not_allowed" if verdict else None
        assert agreed(ask, token(), host=host)[1] == reason, host


def test_only_a_token_without_hosts_runs_without_one(ask):
    assert agreed(ask, token(), host=None) == (1, "host_not_allowed")
    assert agreed(ask, token(allowed_hosts=[""]), host=None) == (1, "host_not_allowed")
    assert agreed(ask, token(allowed_hosts=[]), host=None) == (0, None)
    assert agreed(ask, token(allowed_hosts=[])) == (1, "host_not_allowed")


def test_the_kelvin_sign_is_no_k(ask):
    good = token(allowed_hosts=["k.example"])
    assert agreed(ask, good, host="\u212a.example") == (1, "host_not_allowed")


@pytest.mark.parametrize("action", ["exec", 'a"b', "é\n\\", "😀", ""])
def test_an_action_is_compared_exactly(ask, action: str):
    assert agreed(ask, token(action_type=action), action=action) == (0, None)
    assert agreed(ask, token(action_type=action), action=f"{action} ")[1] == "action_not_allowed"


def test_other_bytes_are_other_content(ask):
    assert agreed(ask, token(), content=CONTENT + b"\n") == (1, "content_mismatch")


# ---- what does not start


@pytest.mark.parametrize(
    "secret", [None, "", "   ", "CHANGE-ME-IN-PRODUCTION", " CHANGE-ME-IN-PRODUCTION\n", "short"]
)
def test_no_secret_of_ones_own_is_no_start(ask, language, secret: str | None):
    code, line = ask(language, token(), secret=secret)
    assert code == 2
    assert "EXECUTION_TOKEN_SECRET: got" in line["error"]


def test_a_long_secret_is_hashed_first(ask):
    """RFC 2104: a key beyond the block is replaced by its hash."""
    secret = "é" * 80
    good = token()
    assert agreed(ask, signed(good, secret), secret=secret) == (0, None)


@pytest.mark.parametrize(
    "words", [["--token"], ["--nonsense", "x"], [], ["--token", "missing", "--content", "missing"]]
)
def test_wrong_options_are_one_line(language, tmp_path, words: list[str]):
    done = subprocess.run(
        [*COMMANDS[language], *words],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 2
    assert json.loads(done.stdout)["accepted"] is False


def test_many_processes_with_one_token(tmp_path):
    """Twelve at once, of all languages, over one log: one runs."""
    (tmp_path / "token").write_text(json.dumps(token()))
    (tmp_path / "content").write_bytes(CONTENT)
    words = ["--token", "token", "--content", "content", "--nonce-log", "n", "--action", "exec"]
    words += ["--host", "api.github.com", "--", "sh", "-c", "cat >> ran"]
    running = [
        subprocess.Popen(
            [*command, *words],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for command in list(HERE.values()) * 4
    ]
    codes = []
    for process in running:
        process.communicate(timeout=DEADLINE)
        codes.append(process.returncode)
    assert codes.count(0) == 1
    assert set(codes) == {0, 1}
    assert (tmp_path / "ran").read_bytes() == CONTENT
