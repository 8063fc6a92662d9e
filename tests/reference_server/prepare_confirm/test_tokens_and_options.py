"""Tokens by themselves, and what the tools can be told."""

from __future__ import annotations

import datetime
import hashlib

import pytest

from pytest_mcp_approval.families.prepare_confirm.vocabulary import TwoStepReason, split_token
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.settings import read_settings
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint, fingerprint
from pytest_mcp_approval.reference_server.server.settings import ExtensionSettingError

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
MINUTE = datetime.timedelta(minutes=1)


def issue(mint, **data):
    return mint.issue("close_projects", data, NOW, MINUTE)[0]


@pytest.mark.parametrize("name", ["a|b", "|", 'a"b', "a\nb", "é☃", "\\"])
def test_data_come_back_as_they_went_in(name):
    mint = Mint(None)
    token = issue(mint, ids=[name])
    assert token.isascii()
    assert "\n" not in token
    assert mint.open(token).data == {"ids": [name]}


def test_no_character_can_be_changed():
    mint = Mint(None)
    token = issue(mint, ids=["a|b"])
    for place, character in enumerate(token):
        changed = f"{token[:place]}{chr(ord(character) ^ 1)}{token[place + 1 :]}"
        with pytest.raises(ConfirmationRefusal) as refused:
            mint.open(changed)
        assert refused.value.reason is TwoStepReason.SIGNATURE


@pytest.mark.parametrize(
    "text",
    ["", "|", "a", "a|", "|a", "a|é", "a|" + "0" * 64, "0" * 5_000_000],
    ids=lambda text: text[:8] or "empty",
)
def test_strangers_texts_are_refused(text):
    with pytest.raises(ConfirmationRefusal):
        Mint(None).open(text)


def test_what_is_signed_but_no_payload_is_malformed():
    mint = Mint(None)
    for text in ("[]", "nonsense", '{"action":"x"}'):
        with pytest.raises(ConfirmationRefusal) as refused:
            mint.open(f"{text}|{mint.sign(text)}")
        assert refused.value.reason is TwoStepReason.MALFORMED


def test_a_given_key_is_the_same_everywhere_and_a_random_one_nowhere():
    key = "a key that two servers share"
    assert Mint(key).open(issue(Mint(key))).action == "close_projects"
    with pytest.raises(ConfirmationRefusal):
        Mint(None).open(issue(Mint(None)))
    with pytest.raises(ConfirmationRefusal):
        Mint(f"{key}.").open(issue(Mint(key)))


def test_the_key_is_derived_once(monkeypatch):
    calls = []
    derive = hashlib.pbkdf2_hmac
    monkeypatch.setattr(
        hashlib, "pbkdf2_hmac", lambda *given: calls.append(given) or derive(*given)
    )
    mint = Mint("a key that is slow to derive")
    for _ in range(5):
        mint.open(issue(mint))
    assert len(calls) == 1
    assert calls[0][3] >= 100_000


def test_the_signature_is_behind_the_last_separator():
    assert split_token("a|b|c") == ("a|b", "c")


def test_a_fingerprint_tells_tokens_apart_and_shows_none():
    assert fingerprint("abc") != fingerprint("abd")
    assert len(fingerprint("abc")) == 12
    assert fingerprint(None) == fingerprint("") == fingerprint([1]) == "none"


@pytest.mark.parametrize(
    "minutes", [0, -1, -0.5, 1441, True, "5", None, float("nan"), float("inf")]
)
def test_lifetimes_that_are_none_are_refused(minutes):
    with pytest.raises(ExtensionSettingError, match="expiry_minutes: got "):
        read_settings({"expiry_minutes": minutes})
    with pytest.raises(ExtensionSettingError, match=r"expiry_minutes_of\.delete_user: got "):
        read_settings({"expiry_minutes_of": {"delete_user": minutes}})


@pytest.mark.parametrize("key", ["", "   ", "short", 5, " " * 40])
def test_keys_that_are_none_are_refused_and_not_shown(key):
    with pytest.raises(ExtensionSettingError, match="secret_key: got ") as error:
        read_settings({"secret_key": key})
    assert "short" not in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"colour": 1},
        {"back_end": "sad"},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": 5},
        {"expiry_minutes_of": {"nothing": 1}},
        {"expiry_minutes_of": 5},
    ],
    ids=str,
)
def test_settings_that_cannot_be_followed_are_one_line(settings):
    with pytest.raises(ExtensionSettingError, match=r"^\S+: got .*expected"):
        read_settings(settings)
