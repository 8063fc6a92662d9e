"""Scenarios that fail on no server of the kill matrix, and which test shows that they can.

Few, and each with a test that fails if they cannot.
"""

from __future__ import annotations

from tests.families.test_left_open import CASES as LEFT_OPEN
from tests.families.test_network_faults import SCENARIOS as NETWORK_FAULTS
from tests.families.test_step_by_step import HANDED_ROUND, KILLED
from tests.mutants.ceremonies import BITES, CEREMONIES

_PAGES = "tests/mutants/test_ceremonies_bite.py"
_DIALOGS = "tests/families/gateway_consent/test_exec_gateway.py"

SHOWN_ELSEWHERE = {
    **{f"{CEREMONIES}::{scenario.partition('[')[0]}": _PAGES for scenario in BITES},
    # They tell what a document leaves open, so that no server can break it.
    **{
        f"mcp-approval/{scenario.partition('[')[0]}": "tests/families/test_left_open.py"
        for scenario in LEFT_OPEN
    },
    # They kill a process, or need several; broken servers are run in this one.
    **dict.fromkeys(
        [*KILLED.values(), *HANDED_ROUND.values()], "tests/families/test_step_by_step.py"
    ),
    # On request only, and over HTTP.
    **dict.fromkeys(NETWORK_FAULTS.values(), "tests/families/test_network_faults.py"),
    # Here a person is asked on a page; that gateway has dialogs, and faults of its own.
    "mcp-approval/gateway_consent/test_page.py::test_a_dialog_shows_what_is_asked": _DIALOGS,
}
"""The file of the test, by the beginning of a scenario's id."""

_SINGLE_USE = "mcp-approval/elicitation/test_single_use.py"
NOT_SHOWN_YET = {
    f"{_SINGLE_USE}::test_of_many_at_two_replicas_one_runs": "races replicas over HTTP; broken "
    "servers are run in process",
    f"{_SINGLE_USE}::test_what_was_used_while_the_server_died_runs_once": "needs a process that "
    "can be killed and effects that outlive it; broken servers are run in process",
    "mcp-approval/elicitation/test_binding.py::"
    "test_an_answer_that_comes_before_the_question_counts_for_none": "the SDK drops answers to "
    "nothing before any part of ours could keep them",
}
"""Why no test shows yet that these can fail: debts, to be paid with a broken server of another
make."""
