"""One demonstration app for each module, on a clock that stands still."""

import datetime

import pytest

from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import DemonstrationApp
from pytest_mcp_approval.reference_server.server.clock import SettableClock
from tests.reference_server.gateway_consent.demonstration_app.client import REDIRECT, Client

START = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def running_app():
    app = DemonstrationApp(SettableClock(START), redirect_uris=lambda: [REDIRECT])
    yield app
    app.stop()


@pytest.fixture
def app(running_app):
    running_app.clock.move_to(START)
    running_app.reset()
    return running_app


@pytest.fixture
def clock(app):
    return app.clock


@pytest.fixture
def client(app):
    return Client(app)
