"""Which mutations are checked, and which are asked about again."""

from __future__ import annotations

import pytest

from tests.mutation.__main__ import Asking, Job, is_wanted, sample_of
from tests.mutation.operators import Mutation

JOBS = [
    Job("fam", module, Mutation("f", line, line, "1 becomes 2", line))
    for module in ("a.gate", "a.store")
    for line in range(20)
]


def test_a_larger_sample_contains_the_smaller_one_and_every_module():
    small, large, whole = sample_of(JOBS, 3), sample_of(JOBS, 9), sample_of(JOBS, None)
    assert {job.key for job in small} < {job.key for job in large} < {job.key for job in whole}
    assert [job.module for job in small] == ["a.gate", "a.store"] * 3
    assert sorted(job.key for job in whole) == sorted(job.key for job in JOBS)
    assert sample_of(JOBS[::-1], 3) == small


@pytest.mark.parametrize(
    ("before", "asking", "wanted"),
    [
        ({}, Asking(None, 0), True),
        ({"how": "found"}, Asking(None, 60, again=True), False),
        ({"how": "nobody"}, Asking(None, 0), False),
        ({"how": "nobody"}, Asking(None, 60), True),
        ({"how": "nobody", "exploring": 60}, Asking(None, 60), False),
        ({"how": "nobody", "exploring": 60, "explored": "a rule"}, Asking(None, 90), False),
        ({"how": "nobody", "left_out": 4}, Asking(12, 0), False),
        ({"how": "nobody", "left_out": 4}, Asking(None, 0), True),
        ({"how": "nobody"}, Asking(None, 0, again=True), True),
        ({"how": "broke the checker"}, Asking(None, 0), True),
    ],
)
def test_only_what_is_left_to_ask_is_asked(before, asking, wanted):
    assert is_wanted(before, asking) is wanted
