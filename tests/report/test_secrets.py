"""What a user told the suite in confidence is not shown."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.report.secrets import HIDDEN, Secrets


@pytest.mark.parametrize(
    ("secrets", "text"),
    [
        (Secrets.of({"Authorization": "Bearer abc.def"}), "token abc.def was refused"),
        (Secrets.of({"Authorization": "Bearer abc.def"}), "got Bearer abc.def"),
        (Secrets.of({"Authorization": "Basic dXNlcjpodW50ZXIy"}), "password hunter2"),
        (Secrets.of({"Cookie": 'a="q\\"x"'}), '{"echo": "a=\\"q\\\\\\"x\\""}'),
        (Secrets.of({"X-Api-Key": "käse+brot"}), "?key=k%C3%A4se%2Bbrot"),
        (Secrets.of({}, ["http://me:hunter2@host/mcp"]), "http://me:hunter2@host/mcp"),
        (Secrets.of({}, ["https://host/mcp?token=hunter2&x=1"]), "GET /mcp?token=hunter2"),
        (Secrets.of({}, ["stdio:node server.js --api-key hunter2"]), "argv: hunter2"),
        (Secrets.of({}, ["stdio:env TOKEN=hunter2 node server.js"]), "TOKEN=hunter2"),
        (Secrets.of({}, ["stdio:run --db postgres://me:hunter2@db/x"]), "hunter2 at db"),
        (Secrets.of({}, (), {"DB_PASSWORD": "hunter2"}), "login with hunter2"),
        (Secrets.of({}, (), {"WHATEVER": "long enough to be one"}), "long enough to be one"),
    ],
)
def test_a_secret_is_hidden(secrets, text):
    shown = secrets.hide(text)
    assert HIDDEN in shown
    for word in ("abc.def", "hunter2", "long enough", "q\\", "brot"):
        assert word not in shown
    assert secrets.hide_bytes(text.encode()).decode() == shown


def test_short_and_plain_values_do_not_hide_the_report():
    secrets = Secrets.of({"X-Env": "test", "X-Token": "1"}, ["http://host/mcp?page=2"], {"A": "1"})
    assert not secrets
    assert secrets.hide("test 1 of 2") == "test 1 of 2"


def test_every_text_of_a_value_is_looked_at():
    secrets = Secrets(["hunter2"])
    value = {"a": ["hunter2", {"b": "x hunter2"}], "c": 1, "d": None, "e": ("hunter2",)}
    assert secrets.hide_all(value) == {
        "a": [HIDDEN, {"b": f"x {HIDDEN}"}],
        "c": 1,
        "d": None,
        "e": [HIDDEN],
    }
