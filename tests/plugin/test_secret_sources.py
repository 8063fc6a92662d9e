"""Secrets of headers and of a server's environment, drawn from the environment or from files."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pytest_mcp_approval.config.settings import Settings, SettingsError, read_settings
from pytest_mcp_approval.session.secrets_of_run import secrets_of

TOKEN = "tok-3f9a1c77e2"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
    monkeypatch.setenv("SHOP_EMPTY", "")
    (tmp_path / "key.txt").write_text("from-a-file\n")
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    (tmp_path / "empty.txt").write_text("\n")
    return tmp_path


def read(place: Path, **given: list[str]) -> Settings:
    return read_settings({k.replace("_", "-"): v for k, v in given.items()}, place, place)


def test_a_variable_and_a_file(place: Path):
    settings = read(
        place,
        header_from=["Authorization: Bearer {env:SHOP_TOKEN}", "X-Key: {file:key.txt}"],
        environment_from=["PASSWORD={file:key.txt}", "URL=db://me:{env:SHOP_TOKEN}@host"],
    )
    assert settings.headers == {"Authorization": f"Bearer {TOKEN}", "X-Key": "from-a-file"}
    assert settings.environment == {"PASSWORD": "from-a-file", "URL": f"db://me:{TOKEN}@host"}
    assert set(settings.drawn_secrets) == {TOKEN, "from-a-file"}


@pytest.mark.parametrize("table", ["launch.environment-from", "environment-from"])
def test_a_file_of_settings_may_say_so(place: Path, table: str):
    (place / "mcp-approval.toml").write_text(
        '[header-from]\nAuthorization = "Bearer {env:SHOP_TOKEN}"\n'
        f'[{table}]\nKEY = "{{file:key.txt}}"\n'
    )
    settings = read(place)
    assert settings.headers == {"Authorization": f"Bearer {TOKEN}"}
    assert settings.environment == {"KEY": "from-a-file"}


def test_what_is_given_as_it_stands_is_left_as_it_stands(place: Path):
    settings = read(place, header=["A: {env:SHOP_TOKEN}"], environment=["B={file:key.txt}"])
    assert settings.headers == {"A": "{env:SHOP_TOKEN}"}
    assert settings.environment == {"B": "{file:key.txt}"}


def test_the_command_line_comes_first_in_either_way(place: Path):
    (place / "mcp-approval.toml").write_text('[header-from]\nA = "{env:SHOP_TOKEN}"\n')
    assert read(place, header=["a: mine"]).headers == {"a": "mine"}
    (place / "mcp-approval.toml").write_text('[header]\nA = "of the file"\n')
    assert read(place, header_from=["a: {env:SHOP_TOKEN}"]).headers == {"a": TOKEN}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("A: {env:SHOP_TOKN}", "there is no environment variable 'SHOP_TOKN' (did you mean"),
        ("A: {env:SHOP_EMPTY}", "the environment variable 'SHOP_EMPTY' is empty"),
        ("A: {file:no.txt}", "cannot read the file 'no.txt': No such file or directory"),
        ("A: {file:empty.txt}", "the file 'empty.txt' is empty"),
        ("A: {file:lines.txt}", "got several lines for 'A', expected one"),
        ("A: s3cr3t-as-it-stands", "got no {env:NAME} or {file:PATH} for 'A'"),
        ("s3cr3t-as-it-stands", "got no 'NAME: VALUE', expected one"),
    ],
)
def test_what_is_wrong_is_one_line_without_the_value(place: Path, given: str, line: str):
    with pytest.raises(SettingsError) as caught:
        read(place, header_from=[given])
    assert line in str(caught.value)
    assert "s3cr3t" not in str(caught.value)
    assert "\n" not in str(caught.value)


class Echo(BaseHTTPRequestHandler):
    """No MCP server: it answers with what it was sent, as careless ones do."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = f"you sent {self.headers.get('X-Pin')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


def test_it_is_sent_and_never_shown(suite, place: Path, monkeypatch: pytest.MonkeyPatch):
    """Also a short one, under a name that does not tell."""
    monkeypatch.setenv("SHOP_SHORT", "q7x9z")
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        result = suite.run(
            "--mcp-approval-header-from=X-Pin: {env:SHOP_SHORT}",
            "--mcp-approval-timeout=5",
            target=f"http://127.0.0.1:{server.server_port}/mcp",
        )
        server.shutdown()
        thread.join()
    text = result.stdout.str() + result.stderr.str()
    assert result.ret == 10
    assert "you sent <hidden>" in text
    assert "q7x9z" not in text


@pytest.mark.parametrize("option", ["header-from", "second-user-header-from"])
def test_a_finding_brings_no_place_of_a_secret_along(suite, place: Path, option: str):
    broken = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
    result = suite.run(
        "--mcp-approval-select=sep2672/4.8-03-method",
        f"--mcp-approval-{option}=X-Key: {{env:SHOP_TOKEN}}",
        target=broken,
    )
    assert result.ret == 1
    findings = [*(suite.pytester.path / ".mcp-approval" / "findings").glob("*.json")]
    assert findings
    for path in findings:
        text = path.read_text()
        assert f'"{option}"' not in text
        assert TOKEN not in text
    replayed = suite.run(f"--mcp-approval-replay={findings[0]}", target=broken)
    wanted = f"the run had {option.removesuffix('-from')} 'X-Key', whose value is not kept"
    assert wanted in replayed.stderr.str()


def test_a_second_user_has_headers_of_their_own(place: Path):
    (place / "mcp-approval.toml").write_text(
        '[second-user-header-from]\nAuthorization = "Bearer {env:SHOP_TOKEN}"\n'
    )
    settings = read(place, second_user_header=["X-Tenant: other-tenant-7"])
    assert settings.second_user_headers == {
        "Authorization": f"Bearer {TOKEN}",
        "X-Tenant": "other-tenant-7",
    }
    assert settings.headers == {}
    hidden = secrets_of(settings).hide(f"{TOKEN} of other-tenant-7")
    assert hidden == "<hidden> of <hidden>"
