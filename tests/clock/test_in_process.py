"""The time of this process, frozen while it is moved."""

from __future__ import annotations

import datetime
import importlib
import sys

import pytest

from pytest_mcp_approval.clock.in_process import FrozenClock

MODULE = """
from datetime import UTC, datetime

def year():
    return datetime.now(UTC).year
"""


def test_a_module_that_is_imported_again_meanwhile_has_the_real_time_afterwards(
    tmp_path, monkeypatch: pytest.MonkeyPatch
):
    """As in a restart of a callable while its clock is moved."""
    (tmp_path / "tells_the_year.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    now = datetime.datetime.now(datetime.UTC)
    assert importlib.import_module("tells_the_year").year() >= now.year
    clock = FrozenClock()
    try:
        clock.move_to(now.replace(year=now.year + 3, day=1))
        del sys.modules["tells_the_year"]
        again = importlib.import_module("tells_the_year")
        assert again.year() == now.year + 3
        clock.release()
        assert again.year() < now.year + 3
    finally:
        clock.release()
        sys.modules.pop("tells_the_year", None)
