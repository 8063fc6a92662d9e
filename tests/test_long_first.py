"""The order in which workers get the tests."""

from __future__ import annotations

import pytest

from tests.long_first import LONG, long_first
from tests.warm_python import ROOT


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
def test_each_piece_begins_with_its_share_of_the_long_tests(workers: int) -> None:
    names = [f"tests/a.py::{n}" for n in range(40)] + [f"{LONG[1]}::{n}" for n in range(5)]
    ordered = long_first(names, names, workers)
    assert sorted(ordered) == sorted(names)
    begin = 0
    for worker in range(workers):
        piece = (len(names) - begin) // (workers - worker)
        kinds = [one.startswith(LONG) for one in ordered[begin : begin + piece]]
        assert kinds == sorted(kinds, reverse=True)
        assert kinds.count(True) == len(range(worker, 5, workers))
        begin += piece
    others = [one for one in ordered if not one.startswith(LONG)]
    assert others == names[:40], "the others stay in the order of their files"


def test_there_may_be_long_tests_only() -> None:
    names = [f"{LONG[0]}x.py::{n}" for n in range(4)]
    assert sorted(long_first(names, names, 3)) == names


def test_the_files_exist() -> None:
    assert all((ROOT / one.partition("::")[0]).exists() for one in LONG)
