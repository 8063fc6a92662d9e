"""What each family says about a recorded conversation, and that no input upsets it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_mcp_approval.catalogue import families
from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.decoder import LONGEST, decode
from pytest_mcp_approval.report.conversation import conversation_text
from pytest_mcp_approval.support import recording
from pytest_mcp_approval.support.exchanges import Excerpt, Exchange
from pytest_mcp_approval.support.secrets import HIDDEN, Secrets
from pytest_mcp_approval.target import Target, open_target

Act = Callable[[Target], object]
NAME = r"[\w-]{8}…"


def approve_twice(target: Target) -> None:
    from pytest_mcp_approval.families.sep2672.driver import Approval

    approval = Approval(target)
    passkey = approval.enrol()
    tool = approval.tool("place_trade")
    challenge = approval.challenge(tool.name, tool.arguments)
    evidence = passkey.sign(challenge)
    assert approval.call(challenge, evidence).executed
    assert approval.call(challenge, evidence).refused
    approval.call_without_evidence(tool.name, tool.arguments)


def redeem_twice(target: Target) -> None:
    from pytest_mcp_approval.families.confirmation_tokens.driver import ConfirmationTokens

    driver = ConfirmationTokens(target)
    issued = driver.issue("delete_repo")
    assert driver.redeem(issued).executed
    assert driver.redeem(issued).refused
    driver.status(issued.token)


def execute_twice(target: Target) -> None:
    from pytest_mcp_approval.families.execution_tokens.driver import ExecutionTokens

    driver = ExecutionTokens(target)
    token = driver.token()
    assert driver.execute(token).accepted
    assert driver.execute(token).refused
    assert driver.execute(driver.token(), action="another").refused
    driver.verifier.approve(driver.content, driver.table.action, [driver.table.host], 300)


def ask_allow_and_deny(target: Target) -> None:
    from pytest_mcp_approval.families.gateway_consent.driver import GatewayConsent

    driver = GatewayConsent(target)
    tool = "com.example.calendar:listEvents"
    for name, choice in (("Cursor", "tool"), ("Windsurf", "deny")):
        client = driver.client(name)
        driver.decide(client.call(tool), choice, remember=True)
        client.call(tool)
    driver.close()


def confirm_twice(target: Target) -> None:
    from pytest_mcp_approval.families.prepare_confirm.driver import PrepareConfirm

    driver = PrepareConfirm(target)
    pair = driver.pair("close_projects")
    preview = driver.prepare(pair)
    assert driver.confirm(preview).executed
    assert driver.confirm(preview).refused
    driver.submit(pair, {"name": pair.confirm, "arguments": {}})


def ask_decline_and_approve(target: Target) -> None:
    from pytest_mcp_approval.families.elicitation.driver import Elicitation
    from pytest_mcp_approval.families.elicitation.outcome import AskedQuestion

    driver = Elicitation(target)
    asked = driver.ask("erase_account")
    assert isinstance(asked, AskedQuestion)
    asked.decline()
    again = driver.ask("erase_account")
    assert isinstance(again, AskedQuestion)
    again.accept()
    driver.without_capability().ask("erase_account")
    driver.close()


CONVERSATIONS: dict[str, tuple[Act, list[tuple[str, str, bool]]]] = {
    "sep2672": (
        approve_twice,
        [
            ("approval/enroll/begin", "creation options", False),
            ("approval/enroll/finish", "enrolled", False),
            ("tools/list", r"\d+ tools", False),
            ("approval/challenge/create for place_trade", rf"challenge {NAME}", False),
            (
                rf"tools/call place_trade, with evidence for challenge {NAME}",
                "approved, result: .*",
                False,
            ),
            (
                rf"tools/call place_trade, with evidence for challenge {NAME}",
                "refused: challenge_consumed",
                True,
            ),
            ("tools/call place_trade", "refused: missing_evidence", True),
        ],
    ),
    "confirmation_tokens": (
        redeem_twice,
        [
            (
                "tools/call mcp_aql: delete_repo",
                rf"not run, CONFIRMATION_REQUIRED: token conf_{NAME}, expires 20.*",
                False,
            ),
            (
                rf"tools/call mcp_aql: delete_repo, with token conf_{NAME}",
                "done, result: .*",
                False,
            ),
            (
                rf"tools/call mcp_aql: delete_repo, with token conf_{NAME}",
                "refused: TOKEN_ALREADY_USED",
                True,
            ),
            (
                rf"tools/call mcp_aql: introspect token_status, with token conf_{NAME}",
                "done, result: .*",
                False,
            ),
        ],
    ),
    "execution_tokens": (
        execute_twice,
        [
            ("tools/list", r"\d+ tools", False),
            (  # before the first execution: whether this verifier wants to know the host
                rf"tools/call execute_action: exec, with token {NAME} \(nonce {NAME}\)",
                "refused: host_not_allowed",
                True,
            ),
            (
                rf"tools/call execute_action: exec, with token {NAME} \(nonce {NAME}\)",
                "accepted, executed",
                False,
            ),
            (
                rf"tools/call execute_action: exec, with token {NAME} \(nonce {NAME}\)",
                "refused: nonce_spent",
                True,
            ),
            (
                rf"tools/call execute_action: another, with token {NAME} \(nonce {NAME}\)",
                "refused: action_not_allowed",
                True,
            ),
            (
                "tools/call approve_action: exec",
                rf"token {NAME} \(nonce {NAME}\), expires 20.*",
                False,
            ),
        ],
    ),
    "gateway_consent": (
        ask_allow_and_deny,
        [
            ("tools/list", r"\d+ tools", False),
            (
                "tools/call com.example.calendar:listEvents, by Cursor",
                rf"not run, CONSENT_REQUIRED: the person is asked on page {NAME}",
                True,
            ),
            (
                "tools/call com.example.calendar:listEvents, by Cursor",
                "allowed, result: .*",
                False,
            ),
            (
                "tools/call com.example.calendar:listEvents, by Windsurf",
                rf"not run, CONSENT_REQUIRED: the person is asked on page {NAME}",
                True,
            ),
            (
                "tools/call com.example.calendar:listEvents, by Windsurf",
                "refused: CONSENT_DENIED",
                True,
            ),
        ],
    ),
    "prepare_confirm": (
        confirm_twice,
        [
            ("tools/list", r"\d+ tools", False),
            (
                "tools/call prepare_close_projects",
                r"preview of 2 things, token …\w{8}, expires 20.*",
                False,
            ),
            (r"tools/call confirm_close_projects, with token …\w{8}", "done: Closed 2.*", False),
            (
                r"tools/call confirm_close_projects, with token …\w{8}",
                "refused: .*already been used.*",
                True,
            ),
            (
                "tools/call confirm_close_projects, without a token",
                "refused: .*missing or malformed.*",
                True,
            ),
        ],
    ),
    "elicitation": (
        ask_decline_and_approve,
        [
            ("tools/list", r"\d+ tools", False),
            ("tools/call erase_account", r"asks a person \(form\): Erase the account.*", False),
            ("tools/call erase_account, answering approval: decline", "tool error: .*", True),
            ("tools/call erase_account", r"asks a person \(form\): Erase the account.*", False),
            (
                r"tools/call erase_account, answering approval: accept \(confirm = True\)",
                "result: .*",
                False,
            ),
            ("tools/call erase_account", "error -32021 .*", True),
        ],
    ),
}
OF_THE_SUITE = ("server/discover", "initialize", "notifications/", "tools/call list_effects")


def recorded(family: str, act: Act, revision: str = "auto") -> list[dict[str, Any]]:
    """The steps of a conversation with the reference, as a report has them."""
    settings = Settings(targets=("reference",), protocol=revision)
    target = open_target("reference", settings)
    try:
        kept = recording.begin()
        act(target)
        told = conversation_text(kept, Secrets(), passed=False, family=family)
    finally:
        recording.end()
        target.close()
    steps: list[dict[str, Any]] = json.loads(told)["steps"]
    return steps


def test_there_is_a_conversation_of_every_family():
    assert set(CONVERSATIONS) == set(families())


@pytest.mark.parametrize("family", CONVERSATIONS)
def test_a_conversation_says_what_its_steps_mean(family):
    act, expected = CONVERSATIONS[family]
    steps = recorded(family, act)
    told = [
        (step["asked"], step["answered"], step["refused"])
        for step in steps
        if step["kind"] == "exchange" and not step["asked"].startswith(OF_THE_SUITE)
    ]
    assert len(told) == len(expected), told
    for (asked, answered, refused), (request, answer, no) in zip(told, expected, strict=True):
        assert re.fullmatch(request, asked), (request, asked)
        assert re.fullmatch(answer, answered), (answer, answered)
        assert refused is no, (asked, answered)
    looks = [step["asked"] for step in steps if step["kind"] == "effects"]
    assert looks[0] == "effects so far: 0"
    assert any(look.startswith("it ran: the effects went from 0 to") for look in looks)
    assert "nothing ran: the effects are as before" in looks


def test_a_caller_is_known_by_the_session_where_requests_do_not_name_it():
    steps = recorded("gateway_consent", ask_allow_and_deny, "2025-11-25")
    asked = [step["asked"] for step in steps if step["kind"] == "exchange"]
    assert asked.count("tools/call com.example.calendar:listEvents, by Windsurf") == 2
    assert any(one == "initialize, by Cursor" for one in asked)


def test_a_persons_decision_is_told():
    steps = recorded("gateway_consent", ask_allow_and_deny)
    said = [step["what"] for step in steps if step["kind"] == "page"]
    assert said == [
        "the person decides: Authorize Tool, and the decision is remembered",
        "the person decides: Deny, and the decision is remembered",
    ]


def test_a_question_inside_a_call_is_told():
    steps = recorded("elicitation", ask_decline_and_approve, "2025-11-25")
    said = [(one["asked"], one.get("answered", "")) for one in steps if one["kind"] == "exchange"]
    _, answered = next(one for one in said if one[0] == "tools/call erase_account")
    assert answered.startswith("asks a person (form): Erase the account")
    assert [one for one, _ in said if "elicitation/create" in one] == [
        "answer to elicitation/create: decline",
        "answer to elicitation/create: accept (confirm = True)",
    ]


# ---- strangers

CALL = {"method": "tools/call", "params": {"name": "x", "arguments": {"operation": "y"}}}


def exchange(sent: Any, received: Any, method: str = "tools/call") -> Exchange:
    bodies = [
        one if isinstance(one, bytes) else json.dumps(one).encode() for one in (sent, received)
    ]
    asked, answered = map(Excerpt.of, bodies)
    return Exchange(method, asked, answered, "a result", "", 0.0, status=200)


ODD = [None, True, 7, 1e300, "", "\x1b[31m\u202e" * 80, [], [[]], {}, {"": {}}, "[" * 500, "{}"]
METHODS = [
    "tools/call",
    "tools/list",
    "initialize",
    "approval/enroll/begin",
    "approval/enroll/finish",
    "approval/challenge/create",
]


@pytest.mark.parametrize("family", CONVERSATIONS)
def test_whatever_comes_is_one_short_line_that_no_terminal_obeys(family):
    for method in METHODS:
        for odd in ODD:
            params = {
                "name": odd,
                "arguments": odd,
                "_meta": odd,
                "toolName": odd,
                "clientInfo": odd,
            }
            result = {"structuredContent": odd, "content": odd, "isError": odd, "options": odd}
            meta = "io.modelcontextprotocol/verified-approval"
            for sent in (
                {"params": odd},
                {"params": params},
                {"params": {"_meta": {meta: odd}}},
                odd,
            ):
                for received in (
                    *({"result": odd}, {"result": result}, {"result": {"content": [odd]}}, odd),
                    *({"error": odd}, {"error": {"code": odd, "message": odd, "data": odd}}),
                    {"error": {"data": {"reason": odd, "code": odd}}},
                ):
                    found = decode(family, exchange(sent, received, method))
                    for line in (found.asked, found.answered):
                        assert len(line) <= LONGEST + 1
                        assert not {"\x1b", "\n", "\u202e"} & set(line)


@pytest.mark.parametrize("family", ["", "elsewhere", "../odd"])
def test_a_family_without_a_decoder_is_shown_as_plain_mcp(family):
    answer = {"result": {"content": [{"type": "text", "text": "done"}]}}
    found = decode(family, exchange(CALL, answer))
    assert (found.asked, found.answered, found.refused) == ("tools/call x", "result: done", False)
    refused = decode(family, exchange(CALL, {"error": {"code": -32602, "message": "no"}}))
    assert (refused.answered, refused.refused) == ("error -32602 no", True)


def test_the_answer_in_an_event_stream_is_found():
    stream = b'event: message\ndata: {"method": "ping"}\n\ndata: {"result": {"isError": true}}\n\n'
    found = decode("prepare_confirm", exchange(CALL, stream))
    assert (found.answered, found.refused) == ("tool error", True)


def test_no_secret_gets_into_a_line():
    answer = {"result": {"content": [{"type": "text", "text": "your key is s3cret-value-of-ours"}]}}
    hide = Secrets(["s3cret-value-of-ours"]).hide_bytes
    for family in CONVERSATIONS:
        found = decode(family, exchange(CALL, answer), hide)
        assert HIDDEN in found.answered
        assert "s3cret" not in found.answered


def test_a_message_that_was_cut_is_not_guessed_at():
    cut = Excerpt.of(json.dumps({"result": {"success": True}}).encode()).cut_to(20)
    found = decode("prepare_confirm", replace(exchange(CALL, b""), received=cut))
    assert found.answered == ""
