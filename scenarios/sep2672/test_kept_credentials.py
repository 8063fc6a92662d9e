"""SEP-2672 sections 4.4.2, 4.7 and 4.8: what is kept of credentials, when there are many of them.

Many credentials, ids that are nearly alike, transports in any number and order, counters of any
size; and counters that nothing but an approval changes.
"""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, may_poison, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import Passkey, confirmed_enrolment
from pytest_mcp_approval.families.sep2672.issuing import (
    failing_call,
    issued,
)
from pytest_mcp_approval.families.sep2672.registrations import answer, begin, enrolled_ids
from pytest_mcp_approval.families.sep2672.rewritten import flipped, quarters
from pytest_mcp_approval.families.sep2672.vocabulary import AuthenticatorClass, Reason
from virtual_authenticator import Authenticator
from virtual_authenticator.counters import PerCredential
from virtual_authenticator.faults import SignatureBit, WrongCounter

pytestmark = may_poison  # it enrols many credentials, which stay where nothing is reset
MANY = 24


@requirement("sep2672/4.4.1-exclude-credentials", "sep2672/4.4.3-allow-credentials")
def test_every_one_of_many_credentials_is_listed(ceremony):
    """Two dozen credentials: every begin excludes and every challenge offers all of them, and the
    first and the last approve."""
    tool = ceremony.tool
    ceremony.honest(tool)
    passkeys = [ceremony.enrol("icloud-keychain") for _ in range(MANY)]
    lists = {
        "excludeCredentials": enrolled_ids(ceremony),
        **{
            f"allowCredentials for {one.name}": list(ceremony.challenge(one).offered)
            for one in ceremony.gated_tools()
        },
    }
    with ceremony.several() as several:
        for name, listed in lists.items():
            with several.one(name):
                found = [listed.count(one.id) for one in passkeys]
                ceremony.expect(
                    found == [1] * MANY,
                    sent=f"{name}, after {MANY} credentials were enrolled",
                    expected="each of them once",
                    got=f"{found.count(0)} of {MANY} missing, {sum(n > 1 for n in found)} more "
                    "than once",
                )
        for which in (0, MANY // 2, -1):
            with several.one():
                challenge = ceremony.challenge(tool)
                ceremony.expect_run(
                    ceremony.call(challenge, ceremony.evidence(challenge, passkeys[which])),
                    sent=f"tools/call by the credential number {which % MANY + 1} of {MANY}",
                )


@requirement("sep2672/4.4.2-already-enrolled")
def test_ids_that_are_nearly_alike_are_different_credentials(ceremony):
    """Only the very id that is enrolled is taken: one that differs in a byte, or is shorter or
    longer, is another credential with a key of its own."""
    ceremony.honest()
    first = ceremony.enrol("icloud-keychain")
    own = words.base64url_decode(first.id)
    ids = {f"with its {name} another": flipped(own, at) for name, at in quarters(own).items()}
    ids |= {"a byte longer": own + b"\x00", "a byte shorter": own[:-1]}
    passkeys = {"itself": first}
    with ceremony.several() as several:
        for how, credential_id in ids.items():
            with several.one(how):
                device = Authenticator("icloud-keychain")
                device, response = answer(ceremony, device, credential_id=credential_id)
                reply = ceremony.approval.finish(response)
                if not confirmed_enrolment(reply):
                    ceremony.enrol("icloud-keychain")  # is it the id, or their number?
                ceremony.expect(
                    confirmed_enrolment(reply),
                    sent=f"{words.ENROLL_FINISH} of a credential whose id is an enrolled one {how}",
                    expected="success",
                    got=reply.describe(),
                )
                passkeys[how] = Passkey(device, first.origin, response)
        for how, passkey in passkeys.items():
            with several.one(f"a call by {how}"):
                challenge = ceremony.challenge()
                ceremony.expect_run(
                    ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
                    sent=f"tools/call by the credential whose id is an enrolled one {how}",
                )


TRANSPORTS = (
    (["internal", "hybrid"], True),
    (["hybrid", "internal"], True),
    (["internal", "usb"], True),
    (["internal", "smart-card", "ble"], True),
    (["ble", "hybrid", "internal", "nfc", "smart-card", "usb"], True),
    (["internal", "nfc", "ble", "smart-card", "hybrid", "usb"], True),
    (["internal", "cable", "lightning", "thunderbolt", "telepathy", "usb"], True),
    (["internal"], False),
)


KNOWN = {"usb", "nfc", "ble", "hybrid", "internal"}
"""Transports that section 4.7 names; a server may drop others (reading 5)."""


@requirement("sep2672/4.4.2-persisted", "sep2672/4.7-cross-platform-excludes-internal")
def test_transports_are_kept_in_any_number_and_order(ceremony):
    """All of them count, wherever in the list they stand: for the class, and in what is offered."""
    tool = ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM)
    ceremony.honest(tool)
    with ceremony.several() as several:
        for transports, eligible in TRANSPORTS:
            with several.one(str(transports)):
                device, response = answer(ceremony, Authenticator("icloud-keychain"))
                response["response"] = {**response["response"], "transports": transports}
                reply = ceremony.approval.finish(response)
                if not confirmed_enrolment(reply):
                    continue  # a server may refuse names that it does not know
                passkey = Passkey(device, ceremony.passkey.origin, response)
                offered = issued(ceremony, tool).offered
                sent = f"a challenge for {tool.name}, a credential with transports {transports}"
                ceremony.expect(
                    (passkey.id in offered) is eligible,
                    sent=sent,
                    expected="it is offered" if eligible else "it is not offered",
                    got="it is not offered" if eligible else "it is offered",
                )
                if not eligible:
                    continue
                told = transports if offered[passkey.id] is None else offered[passkey.id]
                named = set(map(str, told))
                ceremony.expect(
                    KNOWN & set(transports) <= named <= set(transports),
                    sent=sent,
                    expected=f"its transports in allowCredentials: {transports}",
                    got=f"transports {told!r}",
                )
                if sorted(map(str, told)) != sorted(transports):
                    ceremony.warn(f"{sent}: transports {told!r} (reading 5)")
                challenge = ceremony.challenge(tool)
                ceremony.expect_run(
                    ceremony.call(challenge, ceremony.evidence(challenge, passkey)),
                    sent=f"tools/call {tool.name} by a credential with transports {transports}",
                )


