"""The check that changes every character of a token ends in time, and tells what it left out."""

from __future__ import annotations

import re

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.support.deadline import Deadline
from tests.inner_runs import Verdicts, plugin_options


class OverAfterThree(Deadline):
    """A target so slow that there is time for three calls."""

    looks = 0

    @property
    def passed(self) -> bool:
        self.looks += 1
        return self.looks > 3


def test_a_slow_server_is_not_asked_for_minutes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    # The scenarios take it from where it is defined, when they are imported.
    monkeypatch.setattr("pytest_mcp_approval.support.deadline.Deadline", OverAfterThree)
    listener = Verdicts()
    pytester.runpytest_inprocess(
        *("-p", "no:cacheprovider", *plugin_options(), "--mcp-approval-target=reference"),
        "mcp-approval/prepare_confirm/test_two_step_signature.py"
        "::test_no_byte_of_a_token_can_be_changed",
        plugins=[listener],
    )
    (one,) = listener.found
    assert one["verdict"] == Verdict.NOT_VERIFIED
    told = r"3 of [0-9]{2,} characters were changed in 60 s, and the others were not tried"
    assert re.fullmatch(told, one["why"])
