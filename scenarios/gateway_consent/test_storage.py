"""What the gateway keeps, and what it must not let anybody read."""

import datetime
import json
from pathlib import Path
from typing import Any

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.logs import visible, watched_log
from pytest_mcp_approval.families.gateway_consent.scanning import find, scan
from pytest_mcp_approval.families.gateway_consent.settings import TABLE
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    ACCESS_TOKEN_SECONDS,
    ALL_TOOLS,
    APP_TOKEN_SECONDS,
    GRANTED,
    Choice,
)
from pytest_mcp_approval.wire.reply import show_json

EVERY_WAY = ("key-header", "key-query", "office", "cookie", "oauth")

# ---- stored-encrypted


def _expect_none(consents, hits, sent, where):
    consents.expect(
        not hits,
        sent=sent,
        expected=f"nothing of it in clear in {where}",
        got="; ".join(sorted({str(hit) for hit in hits})[:4]),
    )


@requirement("gateway_consent/stored-encrypted", needs=["files"])
def test_no_decision_is_stored_in_clear(consents):
    """Granted, granted for all tools, denied: nobody else may read who was allowed what. A client's
    name alone is no decision: the document's own key is consent-{callerName}-{appId}, and key
    stores show keys. Found alone it is a warning."""
    table = consents.driver.table
    apps = consents.with_apps(stored=True) if table.storage_setting else consents
    tool = apps.tool
    second = apps.second_tool(tool)
    client = apps.client("Clearly Readable Client")
    apps.allowed(client, tool)
    apps.decided(client, second, Choice.DENY)
    other = apps.client("Another Readable Client")
    apps.allowed(other, tool, Choice.ALL)
    log = apps.driver.facts().log
    names = {client.name: "decision on one client", other.name: "decision on another"}
    hits = [hit for hit in scan(apps.files(), names) if not log or Path(log).name != hit.place]
    decided = {tool.tool: "tool", second.tool: "tool", ALL_TOOLS: "word", GRANTED: "word"}
    beside = {(hit.form, hit.place) for hit in scan(apps.files(), decided)}
    sent = "remembered decisions on two clients"
    whole = [hit for hit in hits if (hit.form, hit.place) in beside]
    _expect_none(apps, whole, sent, "any file of the gateway")
    if hits:
        apps.warn(f"{sent}: {hits[0]}, without what was decided: a name that can be read")


@requirement("gateway_consent/stored-encrypted")
def test_no_credential_is_stored_in_clear(consents):
    """Typed in or given by the app, used, and used again after a restart: for every way in."""
    apps = consents.with_apps(stored=True)
    client, found = apps.client(), apps.each_app(*EVERY_WAY)
    for app in found:
        apps.let_in(client, apps.app_tool(app))
    sent = f"{', '.join(found)}, authorised and called"
    _expect_none(apps, scan(apps.files(), apps.double.secrets()), sent, "any file of the gateway")
    if apps.target.can_restart:
        apps.restart()
        for app in found:
            client.call(apps.app_tool(app))
        hits = scan(apps.files(), apps.double.secrets())
        _expect_none(apps, hits, f"{sent}, after a restart", "any file of the gateway")


@requirement("gateway_consent/stored-encrypted")
def test_an_authorisation_under_way_is_not_stored_in_clear(consents):
    """The browser is still at the app: the gateway's proof (the verifier) is already a secret."""
    apps = consents.with_apps(stored=True)
    client = apps.client()
    tool = apps.app_tool("oauth")
    apps.double.holds = True
    needed = apps.needing(client, tool)
    apps.driver.person_at_pages.let_in(needed.auth_url)
    (asked,) = (one.form for one in apps.double.seen("oauth", "/oauth/authorize"))
    planted = {asked.get("state", ""): "state of an authorisation"}
    sent = f"{tool.name}, whose authorisation is under way"
    _expect_none(apps, scan(apps.files(), planted), sent, "any file of the gateway")
    apps.double.holds = False
    apps.let_in(client, tool)
    (redeemed,) = (one.form for one in apps.double.seen("oauth", "/oauth/oauth/token"))
    planted[redeemed.get("codeVerifier", "")] = "verifier of an authorisation"
    _expect_none(apps, scan(apps.files(), planted), sent, "any file of the gateway")


# ---- storage-shape


def _record(consents, client, app, sent):
    exported = consents.driver.export()
    own = exported.get(client.name) if isinstance(exported, dict) else None
    record = own.get(app) if isinstance(own, dict) else None
    consents.expect(
        isinstance(record, dict),
        sent=sent,
        expected="caller → app → record",
        got=f"stored: {show_json(exported)}",
    )
    return record


