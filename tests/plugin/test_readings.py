"""What the document of SEP-2672 leaves open fails nobody, and is asked of nobody."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import Verdict
from tests.families.sep2672 import lenient_servers
from tests.inner_runs import Verdicts, bare_options
from tests.mutants.sep2672 import challenge as sep2672_challenge

# Loaded here: an inner run drops what it was first to load, and mutants register once only.
LENIENT = f"python:{lenient_servers.__name__}"
CLASS = "mcp-approval/sep2672/test_4_7_authenticator_class.py::test_transports_of_the_wrong_type"
HASHED = "mcp-approval/sep2672/test_4_6_action_hash.py::test_arguments_are_hashed_as_they_came"
CONVERTED = f"{HASHED}[a number as text]"
BESIDE = "mcp-approval/sep2672/test_wrong_place.py::test_the_counter_is_the_signed_one"
TWO_USERS = "mcp-approval/sep2672/test_second_user.py::test_two_users_have_two_handles"
DISPLAY = "mcp-approval/sep2672/test_4_4_3_display_text.py"
RAW = f"python:{sep2672_challenge.__name__}:RawControls"


@pytest.mark.parametrize(
    ("target", "scenario", "verdict"),
    [
        (f"{LENIENT}:keeps_the_names_in_transports", f"{CLASS}[a list with null]", Verdict.PASSED),
        (f"{LENIENT}:checks_schemas_first", CONVERTED, Verdict.PASSED),
        (f"{LENIENT}:takes_known_members_only", BESIDE, Verdict.PASSED),
        (f"{LENIENT}:knows_one_user", TWO_USERS, Verdict.NOT_VERIFIED),
        (RAW, f"{DISPLAY}::test_invisible_characters_are_made_visible[null]", Verdict.WARNING),
        (RAW, f"{DISPLAY}::test_no_control_character_reaches_the_display[escape]", Verdict.FAILED),
    ],
    ids=[
        "usb beside null includes usb",
        "a schema may come before the gate",
        "further members may be malformed",
        "another handle is no other user",
        "a null shows nothing else",
        "an escape may erase",
    ],
)
def test_the_verdict_is_what_the_document_says(suite, target, scenario, verdict):
    listener = Verdicts()
    suite.run(
        scenario,
        *("--mcp-approval-browser=none", "--mcp-approval-findings=none", "-q", *bare_options()),
        target=target,
        plugins=[listener],
    )
    assert [one["verdict"] for one in listener.found] == [verdict]


NEEDS_MORE = ("4.2-*", "4.4.3-only*", "4.4.3-allow*", "4.7-platform*", "4.8-07*", "4.10-code")


def test_what_a_server_need_not_have_is_not_applicable(suite):
    """One gated tool, of one class, and no other that may be run: nothing is left to configure."""
    listener = Verdicts()
    suite.run(
        *(f"--mcp-approval-select=sep2672/{rule}" for rule in NEEDS_MORE),
        *("--mcp-approval-browser=none", "--mcp-approval-findings=none", "-q", *bare_options()),
        target=f"{LENIENT}:has_one_gated_tool",
        plugins=[listener],
    )
    told = {one["verdict"]: one["why"] for one in listener.found}
    assert set(told) == {Verdict.PASSED, Verdict.NOT_APPLICABLE}, told
    whys = {one["why"] for one in listener.found if one["verdict"] == Verdict.NOT_APPLICABLE}
    assert "this server has one gated tool only, place_trade" in whys
    assert "this server lists no gated tool of class platform" in whys
