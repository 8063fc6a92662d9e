"""Which browser is found, how it is started, and how one is installed if there is none."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
import shutil
import stat
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from pytest_mcp_approval.browser import NoBrowserError, finding, installing, starting
from pytest_mcp_approval.browser.__main__ import main
from pytest_mcp_approval.browser.finding import engine_of, find_browser
from pytest_mcp_approval.support.command import CommandError
from pytest_mcp_approval.support.deadline import Deadline
from tests.browsers import find_browser as own_browser

WORKS = "#!/bin/sh\necho 'Chromium 1.0'\n"
BROKEN = "#!/bin/sh\necho 'error while loading shared libraries: libnss3.so' >&2\nexit 127\n"


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without any browser: an empty PATH, home and cache."""
    for name in ("PATH", "HOME", "XDG_CACHE_HOME", "PLAYWRIGHT_BROWSERS_PATH"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    monkeypatch.delenv(finding.VARIABLE, raising=False)
    monkeypatch.setattr(finding, "_APPLICATIONS", ())
    monkeypatch.setattr(finding, "_of_playwright", lambda: None)
    return tmp_path


def program(folder: Path, name: str, text: str = WORKS) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


# ---- finding


def test_without_any_one_line_says_what_to_do(bare):
    with pytest.raises(NoBrowserError) as caught:
        find_browser()
    assert str(caught.value) == (
        "no browser found: python -m pytest_mcp_approval.browser install, or name one with "
        "--mcp-approval-browser=/path/to/it"
    )


def test_the_order(bare, monkeypatch):
    fetched = finding.fetched_program()
    fetched.parent.mkdir(parents=True)
    program(fetched.parent, fetched.name)
    assert find_browser() == str(fetched)
    monkeypatch.setattr(finding, "_of_playwright", lambda: "/playwright/chrome")
    assert find_browser() == "/playwright/chrome"
    system = program(bare / "path", "google-chrome")
    assert find_browser() == str(system)
    first = program(bare / "path", "chromium")
    assert find_browser() == str(first)
    other = program(bare, "other")
    monkeypatch.setenv(finding.VARIABLE, str(other))
    assert find_browser() == str(other)
    assert find_browser("google-chrome") == str(system), "the option comes before the variable"


@pytest.mark.parametrize("named", ["no-such-name", "/no/such/path", "./no/such"])
def test_what_is_named_has_to_be_there(bare, named):
    program(bare / "path", "chromium")
    with pytest.raises(NoBrowserError, match=rf"got '{named}', which is not a program here"):
        find_browser(named)


def test_a_file_that_cannot_be_run_is_no_browser(bare):
    plain = bare / "plain"
    plain.write_text(WORKS)
    with pytest.raises(NoBrowserError, match="which is not a program here"):
        find_browser(str(plain))


@pytest.mark.parametrize(
    ("path", "engine"),
    [("/usr/bin/chromium", "chromium"), ("/x/firefox", "firefox"), ("/x/chrome", "chromium")],
)
def test_the_engine_of_a_program(path, engine):
    assert engine_of(path) == engine


def test_playwright_is_asked_even_inside_a_loop(monkeypatch, tmp_path):
    import asyncio

    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    (tmp_path / "chromium-1").mkdir()  # of another version
    asked = []
    monkeypatch.setattr(finding, "_playwright_path", _noting(asked, finding._playwright_path))

    async def look():
        return finding._of_playwright()

    assert asyncio.run(look()) is None
    assert len(asked) == 1
    assert asked[0].startswith(str(tmp_path / "chromium-"))


def test_playwright_is_not_asked_where_it_has_fetched_nothing(monkeypatch, tmp_path):
    """Its driver takes a second to start."""
    monkeypatch.setattr(finding, "_playwright_path", None)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    assert finding._of_playwright() is None
    monkeypatch.delenv("PLAYWRIGHT_BROWSERS_PATH")
    for name in ("XDG_CACHE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    assert finding._of_playwright() is None


def _noting(asked, ask):
    def noted(folder):
        asked.append(ask(folder))
        return asked[-1]

    return noted


# ---- starting


def test_without_a_sandbox_only_where_there_is_none(tmp_path, monkeypatch, approval_browser):
    real, seen = own_browser(), tmp_path / "seen"
    assert real is not None
    picky = program(
        tmp_path,
        "picky",
        "#!/bin/sh\n"
        f'case " $* " in *" --no-sandbox "*) echo without >> {seen}; exec {real} "$@";; esac\n'
        f"echo with >> {seen}\necho 'FATAL: No usable sandbox!' >&2\nexit 1\n",
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    playwright = _playwright_of(approval_browser)
    browser = starting.launch(playwright, str(picky))
    try:
        assert browser.version
    finally:
        browser.close()
    assert seen.read_text().split() == ["with", "without"]
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert starting._sandboxes("chromium", str(picky)) == (False,)


def _playwright_of(browser):
    """One driver is enough for this process."""

    class Playwright:
        chromium = browser.browser_type

    return Playwright


def test_another_problem_is_told_once_in_one_line(tmp_path, monkeypatch, approval_browser):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    broken = program(tmp_path, "broken", BROKEN.replace("echo", f"echo x >> {tmp_path}/ran; echo"))
    with pytest.raises(NoBrowserError) as caught:
        starting.launch(_playwright_of(approval_browser), str(broken))
    said = str(caught.value)
    assert "broken did not start: " in said
    assert "libnss3.so" in said
    assert "\n" not in said
    assert len(said) < 500
    assert (tmp_path / "ran").read_text() == "x\n"


# ---- installing


def steps(*names: str):
    return dict(zip(names, installing.STEPS, strict=True))


def test_what_is_here_is_not_installed(bare, capsys):
    found = program(bare / "path", "chromium")
    assert main(["install"]) == 0
    assert capsys.readouterr().out == f"{found}\n"
    assert main(["find"]) == 0


def test_nothing_is_found_and_said_on_the_error_stream(bare, capsys):
    assert main(["find"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("no browser found: ")
    assert main([]) == 2
    assert main(["remove"]) == 2


def test_the_steps_in_order_each_in_a_line(bare, monkeypatch, capsys):
    """Playwright has none for this system, npm none of the right content; apt has one."""
    path = bare / "path"
    log, chmod = bare / "log", shutil.which("chmod", path=os.defpath)
    refuses = f'#!/bin/sh\necho "python $*" >> {log}\necho no >&2\necho " at x:1" >&2\nexit 1\n'
    python = program(path, "python", refuses)
    program(path, "node", "#!/bin/sh\nexit 1\n")
    program(path, "npm", f'#!/bin/sh\necho "npm $*" >> {log}\necho other > a.tgz\n')
    program(
        path,
        "apt-get",
        f'#!/bin/sh\necho "apt-get $1 $5 $DEBIAN_FRONTEND" >> {log}\n'
        f'[ "$5" = chromium ] || exit 100\n'
        f"printf '#!/bin/sh\\nexit 0\\n' > {path}/chromium\n{chmod} +x {path}/chromium\n",
    )
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert main(["install"]) == 0
    told = capsys.readouterr()
    assert told.out == f"{path / 'chromium'}\n", "for scripts: the path and nothing else"
    lines = told.err.splitlines()
    assert lines[0] == "browser: fetching Chromium with `playwright install chromium`"
    assert lines[1] == "browser: that did not work: python ended with 1: no"
    assert lines[2] == "browser: fetching Chromium from the npm package @sparticuz/chromium"
    assert lines[3].startswith("browser: that did not work: @sparticuz/chromium@149.0.0 has the")
    assert lines[4] == "browser: installing chromium with apt-get"
    assert log.read_text().splitlines() == [
        "python -m playwright install chromium",
        "npm pack @sparticuz/chromium@149.0.0 --silent --ignore-scripts",
        "apt-get update  noninteractive",
        "apt-get install chromium-headless-shell noninteractive",
        "apt-get install chromium noninteractive",
    ]
    assert not finding.fetched_program().parent.exists()


def test_the_npm_package_is_unpacked_and_kept(bare, monkeypatch):
    """A package of the same shape, with its own hash; node stands in by copying."""
    archive = bare / "package.tgz"
    _pack(archive)
    digest = hashlib.sha512(archive.read_bytes()).digest()
    monkeypatch.setattr(installing, "NPM_HASH", base64.b64encode(digest).decode())
    path = bare / "path"
    copy = shutil.which("cp", path=os.defpath)
    program(path, "npm", f"#!/bin/sh\n{copy} {archive} got.tgz\n")
    program(path, "node", f'#!/bin/sh\n{copy} "$3" "$4"\n')
    for tool in ("dirname", "readlink"):
        (path / tool).symlink_to(shutil.which(tool, path=os.defpath))
    monkeypatch.setattr(installing, "STEPS", (steps("playwright", "npm", "apt")["npm"],))
    monkeypatch.setattr(installing, "_suits_npm", lambda: True)
    said: list[str] = []
    found = installing.install(said.append)
    assert found == str(finding.fetched_program()) == find_browser()
    assert said == ["browser: fetching Chromium from the npm package @sparticuz/chromium"]
    assert "LD_LIBRARY_PATH" in Path(found).read_text(), "it starts only with its libraries"
    assert (Path(found).parent / "lib" / "libnss3.so").is_file()
    assert [one.name for one in Path(found).parent.parent.iterdir()] == ["chromium-149.0.0"]


def _pack(archive: Path) -> None:
    def tar(members: dict[str, bytes]) -> bytes:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as packed:
            for name, data in members.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o755
                packed.addfile(entry, io.BytesIO(data))
        return made.getvalue()

    picky = b'#!/bin/sh\n[ -n "$LD_LIBRARY_PATH" ] || exit 127\n'
    parts = {
        "package/bin/chromium.br": picky,
        "package/bin/al2023.tar.br": tar({"lib/libnss3.so": b"library"}),
        "package/bin/fonts.tar.br": tar({"fonts/fonts.conf": b"<fontconfig/>"}),
    }
    with tarfile.open(archive, "w:gz") as packed:
        for name, data in parts.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))


def test_nothing_works(bare, monkeypatch, capsys):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["install"]) == 1
    told = capsys.readouterr()
    assert "that did not work: no such command: /no/such/python" in told.err
    last = told.err.splitlines()[-1]
    assert last.startswith(
        "no browser could be installed: install Chromium or Chrome by your system"
    )


def test_a_named_browser_that_is_missing_is_not_replaced_by_another(bare, monkeypatch, capsys):
    monkeypatch.setenv(finding.VARIABLE, "/no/such/browser")
    assert main(["install"]) == 1
    assert "MCP_APPROVAL_BROWSER names '/no/such/browser'" in capsys.readouterr().err


def test_a_step_that_hangs_is_ended_with_all_that_it_started(bare):
    sleep = shutil.which("sleep", path=os.defpath)
    child = bare / "child"
    hanging = program(bare, "hanging", f"#!/bin/sh\n{sleep} 600 &\necho $! > {child}\nwait\n")
    with pytest.raises(CommandError, match=r"hanging did not end within 5 s"):
        installing._run([str(hanging)], 5.0)
    number, deadline = int(child.read_text()), Deadline(60)
    while _runs(number):
        assert not deadline.passed
        threading.Event().wait(0.01)


def _runs(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] not in ("Z", "X")
    except OSError:
        return False


def test_the_words_of_the_hash_are_a_sha_512():
    assert len(base64.b64decode(installing.NPM_HASH, validate=True)) == 64
