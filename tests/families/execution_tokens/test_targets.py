"""Verifiers that are no servers: how they are named, asked, and judged by an inner run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.config.settings import Settings, SettingsError
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.execution_tokens.driver import ExecutionTokens
from pytest_mcp_approval.families.execution_tokens.settings import read_table
from pytest_mcp_approval.reference_server.execution_tokens import verifiers
from pytest_mcp_approval.target import TargetError, open_target, parse_target
from tests.inner_runs import Verdicts, plugin_options

CALLABLES = "tests.families.execution_tokens.callables"
VERIFY = f"{sys.executable} {Path(verifiers.__file__).parent / 'verify.py'}"
# Says yes to everything, and writes down how it was called.
SCRIPT = """
import pathlib, sys
pathlib.Path(sys.argv[1]).write_text("\\n".join(sys.argv[2:]))
print('{"result": {"ok": %s}}')
sys.exit(%d)
"""


def driver_of(text: str, tmp_path: Path, **own: object) -> ExecutionTokens:
    settings = Settings(
        targets=(text,), clock="none", directory=tmp_path, family_settings={"execution_tokens": own}
    )
    return ExecutionTokens(open_target(text, settings))


def script(tmp_path: Path, ok: str = "true", code: int = 0) -> str:
    path = tmp_path / "check.py"
    path.write_text(SCRIPT % (ok, code))
    return f"command:{sys.executable} {path} {tmp_path / 'called'}"


# ---- names


@pytest.mark.parametrize(
    ("text", "kind"), [("command:./verify -x", "command"), ("verifier:acme.tokens:ok", "verifier")]
)
def test_the_grammar_knows_them(text: str, kind: str):
    assert parse_target(text).kind == kind


@pytest.mark.parametrize("text", ["command:", "command:'", "verifier:acme", "verifier:a:b-c"])
def test_what_the_grammar_refuses(text: str):
    with pytest.raises(SettingsError, match="--mcp-approval-target: "):
        parse_target(text)


def test_neither_speaks_mcp(tmp_path):
    target = driver_of("command:true", tmp_path).target
    try:
        with pytest.raises(TargetError, match="does not speak MCP"):
            target.session()
    finally:
        target.close()


# ---- commands


def test_a_template_is_filled_in(tmp_path):
    text = f"{script(tmp_path)} --t={{token}} -a {{action}} --host {{host}} {{nonce_log}}"
    driver = driver_of(text, tmp_path)
    try:
        answer = driver.execute(driver.token(), action="do it", host="https://a.example/")
        assert answer.accepted
        assert answer.ran is None, "without {runner} nothing shows"
        token, *rest = (tmp_path / "called").read_text().splitlines()
        assert token.startswith("--t=/")
        assert rest[:4] == ["-a", "do it", "--host", "https://a.example/"]
        assert rest[4].endswith("/nonces")
        driver.execute(driver.token())
        assert "--host" not in (tmp_path / "called").read_text()
    finally:
        driver.target.close()


@pytest.mark.parametrize(
    ("ok", "code", "accepted"), [("true", 0, True), ("false", 0, False), ("true", 3, False)]
)
def test_exit_code_and_member_decide_together(tmp_path, ok: str, code: int, accepted: bool):
    driver = driver_of(f"{script(tmp_path, ok, code)} {{token}}", tmp_path, accepted="result.ok")
    try:
        assert driver.execute(driver.token()).accepted is accepted
    finally:
        driver.target.close()


def test_other_exit_codes_can_mean_yes(tmp_path):
    text = f"{script(tmp_path, code=7)} {{token}}"
    driver = driver_of(text, tmp_path, **{"accepted-exit-codes": [7]})
    try:
        assert driver.execute(driver.token()).accepted
    finally:
        driver.target.close()


def test_a_standard_command_shows_what_it_runs(tmp_path):
    driver = driver_of(f"command:{VERIFY}", tmp_path)
    try:
        token = driver.token()
        first, second = driver.execute(token), driver.execute(token)
        assert first.ran == (driver.content,)
        assert (second.refused, second.reason, second.ran) == (True, "nonce_spent", ())
    finally:
        driver.target.close()


def test_a_command_that_there_is_not_is_said(tmp_path):
    driver = driver_of("command:./no-such-verifier", tmp_path)
    try:
        with pytest.raises(DriverError, match="the command: no such command"):
            driver.execute(driver.token())
    finally:
        driver.target.close()


# ---- callables


def test_a_callable_is_asked_and_restarted(tmp_path):
    for name, remembers in (("verify", True), ("forgetful", False)):
        driver = driver_of(f"verifier:{CALLABLES}:{name}", tmp_path)
        try:
            token = driver.token()
            assert driver.execute(token).accepted
            assert driver.execute(token).refused
            driver.verifier.restart()
            assert driver.execute(token).refused is remembers
        finally:
            driver.target.close()


def test_a_callable_without_a_secret_does_not_accept(tmp_path):
    driver = driver_of(f"verifier:{CALLABLES}:verify", tmp_path)
    try:
        verifier = driver.verifier.with_secret(None)
        assert verifier is not None
        answer = verifier.ask(driver.request(driver.token()))
        assert answer.refused
        assert "EXECUTION_TOKEN_SECRET" in answer.text
    finally:
        driver.target.close()


# ---- the table


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ({"sekret": "x"}, "got 'sekret', did you mean 'secret'? expected one of secret"),
        ({"token-as": "yaml"}, "token-as: got 'yaml', expected one of object, text"),
        ({"accepted-exit-codes": [300]}, "exit codes from 0 to 255"),
        ({"contents": ["a", "a"]}, "different texts"),
        (
            {"members": {"nonsense": "x"}},
            "members]: got 'nonsense', did you mean 'nonce'? expected one of token_id",
        ),
        ({"arguments": {"token": ""}}, "[execution_tokens.arguments] token: got '', expected text"),
    ],
)
def test_a_wrong_table_is_one_line(own: dict[str, object], words: str):
    with pytest.raises(SettingsError, match=re.escape(words)):
        read_table(own, is_server=True)


def test_members_can_have_other_names(tmp_path):
    driver = driver_of("command:true", tmp_path, members={"token_id": "id", "content_hash": "sum"})
    try:
        token = driver.token()
        assert {"id", "nonce", "signature"} <= set(token)
        assert "sum" in token["scope"]
    finally:
        driver.target.close()


# ---- whole runs


def judged(pytester: pytest.Pytester, target: str, *options: str) -> tuple[int, Verdicts]:
    verdicts = Verdicts()
    arguments = [f"--mcp-approval-target={target}", "-q", "-p", "no:xdist", *plugin_options()]
    result = pytester.runpytest_inprocess(*arguments, *options, plugins=[verdicts])
    return int(result.ret), verdicts


def test_a_good_callable_passes_everything(pytester: pytest.Pytester):
    code, verdicts = judged(pytester, f"verifier:{CALLABLES}:verify")
    bad = {
        (one["scenario"], one["verdict"], one["why"])
        for one in verdicts.found
        if one["verdict"] not in (Verdict.PASSED, Verdict.NOT_APPLICABLE)
    }
    assert (code, bad) == (0, set())
    assert {one["rules"][0].partition("/")[0] for one in verdicts.found} == {"execution_tokens"}


def test_a_forgetful_callable_is_found_out(pytester: pytest.Pytester):
    code, verdicts = judged(
        pytester,
        f"verifier:{CALLABLES}:forgetful",
        "--mcp-approval-select=execution_tokens/nonce-restart",
    )
    assert code == 1
    failed = [one for one in verdicts.found if one["verdict"] == Verdict.FAILED]
    assert any("after a restart" in one["evidence"]["sent"] for one in failed)


def test_another_family_is_not_offered(pytester: pytest.Pytester):
    result = pytester.runpytest_inprocess(
        *(f"--mcp-approval-target=verifier:{CALLABLES}:verify", "--mcp-approval-family=sep2672"),
        *plugin_options(),
    )
    assert result.ret == 10
    result.stdout.fnmatch_lines(["*sep2672 needs an MCP server, and this target is none*"])
