"""Which settings are secret."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.session.secrets_of_run import secrets_of, secrets_of_options
from pytest_mcp_approval.support.secrets import HIDDEN
from pytest_mcp_approval.target import open_target, parse_target

NESTED = {
    "audit": "http://me:hunter2@localhost/audit",
    "variants": {"store": "run --db-password hunter3 --keep"},
    "operations": [{"name": "x", "params": {"to": ["https://h/?sig=hunter4"]}}],
    "client-secret": "hunter5",
    "headers": {"X-Anything": "hunter6-hunter6"},
    "token": "eyJhbGciOi-hunter7-IUzI1NiIs",
}


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({"headers": {"Authorization": "Bearer abc.def"}}, ["got Bearer abc.def", "of abc.def"]),
        ({"headers": {"Cookie": 'a="q\\"x"'}}, ['{"echo": "a=\\"q\\\\\\"x\\""}']),
        ({"headers": {"X-Api-Key": "käse+brot"}}, ["?key=k%C3%A4se%2Bbrot"]),
        ({"headers": {"X-Back": "http://me:hunter2@host/"}}, ["hunter2"]),
        ({"targets": ("http://me:hunter2@host/mcp",)}, ["http://me:hunter2@host/mcp"]),
        ({"targets": ("https://hunter2-hunter2@host/mcp",)}, ["hunter2-hunter2"]),
        ({"targets": ("https://host/mcp?token=hunter2&x=1",)}, ["GET /mcp?token=hunter2"]),
        ({"targets": ("https://host/mcp?z=hunter2hunter2hunter2",)}, ["hunter2hunter2hunter2"]),
        ({"targets": ("https://host/#access_token=hunter2",)}, ["hunter2"]),
        ({"targets": ("stdio:node server.js --api-key hunter2",)}, ["argv: hunter2"]),
        ({"targets": ("stdio:node server.js --api-key 'hunter2 x'",)}, ["argv: hunter2 x"]),
        ({"targets": ("stdio:curl -H 'Authorization: Bearer hunter2'",)}, ["hunter2"]),
        ({"targets": ("stdio:env TOKEN=hunter2 node server.js",)}, ["TOKEN=hunter2"]),
        ({"targets": ("stdio:env TOKEN='hunter2 x' node",)}, ["hunter2 x"]),
        ({"targets": ("stdio:run --db postgres://me:hunter2@db/x",)}, ["hunter2 at db"]),
        ({"targets": ("stdio:sh -c 'export PASSWORD=hunter2; run'",)}, ["hunter2"]),
        ({"launch": "node server.js --token=hunter2"}, ["hunter2"]),
        ({"reset": "curl -X POST http://me:hunter2@host/reset"}, ["hunter2"]),
        ({"effects": "http://me:hunter2@host/effects"}, ["hunter2"]),
        ({"clock": "hook:http://me:hunter2@host/now?key=hunter3"}, ["hunter2", "hunter3"]),
        ({"clock": "hook:move-time --token hunter2"}, ["hunter2"]),
        (
            {
                "family_settings": {
                    "sep2672": {"page": {"url": "http://localhost/?session=hunter2"}}
                }
            },
            ["hunter2"],
        ),
        ({"environment": {"DB_PASSWORD": "hunter2"}}, ["login with hunter2"]),
        ({"environment": {"WHATEVER": "long enough to be one"}}, ["long enough to be one"]),
        ({"family_settings": {"execution_tokens": {"secret": "hunter2"}}}, ["hunter2"]),
        (
            {"family_settings": {"confirmation_tokens": NESTED}},
            ["hunter2", "hunter3", "hunter4", "hunter5", "hunter6-hunter6", NESTED["token"]],
        ),
        ({"tools": {"login": {"user": "me", "password": "hunter2"}}}, ["hunter2"]),
    ],
)
def test_what_is_told_in_confidence_is_hidden(settings, texts):
    settings = Settings(**settings)
    for text in texts:
        shown = secrets_of(settings).hide(text)
        assert HIDDEN in shown
        for word in ("abc.def", "hunter", "long", "q\\", "brot"):
            assert word not in shown
    assert "hunter" not in repr(settings)
    for target in settings.targets:
        assert "hunter" not in repr(parse_target(target))
        opened = open_target(target, settings)
        assert "hunter" not in repr(vars(opened))
        opened.close()


def test_what_is_no_secret_stays():
    settings = Settings(
        headers={"X-Env": "test", "X-Token": "1"},
        targets=("http://host:8080/mcp?page=2",),
        environment={"A": "1", "LOG": "debug"},
        launch="node server.js --port {port} --token-lifetime 300",
        family_settings={
            "confirmation_tokens": {"fields": {"token": "error.details.ticket"}, "tool": "ask"},
            "execution_tokens": {"secret-environment": "TOKEN_SECRET", "token-as": "object"},
        },
        tools={"delete": {"key": "row-1", "pin": True}},
    )
    for text in ("test 1 of 2", "http://host:8080/mcp?page=2", "error.details.ticket", "row-1"):
        assert secrets_of(settings).hide(text) == text
    assert secrets_of(settings).hide("TOKEN_SECRET object debug") == "TOKEN_SECRET object debug"


def test_options_that_cannot_be_read_are_told_without_secrets(pytester):
    given = {"header": ["X: hunter2-hunter2"], "launch": "run --token 'hunter3", "strict": True}
    assert secrets_of_options(given).hide("hunter2-hunter2") == HIDDEN
    run = pytester.runpytest_inprocess(
        "--mcp-approval-target=stdio:run --token=hunter2-hunter2 'unclosed"
    )
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["*cannot read*"])
    assert "hunter" not in run.stderr.str()


def test_tests_of_ones_own_show_no_secrets_without_any_scenario(pytester):
    pytester.makefile(
        ".toml",
        **{"mcp-approval": 'target = "reference"\nheader = ["X-Token: hunter2-hunter2-hunter2"]\n'},
    )
    pytester.makepyfile(
        """
        def test_mine(approval):
            headers = dict(approval.target.settings.headers)
            print(headers)
            assert headers == {}
        """
    )
    run = pytester.runpytest_inprocess(
        *("--showlocals", "-vv", "--junitxml=junit.xml", "-o", "junit_logging=all"),
        "-p",
        "no:cacheprovider",
    )
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["headers *<hidden>*"])
    for text in (run.stdout.str(), (pytester.path / "junit.xml").read_text()):
        assert "hunter2" not in text
