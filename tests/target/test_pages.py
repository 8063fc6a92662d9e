"""The page that belongs to a target: named by the user, or brought by the reference server."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

import pytest

from pytest_mcp_approval.config.settings import SettingsError, read_settings
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.families.sep2672.settings import read_table

DEADLINE = 10


def named(url):
    return {"sep2672": {"page": {"url": url}}}


def fetched(url):
    with urllib.request.urlopen(url, timeout=DEADLINE) as answer:
        return answer.read().decode()


@pytest.mark.parametrize("text", ["reference", "reference:http", "reference:sqlite"])
def test_the_reference_server_serves_its_own(opened, text):
    target = opened(text)
    url = target.page()
    assert url.startswith("http://localhost:")
    assert url.endswith("/")
    assert "<title>Approve tool calls" in fetched(url)
    assert target.page() == url
    assert url.rstrip("/") in target.server.extension("sep2672").gate.relying_party.origins


@pytest.mark.parametrize("text", ["reference", "reference:http"])
def test_the_page_is_of_the_very_server_that_is_judged(opened, text):
    target = opened(text)
    origin = target.page().rstrip("/")
    assert fetched(f"{origin}/passkeys") == "[]"
    approval = Approval(target)
    passkey = approval.enrol("icloud-keychain")
    request = approval.challenge("wipe_cache")
    assert approval.call(request, passkey.sign(request)).executed
    assert '"hybrid"' in fetched(f"{origin}/passkeys")
    assert '"wipe_cache"' in fetched(f"{origin}/effects")


def test_an_open_page_finds_a_restarted_server(opened):
    target = opened("reference")
    url = target.page()
    target.restart()
    with pytest.raises(urllib.error.URLError):
        fetched(url)
    assert target.page() == url
    assert "<title>" in fetched(url)


def test_nothing_is_served_before_it_is_asked_for(opened):
    target = opened("reference")
    Approval(target).enrol("icloud-keychain")
    assert target.server.extension("sep2672").gate.relying_party.origins == ("http://localhost",)


def test_a_command_has_none_unless_it_is_named(opened):
    command = f"stdio:{sys.executable} -m pytest_mcp_approval.reference_server --stdio"
    assert opened("reference:stdio").page() is None
    assert opened(command).page() is None
    for text in (command, "reference"):
        assert (
            opened(text, family_settings=named("https://a.example/")).page() == "https://a.example/"
        )


def test_the_page_of_a_launched_server_is_there_when_it_is_named(opened):
    program = "-m pytest_mcp_approval.reference_server --http localhost:{port}"
    target = opened(
        "http://localhost:{port}/mcp",
        launch=f"{sys.executable} {program}",
        family_settings=named("http://localhost:{port}/"),
        clock="none",
    )
    assert "<title>Approve tool calls" in fetched(target.page())


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ('[sep2672.page]\nurl = "http://localhost:{port}/pay"\n', []),
        ('[sep2672]\npage = "http://localhost:{port}/pay"\n', []),
        (
            'page = "http://localhost:{port}/pay"\n',
            ["mcp-approval.toml [sep2672.page] url for page"],
        ),
    ],
)
def test_the_settings_file_names_a_page(tmp_path, text, old):
    def page(**given):
        settings = read_settings(given, tmp_path, tmp_path)
        assert settings.sources.old == old
        return read_table(settings.family_settings["sep2672"]).page.url

    (tmp_path / "mcp-approval.toml").write_text(text)
    assert page() == "http://localhost:{port}/pay"
    # Another target than the file's has another page.
    assert page(target=["reference"]) is None
    assert page(page="https://example.org/approve") == "https://example.org/approve"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("localhost:3000", "expected a URL such as"),
        ("ftp://localhost/", "expected a URL such as"),
        ("http://", "expected a URL such as"),
        ("http://localhost:port/", "expected a URL such as"),
        ("http://127.0.0.1:3000/", "browsers have no passkeys for addresses"),
        ("http://[::1]:3000/", "browsers have no passkeys for addresses"),
    ],
)
def test_a_page_that_cannot_be_one_is_told_in_one_line(tmp_path, value, words):
    settings = read_settings({"page": value}, tmp_path, tmp_path)
    with pytest.raises(SettingsError, match=f"^--mcp-approval-page: got .*{words}") as told:
        read_table(settings.family_settings["sep2672"], settings.sources)
    assert "\n" not in str(told.value)