@requirement(
    "sep2672/4.7-cross-platform-excludes-internal",
    "sep2672/4.7-platform-accepts-all",
    "sep2672/4.8-09-class",
)
@pytest.mark.parametrize("first", AuthenticatorClass, ids=str)
def test_each_tool_decides_for_itself(ceremony, first):
    """A same-device credential is asked for by tools of both classes in turn: what one of them
    admits, or does not, changes nothing for the other."""
    by_class = {kind: ceremony.tool_of_class(kind) for kind in AuthenticatorClass}
    ceremony.honest(by_class[AuthenticatorClass.CROSS_PLATFORM])
    passkey = ceremony.enrol("touch-id", transports=["internal"])
    order = sorted(by_class, key=lambda kind: kind is not first)
    with ceremony.several() as several:
        for kind in order * 2:
            with several.one(str(kind)):
                tool, admitted = by_class[kind], kind is AuthenticatorClass.PLATFORM
                challenge = ceremony.challenge(tool)
                sent = f"{tool.name} ({kind}), a credential ['internal'], {first} asked first"
                ceremony.expect(
                    (passkey.id in challenge.offered) is admitted,
                    sent=f"a challenge for {sent}",
                    expected="it is offered" if admitted else "it is not offered",
                    got="it is not offered" if admitted else "it is offered",
                )
                evidence = ceremony.evidence(challenge, passkey, ignoring=["allow-credentials"])
                outcome = ceremony.call(challenge, evidence)
                if admitted:
                    ceremony.expect_run(outcome, sent=f"tools/call {sent}")
                else:
                    ceremony.expect_refusal(
                        outcome, Reason.AUTHENTICATOR_CLASS_MISMATCH, sent=f"tools/call {sent}"
                    )


COUNTERS = (1, 9, 255, 65_535, 70_000, 2**24 + 1, 2**31, 2**32 - 9)


@requirement("sep2672/4.4.2-persisted", "sep2672/4.8-11-counter", "sep2672/4.8-14-counter-updated")
def test_counters_of_any_size_are_kept(ceremony):
    """Enrolled at some number: the same one again and lower ones have not counted on, the next one
    has; and so on after a call."""
    ceremony.honest()
    with ceremony.several() as several:
        for start in COUNTERS:
            with several.one(str(start)):
                passkey = ceremony.enrol("security-key", counter=PerCredential(start=start))
                script = ((start, False), (start + 1, True), (start + 1, False), (1, False))
                for counter, runs in (*script, (start + 4, True)):
                    challenge = ceremony.challenge()
                    evidence = ceremony.evidence(challenge, passkey, faults=WrongCounter(counter))
                    outcome = ceremony.call(challenge, evidence)
                    sent = f"tools/call, signCount {counter}, by a credential enrolled at {start}"
                    if runs:
                        ceremony.expect_run(outcome, sent=sent)
                    else:
                        ceremony.expect_refusal(
                            outcome, Reason.SIGNATURE_COUNTER_REGRESSION, sent=sent
                        )


