"""The first call asks: it tells everything, runs nothing, and no app is left out."""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.gateway_consent.answers import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_ID,
    APP_NAME,
    CONSENT_URL,
    TOOL,
    TOOL_DESCRIPTION,
    TOOL_PARAMETERS,
    Choice,
    Kind,
)
from pytest_mcp_approval.wire import race
from pytest_mcp_approval.wire.reply import show_json

# ---- consent-required


@requirement("gateway_consent/consent-required")
def test_the_first_call_asks_and_runs_nothing(consents):
    """For every tool that may be run here, by a client that nobody knows."""
    client = consents.client()
    for tool in consents.tools() or [consents.tool]:
        consents.expect_asked(client.call(tool), sent=f"a first call of {tool.name}")
    consents.allowed(client, consents.tool)


@requirement("gateway_consent/consent-required")
def test_asking_again_opens_nothing(consents):
    """A question that nobody answered is still a question, however often it is asked."""
    client = consents.client()
    for time in ("first", "second", "third"):
        consents.expect_asked(
            client.call(consents.tool), sent=f"{consents.tool.name}, the {time} time, undecided"
        )
    consents.allowed(client, consents.tool)


@requirement("gateway_consent/consent-required")
@pytest.mark.parametrize(
    "member", [APP_ID, APP_NAME, TOOL, TOOL_DESCRIPTION, TOOL_PARAMETERS, CONSENT_URL]
)
def test_the_question_says_what_it_is_about(consents, member):
    """Each member is there, and says of the tool what tools/list says."""
    client = consents.client()
    for tool in consents.tools() or [consents.tool]:
        asked = consents.asked(client, tool)
        entry = consents.driver.listing()[tool.name]
        properties = (entry.get("inputSchema") or {}).get("properties") or {}
        right = {
            APP_ID: ("the app's id", lambda value, own=tool: value == own.app),
            TOOL: ("the tool's name", lambda value, own=tool: value == own.tool),
            APP_NAME: ("the app's name", lambda value: isinstance(value, str) and value.strip()),
            TOOL_DESCRIPTION: (
                "the description of tools/list",
                lambda value, own=entry: value == own.get("description", ""),
            ),
            TOOL_PARAMETERS: (
                "the parameters of tools/list",
                lambda value, own=properties: isinstance(value, dict) and set(value) == set(own),
            ),
            CONSENT_URL: (
                "where to consent",
                lambda value: isinstance(value, str) and ":" in value,
            ),
        }
        expected, holds = right[member]
        value = asked.members.get(member)
        consents.expect(
            bool(holds(value)),
            sent=f"a first call of {tool.name}",
            expected=f"{member}: {expected}",
            got=f"{member} {show_json(value)}",
        )
        consents.expect_asked(asked, sent=f"a first call of {tool.name}")
    consents.warn_of_its_form(asked, sent=f"a first call of {tool.name}")


@requirement("gateway_consent/consent-required")
def test_many_first_calls_at_once_run_nothing(consents):
    """Eight at once: whoever looks and notes down in two steps lets some through."""
    tool, client = consents.tool, consents.client()
    call = ("tools/call", {"name": tool.name, "arguments": dict(tool.arguments)})
    replies, runs = client.connection.runs_during(
        lambda: race(client.connection.session, [call] * 8)
    )
    for reply in replies:
        answer = client.seen(tool.name, tool.arguments, reply, runs)
        consents.expect_asked(answer, sent=f"one of eight first calls of {tool.name} at once")
    consents.allowed(client, tool)


@requirement("gateway_consent/consent-required")
def test_a_question_about_one_tool_opens_no_other(consents):
    """An answer belongs to its own question: the other question stays open."""
    first = consents.tool
    second = consents.second_tool(first)
    client = consents.client()
    question = consents.asked(client, first)
    consents.asked(client, second)
    consents.decide(question, Choice.TOOL)
    consents.expect_served(client.call(first), first, sent=f"{first.name}, as decided")
    consents.expect_asked(
        client.call(second), sent=f"{second.name}, after the question about {first.name} was met"
    )


# ---- all-platforms


@requirement("gateway_consent/all-platforms")
@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_every_kind_of_app_asks_first(consents, kind):
    tool = consents.tool_of(kind)
    client = consents.client()
    answer = client.call(tool)
    consents.expect_asked(answer, sent=f"a first call of {tool.name}, of a {kind} app")
    consents.decide(answer)
    consents.expect_served(
        client.call(tool), tool, sent=f"{tool.name}, of a {kind} app, after consent"
    )


# ---- two-layers


@requirement("gateway_consent/two-layers")
def test_consent_does_not_stand_for_the_apps_authorisation(consents):
    """The person trusts the tool; the app does not know the gateway yet."""
    apps = consents.with_apps()
    tool, client = apps.app_tool("key-header"), apps.client()
    apps.decided(client, tool)
    answer = client.call(tool)
    apps.expect(
        answer.needs_authorization and not answer.executed,
        sent=f"{tool.name}, consented to, of an app that wants a key",
        expected="AUTHORIZATION_REQUIRED, tool not run",
        got=answer.describe(),
    )
    apps.let_in(client, tool)


@requirement("gateway_consent/two-layers")
def test_an_authorised_app_still_needs_consent(consents):
    """The key is there, for another tool: this one was never shown to the person."""
    apps = consents.with_apps()
    client = apps.client()
    for app in ("key-header", "oauth"):
        apps.let_in(client, apps.app_tool(app))
        other = apps.app_tool(app, "wipe")
        apps.expect_asked(
            client.call(other), sent=f"a first call of {other.name}, whose app is authorised"
        )


@requirement("gateway_consent/two-layers")
def test_before_consent_the_app_hears_nothing(consents):
    """Nobody is sent to an app for a tool that the person may not want at all."""
    apps = consents.with_apps()
    client = apps.client()
    for app in ("key-header", "office", "cookie", "oauth"):
        tool = apps.app_tool(app)
        apps.expect_asked(client.call(tool), sent=f"a first call of {tool.name}")
        seen = apps.double.seen(app)
        apps.expect(
            not seen,
            sent=f"a first call of {tool.name}, undecided",
            expected="no request to the app",
            got=f"{len(seen)} request(s), the first to {shown(seen[0].path) if seen else ''}",
        )
    apps.let_in(client, apps.app_tool("key-header"))


@requirement("gateway_consent/two-layers")
def test_a_denied_tool_is_not_called_whatever_the_app_allows(consents):
    apps = consents.with_apps()
    client = apps.client()
    apps.let_in(client, apps.app_tool("key-header"))
    denied = apps.app_tool("key-header", "wipe")
    apps.decided(client, denied, Choice.DENY)
    apps.expect_denied(client.call(denied), sent=f"{denied.name}, denied, of an authorised app")
    apps.expect(
        not apps.double.seen("key-header", "/key-header/tools/wipe"),
        sent=f"{denied.name}, denied, of an authorised app",
        expected="no request to the app",
        got="the app was called",
    )
