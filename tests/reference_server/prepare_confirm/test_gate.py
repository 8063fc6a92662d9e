"""The gate: what is shown, what is done, what is refused."""

from __future__ import annotations

import datetime
import logging

import pytest

from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason, meanings_of
from pytest_mcp_approval.reference_server.server.answers import InvalidParamsError
from tests.reference_server.prepare_confirm.conftest import NAMED

TWO = ["proj-1", "proj-2"]


def token_of(preview):
    return preview["confirmation_token"]


def refused(answer, reason):
    return answer["success"] is False and reason in meanings_of(answer["message"])


# ---- what is shown and done


def test_a_preview_shows_everything_and_changes_nothing(desk):
    preview = desk.prepare("close_projects", project_ids=TWO)
    assert preview["action"] == "preview"
    assert preview["operation"] == "close"
    assert [item["project_id"] for item in preview["items"]] == TWO
    assert preview["token_expires_at"] == "2030-01-01T00:05:00Z"
    assert "confirm_close_projects" in preview["next_step"]
    assert desk.done() == []


def test_what_was_shown_is_done_once(desk):
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    answer = desk.confirm("close_projects", token)
    assert answer == {
        "success": True,
        "action": "closed",
        "closed_count": 2,
        "project_ids": TWO,
        "message": "Closed 2 project(s)",
    }
    assert refused(desk.confirm("close_projects", token), TwoStepReason.USED)
    assert desk.done() == TWO
    assert {one.status for one in desk.state.projects(TWO).values()} == {"closed"}


def test_an_id_that_is_named_twice_is_done_once(desk):
    preview = desk.prepare("delete_projects", project_ids=["proj-1", "proj-1"])
    assert len(preview["items"]) == 1
    assert desk.confirm("delete_projects", token_of(preview))["deleted_count"] == 1


@pytest.mark.parametrize(
    ("operation", "arguments", "words"),
    [
        ("close_projects", {"project_ids": ["nobody"]}, "no such project: 'nobody'"),
        ("delete_projects", {"project_ids": ["proj-3"]}, "3 artwork(s): say force"),
        ("close_projects", {"project_ids": ["proj-4"]}, "2 unfinished artwork(s): say force"),
        ("delete_user", {"username": "nobody"}, "no such user"),
    ],
)
def test_there_is_no_token_for_what_cannot_happen(desk, operation, arguments, words):
    answer = desk.prepare(operation, **arguments)
    assert answer["success"] is False
    assert words in answer["message"]
    assert "confirmation_token" not in answer


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"project_ids": []},
        {"project_ids": "proj-1"},
        {"project_ids": [1]},
        {"project_ids": [""]},
        {"project_ids": ["x" * 201]},
        {"project_ids": ["a"] * 10_001},
        {"project_ids": TWO, "force": "yes"},
    ],
    ids=str,
)
def test_arguments_of_other_kinds_are_refused(desk, arguments):
    with pytest.raises(InvalidParamsError):
        desk.prepare("close_projects", **arguments)


def test_force_is_shown_and_done(desk):
    preview = desk.prepare("delete_projects", project_ids=["proj-3"], force=True)
    assert any("3 artwork(s)" in line for line in preview["warnings"])
    assert desk.confirm("delete_projects", token_of(preview))["success"] is True
    assert desk.effects.to_json()[0]["arguments"] == {"project_id": "proj-3", "force": True}


def test_sso_is_warned_of_where_it_is(desk):
    def warns(username):
        preview = desk.prepare("delete_user", username=username)
        return any("SSO" in line for line in preview["warnings"])

    assert warns("jane.roe")
    assert not warns("john.doe")


# ---- what changed in between


def test_what_is_gone_is_told_and_the_rest_done(desk):
    both = token_of(desk.prepare("delete_projects", project_ids=TWO))
    first = token_of(desk.prepare("delete_projects", project_ids=TWO[:1]))
    assert desk.confirm("delete_projects", first)["success"] is True
    answer = desk.confirm("delete_projects", both)
    assert answer["success"] is False
    assert answer["project_ids"] == ["proj-2"]
    assert answer["left_alone"] == [{"project_id": "proj-1", "reason": "gone since the preview"}]
    assert desk.done() == TWO


def test_what_was_made_anew_is_another_thing(desk):
    token = token_of(desk.prepare("delete_projects", project_ids=["proj-1"]))
    project = desk.state.projects(["proj-1"])["proj-1"]
    assert desk.state.delete_project("proj-1", project.version)
    desk.state.put_projects([project])
    answer = desk.confirm("delete_projects", token)
    assert answer["success"] is False
    assert "changed since the preview" in answer["message"]
    assert desk.done() == []


# ---- refusals


def test_a_token_serves_until_it_expires(desk):
    early, late = (token_of(desk.prepare("close_projects", project_ids=[one])) for one in TWO)
    desk.clock.advance(299.999)
    assert desk.confirm("close_projects", early)["success"] is True
    desk.clock.advance(0.001)
    assert refused(desk.confirm("close_projects", late), TwoStepReason.EXPIRED)


