"""Clients, the person and the suite's own apps, against the reference gateway."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mcp_approval.config.settings import Settings
from pytest_mcp_approval.families.base.driver import DriverError
from pytest_mcp_approval.families.base.form_client import FormClient, FormClientError
from pytest_mcp_approval.families.base.people import told_hook
from pytest_mcp_approval.families.gateway_consent.app_double import AppDouble, challenge_of
from pytest_mcp_approval.families.gateway_consent.callers import LEFT_OUT
from pytest_mcp_approval.families.gateway_consent.driver import GatewayConsent
from pytest_mcp_approval.families.gateway_consent.outcome import GatewayOutcome
from pytest_mcp_approval.families.gateway_consent.people import ToldPerson
from pytest_mcp_approval.families.gateway_consent.vocabulary import UNKNOWN_CLIENT, Choice
from pytest_mcp_approval.target import Target, open_target
from pytest_mcp_approval.wire.reply import Outcome, Reply

NEW, OLD = "2026-07-28", "2025-11-25"
TOOL = "com.example.calendar:listEvents"


@pytest.fixture(params=[NEW, OLD])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    opened = open_target("reference", Settings(directory=tmp_path, protocol=request.param))
    yield opened
    opened.close()


@pytest.fixture
def gateway(target: Target) -> Iterator[GatewayConsent]:
    driver = GatewayConsent(target)
    yield driver
    driver.close()


def test_clients_of_several_names_at_once(gateway: GatewayConsent):
    cursor, windsurf = gateway.client("Cursor"), gateway.client("Windsurf")
    asked = cursor.call(TOOL)
    assert asked.needs_consent
    assert asked.runs == 0
    gateway.decide(asked, "tool", remember=True)
    assert windsurf.call(TOOL).needs_consent
    assert cursor.call(TOOL).executed
    assert gateway.client("Cursor") is cursor
    assert list(gateway.export()) == ["Cursor"]


NAMELESS = {"nothing": LEFT_OUT, "an empty object": {}, "an empty name": {"name": ""}, "null": None}


@pytest.mark.parametrize("said", NAMELESS)
def test_a_client_may_say_nothing_of_itself(gateway: GatewayConsent, said: str):
    nameless = gateway.client("nobody", NAMELESS[said])
    gateway.decide(nameless.call(TOOL), "tool", remember=True)
    assert nameless.call(TOOL).executed
    assert list(gateway.export()) == [UNKNOWN_CLIENT]


def test_decisions_and_clients_outlive_a_restart(gateway: GatewayConsent):
    cursor = gateway.client("Cursor")
    gateway.decide(cursor.call(TOOL), "deny", remember=True)
    before = gateway.status()["pagesUrl"]
    gateway.restart()
    assert cursor.call(TOOL).denied
    assert gateway.status()["pagesUrl"] != before, "what it told before is asked for again"


def test_a_person_says_what_the_page_lacks(gateway: GatewayConsent):
    asked = gateway.client("Cursor").call(TOOL)
    gateway.decide(asked, Choice.DENY)
    with pytest.raises(FormClientError, match="HTTP 404 without a button 'Deny'"):
        gateway.decide(asked, Choice.DENY)


def asked_by_hand() -> GatewayOutcome:
    data = {"code": "CONSENT_REQUIRED", "appId": "mail", "tool": "send", "consentUrl": "aai://x"}
    error = {"code": -1, "message": "", "data": data}
    return GatewayOutcome.read(
        "Cursor", "mail:send", {}, Reply(Outcome.ERROR, message={"error": error})
    )


def hook(tmp_path: Path, code: str) -> ToldPerson:
    return ToldPerson(told_hook(f"{sys.executable} -c {shlex.quote(code)}", 20, tmp_path))


def test_a_hook_is_told_the_decision(tmp_path: Path):
    code = "import sys; open('told', 'w').write(sys.stdin.read())"
    hook(tmp_path, code).decide(asked_by_hand(), Choice.ALL, remember=True)
    assert json.loads((tmp_path / "told").read_text()) == {
        "do": "decide",
        "caller": "Cursor",
        "appId": "mail",
        "tool": "send",
        "decision": "all",
        "remember": True,
        "consentUrl": "aai://x",
    }


def test_a_hook_that_fails_is_told_in_one_line(tmp_path: Path):
    with pytest.raises(DriverError, match=r"exit code 3, expected 0: no such dialog$"):
        hook(tmp_path, "import sys; print('no such dialog', file=sys.stderr); sys.exit(3)").decide(
            asked_by_hand(), Choice.TOOL, remember=False
        )
    with pytest.raises(DriverError, match="the hook for decisions"):
        ToldPerson(told_hook("http://127.0.0.1:1/", 5, tmp_path)).decide(
            asked_by_hand(), Choice.TOOL, remember=False
        )


# ---- the suite's own apps


@pytest.fixture
def double() -> Iterator[AppDouble]:
    made = AppDouble()
    yield made
    made.close()


def post(url: str, data: str, **headers: str) -> int:
    return FormClient().fetch("POST", url, data, headers, follow=False).status


def test_an_app_opens_for_its_own_credential_only(double: AppDouble):
    url = double.url()
    assert post(f"{url}/key-header/tools/read", "{}") == 401
    assert post(f"{url}/key-header/tools/read", "{}", Authorization=double.key) == 401
    assert post(f"{url}/key-header/tools/read", "{}", Authorization=f"Bearer {double.key}") == 200
    assert post(f"{url}/key-query/tools/read?suite_key={double.key}", "{}") == 200
    assert post(f"{url}/cookie/tools/read", "{}", Cookie=double.cookie_text) == 200
    assert post(f"{url}/cookie/tools/read", "{}", Cookie="web_session=1") == 401
    assert [one.places_of(double.key) for one in double.seen("key-header")] == [
        [],
        ["header Authorization"],
        ["header Authorization"],
    ]


def test_its_codes_need_their_verifiers_and_its_tokens_end(double: AppDouble):
    asked = {
        "redirectUri": "http://localhost:1/back",
        "state": "s",
        "codeChallenge": challenge_of("v" * 43),
    }
    end_point = f"{double.url()}/oauth/oauth/token"
    back = double.way_back(asked, state=None)
    assert back.startswith("http://localhost:1/back?code=")
    code = back.partition("=")[2]
    grant = f"grantType=authorization_code&code={code}&codeVerifier="
    assert post(end_point, f"{grant}{'w' * 43}") == 400
    code = double.way_back(asked).partition("code=")[2].partition("&")[0]
    page = FormClient().fetch(
        "POST",
        end_point,
        f"grant_type=authorization_code&code={code}&code_verifier={'v' * 43}",
    )
    token = json.loads(page.body)["access_token"]
    assert double.secrets()[token] == "access token of oauth"
    tool = f"{double.url()}/oauth/tools/read"
    assert post(tool, "{}", Authorization=f"Bearer {token}") == 200
    now = double.now()
    double.now = lambda: now.replace(year=now.year + 1)
    assert post(tool, "{}", Authorization=f"Bearer {token}") == 401
    assert [one.stale for one in double.seen("oauth", "/oauth/tools")] == [False, True]
