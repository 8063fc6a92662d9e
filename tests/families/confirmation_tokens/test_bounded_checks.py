"""Checks that need many calls end in time, and tell what they did not try."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.families.confirmation_tokens.driver import TOGETHER, ConfirmationTokens
from pytest_mcp_approval.support.deadline import Deadline
from tests.families.confirmation_tokens.test_other_shape import judge
from tests.inner_runs import Verdicts, plugin_options


class OverAfterOneRound(Deadline):
    """A target so slow that there is time for one round of calls."""

    looks = 0

    @property
    def passed(self) -> bool:
        self.looks += 1
        return self.looks > 1


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (
            "5.5-capacity",
            f"{TOGETHER} tokens were issued in 60 s, and a capacity above that was not tried",
        ),
        (
            "6.5-rate-limit",
            f"{TOGETHER} issues in 20 s met no limit, and the other {500 - TOGETHER} were not "
            "tried",
        ),
    ],
)
def test_a_slow_server_is_not_asked_for_minutes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, rule: str, told: str
):
    # The scenarios take it from where it is defined, when they are imported.
    for module in ("support.deadline", "families.confirmation_tokens.driver"):
        monkeypatch.setattr(f"pytest_mcp_approval.{module}.Deadline", OverAfterOneRound)
    _, found = judge(pytester, "make", f"--mcp-approval-select=confirmation_tokens/{rule}")
    verdicts = {one["verdict"]: one["why"] for one in reversed(found)}
    assert verdicts[Verdict.NOT_VERIFIED] == told
    assert Verdict.FAILED not in verdicts


def test_an_operation_that_does_not_pause_is_not_run_for_minutes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """On the reference, whose operation with a quota pauses after more than one run."""
    monkeypatch.setattr(
        "pytest_mcp_approval.families.confirmation_tokens.driver.Deadline", OverAfterOneRound
    )
    listener = Verdicts()
    pytester.runpytest_inprocess(
        *("-p", "no:cacheprovider", *plugin_options(), "--mcp-approval-target=reference"),
        "mcp-approval/confirmation_tokens/test_2_tokens.py::test_a_quota_token_resumes_what_paused",
        plugins=[listener],
    )
    (one,) = listener.found
    assert one["verdict"] == Verdict.NOT_VERIFIED
    assert "did not pause in 1 runs and 20 s, and more were not tried" in one["why"]


def test_many_tokens_are_asked_for_together(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """A distant server is waited for once for each round, not once for each token."""
    rounds: list[int] = []
    send_together = ConfirmationTokens.send_together

    def counted(self: ConfirmationTokens, calls: list[object]) -> object:
        rounds.append(len(calls))
        return send_together(self, calls)  # type: ignore[arg-type]

    monkeypatch.setattr(ConfirmationTokens, "send_together", counted)
    result, found = judge(
        pytester, "make", "--mcp-approval-select=confirmation_tokens/5.5-capacity"
    )
    assert result.ret == 0
    assert [one["verdict"] for one in found] == [Verdict.PASSED]
    assert sum(rounds) == 1001
    assert len(rounds) == 1 + 1000 // TOGETHER
