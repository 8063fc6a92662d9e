"""Several expectations in one scenario: all are tried, and the worst finding is reported."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Finding, Grade, NotVerified
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base import scenario
from pytest_mcp_approval.families.base.scenario import ScenarioView
from pytest_mcp_approval.target import open_target


@pytest.fixture
def view() -> ScenarioView:
    return ScenarioView(open_target("http://localhost:9/mcp", Settings()), list[str]().append)


def _finding(got: str, grade: Grade = Grade.BROKEN) -> Finding:
    return Finding(sent=f"what brings {got}", expected="an error", got=got, grade=grade)


def _try_all(view: ScenarioView, *grades: Grade | None, then: BaseException | None = None) -> int:
    """One expectation for each grade, None for one that is met; how many were tried."""
    tried = 0
    with view.several() as several:
        for grade in grades:
            with several.one(f"shape {tried}"):
                tried += 1
                if grade is not None:
                    raise _finding(grade.name, grade)
        if then is not None:
            raise then
    return tried


def test_the_worst_is_told_and_the_rest_is_listed(view: ScenarioView) -> None:
    with pytest.raises(Finding) as caught:
        _try_all(view, Grade.OTHER_WORDS, None, Grade.RAN, Grade.BROKEN)
    assert (caught.value.sent, caught.value.grade) == ("what brings RAN", Grade.RAN)
    assert caught.value.got == "RAN; also shape 0: OTHER_WORDS; shape 3: BROKEN"


def test_a_single_finding_is_told_as_it_is(view: ScenarioView) -> None:
    with pytest.raises(Finding) as caught:
        _try_all(view, None, Grade.BROKEN)
    assert caught.value.got == "BROKEN"


def test_what_was_found_stands_where_the_rest_cannot_be_judged(view: ScenarioView) -> None:
    void = NotVerified("the honest call failed")
    with pytest.raises(Finding, match="BROKEN"):
        _try_all(view, Grade.BROKEN, then=void)
    with pytest.raises(NotVerified):
        _try_all(view, None, then=void)


def test_a_long_list_is_cut(view: ScenarioView) -> None:
    with pytest.raises(Finding) as caught:
        _try_all(view, *[Grade.BROKEN] * 40)
    assert "shape 12: BROKEN; 27 more" in caught.value.got


def test_nothing_found_is_nothing_told(view: ScenarioView) -> None:
    assert _try_all(view, None, None) == 2


def test_a_server_that_answers_nothing_is_not_waited_for_again_and_again(
    view: ScenarioView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario, "_WAITED", 0.0)
    with pytest.raises(Finding) as caught:
        _try_all(view, None, None, None, *[Grade.BROKEN] * 40)
    assert caught.value.got == "BROKEN; also shape 4: BROKEN"
