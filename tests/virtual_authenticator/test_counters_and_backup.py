"""Signature counters by every policy, and backup flags that change with time."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from fido2.webauthn import AuthenticatorData
from webauthn.helpers.exceptions import InvalidAuthenticationResponse

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import (
    AlwaysZero,
    Authenticator,
    Constant,
    CounterPolicy,
    Global,
    Overflow,
    PerCredential,
    RandomStep,
    Rollback,
    Scripted,
)
from virtual_authenticator.counters import counter_policy
from virtual_authenticator.encoding import base64url_decode, base64url_encode

LAST = 2**32 - 1
FLAG = AuthenticatorData.FLAG


def count(response: dict[str, Any]) -> int:
    return AuthenticatorData(base64url_decode(response["response"]["authenticatorData"])).counter


def user(number: int) -> dict[str, str]:
    return {"id": base64url_encode(bytes([number])), "name": f"u{number}", "displayName": ""}


def counts(device: Authenticator, uses: int) -> list[int]:
    """The registration's counter and those of the assertions after it."""
    party = RelyingParty()
    response = device.create(party.creation_options(), party.origin)
    shown = [count(response)]
    for _ in range(uses):
        shown.append(count(device.get(party.request_options([response["id"]]), party.origin)))
    return shown


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (PerCredential(), [0, 1, 2, 3, 4]),
        (PerCredential(start=5, step=3), [5, 8, 11, 14, 17]),
        (PerCredential(start=5, step=0), [5, 5, 5, 5, 5]),
        (Global(), [0, 1, 2, 3, 4]),
        (Global(start=1, step=2), [1, 3, 5, 7, 9]),
        (AlwaysZero(), [0, 0, 0, 0, 0]),
        (Constant(), [1, 1, 1, 1, 1]),
        (Constant(77), [77, 77, 77, 77, 77]),
        (Constant(2**32 + 1), [1, 1, 1, 1, 1]),
        (Scripted([7, 7, 3]), [7, 7, 3, 3, 3]),
        (Scripted([9, 8, 7, 6, 5, 4]), [9, 8, 7, 6, 5]),
        (Rollback(), [0, 1, 2, 0, 1]),
        (Rollback(start=10, after=2, by=5), [10, 11, 6, 7, 8]),
        (Rollback(after=1, by=5), [0, 0, 1, 2, 3]),  # never below zero: that would be a leap
        (Overflow(), [LAST - 1, LAST, 0, 1, 2]),
        (Overflow(lead=0), [LAST, 0, 1, 2, 3]),
        (PerCredential(start=LAST - 1, step=3), [LAST - 1, 1, 4, 7, 10]),
    ],
    ids=str,
)
def test_each_policy_counts_in_its_own_way(policy: CounterPolicy, expected: list[int]) -> None:
    assert counts(Authenticator(counter=policy), len(expected) - 1) == expected


def test_random_steps_grow_within_their_bounds() -> None:
    shown = counts(Authenticator(counter=RandomStep(start=3, low=2, high=5)), 30)
    steps = [after - before for before, after in itertools.pairwise(shown)]
    assert shown[0] == 3
    assert set(steps) <= {2, 3, 4, 5}
    assert len(set(steps)) > 1


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Global(start=1), [[1, 3, 5], [2, 4, 6]]),
        (PerCredential(start=1), [[1, 2, 3], [1, 2, 3]]),
        (Scripted([5, 1]), [[5, 1, 1], [5, 1, 1]]),
    ],
    ids=str,
)
def test_a_counter_belongs_to_the_device_or_to_the_credential(
    policy: CounterPolicy, expected: list[list[int]]
) -> None:
    device, party = Authenticator(counter=policy), RelyingParty()
    held = [
        device.create(party.creation_options(user=user(number)), party.origin)
        for number in range(2)
    ]
    shown = [[count(one)] for one in held]
    for _ in range(2):
        for position, one in enumerate(held):
            options = party.request_options([one["id"]])
            shown[position].append(count(device.get(options, party.origin)))
    assert shown == expected


