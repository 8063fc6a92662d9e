"""Servers that repeat the secrets they were told: in every spelling, and at every cut.

Each setting has a secret of its own. None of them is in anything that a run leaves, whole or in
part, in whatever form the file has it.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.hostile_servers.visits import SAFE, TOUR, HostileServers
from tests.inner_runs import plugin_options
from tests.spellings import SPELLINGS, pieces

ENDINGS = ("html", "json", "md", "sarif", "yaml", "svg")
PLACES = (
    *("header", "plain header", "variable", "plain variable", "argument", "assignment", "query"),
    *("effects", "reset", "hook", "page", "table", "nested", "command in a table", "basic"),
)
SECRETS = {
    place: f"{number:02}/k&Y+{base64.b32encode(place.encode() * 2)[:22].decode()}{number:02}"
    for number, place in enumerate(PLACES)
}
"""With something to escape for everybody."""
BOUNDS = (40, 57, 60, 70, 80, 90, 100, 120, 160, 200, 240, 300, 400, 500, 600, 1024, 2000, 4000)
"""Where a text may be cut, somewhere on its way."""
WORTH = 9
"""This many adjacent characters of a secret are a leak."""
OWN_TEST = """
def test_of_my_own(approval):
    target = approval.target
    settings, headers = target.settings, dict(target.settings.headers)
    environment, tables = dict(settings.environment), dict(settings.family_settings)
    spec, whole = target.spec, vars(target.settings)
    if {talks}:
        print(headers, environment, tables, whole)
        import sys; print(repr(whole), file=sys.stderr)
    assert [headers, environment, tables] == [whole]
