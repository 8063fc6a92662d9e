"""Section 4.4.3: what a challenge says, and for what there is none."""

import datetime
import hashlib
import unicodedata

import pytest

from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.reference_server import ApprovalRefusal, InvalidParamsError
from pytest_mcp_approval.reference_server.server.visible_text import visible
from tests.reference_server.ceremony import ALICE, ARGUMENTS, Ceremony


def halves(challenge):
    return words.split_wire_challenge(
        words.base64url_decode(challenge["requestOptions"]["challenge"])
    )


def test_the_envelope_is_that_of_section_4_4_3(stored_ceremony):
    ceremony = stored_ceremony
    passkey = ceremony.enrol("icloud-keychain")
    ceremony.clock.move_to(datetime.datetime(2030, 1, 2, 3, 4, 5, 6_999, tzinfo=datetime.UTC))
    challenge = ceremony.challenge()
    assert challenge["expiresAt"] == "2030-01-02T03:05:05.006Z"
    assert challenge["displayText"] == (
        'Trade AAPL. Exactly: trade {"quantity":10,"symbol":"AAPL"}'
    )
    options = challenge["requestOptions"]
    assert options["rpId"] == "localhost"
    assert options["userVerification"] == "required"
    assert options["timeout"] == 60_000
    assert options["allowCredentials"] == [
        {
            "type": "public-key",
            "id": words.base64url_encode(passkey.credentials[0].id),
            "transports": ["hybrid", "internal"],
        }
    ]


def test_the_second_half_is_the_hash_of_the_call_and_the_first_never_repeats(stored_ceremony):
    ceremony = stored_ceremony
    ceremony.enrol()
    pairs = [halves(ceremony.challenge()) for _ in range(20)]
    server_id = ceremony.store.server_id()
    expected = hashlib.sha256(
        b'trade\x00{"quantity":10,"symbol":"AAPL"}\x00' + server_id.encode()
    ).digest()
    assert {second for _, second in pairs} == {expected}
    assert len({first for first, _ in pairs}) == 20


def test_two_servers_hash_alike_only_with_the_same_id():
    ceremonies = [Ceremony(), Ceremony(), Ceremony(server_id="s"), Ceremony(server_id="s")]
    for ceremony in ceremonies:
        ceremony.enrol()
    first, second, third, fourth = (halves(ceremony.challenge())[1] for ceremony in ceremonies)
    assert len({first, second, third}) == 3
    assert third == fourth


def test_a_default_is_not_filled_in(ceremony):
    ceremony.enrol()
    assert halves(ceremony.challenge(arguments={})) != halves(
        ceremony.challenge(arguments={"force": False})
    )


@pytest.mark.parametrize("name", ["", "echo", "Trade", "trade ", "\ud800", "x" * 10_000])
def test_a_tool_that_is_not_gated_has_no_challenge(ceremony, name):
    ceremony.enrol()
    with pytest.raises(ApprovalRefusal) as caught:
        ceremony.challenge(name)
    assert caught.value.reason == "tool_not_approved_required"
    assert caught.value.message.isascii()
    assert len(caught.value.message) < 200


@pytest.mark.parametrize(
    ("shapes", "tool"), [([], "trade"), ([], "wipe"), (["windows-hello"], "transfer")]
)
def test_without_an_eligible_credential_there_is_no_challenge(ceremony, shapes, tool):
    for shape in shapes:
        ceremony.enrol(shape)
    with pytest.raises(ApprovalRefusal) as caught:
        ceremony.challenge(tool)
    assert caught.value.reason == "no_eligible_credential"


@pytest.mark.parametrize("arguments", [{"n": 2**53}, {"t": "\ud800"}, {"n": float("inf")}])
def test_arguments_that_cannot_be_signed_are_invalid_params(ceremony, arguments):
    ceremony.enrol()
    with pytest.raises(InvalidParamsError) as caught:
        ceremony.challenge(arguments=arguments)
    assert caught.value.to_error()["code"] == -32602


# ---- what a person reads

HOSTILE = ["\u202e", "\u2066", "\u200b", "\n", "\x1b", "\x7f", "\u00a0", "\u2028", "\ufe0f"]


@pytest.mark.parametrize("character", HOSTILE, ids=ascii)
def test_what_cannot_be_seen_is_written_out(ceremony, character):
    ceremony.enrol()
    shown = ceremony.challenge(arguments={"symbol": f"A{character}B"})["displayText"]
    assert character not in shown
    assert all(unicodedata.category(one) not in ("Cc", "Cf", "Zl", "Zp") for one in shown), ascii(
        shown
    )
    assert visible(character) in shown or "\\n" in shown


def test_ordinary_text_of_any_language_is_left_alone():
    text = "Überweisung an 山田さん: 10 € für שלום, émoji \U0001f600"
    assert visible(text) == text


@pytest.mark.parametrize("arguments", [{}, {"quantity": []}, {"symbol": None}, {"a": {"b": [1]}}])
def test_odd_arguments_still_have_a_text_of_their_own(ceremony, arguments):
    ceremony.enrol()
    shown = ceremony.challenge(arguments=arguments)["displayText"]
    assert shown == ceremony.challenge(arguments=arguments)["displayText"]
    assert shown != ceremony.challenge()["displayText"]
    assert words.canonical_arguments(arguments).decode() in shown


# ---- the three methods, whatever carries them


def test_a_server_author_needs_a_few_lines(ceremony):
    gate, ran = ceremony.gate, []

    @gate.guards("erase", describe=lambda arguments: f"Erase {arguments['disk']}")
    def erase(arguments):
        ran.append(arguments)
        return "erased"

    passkey = ceremony.enrol()
    params = {"toolName": "erase", "arguments": {"disk": 1}}
    challenge = gate.handle(ALICE, "approval/challenge/create", params)
    meta = {words.META_KEY: ceremony.evidence(passkey, challenge)}
    with pytest.raises(ApprovalRefusal):
        erase(ALICE, {"disk": 2}, meta)
    assert ran == []
    assert erase(ALICE, {"disk": 1}, meta) == "erased"
    assert ran == [{"disk": 1}]


@pytest.mark.parametrize("params", [None, {}, [], 5, {"response": 1, "unknown": {}}], ids=str)
def test_begin_ignores_its_params(ceremony, params):
    assert "options" in ceremony.gate.handle(ALICE, "approval/enroll/begin", params)


BAD = [None, 5, "x", [], {}, {"other": 1}]
BAD_FINISH = [{"response": value} for value in (None, 5, "x", [])]
BAD_CREATE = [
    {"toolName": "trade"},
    {"arguments": {}},
    *({"toolName": value, "arguments": {}} for value in (None, 5, [], {})),
    *({"toolName": "trade", "arguments": value} for value in (None, 5, "x", [], True)),
]


@pytest.mark.parametrize(
    ("method", "params"),
    [("approval/enroll/finish", params) for params in BAD + BAD_FINISH]
    + [("approval/challenge/create", params) for params in BAD + BAD_CREATE],
    ids=str,
)
def test_bad_params_are_said_to_be_so(ceremony, method, params):
    ceremony.enrol()
    ceremony.gate.begin_enrolment(ALICE)
    with pytest.raises(InvalidParamsError, match=r"got .*, expected") as caught:
        ceremony.gate.handle(ALICE, method, params)
    assert caught.value.to_error()["code"] == -32602


def test_create_through_handle_is_create(ceremony):
    ceremony.enrol()
    params = {"toolName": "trade", "arguments": ARGUMENTS, "unknown": 1}
    assert "challengeId" in ceremony.gate.handle(ALICE, "approval/challenge/create", params)
