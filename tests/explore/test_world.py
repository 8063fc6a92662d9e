"""The world around approvals, one walk each: it finds nothing in the healthy server, and a defect
of tests/mutants in a broken one.

Walks that are written down, so that none depends on what Hypothesis happens to choose.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mcp_approval.explore import run_walk
from pytest_mcp_approval.families.base.exploration import BrokenRule
from tests.explore.exploring import mutant, opened

Walk = list[tuple[str, dict[str, Any]]]
APPROVE = ("approve", {"number": 0})
APPROVE_PAGE = ("approve", {"number": 4})
CALL = ("call", {"number": 0})
REPLAY = ("replay", {"number": 0})
AT_REPLICA = ("call_at_replica", {"number": 0})
SHARE_KEY: tuple[str, dict[str, Any]] = ("share_key", {})
AS_OTHER = ("call_as_other", {"number": 0})
FOR_SESSION = ("issue_for_session", {"number": 0})
IN_SESSION: tuple[str, dict[str, Any]] = ("use_in_session", {"number": 0, "elsewhere": False})
PAUSE = ("pause", {"number": 0})
END_PAUSE = ("end_pause", {"number": 0})
READ_AUDIT: tuple[str, dict[str, Any]] = ("read_audit", {})
FAIL = ("fail_in_tool", {"number": 0})
FAIL_AGAIN = ("send_failed_again", {"number": 0})
SEP_APPROVE = ("approve", {"tool": 0, "profile": "security-key"})
SEP_FAIL = ("fail_in_tool", {"number": 0, "again": 1})
CASES: dict[str, tuple[str, str, Walk]] = {
    # ---- other replicas
    "KnowsItsOwnByHeart": (
        "confirmation_tokens",
        "6.1-replay|4.1-not-consumed",
        [APPROVE, AT_REPLICA, REPLAY],
    ),
    "LocksItselfOnly": (
        "confirmation_tokens",
        "6.1-replay",
        [APPROVE, ("at_once_over_replicas", {"number": 0, "copies": 2})],
    ),
    "KnowsItsOwnPreviews": (
        "prepare_confirm",
        "one-time",
        [SHARE_KEY, APPROVE, AT_REPLICA, REPLAY],
    ),
    "LocksThisProcessOnly": (
        "prepare_confirm",
        "concurrent",
        [SHARE_KEY, APPROVE, ("at_once_over_replicas", {"number": 0, "copies": 2})],
    ),
    "KeepsNoncesInMemory": ("execution_tokens", "nonce-replay", [APPROVE, CALL, AT_REPLICA]),
    "RemembersUsePerProcess": (
        "sep2672",
        "4.8-05-challenge-unconsumed|8.2.3-exactly-once",
        [("enroll", {"profile": "icloud-keychain", "user": 0}), SEP_APPROVE, CALL, AT_REPLICA],
    ),
    # ---- other people
    "BindsWhoCameFirst": ("elicitation", "state-principal", [APPROVE, AS_OTHER]),
    "HasALogForEachUser": ("execution_tokens", "nonce-replay", [APPROVE, CALL, AS_OTHER]),
    "RemembersForEachUser": ("prepare_confirm", "one-time", [APPROVE, CALL, AS_OTHER]),
    # ---- a page that nobody has approved
    "AcceptIsDone": ("elicitation", "url-accept-is-not-done", [APPROVE_PAGE, CALL]),
    "ADeclineOnThePageIsAnAnswer": (
        "elicitation",
        "url-accept-is-not-done",
        [APPROVE_PAGE, ("go_to_page", {"number": 0, "approves": False}), CALL],
    ),
    "WhoeverHasTheLink": (
        "elicitation",
        "url-other-person",
        [APPROVE_PAGE, ("other_at_page", {"number": 0}), CALL],
    ),
    # ---- a back end that fails
    "RolledBackWithTheOperation": (
        "confirmation_tokens",
        "5.2-consumed-before-execution",
        [FAIL, FAIL_AGAIN],
    ),
    "TriesAgainByItself": ("elicitation", "single-use", [FAIL, FAIL_AGAIN]),
    "GivesTheTokenBack": (
        "prepare_confirm",
        "failed-execution",
        [("fail_at_back_end", {"number": 0, "kind": "late", "again": 1, "another": False})],
    ),
    "AFailedToolGivesTheApprovalBack": (
        "sep2672",
        "8.2.3-exactly-once",
        [SEP_APPROVE, CALL, SEP_FAIL],
    ),
    # ---- tokens for a session
    "AnySessionWillDo": (
        "confirmation_tokens",
        "5.4-session-bound",
        [FOR_SESSION, ("use_in_session", {"number": 0, "elsewhere": True})],
    ),
    "OneUseTooMany": ("confirmation_tokens", "5.4-session-bound", [FOR_SESSION, *[IN_SESSION] * 4]),
    "OneUseTooFew": ("confirmation_tokens", "5.4-session-scope", [FOR_SESSION, *[IN_SESSION] * 3]),
    # ---- tokens of quotas
    "QuotaTokensServeOnAndOn": (
        "confirmation_tokens",
        "2.1-quota",
        [PAUSE, END_PAUSE, END_PAUSE],
    ),
    "QuotaTokensIgnoreParameters": (
        "confirmation_tokens",
        "2.1-quota",
        [PAUSE, ("end_pause_wrongly", {"number": 0, "how": "parameters"})],
    ),
    "APauseTokenEndsAllPauses": (
        "confirmation_tokens",
        "2.1-quota",
        [PAUSE, ("end_pause_wrongly", {"number": 0, "how": "operation"})],
    ),
    "AnyTokenEndsAPause": (
        "confirmation_tokens",
        "2.1-quota",
        [PAUSE, ("end_pause_wrongly", {"number": 0, "how": "confirmation token"})],
    ),
    "APauseTokenConfirmsAnything": (
        "confirmation_tokens",
        "2.1-quota",
        [PAUSE, ("confirm_with_pause", {"number": 0, "call": 0})],
    ),
    "RevokedQuotaTokensGoOn": (
        "confirmation_tokens",
        "5.3-revoked",
        [PAUSE, ("revoke_pause", {"number": 0}), END_PAUSE],
    ),
    # ---- what is written down
    "RedemptionNotLogged": ("confirmation_tokens", "6.4-audit", [APPROVE, CALL, READ_AUDIT]),
    "ReplaysAreNotLogged": (
        "confirmation_tokens",
        "6.4-audit",
        [APPROVE, CALL, REPLAY, READ_AUDIT],
    ),
    "RevocationNotLogged": (
        "confirmation_tokens",
        "6.4-audit",
        [APPROVE, ("withdraw", {"number": 0}), READ_AUDIT],
    ),
    # ---- gateways: two layers, and many calls at once
    "AsksTheAppFirst": ("gateway_consent", "two-layers", [("call", {"client": 0, "tool": 5})]),
    "UsesUpInTwoSteps": (
        "gateway_consent",
        "remember",
        [
            ("call", {"client": 0, "tool": 0}),
            ("decide", {"number": 0, "choice": "tool", "remember": False}),
            ("call_at_once", {"client": 0, "tool": 0, "copies": 5}),
        ],
    ),
    # ---- a device that is put back
    "NeverComparesCounters": (
        "sep2672",
        "4.8-11-counter",
        [SEP_APPROVE, CALL, ("roll_back", {"device": 0}), SEP_APPROVE, CALL],
    ),
}
HANDSHAKE = "2025-11-25"
WAIT: tuple[str, dict[str, Any]] = ("open_call", {"number": 0})
YES = ("answer_inside", {"number": 0, "action": "accept"})
WAIT_FOR_PAGE: tuple[str, dict[str, Any]] = ("open_call", {"number": 4})
OTHER_AT_PAGE: tuple[str, dict[str, Any]] = ("other_at_page", {"number": 0})
NO_ON_PAGE = ("go_to_page_inside", {"number": 0, "approves": False})
OPEN_CALLS: dict[str, tuple[str, Walk]] = {
    "OneTableForAllSessions": ("state-session", [WAIT, ("answer_elsewhere", {"number": 0})]),
    "AnyAnswerWillDo": ("state-session", [WAIT, ("answer_elsewhere", {"number": 0})]),
    "RunsBeforeAndAfterTheMark": ("accept-runs-once", [WAIT, YES]),
    "OnePendingQuestion": ("accept-runs-once", [WAIT, WAIT, YES, YES]),
    # ---- pages
    "AcceptIsDoneInside": ("url-accept-is-not-done", [WAIT_FOR_PAGE, YES]),
    "ADeclineOnThePageIsAnAnswer": ("url-accept-is-not-done", [WAIT_FOR_PAGE, YES, NO_ON_PAGE]),
    "WhoeverHasTheLinkInside": ("url-other-person", [WAIT_FOR_PAGE, OTHER_AT_PAGE, YES]),
}
"""Of elicitation in the handshake era, where a call waits for its answer."""


@pytest.mark.parametrize("name", OPEN_CALLS)
def test_a_walk_of_open_calls_tells_a_broken_server_from_a_healthy_one(name):
    rule, walk = OPEN_CALLS[name]
    with opened(protocol=HANDSHAKE) as target:
        assert len(run_walk(target, "elicitation", walk)) == len(walk)
    with opened(mutant(name), HANDSHAKE) as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, "elicitation", walk)
    assert raised.value.rule == f"elicitation/{rule}"


@pytest.mark.parametrize("name", CASES)
def test_a_walk_tells_a_broken_server_from_a_healthy_one(name):
    family, rules, walk = CASES[name]
    with opened() as target:
        told = run_walk(target, family, walk)
    assert len(told) == len(walk)  # every step was possible
    with opened(mutant(name)) as target, pytest.raises(BrokenRule) as raised:
        run_walk(target, family, walk)
    assert raised.value.rule in {f"{family}/{rule}" for rule in rules.split("|")}


@pytest.mark.parametrize("first", [0, 1])
def test_a_call_with_a_page_runs_when_both_have_agreed(first):
    """The client, and the person on the page, in either order."""
    yes_on_page = ("go_to_page_inside", {"number": 0, "approves": True})
    both = [YES, yes_on_page]
    with opened(protocol=HANDSHAKE) as target:
        told = run_walk(target, "elicitation", [WAIT_FOR_PAGE, both[first], both[1 - first]])
    assert "done" not in told[1]
    assert '"done": true' in told[2]


def test_odd_and_late_answers_in_a_healthy_server():
    odd = ("answer_oddly", {"number": 0, "kind": "yes"})
    late = ("answer_too_late", {"number": 0})
    with opened(protocol=HANDSHAKE) as target:
        assert len(run_walk(target, "elicitation", [WAIT, YES, late, WAIT, odd])) == 5


def test_a_revision_without_pages_leaves_out_tools_that_need_them():
    with opened(protocol="2025-06-18") as target:
        assert run_walk(target, "elicitation", [WAIT_FOR_PAGE]) == ()
