"""Forgeries, clock changes and logs: what scenarios use beside the driver."""

from __future__ import annotations

import datetime
import json
import logging
import sys
from zoneinfo import ZoneInfo

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.logs import visible, watched_log
from pytest_mcp_approval.families.prepare_confirm.forging import (
    changed_at_each_place,
    cut_or_grown,
    forged_payloads,
    respelled,
)
from pytest_mcp_approval.families.prepare_confirm.instants import NEW_YORK, clock_changes
from pytest_mcp_approval.families.prepare_confirm.vocabulary import Payload
from pytest_mcp_approval.target import open_target

PAYLOAD = Payload("close", {"ids": ["a"], "force": False, "n": 1}, 2.0, 1.0, "00").to_text()
TOKEN = f"{PAYLOAD}|{'ab' * 32}"


def test_every_place_of_a_token_is_changed_once():
    changed = dict(changed_at_each_place(TOKEN))
    assert list(changed) == list(range(len(TOKEN)))
    for place, text in changed.items():
        differing = [at for at in range(len(TOKEN)) if TOKEN[at] != text[at]]
        assert differing == [place]


def test_of_a_very_long_token_places_are_spread():
    places = [place for place, _ in changed_at_each_place(f"{'x' * 100_000}|{'0' * 64}")]
    assert len(places) <= 402
    assert 100_000 in places
    assert places[-1] == 100_064


def test_no_forgery_is_the_token():
    for forged in (cut_or_grown(TOKEN), respelled(TOKEN), forged_payloads(TOKEN, "z")):
        assert TOKEN not in forged.values()
        assert len(set(forged.values())) == len(forged)


def test_each_member_of_the_data_is_forged_by_itself():
    forged = forged_payloads(TOKEN, "z")
    for name, value in (("ids", ["z"]), ("force", True), ("n", 2)):
        text = forged[f"with another {name}, under the old signature"].rpartition("|")[0]
        assert json.loads(text)["data"] == {"ids": ["a"], "force": False, "n": 1, name: value}


def test_opaque_tokens_have_no_payload_to_forge():
    with pytest.raises(ValueError, match="payload"):
        forged_payloads("opaque|token", "z")


@pytest.mark.parametrize("year", range(2025, 2040))
def test_clocks_change_when_they_should(year):
    changes = clock_changes(datetime.datetime(year, 6, 1, tzinfo=datetime.UTC))
    zone, second = ZoneInfo(NEW_YORK), datetime.timedelta(seconds=1)
    for direction, offset in (("forward", 1), ("back", -1)):
        change = changes[direction]
        before = (change - second).astimezone(zone).utcoffset()
        after = change.astimezone(zone).utcoffset()
        assert after is not None
        assert before is not None
        assert after - before == datetime.timedelta(hours=offset), (year, direction)


@pytest.mark.parametrize(
    "write",
    [
        lambda: logging.getLogger("server").info("token %s", TOKEN),
        lambda: logging.getLogger("server").warning(json.dumps({"token": TOKEN})),
        lambda: logging.getLogger("server").error("%r", json.dumps(json.dumps([TOKEN]))),
        lambda: print(TOKEN),
        lambda: print(TOKEN, file=sys.stderr),
    ],
)
def test_a_token_in_a_log_is_found_however_it_is_written(write, tmp_path):
    target = open_target("reference", Settings(targets=("reference",), directory=tmp_path))
    try:
        with watched_log(target, "") as log:
            logging.getLogger("server").info("token %s...", TOKEN[:40])
            assert not log.holds(TOKEN)
            write()
            assert log.holds(TOKEN)
    finally:
        target.close()


def test_a_log_file_is_read_from_where_it_was(tmp_path):
    (tmp_path / "server.log").write_text(TOKEN)
    target = open_target("reference", Settings(targets=("reference",), directory=tmp_path))
    try:
        with watched_log(target, "server.log") as log:
            assert not log.holds(TOKEN), "what was there before is another run's"
            with (tmp_path / "server.log").open("a") as file:
                file.write(f"\n{TOKEN}\n")
            assert log.holds(TOKEN)
    finally:
        target.close()


def test_a_server_elsewhere_has_no_log_to_see(tmp_path):
    url = "http://localhost:1/mcp"
    target = open_target(url, Settings(targets=(url,), directory=tmp_path))
    try:
        assert not visible(target, "")
        assert visible(target, "server.log")
    finally:
        target.close()
