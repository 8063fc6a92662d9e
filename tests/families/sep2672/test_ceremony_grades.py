"""A refusal in other words is reported as a refusal, and graded apart from a call that ran."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.sep2672.driver import Approval
from pytest_mcp_approval.families.sep2672.outcome import ApprovalOutcome
from pytest_mcp_approval.families.sep2672.scenario import Ceremony
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.target import open_target
from pytest_mcp_approval.wire import Outcome, Reply


def _error(code: int, reason: str | None = None) -> Reply:
    data = {} if reason is None else {"data": {"reason": reason}}
    return Reply(Outcome.ERROR, message={"error": {"code": code, "message": "No.", **data}})


def _result(value: Any) -> Reply:
    return Reply(Outcome.RESULT, message={"result": value})


class Judge:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        target = open_target("http://localhost:9/mcp", Settings())
        self._ceremony = Ceremony(Approval(target), self.warnings.append)

    def __call__(self, reply: Reply, runs: int = 0) -> None:
        self._ceremony.expect_refusal(
            ApprovalOutcome(reply, runs=runs, probed=True), Reason.MISSING_EVIDENCE, sent="a call"
        )


def test_the_right_words_are_no_finding() -> None:
    judge = Judge()
    judge(_error(-32001, "missing_evidence"))
    assert judge.warnings == []


def test_the_right_reason_with_another_code_is_a_matter_of_4_10() -> None:
    judge = Judge()
    judge(_error(-32000, "missing_evidence"))
    assert "the reason is right, and section 4.10 fixes the code" in judge.warnings[0]


@pytest.mark.parametrize(
    ("reply", "runs", "grade", "told"),
    [
        (_error(-32602), 0, Grade.OTHER_WORDS, "tool not run (refused, but in other words)"),
        (_error(-32001, "challenge_unknown"), 0, Grade.OTHER_WORDS, "in other words"),
        (_result({"isError": True, "content": []}), 0, Grade.OTHER_WORDS, "tool not run"),
        (_error(-32602), 1, Grade.RAN, "tool run"),
        (_result({"content": []}), 1, Grade.RAN, "a result, tool run"),
        (Reply(Outcome.NO_ANSWER), 0, Grade.BROKEN, "no answer"),
    ],
    ids=["code", "reason", "isError", "ran with an error", "ran", "silence"],
)
def test_what_else_comes_is_graded(reply: Reply, runs: int, grade: Grade, told: str) -> None:
    with pytest.raises(Finding) as caught:
        Judge()(reply, runs)
    assert caught.value.grade is grade
    assert told in caught.value.got
