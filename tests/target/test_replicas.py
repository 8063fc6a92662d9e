"""Several servers over one state: as many as the user says, with a clock of its own if need be."""

from __future__ import annotations

import contextlib
import datetime

import pytest

from pytest_mcp_approval.config.settings import Settings, SettingsError, settings_of_line
from pytest_mcp_approval.target import TargetError, open_target
from tests.target.test_launching import URL, launched, told

__all__ = ["launched"]

HOUR = datetime.timedelta(hours=1)


def test_as_many_as_the_user_says_share_one_state(launched):
    target = launched("{state}", replicas=4)
    others = target.replicas()
    try:
        found = [told(one) for one in (target, *others)]
        assert len({one["pid"] for one in found}) == 4
        assert len({one["words"][0] for one in found}) == 4, "each has a port of its own"
        assert len({one["words"][1] for one in found}) == 1, "the state is that of all"
    finally:
        for one in others:
            one.close()


def test_two_unless_the_user_says_otherwise(launched):
    for settings, count in (({}, 1), ({"replicas": 2}, 1), ({"replicas": 3}, 2)):
        others = launched("{state}", **settings).replicas()
        assert len(others) == count
        for one in others:
            one.close()


def test_a_database_takes_the_place_of_the_folder_if_the_user_says_so(launched):
    assert launched().replicas() == []
    (other,) = launched(replicas=2).replicas()
    other.close()


def test_others_that_are_named_are_all_of_them(opened):
    urls = [f"http://127.0.0.1:9/{name}" for name in "abc"]
    target = open_target(urls[0], Settings(targets=tuple(urls)))
    assert [one.spec.url for one in target.replicas()] == urls[1:]


@pytest.mark.parametrize("text", ["reference", "reference:stdio+sqlite"])
def test_the_clock_of_a_replica_can_be_set_apart(opened, text):
    target = opened(text)
    for other, apart in ((target.replica(), False), (target.replica_with_clock(), True)):
        assert other is not None
        with contextlib.closing(other):
            start = target.clock.now()
            other.clock.move_to(start + HOUR)
            assert (target.clock.now() < start + HOUR) is apart
            other.clock.release()


def test_a_hook_without_the_port_moves_all_clocks(launched):
    for hook, apart in (("hook:./set.sh", False), ("hook:./set.sh {port}", True)):
        target = launched("{state}", clock=hook)
        other = target.replica_with_clock()
        assert (other is not None) is apart
        if other is not None:
            other.close()


@pytest.mark.parametrize(
    ("targets", "more", "said"),
    [
        (["http://localhost:1/mcp"], {}, "does not start this server"),
        (["http://localhost:1/mcp"], {"launch": "serve"}, "write {port} in the URL"),
        ([URL, f"{URL}2"], {"launch": "serve {port}"}, "count them or name them"),
        (["python:shop:app"], {}, "a python: target has no processes"),
        (["reference:stdio"], {}, "in memory"),
    ],
)
def test_where_none_can_be_started_one_line_says_so(targets, more, said):
    settings = Settings(targets=tuple(targets), replicas=3, **more)
    with pytest.raises(TargetError) as caught:
        open_target(targets[0], settings)
    assert str(caught.value).startswith("--mcp-approval-replicas: got 3, but ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", ["1", "0", "-2", "17", "two", "2.5", "", "٣", "9" * 5000])
def test_a_number_from_two_to_sixteen(given, tmp_path):
    with pytest.raises(SettingsError, match=r"expected (2 to 16|a whole number)") as caught:
        settings_of_line({"replicas": given}, tmp_path)
    assert "replicas" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_it_is_read_from_the_line_and_from_a_file(tmp_path):
    assert settings_of_line({"replicas": "3"}, tmp_path).replicas == 3
    assert settings_of_line({}, tmp_path).replicas is None
