"""For the tests of targets."""

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.target import open_target


@pytest.fixture
def opened():
    targets = []

    def open_one(text, **settings):
        target = open_target(text, Settings(targets=(text,), **settings))
        targets.append(target)
        return target

    yield open_one
    for target in targets:
        target.close()
