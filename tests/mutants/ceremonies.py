"""Which broken server each scenario on a page finds out that is about a server's rules.

test_ceremonies_bite.py runs them. Knows no run.
"""

from __future__ import annotations

CEREMONIES = "mcp-approval/sep2672/test_browser_ceremonies.py"
BITES = {
    "test_what_is_enrolled_on_the_page_is_offered_there[icloud-keychain]": (
        "sep2672.enrolment:KeepsOneTransport",
        r"with \['hybrid', 'internal'\][^§]*this one with \['internal'\]",
    ),
    "test_a_prompt_that_nobody_approves_runs_nothing[decline]": (
        "sep2672.pages:goes_on_after_a_refusal",
        "the page sent 1 tools/call",
    ),
    "test_a_challenge_that_expires_while_the_prompt_is_open_is_refused": (
        "sep2672.verification:GivesGrace",
        "a second after expiresAt[^§]*tool run",
    ),
    "test_an_approval_that_is_bent_to_another_tool_is_refused": (
        "sep2672.verification:NeverComparesTheTool",
        "with the evidence for[^§]*argument_hash_mismatch",
    ),
    "test_a_synced_passkey_approves_twice_on_the_page": (
        "sep2672.properties:TakesCounterlessKeysOnce",
        "approval by a synced passkey, counter 0[^§]*tool not run",
    ),
    "test_a_passkey_of_this_device_only_is_not_asked_for_a_cross_platform_tool": (
        "sep2672.authenticator_class:OffersSameDeviceCredentials",
        "internal-only passkey enrolled[^§]*the passkey is offered",
    ),
    "test_a_device_that_is_enrolled_already_makes_no_second_passkey": (
        "sep2672.enrolment:ExcludesNothing",
        "InvalidStateError in the page[^§]*another passkey",
    ),
    "test_a_call_that_is_sent_again_from_the_devtools_is_refused": (
        "sep2672.verification:AcceptsReplays",
        "tools/call once more[^§]*tool run 1 times",
    ),
}
