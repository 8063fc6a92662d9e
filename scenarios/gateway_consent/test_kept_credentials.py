"""Credentials as they are kept: after failures, after use, after a renewal and a restart."""

from typing import Any

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.base.logs import watched_log
from pytest_mcp_approval.families.base.people import form_client_for
from pytest_mcp_approval.families.gateway_consent.app_double import RENAMED
from pytest_mcp_approval.families.gateway_consent.scanning import find
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    ACCESS_TOKEN_SECONDS,
    APP_TOKEN_SECONDS,
)
from pytest_mcp_approval.wire.reply import show_json

CLOSE = 120
DAY = 24 * 3600


def _mistyped(apps, app):
    """What a person types in that is no credential of the app, and yet one of theirs."""
    secret = apps.double.plant(f"mistyped credential of {app}", f"mistyped-{apps.mark}-{app}-0000")
    if app == "cookie":
        return (f"web_session={secret}",)  # the other one is missing
    return (apps.double.app_id, secret) if app == "office" else (secret,)


def _fail_in_every_way(apps, client):
    """Wrong credentials, an app and a token end point that break down, and answers to nobody."""
    said = b""
    for app in apps.each_app():
        tool = apps.app_tool(app)
        needed = apps.needing(client, tool)
        if app != "oauth":
            apps.type_in(needed, _mistyped(apps, app))
            said += client.call(tool).reply.raw
            needed = apps.needing(client, tool)
        apps.double.token_end_fails = True
        apps.type_in(needed, apps.typed(tool))
        said += client.call(tool).reply.raw
        apps.double.token_end_fails = False
        if app == "office":
            apps.double.told = {"tenantAccessToken": RENAMED}
            apps.type_in(apps.needing(client, tool), apps.typed(tool))
            said += client.call(tool).reply.raw
            apps.double.told = {}
        if app == "oauth":
            tool, asked, browser = apps.under_way(client)
            apps.double.holds = False
            browser.get(apps.double.way_back(asked, state="0" * 43))
            form_client_for(apps.target).get(apps.double.way_back(asked))
            said += client.call(tool).reply.raw
    return said + _revoke_everything(apps, apps.client("Revoked"))


def _revoke_everything(apps, client):
    """Let in, and then no credential serves any more, nor a refresh token."""
    said = b""
    for app in apps.each_app():
        apps.let_in(client, apps.app_tool(app))
    if apps.target.clock.movable and apps.target.clock.stops:
        apps.clock.advance(3 * 3600)
        apps.double.told = dict.fromkeys(("tenantAccessToken", "accessToken"), RENAMED)
        for app in apps.each_app("office", "oauth"):
            said += client.call(apps.app_tool(app)).reply.raw
        apps.double.told = {}
    apps.double.knows_nobody = True
    for app in apps.each_app():
        said += client.call(apps.app_tool(app)).reply.raw
    if apps.target.clock.movable and apps.target.clock.stops:
        apps.clock.advance(3 * 3600)
        for app in apps.each_app():
            said += client.call(apps.app_tool(app)).reply.raw
    apps.double.knows_nobody = False
    return said


def _expect_none(apps, hits, sent, where):
    apps.expect(
        not hits,
        sent=sent,
        expected=f"nothing of it in clear in {where}",
        got="; ".join(sorted({str(hit) for hit in hits})[:4]),
    )


@requirement("gateway_consent/never-logged")
def test_no_failed_authorisation_leaves_a_secret_behind(consents):
    """Not in the log, and not in what the agent is told. What was mistyped is a
    secret too: most of it is right."""
    apps = consents.with_apps(stored=True)
    facts = apps.driver.facts()
    client = apps.client()
    sent = "authorisations that failed: mistyped, broken down, answered by others"
    with watched_log(apps.target, facts.log) as log:
        said = _fail_in_every_way(apps, client)
        text = log.text().encode("utf-8", "surrogatepass") + apps.driver.said_elsewhere()
    with apps.several() as several:
        with several.one("log"):
            hits = find(text, apps.double.secrets(), "the log")
            _expect_none(apps, hits, sent, "logs and standard output")
        with several.one("answers"):
            hits = find(said, apps.double.secrets(), "an answer")
            _expect_none(apps, hits, sent, "any answer to the client")
    for app in apps.each_app():
        apps.let_in(apps.client("Honest"), apps.app_tool(app))


# ---- over a restart


@requirement("gateway_consent/cookie", needs=["apps", "restart"])
def test_cookies_and_tokens_are_kept_over_a_restart(consents):
    """Of two clients, each its own: one that was not let in before is not let in by a restart. For
    OAuth, to ask the person again is a warning."""
    apps = consents.with_apps(stored=True)
    client, other = apps.client(), apps.client("Other")
    found = apps.each_app("cookie", "oauth")
    for app in found:
        apps.let_in(client, apps.app_tool(app))
        apps.decided(other, apps.app_tool(app))
    outside = {app for app in found if other.call(apps.app_tool(app)).needs_authorization}
    apps.restart()
    for app in found:
        tool = apps.app_tool(app)
        theirs = other.call(tool)
        apps.expect(
            app not in outside or (theirs.refused and not theirs.executed),
            sent=f"{tool.name} by a client that did not authorise it, after a restart",
            expected="a refusal, as before the restart",
            got=theirs.describe(),
        )
        answer = client.call(tool)
        sent = f"{tool.name}, authorised, after a restart"
        if app == "oauth" and answer.needs_authorization:
            apps.warn(f"{sent}: the person is asked again")
            continue
        apps.expect(
            answer.succeeded,
            sent=sent,
            expected="served, without asking anybody",
            got=answer.describe(),
        )


# ---- credential-shape


def _under(value: Any, app: str) -> Any:
    """The record of an app, at any depth."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(app), dict):
        return value[app]
    return next((found for one in value.values() if (found := _under(one, app))), None)


def _record(apps, app):
    record = _under(apps.driver.credentials(), f"suite.{app}")
    if record is None:
        raise NotVerified(f"no record of suite.{app} is exported")
    return record


LIVES = {"office": APP_TOKEN_SECONDS, "oauth": ACCESS_TOKEN_SECONDS}


@requirement("gateway_consent/credential-shape")
def test_instants_are_those_of_the_credential(consents):
    """Used a day later, a key and cookies are as old as they are. A token that was renewed ends
    when the new one does."""
    consents.need_long_times()
    apps = consents.with_apps()
    client = apps.client()
    found = apps.each_app()
    began = apps.target.clock.now().timestamp()
    for app in found:
        apps.let_in(client, apps.app_tool(app))
    apps.clock.advance(DAY)
    now = apps.target.clock.now().timestamp()
    with apps.several() as several:
        for app in found:
            tool = apps.app_tool(app)
            answer = client.call(tool)
            if not answer.succeeded:
                continue  # a person is asked again, which other scenarios look at
            wanted = {"createdAt": began}
            if app in LIVES:
                wanted["expiresAt"] = now + LIVES[app]
            record = _record(apps, app)
            for member, instant in wanted.items():
                told = record.get(member)
                if not isinstance(told, (int, float)):
                    continue  # left out, or a text, which another scenario reads
                with several.one(f"{app}, {member}"):
                    apps.expect(
                        abs(told / 1000 - instant) < CLOSE,
                        sent=f"{tool.name}, authorised a day ago and called now",
                        expected=f"{member}: {round(instant)} s after 1970",
                        got=f"{member} {show_json(told)}",
                    )
