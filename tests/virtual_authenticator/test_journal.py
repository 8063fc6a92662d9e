"""The log of what happened."""

from __future__ import annotations

import json

import pytest

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import Authenticator, ManualClock, NotAllowedError
from virtual_authenticator.encoding import base64url_decode
from virtual_authenticator.journal import KEPT, Journal


def test_the_log_tells_what_was_registered_asserted_and_refused() -> None:
    clock = ManualClock(100.0)
    device, party = Authenticator("security-key", clock=clock), RelyingParty()
    held = party.register(device)["id"]
    clock.advance(5)
    party.sign_in(device, [held])
    device.person.will("decline")
    clock.advance(5)
    with pytest.raises(NotAllowedError):
        device.get(party.request_options([held]), party.origin)
    pin_set, registered, asserted, refused = device.log
    assert str(pin_set) == "pin-set length=6"
    raw = base64url_decode(held)
    assert registered.time == 100.0
    assert registered.what == "registered"
    assert registered.details == {
        "rp_id": "example.org",
        "credential": raw,
        "algorithm": "ES256",
        "count": 1,
        "faults": (),
    }
    assert asserted.time == 105.0
    assert asserted.what == "asserted"
    assert asserted.details == {
        "rp_id": "example.org",
        "credential": raw,
        "count": 2,
        "verified": True,
        "faults": (),
    }
    assert refused.time == 110.0
    assert refused.what == "refused"
    assert refused.details == {"error": "NotAllowedError", "why": "the user declined"}
    assert device.log[-1] == refused
    assert raw.hex() in str(asserted)
    assert "count=2" in str(asserted)


def test_the_log_holds_no_secrets() -> None:
    device, party = Authenticator("security-key", seed=1), RelyingParty()
    held = party.register(device, extensions={"prf": {}})["id"]
    party.sign_in(device, [held], extensions={"prf": {"eval": {"first": "AAAA"}}})
    text = " ".join(str(one) for one in device.log)
    state = device.credentials[0].to_json()
    secrets = device.credentials[0].secrets
    assert secrets is not None
    assert state["key"] not in text
    assert secrets[0].hex() not in text
    assert json.dumps(state["secrets"]) not in text


def test_only_the_last_entries_are_kept() -> None:
    journal = Journal()
    for number in range(KEPT + 10):
        journal.append((float(number), "refused", {"error": "E", "why": ""}))
    assert len(journal) == len(list(journal)) == KEPT
    assert journal[0].time == 10.0
    assert journal[-1].time == KEPT + 9.0
    journal.clear()
    assert not list(journal)


def test_an_entry_that_is_read_is_not_part_of_the_log() -> None:
    device, party = Authenticator(pin="1234"), RelyingParty()
    held = party.register(device)["id"]
    party.sign_in(device, [held])
    seen = list(device.log)
    party.sign_in(device, [held])
    assert len(seen) == 2
    assert len(device.log) == 3