@pytest.mark.parametrize(
    ("policy", "uses"),
    [
        (Constant(3), 1),
        (Scripted([5, 6, 6]), 2),
        (Rollback(start=5, after=2), 2),
        (Overflow(), 2),
    ],
    ids=str,
)
def test_a_relying_party_notices_a_counter_that_does_not_grow(
    policy: CounterPolicy, uses: int
) -> None:
    device, party = Authenticator(counter=policy), RelyingParty()
    held = party.register(device)["id"]
    for _ in range(uses - 1):
        party.sign_in(device, [held])
    with pytest.raises(InvalidAuthenticationResponse, match="sign count"):
        party.sign_in(device, [held])


@pytest.mark.parametrize(
    "policy",
    [
        PerCredential(2, 3),
        Global(1, 2),
        Constant(4),
        AlwaysZero(),
        RandomStep(1, 2, 3),
        Scripted([1, 2]),
        Rollback(1, 2, 3),
        Overflow(9),
    ],
    ids=str,
)
def test_policies_survive_json(policy: CounterPolicy) -> None:
    assert counter_policy(json.loads(json.dumps(policy.to_json()))) == policy


def test_a_script_without_values_and_an_impossible_range_are_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one"):
        Scripted([])
    with pytest.raises(ValueError, match=r"random-step.*low 5.*high 1"):
        RandomStep(low=5, high=1)


def test_an_approval_that_is_refused_moves_no_counter() -> None:
    device, party = Authenticator(counter=PerCredential()), RelyingParty()
    held = party.register(device)["id"]
    device.person.will("decline", "decline")
    for _ in range(2):
        with pytest.raises(Exception, match="declined"):
            party.sign_in(device, [held])
    assert count(party.sign_in(device, [held])) == 1


# ---- backup flags


def flags(device: Authenticator, uses: int) -> list[str]:
    party = RelyingParty()
    responses = [device.create(party.creation_options(), party.origin)]
    for _ in range(uses):
        options = party.request_options([responses[0]["id"]])
        responses.append(device.get(options, party.origin))
    shown = []
    for response in responses:
        data = AuthenticatorData(base64url_decode(response["response"]["authenticatorData"]))
        shown.append(
            ("E" if data.flags & FLAG.BE else "-") + ("S" if data.flags & FLAG.BS else "-")
        )
    return shown


@pytest.mark.parametrize(
    ("eligible", "state", "expected"),
    [
        (False, False, ["--", "--", "--", "--"]),
        (True, True, ["ES", "ES", "ES", "ES"]),
        (True, False, ["E-", "E-", "E-", "E-"]),
        (True, [False, True], ["E-", "ES", "ES", "ES"]),
        (True, [False, True, True, False], ["E-", "ES", "ES", "E-"]),
        ([False, True], False, ["--", "E-", "E-", "E-"]),  # forbidden: a defect to test with
        ([True, False], [True], ["ES", "-S", "-S", "-S"]),
    ],
)
@pytest.mark.parametrize("policy", [AlwaysZero(), Global(), PerCredential()], ids=str)
def test_backup_flags_follow_their_script(
    eligible: Any, state: Any, expected: list[str], policy: CounterPolicy
) -> None:
    device = Authenticator(backup_eligible=eligible, backup_state=state, counter=policy)
    assert flags(device, 3) == expected


def test_each_credential_follows_the_script_from_its_start() -> None:
    device = Authenticator(
        "icloud-keychain", backup_state=[False, False, True], discoverable="on-request"
    )
    assert flags(device, 2) == ["E-", "E-", "ES"]
    assert flags(device, 2) == ["E-", "E-", "ES"]


def test_flags_of_a_credential_can_be_set_by_hand() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    device.credentials[0].backup_state = False
    data = AuthenticatorData(
        base64url_decode(party.sign_in(device)["response"]["authenticatorData"])
    )
    assert data.flags & FLAG.BE
    assert not data.flags & FLAG.BS
