"""Every layer can be broken in a few lines, in one place, and nothing else breaks with it.

The suite's mutants depend on that. Here are samples of each kind: a step, the order of steps, a
WebAuthn check, a store, and what the server declares, lists, runs and answers.
"""

from typing import Any

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY, AuthenticatorClass
from pytest_mcp_approval.reference_server import (
    ApprovalGate,
    ApprovalStore,
    RelyingParty,
    build,
)
from pytest_mcp_approval.reference_server.sep2672.extension import Sep2672Extension
from tests.reference_server.ceremony import Ceremony
from tests.reference_server.running import MODERN, HttpClient, serving
from virtual_authenticator import Authenticator, Scripted, fault


def moved(step, before):
    """The steps, one of them moved before another one."""
    steps = [name for name in ApprovalGate.steps if name != step]
    steps.insert(steps.index(before), step)
    return tuple(steps)


class ConsumesFirst(ApprovalGate):
    steps = moved("step_13_consume", before="step_10_signature")


class CounterBeforeSignature(ApprovalGate):
    steps = moved("step_10_signature", before="step_03_method")


class OmittedMeansPlatform(ApprovalGate):
    def class_of(self, tool):
        return tool.authenticator_class or AuthenticatorClass.PLATFORM


class ForgetsTheCounter(ApprovalGate):
    def step_14_update_counter(self, attempt):
        """Nothing."""


class Forgetful(ApprovalStore):
    def consume_challenge(self, challenge_id, now):
        return True


def test_a_gate_that_consumes_first_loses_the_honest_call():
    ceremony = Ceremony(gate_class=ConsumesFirst)
    passkey, challenge = ceremony.enrol(), ceremony.challenge()
    forged = ceremony.evidence(passkey, challenge, faults=["signature-bit"])
    assert ceremony.refused(forged) == "signature_verification_failed"
    assert ceremony.refused(ceremony.evidence(passkey, challenge)) == "challenge_consumed"


def test_a_gate_with_steps_swapped_gives_the_later_reason():
    ceremony = Ceremony(gate_class=CounterBeforeSignature)
    evidence = ceremony.evidence(ceremony.enrol(), ceremony.challenge(), faults=["signature-bit"])
    assert ceremony.refused({**evidence, "method": "totp"}) == "signature_verification_failed"


def test_a_gate_that_takes_an_omitted_class_for_platform():
    ceremony = Ceremony(gate_class=OmittedMeansPlatform)
    passkey = ceremony.enrol("windows-hello")
    evidence = ceremony.evidence(passkey, ceremony.challenge("transfer"))
    assert ceremony.call(evidence, tool="transfer")


def test_a_gate_that_never_updates_the_counter():
    ceremony = Ceremony(gate_class=ForgetsTheCounter)
    passkey = ceremony.enrol(Authenticator(counter=Scripted([1, 5, 5])))
    for _ in range(2):
        assert ceremony.call(ceremony.evidence(passkey, ceremony.challenge()))


def test_a_store_that_lets_everybody_win():
    ceremony = Ceremony(Forgetful())
    evidence = ceremony.evidence(ceremony.enrol("icloud-keychain"), ceremony.challenge())
    assert ceremony.call(evidence)
    assert ceremony.call(evidence)


SKIPPABLE: list[tuple[str, Any]] = [
    ("check_origin", "wrong-origin"),
    ("check_type", "wrong-type"),
    ("check_challenge", "wrong-challenge"),
    ("check_cross_origin", "cross-origin"),
    ("check_relying_party_hash", "wrong-rp-id-hash"),
    ("check_user_present", {"fault": "flip-flag", "flag": "UP"}),
    ("check_user_verified", {"fault": "flip-flag", "flag": "UV"}),
    ("check_signature", "signature-bit"),
    ("check_user_handle", "wrong-user-handle"),
]


@pytest.mark.parametrize(("check", "broken"), SKIPPABLE, ids=str)
def test_a_relying_party_without_one_check_lets_just_that_through(check, broken):
    lax = type("Lax", (RelyingParty,), {check: lambda *_: None})
    ceremony = Ceremony(relying_party=lax(origins=["http://localhost"]))
    passkey = ceremony.enrol()
    for other, fault_of_it in SKIPPABLE:
        evidence = ceremony.evidence(passkey, ceremony.challenge(), faults=[fault(fault_of_it)])
        if other == check:
            assert ceremony.call(evidence)
        else:
            assert ceremony.refused(evidence) == "signature_verification_failed"


REGISTERED = [
    ("check_algorithm", "other-algorithm"),
    ("check_credential_id", "wrong-credential-id"),
    ("check_attestation_statement", "signature-bit"),
    ("check_user_verified", {"fault": "flip-flag", "flag": "UV"}),
    ("check_origin", "wrong-origin"),
]


@pytest.mark.parametrize(("check", "broken"), REGISTERED, ids=str)
def test_a_registration_without_one_check_lets_just_that_through(check, broken):
    # The algorithm is asked for twice: offered or not, and then whether the key can be one of it.
    skipped = {check, "check_public_key"} if check == "check_algorithm" else {check}
    lax = type("Lax", (RelyingParty,), dict.fromkeys(skipped, lambda *_: None))
    ceremony = Ceremony(relying_party=lax(origins=["http://localhost"]))
    passkey = Authenticator(attestation="packed-self")
    response = ceremony.register(passkey, faults=[fault(broken)], ignoring=["attestation"])
    if check == "check_algorithm":
        # py_webauthn does not know ES512, so nothing it attests can be verified.
        response = ceremony.register(Authenticator(attestation="none"), faults=[fault(broken)])
    assert ceremony.gate.finish_enrolment("alice", response)["success"] is True


class Careless(Sep2672Extension):
    """Declares, lists, runs and answers wrongly, all at once."""

    def declare(self, capabilities):
        return {**capabilities, "verifiedApproval": {}}

    def listing(self, tool):
        entry = super().listing(tool)
        if self.is_gated(tool):
            entry["_meta"][META_KEY]["required"] = True
        return entry

    def call_tool(self, user, tool, arguments, meta):
        result = self.execute(tool, arguments)
        if self.is_gated(tool):
            self.gate.verify(user, tool.name, arguments, meta)
        return result

    def refuse(self, refusal):
        return {"content": [{"type": "text", "text": refusal.message}], "isError": True}

    def methods(self):
        return {}


def test_a_server_can_be_wrong_in_every_way():
    server = build(extensions={"sep2672": Careless})
    with serving(server) as port:
        client = HttpClient(port, MODERN)
        assert client.first["capabilities"]["verifiedApproval"] == {}
        assert "extensions" not in client.first["capabilities"]
        tools = client.request("tools/list")["result"]["tools"]
        assert tools[0]["_meta"][META_KEY]["required"] is True
        assert client.request("approval/enroll/begin")["error"]["code"] == -32601
        assert client.call("wipe_cache", {})["result"]["isError"] is True
        assert len(server.effects) == 1
