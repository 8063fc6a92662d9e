"""Checks on a page in a user's run: made if there is a page and a browser, reported if not."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.browsers import HINT, find_browser
from tests.inner_browser import shared_browser
from tests.inner_runs import Verdicts

# A rule that is judged on the wire and on a page, and one that is judged on a page alone.
BOTH = "sep2672/8.3.2-counter-zero"
CLIENT = "sep2672/4.9-client-challenge-first"
SELECT = [f"--mcp-approval-select={BOTH}", f"--mcp-approval-select={CLIENT}"]
DESCRIBED = "--mcp-approval-set=sep2672.page"


@pytest.fixture
def browser():
    if find_browser() is None:
        pytest.skip(HINT)
    return shared_browser()


def heard(suite, *arguments, target="reference", plugins=()):
    listener = Verdicts()
    result = suite.run(*SELECT, *arguments, target=target, plugins=[listener, *plugins])
    return result, {
        rule: {one["verdict"] for one in listener.found if rule in one["rules"]}
        for one in listener.found
        for rule in one["rules"]
    }


def test_without_a_page_nothing_changes(suite):
    result, verdicts = heard(suite, target="reference:stdio")
    assert result.ret == 0
    assert verdicts == {BOTH: {Verdict.PASSED}}
    result.stdout.fnmatch_lines(
        ["* page     none: nothing is checked in a browser (--mcp-approval-page=URL)"]
    )
    assert "not verified" not in result.stdout.str()


def test_browser_none_leaves_the_page_alone(suite):
    result, verdicts = heard(suite, "--mcp-approval-browser=none")
    assert verdicts == {BOTH: {Verdict.PASSED}}
    result.stdout.fnmatch_lines(["* page     not checked, because of --mcp-approval-browser=none"])


def test_a_browser_that_is_named_and_not_there_stops_the_run(suite, tmp_path):
    missing = tmp_path / "no-browser"
    result, verdicts = heard(suite, f"--mcp-approval-browser={missing}")
    assert verdicts == {}
    assert result.ret == 10
    line = f"browser: got '{missing}', which is not a program here, expected a path or a name"
    result.stdout.fnmatch_lines([f"mcp-approval  {line}*"])


def test_without_a_browser_they_are_not_verified_with_what_to_do(suite, tmp_path, monkeypatch):
    for name in ("PATH", "PLAYWRIGHT_BROWSERS_PATH", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("MCP_APPROVAL_BROWSER", raising=False)
    result, verdicts = heard(suite)
    assert verdicts[CLIENT] == {Verdict.NOT_VERIFIED}
    assert verdicts[BOTH] == {Verdict.PASSED, Verdict.NOT_VERIFIED}
    assert result.ret == 0
    line = "no browser found: python -m pytest_mcp_approval.browser install, or name one with "
    result.stdout.fnmatch_lines([f"* page     the server's own; {line}*"])
    result.stdout.fnmatch_lines([f"not verified  {line}*"])


def test_with_both_a_clients_rules_are_judged(suite, browser):
    result, verdicts = heard(suite, plugins=[browser])
    assert verdicts == {BOTH: {Verdict.PASSED}, CLIENT: {Verdict.PASSED}}
    assert result.ret == 0
    result.stdout.fnmatch_lines(["* page     the server's own  (in *)", "*2 passed *checks in *"])


def test_nothing_is_recorded_where_nothing_is_kept(suite, browser, monkeypatch):
    monkeypatch.setattr("pytest_mcp_approval.session.browser_use.Recorder", None)
    _, verdicts = heard(suite, "--mcp-approval-findings=none", plugins=[browser])
    assert verdicts == {BOTH: {Verdict.PASSED}, CLIENT: {Verdict.PASSED}}


def test_a_described_page_is_driven_as_described(suite, browser):
    """The defaults, spelt in another way; steps before the last are pressed."""
    entries = [
        "approve=#approve",
        "ask=css=form button[type=submit]",
        'arguments=["text=Write the arguments as JSON", "css=textarea >> visible=true"]',
        "display-text=role=region[name='What you approve']",
    ]
    _, verdicts = heard(suite, *(f"{DESCRIBED}.{one}" for one in entries), plugins=[browser])
    assert verdicts == {BOTH: {Verdict.PASSED}, CLIENT: {Verdict.PASSED}}


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        (
            "approv=#approve",
            "got 'approv', did you mean 'approve'? expected one of url, ready, enrol, *",
        ),
        ("approve=7", "got 7, expected a selector such as *"),
        ("argument=#one", "got '#one', expected a selector with {name} in it"),
    ],
)
def test_a_description_that_cannot_be_read_is_told_before_anything(suite, entry, line):
    result, verdicts = heard(suite, f"{DESCRIBED}.{entry}")
    assert result.ret == 10
    assert verdicts == {}
    place = f"--mcp-approval-set sep2672.page.{entry.partition('=')[0]}"
    result.stdout.fnmatch_lines([f"mcp-approval  {place}: {line}"])


CONFTEST = '''
import pytest
from pytest_mcp_approval.families.sep2672.page import PageDriver


class MyPage(PageDriver):
    """Somebody's own page, on which one agrees by the keyboard."""

    def approve(self):
        self.page.locator("#approve").focus()
        self.page.keyboard.press("Enter")
        print("by the keyboard")


@pytest.fixture
def approval_page_driver(approval_page, approval_turn):
    return MyPage(approval_page, approval_turn.page())
'''


def test_a_driver_of_the_users_own_is_taken(suite, browser):
    suite.pytester.makeconftest(CONFTEST)
    result, verdicts = heard(suite, "-s", plugins=[browser])
    assert verdicts[CLIENT] == {Verdict.PASSED}
    assert result.stdout.str().count("by the keyboard") >= 2


def test_a_users_own_test_may_drive_the_page(suite, browser):
    path = suite.pytester.makepyfile(
        """
        def test_my_page(approval_page, approval_page_driver):
            key = approval_page.key("icloud-keychain")
            approval_page_driver.open()
            approval_page_driver.enrol()
            key.person.will("decline")
            approval_page_driver.ask("wipe_cache", {})
            assert approval_page_driver.await_review()
            approval_page_driver.approve()
            assert "Not approved" in approval_page_driver.outcome()
        """
    )
    result = suite.run(
        str(path), "--mcp-approval-select=sep2672/4.2-class-values", plugins=[browser]
    )
    assert result.ret == 0
    assert "failed" not in result.parseoutcomes()
