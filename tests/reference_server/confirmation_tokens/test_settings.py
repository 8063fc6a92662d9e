"""What an operator can set, and what is refused at the start."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from pytest_mcp_approval.reference_server.command_line import main
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import SettingsReader
from pytest_mcp_approval.reference_server.server.settings import ExtensionSettingError

TOLERANCE = "clock_skew_tolerance_seconds"


@pytest.mark.parametrize("value", [0, 0.5, 5, 30, 60, 61, 300])
def test_a_tolerance_is_taken_as_it_is(value: float, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        read = SettingsReader().read({TOLERANCE: value})
    assert read.clock_skew_tolerance_seconds == value
    assert bool(caplog.records) is bool(read.warnings) is (value > 60)


def test_the_default_is_30_seconds():
    assert SettingsReader().read({}).clock_skew_tolerance_seconds == 30


def test_who_gives_a_signing_key_gets_signed_tokens_and_the_key_is_not_shown():
    key = "a-key-of-twenty-bytes"
    read = SettingsReader().read({"signing_key": key})
    assert (read.token_style, read.signing_key) == ("signed", key)
    assert key not in repr(read)
    assert SettingsReader().read({}).token_style == "stored"


BAD: list[tuple[dict[str, Any], str]] = [
    ({TOLERANCE: -1}, "got -1, expected seconds from 0 to 300"),
    ({TOLERANCE: 301}, "got 301"),
    ({TOLERANCE: float("nan")}, "got nan"),
    ({TOLERANCE: float("inf")}, "got inf"),
    ({TOLERANCE: "abc"}, "got 'abc'"),
    ({TOLERANCE: True}, "got True"),
    ({TOLERANCE: None}, "got None"),
    ({"ttl_seconds": {"destructive": 901}}, "destructive: got 901, expected seconds up to 900"),
    ({"ttl_seconds": {"forbidden": 301}}, "up to 300"),
    ({"ttl_seconds": {"quota": 601}}, "up to 600"),
    ({"ttl_seconds": {"quota": 0}}, "got 0"),
    ({"ttl_seconds": {"safe": 5}}, "expected seconds by"),
    ({"ttl_seconds": 5}, "expected seconds by"),
    ({"token_style": "jwt"}, "expected stored or signed"),
    ({"signing_key": "short"}, "signing_key: expected a text of at least 16 bytes"),
    ({"signing_key": 7}, "signing_key: expected a text"),
    ({"store_access": "yes"}, "expected true or false"),
    ({"issue_limit": 0}, "expected a number of at least 1"),
    ({"colour": "red"}, "colour: got an unknown setting"),
]


@pytest.mark.parametrize(("table", "said"), BAD, ids=str)
def test_a_bad_setting_is_one_line(table: dict[str, Any], said: str):
    with pytest.raises(ExtensionSettingError) as caught:
        SettingsReader().read(table)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_command_line_does_not_start_with_it(capsys: pytest.CaptureFixture[str]):
    code = main(["--stdio", "--set", f"confirmation_tokens.{TOLERANCE}=301"])
    assert code == 2
    assert f"--set: {TOLERANCE}: got 301, expected seconds" in capsys.readouterr().err
