"""The Python of README and the documentation runs: tests against the reference server, all of them
in one inner run; the authenticator's blocks in the order of their page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, all_blocks, blocks_of
from tests.inner_runs import plugin_options
from virtual_authenticator import NotAllowedError

OTHER_NAMES = {'"delete_user", {"user":': '"erase_account", {"account":'}
"""What a page's own server calls otherwise than the reference server."""
IN_A_BROWSER = re.compile(r"approval_page\b")
OPTIONS = {
    "rp": {"id": "example.org", "name": "Example"},
    "user": {"id": "YWxpY2U", "name": "alice", "displayName": "Alice"},
    "challenge": "c29tZSByYW5kb20gYnl0ZXM",
    "pubKeyCredParams": [{"type": "public-key", "alg": alg} for alg in (-7, -8, -257)],
    "authenticatorSelection": {"residentKey": "required"},
}
REQUEST = {"challenge": "b3RoZXIgcmFuZG9tIGJ5dGVz", "rpId": "example.org"}


def shown_tests() -> dict[str, str]:
    """Each page's tests that need no browser, by the page."""
    found: dict[str, str] = {}
    for block in all_blocks("python"):
        names = [
            node.name
            for node in ast.parse(block.text).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        ]
        if names and "@requirement" not in block.text and not IN_A_BROWSER.search(block.text):
            page = re.sub(r"\W", "_", str(block.page.relative_to(ROOT).with_suffix("")))
            text = block.text
            for named, ours in OTHER_NAMES.items():
                text = text.replace(named, ours)
            found[page] = found.get(page, "") + "\n\n" + text
    return found


def test_the_tests_that_pages_show_pass(pytester: pytest.Pytester):
    shown = shown_tests()
    assert len(shown) >= 6
    for page, text in shown.items():
        (pytester.path / f"test_{page}.py").write_text(text, encoding="utf-8")
    count = sum(text.count("def test_") for text in shown.values())
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", *plugin_options()]
    # A file only configures: no scenario runs.
    (pytester.path / "mcp-approval.toml").write_text('target = "reference"\n', encoding="utf-8")
    files = [f"test_{page}.py" for page in shown]
    pytester.runpytest_inprocess(*options, *files).assert_outcomes(passed=count)


@pytest.mark.parametrize(
    "page",
    [ROOT / "docs" / "virtual-authenticator.md", ROOT / "virtual_authenticator" / "README.md"],
    ids=lambda page: page.parent.name,
)
def test_the_authenticators_blocks_run_in_order(page: Path):
    import virtual_authenticator

    scope: dict[str, object] = {
        name: getattr(virtual_authenticator, name) for name in virtual_authenticator.__all__
    }
    scope |= {"creation_options": OPTIONS, "request_options": REQUEST}
    scope |= {"origin": "https://example.org"}
    blocks = [block for block in blocks_of(page) if block.language == "python"]
    assert blocks
    for block in blocks:
        for node in ast.parse(block.text).body:
            code = ast.get_source_segment(block.text, node) or ""
            line = block.text.splitlines()[(node.end_lineno or 1) - 1]
            if "Uhid" in code and not Path("/dev/uhid").exists() and not code.startswith("from"):
                continue  # a node of the kernel's, which most machines do not have
            if "NotAllowedError" in line.partition("#")[2]:  # the page says that it fails
                with pytest.raises(NotAllowedError):
                    exec(code, scope)
            else:
                exec(code, scope)
