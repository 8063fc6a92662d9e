"""The extension: two tools, a secret without which nothing starts, and nonces that are kept."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from pytest_mcp_approval.reference_server.assembly import build, default_extensions
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from pytest_mcp_approval.reference_server.server.effects import RecordedEffects
from pytest_mcp_approval.reference_server.server.extension import (
    Backing,
    Caller,
    ExtensionParts,
)
from pytest_mcp_approval.reference_server.server.settings import ExtensionSettingError
from tests.warm_python import warm_python

SECRET = "a secret of these tests"
CALLER = Caller("somebody")
CONTENT = "echo approved\n"
URL = "https://a.example/"


def extension(backing: Backing | None = None, secret: Any = SECRET) -> ExecutionExtension:
    parts = ExtensionParts(
        SettableClock(), RecordedEffects(), backing or Backing(), {"secret": secret}
    )
    return ExecutionExtension(parts)


def approve(one: ExecutionExtension, **more: Any) -> dict[str, Any]:
    arguments = {"action_type": "exec", "allowed_hosts": ["a.example"], "content": CONTENT, **more}
    token: dict[str, Any] = one.call("approve_action", arguments, CALLER)["structuredContent"]
    return token


def execute(one: ExecutionExtension, token: Any, **more: Any) -> dict[str, Any]:
    arguments = {"token": token, "action_type": "exec", "content": CONTENT, "url": URL, **more}
    return one.call("execute_action", arguments, CALLER)


def test_an_approved_action_is_executed_once():
    one = extension()
    token = approve(one)
    first, second = execute(one, token), execute(one, token)
    assert first["structuredContent"]["accepted"] is True
    assert first["isError"] is False
    assert second["structuredContent"]["reason"] == "nonce_spent"
    assert second["isError"] is True
    (effect,) = one.effects
    assert effect["arguments"]["content_sha256"] == token["scope"]["content_hash"]


def test_a_token_may_be_its_text():
    one = extension()
    assert execute(one, json.dumps(approve(one), indent=1))["isError"] is False
    assert execute(one, '{"a": 1, "a": 2}')["structuredContent"]["reason"] == "malformed"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"content": "echo swapped"}, "content_mismatch"),
        ({"action_type": "other"}, "action_not_allowed"),
        ({"url": "https://b.example/"}, "host_not_allowed"),
        ({"url": None}, "host_not_allowed"),
    ],
)
def test_what_was_not_approved_is_refused(more: dict[str, Any], reason: str):
    one = extension()
    answer = execute(one, approve(one), **more)
    assert answer["structuredContent"]["reason"] == reason
    assert len(one.effects) == 0


@pytest.mark.parametrize("seconds", [0, -1, True, "5", 10**6])
def test_a_lifetime_has_limits(seconds: Any):
    with pytest.raises(InvalidParamsError, match="ttl_seconds"):
        approve(extension(), ttl_seconds=seconds)


def test_an_expired_token_is_refused():
    one = extension()
    token = approve(one, ttl_seconds=60)
    one.clock.advance(60)  # type: ignore[attr-defined]
    assert execute(one, token)["structuredContent"]["reason"] == "expired"


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgresql"])
def test_nonces_outlive_the_server_and_not_a_reset(new_database: Callable[[str], str], kind: str):
    backing = Backing(None if kind == "memory" else new_database(kind))
    one = extension(backing)
    token = approve(one)
    assert execute(one, token)["isError"] is False
    other = extension(backing)
    assert execute(other, token)["structuredContent"]["reason"] == "nonce_spent"
    third = extension(backing)
    third.reset()
    assert execute(third, token)["isError"] is False
    backing.close()


# ---- the secret


@pytest.mark.parametrize(
    "secret", [None, "", "  ", "CHANGE-ME-IN-PRODUCTION", "short", 12345678901234567890]
)
def test_no_secret_of_its_own_is_no_start(secret: Any):
    with pytest.raises(ExtensionSettingError, match="EXECUTION_TOKEN_SECRET: got "):
        extension(secret=secret)


def test_a_server_that_is_told_no_secret_does_without():
    names = {entry["name"] for entry in build(extensions=default_extensions()).listings()}
    assert "execute_action" not in names
    told = build(extensions=default_extensions(), settings={"execution_tokens": {"secret": SECRET}})
    assert "execute_action" in {entry["name"] for entry in told.listings()}


@pytest.mark.parametrize("secret", [None, "CHANGE-ME-IN-PRODUCTION"])
def test_its_own_entry_point_refuses_to_start(secret: str | None):
    environment = {k: v for k, v in os.environ.items() if k != "EXECUTION_TOKEN_SECRET"}
    if secret is not None:
        environment["EXECUTION_TOKEN_SECRET"] = secret
    done = subprocess.run(
        [
            *(*warm_python(), "-m", "pytest_mcp_approval.reference_server.execution_tokens"),
            "--stdio",
        ],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "EXECUTION_TOKEN_SECRET: got " in done.stderr
    assert len(done.stderr.splitlines()) == 1