def _expect_tool(consents, record, tool, granted, sent):
    tools = record.get("tools")
    own: Any = tools.get(tool.tool) if isinstance(tools, dict) else None
    consents.expect(
        isinstance(own, dict) and own.get("granted") is granted and own.get("remember") is True,
        sent=sent,
        expected=f"tools → {tool.tool} → granted {json.dumps(granted)}, remember true",
        got=f"stored: {show_json(record)}",
    )
    try:
        instant = datetime.datetime.fromisoformat(str(own.get("grantedAt")))
        near = abs((instant - consents.target.clock.now()).total_seconds()) < 120
    except (ValueError, TypeError):
        near = False
    consents.expect(
        near,
        sent=sent,
        expected="grantedAt: the instant of the decision, with a time zone",
        got=f"grantedAt {show_json(own.get('grantedAt'))}",
    )


@requirement("gateway_consent/storage-shape")
def test_consents_are_nested_by_caller_app_and_tool(consents):
    """Two callers, two apps, granted and denied: each in its own place."""
    tool = consents.tool
    second, other = consents.second_tool(tool), consents.other_app(tool)
    first, cursor = consents.client("Claude Desktop"), consents.client("Cursor")
    consents.allowed(first, tool)
    consents.decided(first, second, Choice.DENY)
    consents.allowed(first, other)
    consents.decided(cursor, tool, Choice.DENY)
    for client, one, granted in (
        (first, tool, True),
        (first, second, False),
        (first, other, True),
        (cursor, tool, False),
    ):
        sent = f"{one.name}, {'allowed to' if granted else 'denied to'} {client.name}"
        record = _record(consents, client, one.app, sent)
        consents.expect(
            record.get("allTools") is False,
            sent=sent,
            expected="allTools false",
            got=f"stored: {show_json(record)}",
        )
        _expect_tool(consents, record, one, granted, sent)
    record = _record(consents, cursor, tool.app, "what Cursor was denied")
    consents.expect(
        second.tool not in record.get("tools", {}),
        sent=f"{tool.name}, denied to {cursor.name}",
        expected="no record of any other tool",
        got=f"stored: {show_json(record)}",
    )


@requirement("gateway_consent/storage-shape")
def test_all_tools_are_stored_as_such(consents):
    tool, client = consents.tool, consents.client()
    consents.allowed(client, tool, Choice.ALL)
    sent = f"all tools of {tool.app}, allowed"
    record = _record(consents, client, tool.app, sent)
    consents.expect(
        record.get("allTools") is True and isinstance(record.get("tools"), dict),
        sent=sent,
        expected="allTools true, tools an object",
        got=f"stored: {show_json(record)}",
    )


@requirement("gateway_consent/storage-shape")
def test_what_is_not_remembered_is_not_stored(consents):
    tool, client = consents.tool, consents.client()
    for choice in (Choice.TOOL, Choice.ALL, Choice.DENY):
        consents.decided(client, tool, choice, remember=False)
        client.call(tool)
        exported = consents.driver.export()
        own = exported.get(client.name) if isinstance(exported, dict) else None
        tools = ((own or {}).get(tool.app) or {}).get("tools") or {}
        consents.expect(
            not any(isinstance(one, dict) and one.get("remember") for one in tools.values())
            and not ((own or {}).get(tool.app) or {}).get("allTools"),
            sent=f"{tool.name}, decided on ({choice}) and not remembered",
            expected="nothing stored that would be remembered",
            got=f"stored: {show_json(own)}",
        )
    consents.allowed(client, tool)
    _expect_tool(
        consents,
        _record(consents, client, tool.app, f"{tool.name}, allowed"),
        tool,
        True,
        f"{tool.name}, allowed and remembered",
    )


# ---- credential-shape

CLOSE = 120
"""Seconds by which an instant may be off."""
WITH_VALUE = ("type", "value", "createdAt")
MEMBERS = {
    "key-header": WITH_VALUE,
    "cookie": WITH_VALUE,
    "office": ("type", "appId", "appSecret", "accessToken", "expiresAt", "createdAt"),
    "oauth": ("accessToken", "refreshToken", "expiresAt"),
}
LIVES = {"office": APP_TOKEN_SECONDS, "oauth": ACCESS_TOKEN_SECONDS}


def _under(value: Any, app: str) -> Any:
    """The record of an app, at any depth."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(app), dict):
        return value[app]
    return next((found for one in value.values() if (found := _under(one, app))), None)


def _instant(value: Any) -> float | None:
    """Seconds since 1970, of milliseconds or of an ISO 8601 text."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value / 1000
    try:
        return datetime.datetime.fromisoformat(str(value)).timestamp()
    except ValueError:
        return None


@requirement("gateway_consent/credential-shape")
def test_a_credential_is_stored_as_the_document_shows_it(consents):
    """Its members are there, its type is the way it came, and its instants are true."""
    apps = consents.with_apps()
    with apps.several() as several:
        for app in apps.each_app(*MEMBERS):
            with several.one(app):
                _credential_is_stored_as_the_document_shows_it(apps, app)