"""


def planted(text: str) -> dict[str, str]:
    """Those that a command line has."""
    marks = {place: secret[-8:] for place, secret in SECRETS.items()}
    marks["basic"] = "Basic "
    return {place: secret for place, secret in SECRETS.items() if marks[place] in text}


def words(secrets: Mapping[str, str]) -> list[str]:
    """What the servers say."""
    found = [spell(secret) for secret in secrets.values() for spell in SPELLINGS.values()]
    for secret in secrets.values():
        for bound in BOUNDS:
            for shown in (5, 16, 30):
                found.append("x" * max(0, bound - shown) + secret + "y" * 40)
    for place, secret in secrets.items():
        # Of a value that no name calls a secret only the whole is hidden.
        found += [] if "plain" in place else [secret[:20], secret[:28]]
    # Neighbours differ, so that each check meets many.
    return found[::7] + [one for number, one in enumerate(found) if number % 7]


def options() -> list[str]:
    """Every setting with its secret."""
    has = SECRETS
    basic = base64.b64encode(f"me:{has['basic']}".encode()).decode()
    quoted = {name: shlex.quote(secret) for name, secret in has.items()}
    given = [
        f"environment=API_TOKEN={has['variable']}",
        f"environment=COLOUR={has['plain variable']}",
        f"reset=env RESET_TOKEN={quoted['reset']} true",
        f"set=execution_tokens.secret={json.dumps(has['table'])}",
        f"set=prepare_confirm.pairs.delete_user.forced.password={json.dumps(has['nested'])}",
        f"set=confirmation_tokens.plant=plant --token {quoted['command in a table']}",
        f"clock=hook:false --token {quoted['hook']}",
        "page=http://localhost:1/?session=" + has["page"].replace("&", "%26").replace("+", "%2B"),
        "browser=none",
        "origin=http://localhost",
    ]
    given += [f"header=Authorization: Bearer {has['header']}"]
    given += [f"header=X-Colour: {has['plain header']}", f"header=Proxy: Basic {basic}"]
    return [f"--mcp-approval-{one}" for one in given]


def target_of(kind: str, target: str) -> str:
    if kind == "http":
        return f"{target}?token=" + SECRETS["query"].replace("&", "%26").replace("+", "%2B")
    told = [f"API_KEY={SECRETS['assignment']}", "--access-key", SECRETS["argument"]]
    return f"{target.replace('stdio:env ', f'stdio:env {shlex.quote(told[0])} ')} " + shlex.join(
        told[1:]
    )


class Visitor:
    """Runs the suite on a hostile server that talks, and looks at all that is left."""

    def __init__(self, hostile: HostileServers, monkeypatch: pytest.MonkeyPatch) -> None:
        assert hostile.pytester is not None
        self.hostile, self.pytester, self.path = hostile, hostile.pytester, hostile.pytester.path
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(self.path / "summary.md"))
        monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
        monkeypatch.setenv("COLUMNS", "120")
        self.texts: dict[str, str] = {}
        self.secrets: dict[str, str] = {}

    def visit(self, kind: str, *more: str, **plan: Any) -> pytest.RunResult:
        talks = "-s" not in more
        self.pytester.makepyfile(test_own=OWN_TEST.replace("{talks}", str(talks)))
        secrets = planted(" ".join([target_of(kind, "stdio:env "), *options(), *more]))
        self.secrets = secrets
        told = words(secrets)
        with self.hostile.server(kind, words=told, **plan) as (target, _, _):
            given = [f"--mcp-approval-target={target_of(kind, target)}", *options(), *more]
            given += [f"--mcp-approval-tool={SAFE}", "--mcp-approval-protocol=2026-07-28"]
            given += ["--mcp-approval-timeout=20", "--mcp-approval-write-baseline=known.toml"]
            given += [f"--mcp-approval-report=all.{ending}" for ending in ENDINGS]
            given += ["--junitxml=junit.xml", "-o", "junit_logging=all", "--showlocals", "-rA"]
            given += ["-p", "no:cacheprovider", *plugin_options()]
            given += [f"mcp-approval/sep2672/{one}" for one in TOUR]
            given += ["test_own.py"]
            run = self.pytester.runpytest_inprocess(*given)
        self.texts = dict(self._left(run))
        return run

    def _left(self, run: pytest.RunResult) -> Iterator[tuple[str, str]]:
        yield "the terminal", run.stdout.str() + run.stderr.str()
        for path in self.path.rglob("*"):
            if path.is_file() and path.name != "test_own.py" and path.suffix != ".pyc":
                text = path.read_text(encoding="utf-8")
                blocks = re.findall('id="packed-[^>]*>([^<]*)<', text)
                for block in blocks:
                    text = text.replace(block, "")
                yield path.name, text
                if html.unescape(text) != text:
                    yield f"{path.name} without HTML", html.unescape(text)
                for number, block in enumerate(blocks):
                    packed = zlib.decompress(base64.b64decode(block), -15).decode()
                    yield f"{path.name}, block {number}", packed
                    yield f"{path.name}, block {number}, texts", "\n".join(inside(packed))
                if text.startswith("{"):
                    yield f"{path.name}, texts", "\n".join(inside(text))

    def expect_nothing(self) -> None:
        known = {
            piece: f"{place}, {spelling}"
            for place, secret in self.secrets.items()
            for spelling in SPELLINGS
            for piece in pieces(spelling, secret, WORTH)
        }
        sizes = sorted({len(piece) for piece in known})
        shortest = sizes[0]
        beginnings = {piece[:shortest] for piece in known}
        found = set()
        for name, text in self.texts.items():
            for at in range(len(text) - shortest + 1):
                if text[at : at + shortest] not in beginnings:
                    continue
                for size in sizes:
                    if text[at : at + size] in known:
                        around = text[max(0, at - 60) : at + size + 60]
                        found.add((name, known[text[at : at + size]], around))
        assert sorted(found)[:5] == []


def inside(text: str) -> Iterator[str]:
    """Every text of some JSON; bytes as text."""

    def walk(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for name, one in value.items():
                yield name
                yield from walk(one)
                if name == "base64":
                    yield base64.b64decode(one).decode("utf-8", "replace")
        elif isinstance(value, list):
            for one in value:
                yield from walk(one)

    return walk(json.loads(text))


@pytest.fixture
def visitor(hostile: HostileServers, monkeypatch: pytest.MonkeyPatch) -> Visitor:
    return Visitor(hostile, monkeypatch)


@pytest.mark.parametrize("more", [["-vv"], ["-s"]])
def test_a_command_that_repeats_secrets_in_errors(visitor: Visitor, more: list[str]) -> None:
    run = visitor.visit("stdio", *more, at="tools/call", do="repeat", first=2)
    visitor.expect_nothing()
    assert run.ret == 1
    assert "<hidden>" in run.stdout.str()
    left = {name.partition(",")[0] for name in visitor.texts}
    assert left >= {f"all.{ending}" for ending in ENDINGS} | {"summary.md", "junit.xml"}
    assert "<hidden>" in visitor.texts["all.json"]
    assert "<hidden>" in visitor.texts["junit.xml without HTML"]


def test_a_server_that_repeats_secrets_in_results_and_headers(visitor: Visitor) -> None:
    """With workers, which send what they found to another process."""
    run = visitor.visit("http", "-n", "2", at="tools/call", do="repeat and run", first=3)
    visitor.expect_nothing()
    assert run.ret == 1
    assert "<hidden>" in visitor.texts["all.json"]
    assert any(name.startswith("4.") for name in visitor.texts)  # a finding
    assert "known.toml" in visitor.texts


def test_the_last_words_of_a_target(visitor: Visitor) -> None:
    run = visitor.visit("stdio", at="tools/call", do="die of words", first=2)
    visitor.expect_nothing()
    run.stdout.fnmatch_lines(["mcp-approval  the target *<hidden>*"])


@pytest.mark.parametrize("do", ["repeat", "die of words"])
@pytest.mark.parametrize("at", ["opening", "tools/list", "begin"])
def test_a_preflight_that_fails(visitor: Visitor, at: str, do: str) -> None:
    run = visitor.visit("stdio", at=at, do=do)
    visitor.expect_nothing()
    assert run.ret in (1, 10, 11)


def test_the_address_of_an_effects_probe(visitor: Visitor) -> None:
    secret = SECRETS["effects"].replace("/", "%2F").replace("&", "%26").replace("+", "%2B")
    probe = f"--mcp-approval-effects=http://localhost:1/effects?key={secret}"
    visitor.visit("http", probe, at="tools/call", do="repeat", first=2)
    visitor.expect_nothing()
    assert "key=<hidden>" in visitor.texts["the terminal"]
