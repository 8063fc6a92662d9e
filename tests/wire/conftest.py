"""Servers for the tests of the wire, each started once for a worker and stopped at its end."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.support import recording
from pytest_mcp_approval.wire import (
    HttpTransport,
    InProcessTransport,
    Session,
    StdioTransport,
    Transport,
    open_session,
)
from tests.warm_python import warm_python
from tests.wire import asking_server
from tests.wire.sample_server import build

SAMPLE_SERVER = str(Path(__file__).with_name("sample_server.py"))
ASKING_SERVER = str(Path(__file__).with_name("asking_server.py"))
TRANSPORTS = ("stdio", "http", "http-json", "in-process")


def serve(mode: str, server: str = SAMPLE_SERVER) -> Iterator[str]:
    process = subprocess.Popen([*warm_python(), server, mode], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def sample_url() -> Iterator[str]:
    """A sample server that answers the handshake era in event streams, as is the SDK's way."""
    yield from serve("http")


@pytest.fixture(scope="session")
def sample_json_url() -> Iterator[str]:
    yield from serve("http-json")


@pytest.fixture(scope="session")
def asking_url() -> Iterator[str]:
    """A server whose tools ask the person, in the handshake era."""
    yield from serve("http", ASKING_SERVER)


@pytest.fixture
def recorded() -> Iterator[recording.Recording]:
    """What is said during a test."""
    try:
        yield recording.begin()
    finally:
        recording.end()


def make_transport(kind: str, request: pytest.FixtureRequest) -> Transport:
    match kind:
        case "stdio":
            return StdioTransport([*warm_python(), SAMPLE_SERVER, "stdio"])
        case "http":
            return HttpTransport(request.getfixturevalue("sample_url"))
        case "http-json":
            return HttpTransport(request.getfixturevalue("sample_json_url"))
        case _:
            return InProcessTransport(build().streamable_http_app())


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """A way to a sample server, of each kind, over which nothing was said yet."""
    with make_transport(request.param, request) as made:
        yield made


@pytest.fixture(scope="session", params=TRANSPORTS)
def shared_transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session", params=["2025-11-25", "2026-07-28"])
def session(request: pytest.FixtureRequest, shared_transport: str) -> Iterator[Session]:
    """A conversation with a sample server, of each kind and era. Shared: starting takes long."""
    with (
        make_transport(shared_transport, request) as made,
        open_session(made, request.param, deadline=20) as opened,
    ):
        yield opened


CAN_BE_ASKED = {"elicitation": {"form": {}, "url": {}}}


@pytest.fixture(scope="session", params=["stdio", "http", "in-process"])
def asking_transport(request: pytest.FixtureRequest) -> Iterator[Transport]:
    """A way to a server whose tools ask, of each kind. Shared: starting takes long."""
    made: Transport
    match request.param:
        case "stdio":
            made = StdioTransport([*warm_python(), ASKING_SERVER, "stdio"])
        case "http":
            made = HttpTransport(request.getfixturevalue("asking_url"))
        case _:
            made = InProcessTransport(asking_server.build().streamable_http_app())
    with made:
        yield made


@pytest.fixture(scope="session")
def asking(asking_transport: Transport) -> Iterator[Session]:
    """A conversation in which the client said that it can be asked."""
    with open_session(
        asking_transport, "2025-11-25", capabilities=CAN_BE_ASKED, deadline=30
    ) as opened:
        yield opened
