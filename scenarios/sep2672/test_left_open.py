"""What SEP-2672 leaves to the server, as information: who may enrol."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.scenario import HonestStepRefused


@requirement("sep2672/4.4.2-persisted")
def test_a_caller_cannot_approve_with_a_further_key_of_its_own(ceremony):
    """A user has a passkey. A caller of the same user enrolls another one, made of software and
    without the first, and approves its own call with it. The document does not forbid it."""
    ceremony.honest()
    try:
        own = ceremony.enrol()
    except HonestStepRefused:
        return  # a further key needs more than a call
    challenge = ceremony.challenge()
    outcome = ceremony.call(challenge, ceremony.evidence(challenge, own))
    if outcome.served:
        ceremony.left_open(
            "any caller of a user can enroll a further passkey and approve its own calls with it"
        )
