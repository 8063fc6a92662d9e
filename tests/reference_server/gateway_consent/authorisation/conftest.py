"""A desk for each module, reset for each test."""

import pytest

from tests.reference_server.gateway_consent.authorisation.desk import Desk


@pytest.fixture(scope="module")
def standing_desk():
    desk = Desk()
    yield desk
    desk.stop()


@pytest.fixture
def desk(standing_desk):
    standing_desk.reset()
    return standing_desk
