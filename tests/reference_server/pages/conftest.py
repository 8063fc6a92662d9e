"""A page in a browser that tells everything it noticed, and servers to open it on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.reference_server.pages.visiting import Site, Visit


@pytest.fixture
def visit(approval_browser: Browser) -> Iterator[Visit]:
    with contextlib.closing(Visit(approval_browser)) as opened:
        yield opened


@pytest.fixture
def site() -> Iterator[Site]:
    with contextlib.closing(Site()) as served:
        yield served


@pytest.fixture(scope="module")
def files() -> Iterator[Site]:
    """For its files only: scripts answer in its place."""
    with contextlib.closing(Site()) as served:
        yield served
