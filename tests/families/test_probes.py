"""Where a target shows its audit log: read in time, and with the user's header for it alone."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.base.probes import entries, read_probe
from pytest_mcp_approval.target import Target, open_target
from tests.wire.hostile import HostileServer, drips, http, says


@pytest.fixture
def target() -> Target:
    settings = Settings(
        targets=("http://127.0.0.1:1/mcp",), headers={"X-Token": "secret"}, timeout=0.5
    )
    return open_target(settings.targets[0], settings)


def test_the_header_goes_to_the_one_who_was_named(target: Target) -> None:
    """A redirect to another origin is reported and not followed, wherever it leads."""
    with HostileServer(says(http(b"[]"))) as other:
        moved = http(b"", "302 Found", extra=f"Location: {other.url}\r\n")
        with HostileServer(says(moved)) as server:
            with pytest.raises(DriverError, match=r"redirected to .*, which is another origin"):
                read_probe(target, server.url)
            assert b"X-Token: secret" in server.requests[0]
        assert other.requests == []


@pytest.mark.parametrize(
    ("piece", "words"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\n", "no answer within"),
        (b"HTTP/1.1 200 OK\r\n\r\n[", "no (whole )?answer within"),
    ],
)
def test_a_log_that_does_not_end_is_left(target: Target, piece: bytes, words: str) -> None:
    with HostileServer(drips(piece, piece)) as server, pytest.raises(DriverError, match=words):
        read_probe(target, server.url)


@pytest.mark.parametrize(
    ("status", "words"),
    [("404 Not Found", "HTTP 404"), ("401 No", "--mcp-approval-header="), ("429 No", "slow down")],
)
def test_a_status_is_told(target: Target, status: str, words: str) -> None:
    with HostileServer(says(http(b"", status))) as server:
        with pytest.raises(DriverError, match=words) as caught:
            read_probe(target, server.url)
        assert str(caught.value).startswith(f"{server.url}: ")


def test_what_is_no_json_is_text(target: Target) -> None:
    """Also where it is JSON too deep to be walked through."""
    for body in (b"one line", b"[" * 900 + b"]" * 900, b"[" * 100_000):
        with HostileServer(says(http(body))) as server:
            assert read_probe(target, server.url) == body.decode()
            with pytest.raises(DriverError, match="expected a list"):
                entries(target, server.url)
