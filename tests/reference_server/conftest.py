"""A gate on each store."""

import os

import pytest

from pytest_mcp_approval.reference_server import ApprovalStore
from tests.databases import HINT, find_postgresql, started_postgresql
from tests.reference_server.ceremony import Ceremony

DATABASES = ["sqlite", "postgresql"]


@pytest.fixture(scope="session")
def postgresql():
    if find_postgresql() is None and not os.environ.get("CI"):
        pytest.skip(HINT)
    with started_postgresql() as running:
        yield running


@pytest.fixture
def new_database(request, tmp_path):
    """Gives the SQLAlchemy URL of an empty database of that kind."""

    def make(kind):
        if kind == "sqlite":
            return f"sqlite:///{tmp_path}/store.db"
        return request.getfixturevalue("empty_postgresql")()

    return make


@pytest.fixture
def empty_postgresql(postgresql):
    with postgresql.empty_databases() as lend:
        yield lend


@pytest.fixture(params=DATABASES)
def database_url(request, new_database):
    return new_database(request.param)


@pytest.fixture(params=["memory", *DATABASES])
def store(request, new_database):
    store = ApprovalStore(None if request.param == "memory" else new_database(request.param))
    yield store
    store.close()


@pytest.fixture
def ceremony():
    return Ceremony()


@pytest.fixture
def stored_ceremony(store):
    return Ceremony(store)
