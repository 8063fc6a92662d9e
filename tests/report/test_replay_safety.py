"""A finding may be somebody else's: nothing that it names is run, and no header goes where it says,
unless the user says so too."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from pytest_mcp_approval.config.replay import must_be_said, options_of_finding, said_again
from pytest_mcp_approval.config.settings import OPTIONS, SettingsError
from pytest_mcp_approval.support.secrets import HIDDEN, Secrets

SCENARIO = "mcp-approval/sep2672/test_4_8_verification.py::test_a_call_without_meta_is_refused"


@pytest.fixture
def finding(suite):
    """Writes a finding with these options."""

    def write(**options) -> str:
        told = {"format": "mcp-approval-finding", "version": 1, "rules": ["sep2672/4.8-03-method"]}
        told |= {"scenario": SCENARIO, "verdict": "failed", "why": "", "evidence": None}
        told |= {"withheld": {}, "options": {"target": ["reference"], **options}}
        (suite.path / "found.json").write_text(json.dumps(told))
        return "--mcp-approval-replay=found.json"

    return write


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": ["stdio:touch ran"]}, "'--mcp-approval-target=stdio:touch ran'"),
        ({"target": ["command:touch ran"]}, "'--mcp-approval-target=command:touch ran'"),
        ({"target": ["python:evil:app"]}, "--mcp-approval-target=python:evil:app"),
        ({"target": ["verifier:evil:app"]}, "--mcp-approval-target=verifier:evil:app"),
        ({"target": ["reference", "stdio:touch ran"]}, "'--mcp-approval-target=stdio:touch ran'"),
        (
            {"target": ["http://localhost:{port}/mcp"], "launch": "touch ran {port}"},
            "'--mcp-approval-launch=touch ran {port}'",
        ),
        ({"reset": "touch ran"}, "'--mcp-approval-reset=touch ran'"),
        ({"reset": "restart-all ran"}, "'--mcp-approval-reset=restart-all ran'"),
        ({"clock": "hook:touch ran"}, "'--mcp-approval-clock=hook:touch ran'"),
        ({"browser": "./evil"}, "--mcp-approval-browser=./evil"),
        ({"directory": "evil"}, "--mcp-approval-directory=evil"),
        (
            {"set": ["gateway_consent.person=hook:touch ran"]},
            "'--mcp-approval-set=gateway_consent.person=hook:touch ran'",
        ),
        ({"generate-arguments": True}, "--mcp-approval-generate-arguments"),
    ],
)
def test_what_a_finding_would_run_is_refused_and_shown(suite, finding, options, said):
    suite.pytester.makepyfile(evil="open('ran', 'w').close()\ndef app(): pass")
    (suite.path / "evil").mkdir()
    run = suite.run(finding(**options), target="")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert not (suite.path / "ran").exists()
    (line,) = [one for one in run.stderr.lines if one.startswith("ERROR:")]
    assert "found.json may be somebody else's" in line
    assert f"If you want this, add {said}" in line or said in line.partition("add ")[2]


def test_a_command_that_a_terminal_would_obey_is_shown_harmless(suite, finding):
    run = suite.run(finding(reset="touch \x1b[2J\u202e ran"), target="")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    assert "\x1b" not in run.stderr.str()
    assert "\u202e" not in run.stderr.str()


MINE = "python:mine:app"


def test_what_is_said_again_is_run(suite, finding):
    suite.pytester.makepyfile(mine="open('ran', 'w').close()\ndef app(): raise ValueError")
    run = suite.run(finding(target=[MINE]), f"--mcp-approval-target={MINE}", target="")
    assert run.ret == 10
    assert (suite.path / "ran").exists()


def test_what_the_users_own_settings_say_is_run(suite, finding):
    suite.pytester.makepyfile(mine="open('ran', 'w').close()\ndef app(): raise ValueError")
    settings = suite.path / "mcp-approval.toml"
    settings.write_text('target = "python:mine:another"\n')
    assert suite.run(finding(target=[MINE]), target="").ret == pytest.ExitCode.USAGE_ERROR
    assert not (suite.path / "ran").exists()
    settings.write_text(f'target = "{MINE}"\n')
    assert suite.run(finding(target=[MINE]), target="").ret == 10
    assert (suite.path / "ran").exists()


def test_a_finding_without_commands_needs_nothing_more(suite, finding):
    run = suite.run(finding(reset="restart", clock="none", browser="none"), target="")
    assert run.ret == 0
    run.stdout.fnmatch_lines(["replay    fixed: *"])


def test_another_target_leaves_behind_what_belonged_to_the_first(suite, finding):
    options = {"target": ["http://localhost:{port}/"], "launch": "touch ran", "reset": "touch ran"}
    run = suite.run(finding(**options))
    assert run.ret == 0
    assert not (suite.path / "ran").exists()


def test_the_command_under_a_finding_works_as_it_stands(suite):
    """Copied from the terminal."""
    broken = "python:tests.mutants.sep2672.consumption:NeverUpdatesTheCounter"
    run = suite.run(
        "mcp-approval/sep2672/test_4_8_signature.py::test_a_copied_key_is_noticed",
        "--mcp-approval-reset=sh -c 'exit 0'",
        target=broken,
    )
    (again,) = re.findall(r"again     pytest (.*)", run.stdout.str())
    replayed = suite.run(*shlex.split(again), target="")
    replayed.stdout.fnmatch_lines(["replay    still failing: *"])


def taken(kept, given=None, own=None, secrets=()):
    return options_of_finding("f", kept, given or {}, own or {}, Secrets(secrets).hide_all)


@pytest.mark.parametrize("where", ["given", "own"])
def test_the_users_headers_go_only_where_the_user_says(where):
    """A finding's address is fine, until there is something to send to it."""
    kept = {"target": ["https://evil.example/mcp"], "effects": "https://evil.example/e"}
    assert taken(kept) == kept
    with pytest.raises(SettingsError, match=r"your headers go.*target=https://evil\.example"):
        taken(kept, **{where: {"header": ["Authorization: Bearer x"]}})
    with pytest.raises(SettingsError, match=r"add --mcp-approval-effects=https://evil\.example/e"):
        taken(kept, **{where: {"header": ["A: b"], "target": kept["target"]}})
    assert taken(kept, given={"header": ["A: b"], **kept}) == {}


