"""The client under test in a pytest session: what its checks share, opened once.

Each check runs clients of its own; this is what they are run with. Knows no verdicts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from ..clients.opened import OpenedClient
from ..config.settings import Settings
from ..wire.eras import Era
from .state import state_of


def open_client(settings: Settings) -> OpenedClient:
    """To be closed by whoever opens it."""
    return OpenedClient(
        settings.client,
        directory=settings.server_directory or settings.directory,
        environment=settings.environment,
        browser=settings.browser,
    )


@contextlib.contextmanager
def opened_client(config: pytest.Config) -> Iterator[OpenedClient]:
    """For all checks of a run."""
    state = state_of(config)
    if not state.settings.checks_a_client:
        pytest.skip("no client to test: pytest --mcp-approval-client=<command>")
    opened = open_client(state.settings)
    if state.found is not None:
        opened.eras = tuple(Era(one) for one in state.found.eras)
    with contextlib.closing(opened):
        yield opened
