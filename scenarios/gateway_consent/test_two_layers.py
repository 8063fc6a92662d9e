"""Two layers: the person's consent, and the app's own authorisation, for every way in."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice


@requirement("gateway_consent/two-layers")
def test_consent_does_not_stand_for_the_apps_authorisation(consents):
    """The person trusts the tool; the app does not know the gateway yet. How the agent is told so
    is not in the document: any refusal will do, and the app is not called without a credential."""
    apps = consents.with_apps()
    client = apps.client()
    with apps.several() as several:
        for app in apps.each_app():
            tool = apps.app_tool(app)
            apps.decided(client, tool)
            answer = client.call(tool)
            called = apps.double.seen(app, f"/{app}/tools")
            sent = f"{tool.name}, consented to, of an app that wants to be asked itself"
            with several.one(app):
                if answer.needs_consent:
                    got = answer.describe()
                    apps.expect(False, sent=sent, expected="no second question", got=got)
                apps.expect(
                    answer.refused and not answer.executed and not called,
                    sent=sent,
                    expected="a refusal, tool not run, no call of the app's tool",
                    got=f"{answer.describe()}, {len(called)} call(s)",
                )
    apps.let_in(client, apps.app_tool(apps.each_app()[0]))


@requirement("gateway_consent/two-layers")
def test_an_authorised_app_still_needs_consent(consents):
    """The credential is there, for another tool: this one was never shown to the person. Denied, it
    is not called, whatever the app allows."""
    apps = consents.with_apps()
    client = apps.client()
    with apps.several() as several:
        for app in apps.each_app():
            apps.let_in(client, apps.app_tool(app))
            other = apps.app_tool(app, "wipe")
            with several.one(app):
                answer = client.call(other)
                apps.expect_asked(
                    answer, sent=f"a first call of {other.name}, whose app is authorised"
                )
                apps.decide(answer, Choice.DENY)
                sent = f"{other.name}, denied, of an authorised app"
                apps.expect_denied(client.call(other), sent=sent)
                apps.expect(
                    not apps.double.seen(app, f"/{app}/tools/wipe"),
                    sent=sent,
                    expected="no request to the app",
                    got="the app was called",
                )


@requirement("gateway_consent/two-layers")
def test_before_consent_the_app_hears_nothing(consents):
    """Nobody is sent to an app for a tool that the person may not want at all."""
    apps = consents.with_apps()
    client = apps.client()
    with apps.several() as several:
        for app in apps.each_app():
            tool = apps.app_tool(app)
            answer = client.call(tool)
            seen = apps.double.seen(app)
            with several.one(app):
                apps.expect(
                    not seen,
                    sent=f"a first call of {tool.name}, undecided",
                    expected="no request to the app",
                    got=f"{len(seen)} request(s), the first to "
                    f"{shown(seen[0].path) if seen else ''}",
                )
                apps.expect_asked(answer, sent=f"a first call of {tool.name}")
    apps.let_in(client, apps.app_tool(apps.each_app()[0]))


@requirement("gateway_consent/two-layers")
def test_anothers_authorisation_is_no_consent(consents):
    """One client was let into the app, in every way there is. Another one is asked about the tool;
    denied, it is not served with what the first one has."""
    apps = consents.with_apps()
    first, second, third = apps.client("First"), apps.client("Second"), apps.client("Third")
    with apps.several() as several:
        for app in apps.each_app():
            tool = apps.app_tool(app)
            apps.let_in(first, tool)
            before = len(apps.double.seen(app, f"/{app}/tools"))
            with several.one(app):
                answer = second.call(tool)
                apps.expect_asked(answer, sent=f"{tool.name} by a second client of the app")
                apps.decide(answer, Choice.DENY)
                apps.expect_denied(second.call(tool), sent=f"{tool.name}, denied to the second")
                apps.decided(third, tool, Choice.DENY, remember=False)
                apps.expect_not_run(third.call(tool), sent=f"{tool.name}, denied once to a third")
                called = len(apps.double.seen(app, f"/{app}/tools")) - before
                apps.expect(
                    not called,
                    sent=f"{tool.name} by clients that it was denied to",
                    expected="no call of the app's tool",
                    got=f"{called} call(s)",
                )
                apps.expect_served(first.call(tool), tool, sent=f"{tool.name} by the first client")
