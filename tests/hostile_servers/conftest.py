"""One good server for a worker, and for each test the hostile servers that relay to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile_servers.visits import HostileServers, good_server


@pytest.fixture(scope="session")
def upstream() -> Iterator[str]:
    with good_server() as url:
        yield url


@pytest.fixture
def hostile(upstream: str, tmp_path: Path, pytester: pytest.Pytester) -> HostileServers:
    return HostileServers(upstream, tmp_path, pytester)
