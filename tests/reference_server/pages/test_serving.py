"""What the server sends for the page: the policy, who gets it, and that it is all there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pytest_mcp_approval.reference_server.sep2672.pages
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.reference_server import build
from tests.reference_server.running import exchange, process, serving

FOLDER = Path(pytest_mcp_approval.reference_server.sep2672.pages.__file__).parent
SCRIPTS = sorted(FOLDER.glob("*.js"))
NOTHING_INLINE = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
    "trusted-types": "'none'",
}


@pytest.fixture(scope="module")
def port():
    with serving(build()) as number:
        yield number


def get(port, path, **headers):
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return exchange(port, b"", names, "GET", path)


def policy_of(headers):
    parts = (part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    return dict(parts)


@pytest.mark.parametrize("path", ["/", "/pages/main.js", "/passkeys", "/pages/no-such.js"])
def test_the_policy_is_strict_everywhere(port, path):
    _, headers, _ = get(port, path, Host="localhost")
    assert policy_of(headers) == NOTHING_INLINE
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "set-cookie" not in headers


@pytest.mark.parametrize("path", ["/", "/pages/main.js", "/passkeys"])
def test_only_known_hosts_and_origins_get_anything(port, path):
    assert get(port, path, Host=f"localhost:{port}")[0] == 200
    assert get(port, path, Host="rebound.example")[0] == 421
    assert get(port, path, Host="localhost", Origin="https://evil.example")[0] == 403
    assert get(port, path, Host="localhost", Origin="http://localhost:5173")[0] == 200


@pytest.mark.parametrize(
    "path",
    ["/pages/routes.py", "/pages/index.html", "/pages/..%2Fserver.py", "/pages/", "/favicon.ico"],
)
def test_nothing_else_can_be_asked_for(port, path):
    assert get(port, path, Host="localhost")[0] == 404


def test_every_file_that_is_named_is_served_as_what_it_is(port):
    _, headers, content = get(port, "/", Host="localhost")
    assert headers["content-type"] == "text/html; charset=utf-8"
    page = content.decode()
    named = set(re.findall(r'(?:src|href)="(/[^"]+)"', page))
    assert {"/pages/main.js", "/pages/style.css", "/pages/icon.svg"} <= named
    types = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    for script in SCRIPTS:
        imported = re.findall(r'from "\./([a-z]+\.js)"', script.read_text(encoding="utf-8"))
        named |= {f"/pages/{name}" for name in imported}
    assert {f"/pages/{script.name}" for script in SCRIPTS} <= named, "a file that nobody uses"
    for path in named:
        status, headers, _ = get(port, path, Host="localhost")
        assert status == 200, path
        assert headers["content-type"].startswith(types[Path(path).suffix])


def test_one_script_holds_every_module_after_what_it_imports(port):
    """A browser asks for one script, whatever modules it is made of."""
    script = get(port, "/pages/main.js", Host="localhost")[2].decode()
    order = re.findall(r"^// ---- (\w+\.js)$", script, re.MULTILINE)
    assert sorted(order) == [one.name for one in SCRIPTS]
    assert order[-1] == "main.js"
    for one in SCRIPTS:
        imported = re.findall(r'from "\./([a-z]+\.js)"', one.read_text(encoding="utf-8"))
        assert all(order.index(name) < order.index(one.name) for name in imported), one.name
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)


def test_nothing_is_inline_and_nothing_becomes_markup():
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(
        r"<style|\sstyle=|\son\w+=|javascript:|<script(?! type=\"module\" src)", page
    )
    for script in SCRIPTS:
        text = script.read_text(encoding="utf-8")
        forbidden = (
            r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|\.style\b"
        )
        assert not re.search(forbidden, text), script.name
        assert not re.search(r"localStorage|sessionStorage|indexedDB|document\.cookie", text)


def test_the_page_learns_where_the_endpoint_is():
    with serving(build(), path="/deep/mcp") as port:
        page = get(port, "/", Host="localhost")[2].decode()
    assert 'data-endpoint="/deep/mcp"' in page


def test_passkeys_are_those_of_the_user():
    server = build(user_header="X-User")
    with serving(server) as port:
        assert json.loads(get(port, "/passkeys", Host="localhost", X_User="somebody")[2]) == []


def test_the_command_line_names_the_page():
    with process("--http", "127.0.0.1:0") as running:
        ready, page = running.stdout.readline().decode(), running.stdout.readline().decode()
        found = re.fullmatch(r"ready: http://127\.0\.0\.1:(\d+)/mcp\n", ready)
        assert found is not None
        number = found[1]
        assert page == f"page: http://localhost:{number}/\n"
        assert get(int(number), "/", Host=f"localhost:{number}")[0] == 200


def test_every_reason_has_words_of_its_own():
    text = (FOLDER / "reasons.js").read_text(encoding="utf-8")
    table = text.partition("export const REASONS = {")[2].partition("\n};")[0]
    rows = dict(re.findall(r'^  (\w+): \["([^"]+)"', table, re.MULTILINE))
    assert set(rows) == set(Reason)
    assert len(set(rows.values())) == len(Reason)


def test_the_wheel_and_the_source_archive_hold_the_pages(tmp_path):
    pytest.importorskip("hatchling")
    root = FOLDER.parents[3]
    script = (
        "import sys; from hatchling.builders.wheel import WheelBuilder\n"
        "from hatchling.builders.sdist import SdistBuilder\n"
        "for builder in (WheelBuilder, SdistBuilder):\n"
        "    for file in builder(sys.argv[1]).recurse_included_files(): print(file.relative_path)\n"
    )
    listed = subprocess.run(
        [sys.executable, "-c", script, str(root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
    ).stdout.splitlines()
    for name in ("index.html", "style.css", "icon.svg", *(script.name for script in SCRIPTS)):
        ending = f"reference_server/sep2672/pages/{name}"
        assert sum(line.endswith(ending) for line in listed) == 2, name