def _credential_is_stored_as_the_document_shows_it(apps, app):
    tool = apps.app_tool(app)
    apps.let_in(apps.client(), tool)
    now = apps.target.clock.now().timestamp()
    stored = apps.driver.credentials()
    record = _under(stored, tool.app)
    sent = f"{tool.name}, authorised ({apps.double.ways()[app]})"
    apps.expect(
        isinstance(record, dict),
        sent=sent,
        expected="a record under the app's id",
        got=f"stored: {show_json(stored)}",
    )
    missing = [name for name in MEMBERS[app] if record.get(name) in (None, "")]
    apps.expect(
        not missing,
        sent=sent,
        expected=f"a record with {', '.join(MEMBERS[app])}",
        got=f"no {', '.join(missing)} in {show_json(record)}",
    )
    expected = {"type": apps.double.ways()[app].value, "tokenType": "Bearer"}
    for name, value in expected.items():
        if name in record:
            apps.expect(
                record[name] == value,
                sent=sent,
                expected=f"{name} {value}",
                got=f"{name} {show_json(record[name])}",
            )
    for name, life in {"createdAt": 0, "expiresAt": LIVES.get(app)}.items():
        if name in record and life is not None:
            told = _instant(record[name])
            apps.expect(
                told is not None and abs(told - now - life) < CLOSE,
                sent=sent,
                expected=f"{name}: {life} s from now, in milliseconds",
                got=f"{name} {show_json(record[name])}",
            )


# ---- never-logged

LONG_SECRET = 20


@requirement("gateway_consent/never-logged")
def test_no_credential_is_logged(consents):
    """Typed in, kept, sent, refused by the app, renewed: at no time does a log show it."""
    apps = consents.with_apps(stored=True)
    file = apps.driver.facts().log
    if not visible(apps.target, file):
        raise NotVerified(f"needs the gateway's log: log = 'PATH' {TABLE}")
    client, found = apps.client(), apps.each_app(*EVERY_WAY)
    with watched_log(apps.target, file) as log:
        for app in found:
            apps.let_in(client, apps.app_tool(app))
            client.call(apps.app_tool(app))
        if apps.target.clock.movable and apps.target.clock.stops:
            apps.clock.advance(3 * 3600)  # whatever expires has expired
            for app in found:
                client.call(apps.app_tool(app))
        text = log.text().encode("utf-8", "surrogatepass") + apps.driver.said_elsewhere()
    secrets = apps.double.secrets()
    hits = find(text, secrets, "the log")
    # With a few characters masked it can be guessed.
    most = {one[:-6]: what for one, what in secrets.items() if len(one) >= LONG_SECRET}
    hits = hits or find(text, most, "the log, but for its end")
    sent = f"{', '.join(found)}, authorised and called"
    _expect_none(apps, hits, sent, "logs and standard output")
    log.need_whole()


@requirement("gateway_consent/never-logged")
def test_no_answer_to_a_client_holds_a_credential(consents):
    """The agent works with the app, and never sees what opens it."""
    apps = consents.with_apps()
    client = apps.client()
    with apps.several() as several:
        for app in apps.each_app(*EVERY_WAY):
            tool = apps.app_tool(app)
            needed = apps.needing(client, tool)
            served = apps.let_in(client, tool)
            raw = needed.reply.raw + served.reply.raw + client.call(tool).reply.raw
            hits = find(raw, apps.double.secrets(), "an answer")
            sent = f"{tool.name}, authorised and called"
            with several.one(app):
                _expect_none(apps, hits, sent, "any answer to the client")


@requirement("gateway_consent/never-logged")
def test_no_report_of_a_failure_holds_a_credential(consents):
    """The app breaks down: what is told to the agent, and logged for the operator, explains that
    without what was sent."""
    apps = consents.with_apps(stored=True)
    file = apps.driver.facts().log
    client, found = apps.client(), apps.each_app(*EVERY_WAY)
    for app in found:
        apps.let_in(client, apps.app_tool(app))
    apps.double.fails = True
    with watched_log(apps.target, file) as log:
        raw = b"".join(client.call(apps.app_tool(app)).reply.raw for app in found)
        text = log.text().encode("utf-8", "surrogatepass") + apps.driver.said_elsewhere()
    hits = find(raw, apps.double.secrets(), "an answer")
    hits += find(text, apps.double.secrets(), "the log")
    _expect_none(apps, hits, f"{', '.join(found)}, when they break down", "any report of it")


@requirement("gateway_consent/never-logged")
def test_no_credential_goes_unencrypted_beyond_loopback(consents):
    """An app whose descriptor has a plain http address that is not loopback (0.0.0.0 still leads to
    this machine, so the suite would see it)."""
    apps = consents.with_apps()
    client = apps.client()
    apps.let_in(client, apps.app_tool("key-header"))
    tool = apps.app_tool("key-far")
    apps.decided(client, tool)
    answer = client.call(tool)
    if answer.needs_authorization:
        apps.type_in(answer, apps.typed(tool))
        answer = client.call(tool)
    places = [
        place for one in apps.double.seen("key-far") for place in one.places_of(apps.double.key)
    ]
    apps.expect(
        not places,
        sent=f"{tool.name}, whose app is at http://0.0.0.0",
        expected="no key over plain http beyond loopback",
        got=f"the key in: {', '.join(places)}",
    )
    apps.expect_not_run(answer, sent=f"{tool.name}, whose app is at http://0.0.0.0")