def test_a_value_that_was_not_kept_is_asked_for():
    kept = {"target": [f"https://host/?token={HIDDEN}"], "timeout": "5"}
    with pytest.raises(SettingsError, match=f"add '--mcp-approval-target=.*token={HIDDEN}'"):
        taken(kept)
    own = {"target": "https://host/?token=hunter2"}
    assert taken(kept, own=own, secrets=["hunter2"]) == {
        "target": ["https://host/?token=hunter2"],
        "timeout": "5",
    }


def test_every_option_was_thought_of():
    """A new option that can run a program has to be entered in `replay_settings`."""
    harmless = {
        *("origin", "page", "client-page", "header", "tool", "effects", "launch-timeout"),
        *("environment", "server-id", "protocol", "family", "select", "baseline", "report"),
        *("compare", "findings", "replay", "strict", "timeout", "require-verified"),
        "write-baseline",
        *("second-user-header", "second-user-header-from"),
        *("header-from", "environment-from"),  # never taken from a finding
        *("explore", "explore-database", "explore-rate"),  # nor these
        *("network-faults", "replicas"),  # of the server that `launch` starts
    }
    said = {one.name for one in OPTIONS if must_be_said(one.name, "x", with_headers=False)}
    assert said | harmless >= {one.name for one in OPTIONS}
    assert not said & harmless
    assert said_again({"launch": "run", "timeout": "5"}, with_headers=False) == [
        "--mcp-approval-launch=run"
    ]