# ---- what does not change a counter


def _duplicate(ceremony, passkey):
    """Its id once more, with a counter that begins anew."""
    device = Authenticator("security-key", counter=PerCredential(start=1))
    own = words.base64url_decode(passkey.id)
    key = passkey.authenticator.credential(own).key
    _, response = answer(ceremony, device, credential_id=own, private_key=key)
    ceremony.approval.finish(response)


def _forgery(ceremony, passkey):
    challenge = ceremony.challenge()
    faults = [WrongCounter(2), SignatureBit()]
    ceremony.call(challenge, ceremony.evidence(challenge, passkey, faults=faults))


def _failing_tool(ceremony, passkey):
    """An approved call that the tool itself then refuses: its counter counts."""
    challenge = ceremony.challenge(*failing_call(ceremony))
    evidence = ceremony.evidence(challenge, passkey, faults=WrongCounter(HIGH + 5))
    ceremony.call(challenge, evidence)


def _restart(ceremony, passkey):
    if not ceremony.target.can_restart:
        ceremony.not_applicable("the suite cannot restart this target")
    ceremony.target.restart()
    ceremony.approval.forget()
    if passkey.id not in enrolled_ids(ceremony):
        ceremony.not_applicable("the target keeps no credentials over a restart")


HIGH = 500
AFTERWARDS = {
    "another enrolment": lambda ceremony, passkey: ceremony.enrol(),  # noqa: ARG005
    "an enrolment that was begun": lambda ceremony, passkey: begin(ceremony),  # noqa: ARG005
    "a second enrolment of its id": _duplicate,
    "a forgery with a lower counter": _forgery,
    "an approval by another credential": lambda ceremony, passkey: ceremony.honest(),  # noqa: ARG005
    "further challenges": lambda ceremony, passkey: [ceremony.challenge() for _ in range(12)],  # noqa: ARG005
    "an approved call that the tool refused": _failing_tool,
    "a restart": _restart,
}


@requirement("sep2672/4.8-14-counter-updated")
@pytest.mark.parametrize("event", AFTERWARDS)
def test_nothing_turns_a_counter_back(ceremony, event):
    """A credential has approved with a high counter. Whatever happens next, that one and lower ones
    are over, and the next one serves."""
    ceremony.honest()
    passkey = ceremony.enrol("security-key", counter=PerCredential(start=1))
    challenge = ceremony.challenge()
    evidence = ceremony.evidence(challenge, passkey, faults=WrongCounter(HIGH))
    ceremony.need_served(ceremony.call(challenge, evidence))
    AFTERWARDS[event](ceremony, passkey)
    for counter in (HIGH, HIGH - 1, 2, 1, 0):
        challenge = ceremony.challenge()
        ceremony.expect_refusal(
            ceremony.call(
                challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(counter))
            ),
            Reason.SIGNATURE_COUNTER_REGRESSION,
            sent=f"tools/call, signCount {counter}, after an approval with {HIGH} and {event}",
        )
    challenge = ceremony.challenge()
    ceremony.expect_run(
        ceremony.call(
            challenge, ceremony.evidence(challenge, passkey, faults=WrongCounter(HIGH + 9))
        ),
        sent=f"tools/call, signCount {HIGH + 9}, after an approval with {HIGH} and {event}",
    )


# ---- what was refused before


@requirement("sep2672/4.8-08-credential-enrolled")
def test_a_credential_serves_as_soon_as_it_is_enrolled(ceremony):
    """Unknown at first, and refused; then its enrolment is finished, and it approves."""
    ceremony.honest()
    device, page, response = ceremony.approval.register("icloud-keychain")
    late = Passkey(device, page, response)
    challenge = ceremony.challenge()
    ceremony.expect_refusal(
        ceremony.call(
            challenge, ceremony.evidence(challenge, late, ignoring=["allow-credentials"])
        ),
        Reason.UNKNOWN_CREDENTIAL,
        sent="tools/call by a credential whose enrolment was begun and not finished",
    )
    if not confirmed_enrolment(ceremony.approval.finish(response)):
        raise NotVerified("an honest enrolment was refused")
    challenge = ceremony.challenge()
    ceremony.expect_run(
        ceremony.call(challenge, ceremony.evidence(challenge, late)),
        sent="tools/call by a credential that was refused before it was enrolled",
    )
