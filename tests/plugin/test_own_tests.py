"""A server team's own tests: what they write, and what they read when it goes wrong."""

from __future__ import annotations

import pytest

OWN_TESTS = """
    def test_a_synced_passkey_approves_once(approval):
        passkey = approval.enrol("icloud-keychain")

        request = approval.challenge("place_trade", {"symbol": "AAPL", "quantity": 10})
        evidence = passkey.sign(request)

        assert approval.call(request, evidence).executed
        assert approval.call(request, evidence).refused_because("challenge_consumed")


    def test_a_trade_cannot_be_swapped(approval, approval_passkey, approval_clock):
        request = approval.challenge("place_trade", {"symbol": "AAPL", "quantity": 10})
        evidence = approval_passkey.sign(request)

        swapped = request.with_arguments({"symbol": "AAPL", "quantity": 1000})
        assert approval.call(swapped, evidence).refused_because("argument_hash_mismatch")

        approval_clock.move_to(request.expires_at)
        assert approval.call(request, evidence).refused_because("challenge_expired")


    def test_a_message_of_my_own(approval_session):
        reply = approval_session.call("tools/list")
        assert reply.result["tools"]
"""


def test_a_users_own_tests_run_against_their_server(suite):
    path = suite.pytester.makepyfile(OWN_TESTS)
    result = suite.run(str(path), "--mcp-approval-select=sep2672/4.8-03-method", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "*::test_a_synced_passkey_approves_once PASSED*",
            "*::test_a_trade_cannot_be_swapped PASSED*",
            "*::test_a_message_of_my_own PASSED*",
        ]
    )


def test_without_a_target_they_are_skipped_with_the_reason(suite):
    suite.pytester.makepyfile(OWN_TESTS)
    result = suite.run("-rs", target=None)
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(["*no server to test: pytest --mcp-approval-target=<server>*"])


@pytest.mark.parametrize("machine", ["at a desk", "in CI"])
def test_a_failed_rule_is_told_in_four_lines_with_a_way_to_run_it_again(
    suite, monkeypatch, machine
):
    # In CI pytest prints whole messages in its summary.
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    monkeypatch.setenv("CI", "true" if machine == "in CI" else "")
    target = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
    select = ("--mcp-approval-select=sep2672/4.8-03-method", "-k", "only_webauthn")
    result = suite.run(*select, target=target)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "1 finding in * checks of *, 1 of 1 rule verified",
            "1  FAIL  sep2672/4.8-03-method * MUST  SEP-2672 §4.8 step 3",
            "   sent * 'WEBAUTHN'",
            '   rule      the method is "webauthn"',
            "   expected  -32001 unsupported_method, tool not run",
            "   got       a result, tool run",
            "   again     pytest --mcp-approval-replay=.mcp-approval/findings/4.8-03-method-*.json "
            f"--mcp-approval-target={target}",
        ]
    )
    failed = result.parseoutcomes()["failed"]
    assert failed == result.stdout.str().count("FAILED mcp-approval/")
    assert result.stdout.str().count("sent ") == 1, "it is told once"
    lines = result.stdout.lines
    for line in lines[
        next(n for n, line in enumerate(lines) if "short test summary" in line) + 1 : -1
    ]:
        assert line.startswith("FAILED mcp-approval/"), "one line each"
    result.stdout.fnmatch_lines(["sep2672   §4.8 ✗", "*1 failed (MUST)*"])


def test_a_finding_gets_no_traceback(suite, monkeypatch):
    """pytest would read and parse the sources of every frame, for a text that is replaced."""
    shown = []
    monkeypatch.setattr(pytest.ExceptionInfo, "getrepr", lambda *_, **__: shown.append(1))
    target = "python:tests.mutants.sep2672.evidence:FoldsTheCaseOfTheMethod"
    result = suite.run("--mcp-approval-select=sep2672/4.8-03-method", target=target)
    assert result.parseoutcomes()["failed"] > 1
    assert shown == []


def test_a_target_that_dies_is_an_error_of_the_run_and_no_verdict(suite):
    """The scenario ends, the next one meets a server that was started again."""
    suite.pytester.makepyfile(
        """
        def test_it_dies(approval):
            import os, signal
            assert approval.session.call("tools/list").answered
            os.kill(approval.target.transport._child._process.pid, signal.SIGKILL)
            assert not approval.session.call("tools/list").answered

        def test_it_lives_again(approval):
            assert approval.session.call("tools/list").answered
        """
    )
    result = suite.run(
        "--mcp-approval-select=sep2672/4.8-03-method",
        "--mcp-approval-environment=LD_PRELOAD=",  # not started warm: it has to die at once
        "-v",
        str(next(suite.pytester.path.glob("test_*.py"))),
        target="reference:stdio",
    )
    result.stdout.fnmatch_lines(["*::test_it_dies PASSED*", "*::test_it_lives_again PASSED*"])
