"""The zoo: one good server for a worker, and a keeper for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile_servers.keeping import Keeper, good_server


@pytest.fixture(scope="session")
def upstream() -> Iterator[str]:
    with good_server() as url:
        yield url


@pytest.fixture
def zoo(upstream: str, tmp_path: Path, pytester: pytest.Pytester) -> Keeper:
    return Keeper(upstream, tmp_path, pytester)
