"""The browser in a pytest session: started once, out of asyncio's way, evidence for failures only,
and one line if there is none. Each by a whole run of pytest, as users have it."""

from __future__ import annotations

import json
import zipfile
from types import SimpleNamespace
from typing import Any

import pytest

from tests.browser.site import PLAIN

ONE_RULE = [
    "--mcp-approval-target=reference",
    "--mcp-approval-select=sep2672/4.2-required-literal",
]
OPTIONS = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio"]


@pytest.fixture
def inner(pytester, monkeypatch):
    """Runs pytest in a process of its own, with a deadline."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*OPTIONS, *arguments, timeout=100)

    return run


def test_asyncio_goes_on_working_and_evidence_is_kept_for_failures(pytester, inner, site):
    address = site.put("/shown", f"{PLAIN}<p>what was there</p>")
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    pytester.makepyfile(
        f"""
        import asyncio

        import pytest

        SEEN = []


        def run_a_loop():
            async def main():
                await asyncio.sleep(0)
                return asyncio.get_running_loop()

            assert not asyncio.run(main()).is_running()


        @pytest.fixture
        def with_a_loop():
            run_a_loop()
            yield
            run_a_loop()


        @pytest.fixture(scope="module", autouse=True)
        def around():
            run_a_loop()
            yield
            run_a_loop()


        def test_before():
            run_a_loop()


        def test_a_page(approval_page, approval_browser):
            SEEN.append(approval_browser)
            approval_page.goto("{address}")
            assert approval_page.page.locator("p").inner_text() == "what was there"


        def test_that_leaves_a_prompt_open(approval_page):
            key = approval_page.key("touch-id")
            key.person.will("wait")
            approval_page.goto("{address}")
            approval_page.page.evaluate(
                "void navigator.credentials.get({{publicKey: {{challenge: new Uint8Array(9)}}}})"
            )
            assert key.asked().waits


        def test_between(with_a_loop):
            run_a_loop()


        def test_that_fails(approval_page):
            approval_page.goto("{address}")
            assert approval_page.page.title() == "<another & more>"


        def test_a_fixture_asked_for_late(request):
            run_a_loop()
            page = request.getfixturevalue("approval_page")
            page.goto("{address}")
            with page.page.expect_event("console") as said:
                page.page.evaluate("console.log('heard')")
            assert said.value.text == "heard"


        def test_the_browser_alone(approval_browser):
            SEEN.append(approval_browser)
            context = approval_browser.new_context()
            context.new_page().goto("{address}")
            context.close()
            assert SEEN[0] is SEEN[1]


        def test_after(with_a_loop):
            run_a_loop()
        """
    )
    result = inner()
    result.assert_outcomes(passed=7, failed=1)
    kept = sorted((pytester.path / ".mcp-approval" / "evidence").iterdir())
    assert [path.suffix for path in kept] == [".png", ".zip"]
    assert all(path.name.startswith("test_that_fails-") for path in kept)
    result.stdout.fnmatch_lines(["*approval evidence*", ".mcp-approval/evidence/test_that_fails-*"])
    assert kept[0].read_bytes().startswith(b"\x89PNG")
    with zipfile.ZipFile(kept[1]) as trace:
        assert "trace.trace" in trace.namelist()
        assert address.encode() in trace.read("trace.trace")
    assert (pytester.path / ".mcp-approval" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(("others", "closely"), [(9, True), (10, False)])
def test_few_tests_are_watched_closely(pytester, inner, site, others, closely):
    """The document at every step is for whoever looks into a failure, and too dear for all."""
    address = site.put("/watched", f"{PLAIN}<p>what was there</p>")
    pytester.makepyfile(
        f"""
        import pytest


        def test_that_fails(approval_page):
            approval_page.goto("{address}")
            approval_page.page.locator("p").click()
            assert False


        @pytest.mark.parametrize("number", range({others}))
        def test_other(number):
            pass
        """
    )
    inner().assert_outcomes(passed=others, failed=1)
    [kept] = (pytester.path / ".mcp-approval" / "evidence").glob("*.zip")
    with zipfile.ZipFile(kept) as trace:
        told = trace.read("trace.trace")
    assert b'"click"' in told
    assert (b"frame-snapshot" in told) is closely


def test_a_scenario_on_a_page_names_its_evidence_in_every_report(pytester, inner, site):
    address = site.put("/scenario", f"{PLAIN}<p>what was there</p>")
    path = pytester.makepyfile(
        f"""
        import pytest

        from pytest_mcp_approval.catalogue import Finding, requirement


        @requirement("sep2672/4.8-11-counter")
        def test_found(approval_page):
            approval_page.goto("{address}")
            raise Finding(sent="a click", expected="words", got="none")


        @requirement("sep2672/4.8-12-argument-hash")
        def test_fine(approval_page):
            approval_page.goto("{address}")
        """
    )
    (pytester.path / "out put").mkdir()
    result = inner(
        *ONE_RULE,
        "--mcp-approval-report=report.json",
        "--mcp-approval-report=out put/report.html",
        str(path),
    )
    found = json.loads((pytester.path / "report.json").read_text())
    files = {one["id"].rpartition("::")[2]: one["files"] for one in found["scenarios"]}
    assert files["test_fine"] == []
    picture, trace = files["test_found"]
    assert picture.startswith(".mcp-approval/evidence/test_found-")
    assert picture.endswith(".png")
    assert trace.endswith(".zip")
    for path in (picture, trace):
        assert (pytester.path / path).is_file()
    result.stdout.fnmatch_lines([f"   picture   {picture}", f"   trace     {trace}"])
    page = (pytester.path / "out put" / "report.html").read_text()
    assert f'<a href="../{picture}">{picture}</a>' in page


def test_without_a_browser_one_line_has_the_command(pytester, inner, monkeypatch):
    empty = pytester.mkdir("empty")
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(empty))
    monkeypatch.setenv("XDG_CACHE_HOME", str(empty))
    monkeypatch.delenv("MCP_APPROVAL_BROWSER", raising=False)
    path = pytester.makepyfile(
        """
        from pytest_mcp_approval.catalogue import requirement


        def test_mine(approval_page):
            pass


        @requirement("sep2672/4.8-11-counter")
        def test_scenario(approval_page):
            pass
        """
    )
    line = "no browser found: python -m pytest_mcp_approval.browser install, or name one with *"
    result = inner("-rs", *ONE_RULE, str(path))
    result.stdout.fnmatch_lines([f"not verified  {line}", "*4.8-11-counter*", f"SKIPPED*{line}"])
    assert result.ret == 0


def test_a_browser_that_is_named_wrongly_is_told(pytester, inner):
    pytester.makepyfile("def test_it(approval_page): pass")
    result = inner("-rs", "--mcp-approval-browser=/no/such/browser")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*browser: got '/no/such/browser', which is not a program here*"])


def test_a_browser_that_is_left_out_is_said_to_be_so(pytester, inner):
    pytester.makepyfile("def test_it(approval_browser): ...")
    result = inner("-rs", "--mcp-approval-browser=none")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*needs a browser, and --mcp-approval-browser=none leaves it out"])


def test_the_browser_of_pytest_playwright_is_used_where_that_is_loaded(pytester, inner):
    pytester.makepyfile(
        stand_in="""
        import pytest

        from pytest_mcp_approval.browser.starting import started_browser

        STARTED = []


        @pytest.fixture(scope="session")
        def browser():
            with started_browser() as started:
                STARTED.append(started)
                yield started


        def pytest_configure(config):
            config.pluginmanager.register(object(), "playwright")
        """
    )
    pytester.makepyfile(
        """
        import stand_in


        def test_it(approval_browser, approval_page):
            assert [approval_browser] == stand_in.STARTED
            assert approval_page.page.evaluate("1 + 1") == 2


        def test_theirs(browser):
            page = browser.new_page()
            assert page.evaluate("1 + 1") == 2
            page.close()
        """
    )
    result = inner("-p", "stand_in")
    result.assert_outcomes(passed=2)


def test_our_own_tests_must_run_in_ci(monkeypatch):
    from tests.browsers import HINT, must_run

    call: Any = SimpleNamespace(excinfo=SimpleNamespace(value=HINT))
    report = pytest.TestReport("x", ("x", 0, "x"), {}, "skipped", ("x", 0, HINT), "setup")
    monkeypatch.delenv("CI", raising=False)
    must_run(report, call)
    assert report.skipped
    monkeypatch.setenv("CI", "true")
    must_run(report, call)
    assert report.failed
