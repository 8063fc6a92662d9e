"""Forgeries, clock changes and logs: what scenarios use beside the driver."""

from __future__ import annotations

import base64
import json
import logging
import sys
from urllib.parse import quote

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.logs import visible, watched_log
from pytest_mcp_approval.families.prepare_confirm.forging import (
    changed_at_each_place,
    cut_or_grown,
    forged_payloads,
    put_into,
    respelled,
)
from pytest_mcp_approval.families.prepare_confirm.odd_arguments import odd_calls
from pytest_mcp_approval.families.prepare_confirm.settings import is_opposite
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
    for forged in (
        cut_or_grown(TOKEN),
        respelled(TOKEN),
        put_into(TOKEN, ["a"]),
        forged_payloads(TOKEN, "z"),
    ):
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


def test_something_is_put_into_the_ids_of_a_token():
    token = TOKEN.replace('"a"', '"ab"')
    assert '"a b"' in put_into(token, ["ab"])["with a blank put in at its first id"]
    swapped = put_into(token, ["ab"])["with a letter in the other case at its first id"]
    assert '"aB"' in swapped


def test_odd_arguments_say_which_flags_they_set():
    calls = {one.name: one for one in odd_calls({"ids": ["a", "b"], "force": False}, {})}
    assert calls["without force"].arguments == {"ids": ["a", "b"]}
    assert calls["without force"].means == {"force": False}
    assert calls["with the word false for force"].means == {"force": False}
    assert calls["with an empty list for ids"].arguments == {"ids": [], "force": False}
    assert calls["with its first entry twice for ids"].arguments["ids"] == ["a", "b", "a"]
    declared = {one.name: one for one in odd_calls({"force": False}, {"force": True})}
    assert declared["without force"].means == {"force": True}


@pytest.mark.parametrize(
    ("word", "name", "opposite"),
    [
        ("closed", "delete_projects", True),
        ("deleted", "close_projects", True),
        ("delete", "delete_projects", False),
        ("finished", "delete_projects", False),
        ("closed", "settle_projects", False),
    ],
)
def test_words_that_say_the_opposite_of_a_name(word, name, opposite):
    assert is_opposite(word, name) is opposite


@pytest.mark.parametrize(
    "write",
    [
        lambda: logging.getLogger("server").info("token %s", TOKEN),
        lambda: logging.getLogger("server").info("?token=%s", quote(TOKEN)),
        lambda: logging.getLogger("server").info(base64.b64encode(TOKEN.encode()).decode()),
        lambda: logging.getLogger("server").info(TOKEN.encode().hex()),
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
