"""A gate on each store."""

import pytest

from pytest_mcp_approval.reference_server import MemoryStore, SqlStore
from tests.reference_server.ceremony import Ceremony


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path):
    store = MemoryStore() if request.param == "memory" else SqlStore(f"sqlite:///{tmp_path}/s.db")
    yield store
    store.close()


@pytest.fixture
def ceremony():
    return Ceremony()


@pytest.fixture
def stored_ceremony(store):
    return Ceremony(store)