def test_lifetimes_can_differ_by_operation(desk_with):
    desk = desk_with(expiry_minutes=10, expiry_minutes_of={"delete_user": 0.5})
    assert "00:10:00Z" in desk.prepare("close_projects", project_ids=TWO)["token_expires_at"]
    assert "00:00:30Z" in desk.prepare("delete_user", username="john.doe")["token_expires_at"]


def test_another_tool_refuses_a_token_and_leaves_it(desk):
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    assert refused(desk.confirm("delete_projects", token), TwoStepReason.WRONG_ACTION)
    assert desk.confirm("close_projects", token)["success"] is True


@pytest.mark.parametrize("given", [None, "", 0, 5, [], ["a"], {}, True])
def test_what_is_no_token_is_told(desk, given):
    assert refused(desk.confirm("close_projects", given), TwoStepReason.MALFORMED)


def test_a_long_lived_token_is_never_forgotten_while_it_lives(desk_with):
    desk = desk_with(expiry_minutes=180)
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    desk.confirm("close_projects", token)
    desk.clock.advance(datetime.timedelta(minutes=179))
    desk.prepare("delete_user", username="john.doe")
    assert desk.state.spent_count() == 1
    assert refused(desk.confirm("close_projects", token), TwoStepReason.USED)
    desk.clock.advance(datetime.timedelta(minutes=2))
    desk.prepare("delete_user", username="john.doe")
    assert desk.state.spent_count() == 0


def test_what_is_older_than_the_memory_of_used_tokens_is_refused(desk_with):
    desk = desk_with(secret_key="a key that outlives the memory")
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    desk.state.reset_at(desk.clock.now() + datetime.timedelta(seconds=1))
    assert refused(desk.confirm("close_projects", token), TwoStepReason.USED)
    assert desk.done() == []


# ---- back ends that fail


def test_a_failing_back_end_is_told(desk_with):
    desk = desk_with(back_end="fails")
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    answer = desk.confirm("close_projects", token)
    assert answer["success"] is False
    assert answer["closed_count"] == 0
    assert "the back end is not there" in answer["message"]
    assert refused(desk.confirm("close_projects", token), TwoStepReason.USED)
    assert desk.done() == []


def test_half_a_success_is_counted_as_half(desk_with):
    desk = desk_with(back_end="half_fails")
    answer = desk.confirm(
        "delete_projects", token_of(desk.prepare("delete_projects", project_ids=TWO))
    )
    assert (answer["success"], answer["project_ids"], answer["unknown"]) == (
        False,
        ["proj-1"],
        ["proj-2"],
    )
    assert desk.done() == ["proj-1"]
    assert list(desk.state.projects(TWO)) == ["proj-2"], "what was done is kept"


def test_a_lost_answer_leaves_it_open(desk_with):
    desk = desk_with(back_end="fails_late")
    token = token_of(desk.prepare("delete_user", username="john.doe"))
    answer = desk.confirm("delete_user", token)
    assert answer["success"] is False
    assert answer["unknown"] == ["john.doe"]
    assert "may or may not be deleted" in answer["message"]


# ---- the audit


def test_every_attempt_is_written_down_and_no_token_whole(desk, caplog):
    caplog.set_level(logging.DEBUG)
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    desk.confirm("close_projects", f"{token}0")
    desk.confirm("close_projects", token)
    desk.confirm("close_projects", token)
    desk.confirm("close_projects", None)
    outcomes = [one.outcome for one in desk.state.attempts()]
    assert outcomes == [
        "previewed",
        "refused: signature",
        "done",
        "refused: already used",
        "refused: malformed",
    ]
    marks = [one.token for one in desk.state.attempts()]
    assert marks[0] == marks[2] == marks[3] != marks[1]
    assert marks[4] == "none"
    assert token not in caplog.text
    assert token not in str([one.to_json() for one in desk.state.attempts()])


# ---- whose token it is


def test_a_token_is_confirmed_only_by_the_user_who_prepared(desk):
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    operation, arguments = NAMED["close_projects"], {"confirmation_token": token}
    answer = desk.gate.confirm(operation, arguments, "somebody else")
    assert refused(answer, TwoStepReason.SIGNATURE)
    assert desk.done() == []
    assert desk.confirm("close_projects", token)["success"] is True, "it was not used up"
    assert desk.done() == TWO


def test_a_token_does_not_say_whose_it_is(desk):
    assert "somebody" not in token_of(desk.prepare("close_projects", project_ids=TWO))


def test_nobody_learns_what_became_of_anothers_token(desk):
    token = token_of(desk.prepare("close_projects", project_ids=TWO))
    desk.confirm("close_projects", token)
    operation, arguments = NAMED["close_projects"], {"confirmation_token": token}
    spent = desk.gate.confirm(operation, arguments, "somebody else")
    desk.clock.advance(datetime.timedelta(days=1))
    expired = desk.gate.confirm(operation, arguments, "somebody else")
    assert refused(spent, TwoStepReason.SIGNATURE)
    assert spent == expired
