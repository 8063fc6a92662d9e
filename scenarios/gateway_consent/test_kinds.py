"""Every kind of app is held to every rule: what holds on the desktop holds on the web, and for
commands."""

import pytest

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Kind, tool_name


def _second(consents, tool):
    """None if the app has no other tool."""
    try:
        return consents.second_tool(tool)
    except NotApplicable:
        return None


@requirement(
    *("gateway_consent/deny", "gateway_consent/caller-isolation", "gateway_consent/tool-isolation"),
    *("gateway_consent/authorize-all", "gateway_consent/remember"),
    needs=[],
)
@pytest.mark.parametrize("kind", list(Kind), ids=str)
def test_every_kind_of_app_keeps_every_decision(consents, kind):
    """Allowed, allowed for all tools, allowed once, denied: for one client, and no other."""
    tool = consents.tool_of(kind)
    second = _second(consents, tool)
    yes, all_tools, once, no = (consents.client(one) for one in ("Yes", "All", "Once", "No"))
    app = f"of a {kind} app"
    for client, choice in ((yes, Choice.TOOL), (all_tools, Choice.ALL), (no, Choice.DENY)):
        answer = client.call(tool)
        consents.expect_asked(
            answer, sent=f"{tool.name}, {app}, by a client that nobody decided on"
        )
        consents.decide(answer, choice)
    consents.expect_served(yes.call(tool), tool, sent=f"{tool.name}, {app}, allowed")
    with consents.several() as several:
        with several.one("denied"):
            for _ in range(2):
                consents.expect_denied(no.call(tool), sent=f"{tool.name}, {app}, denied for ever")
        with several.one("another client"):
            consents.expect_asked(
                consents.client("Other").call(tool),
                sent=f"{tool.name}, {app}, by a client that nobody decided on",
            )
        if second is not None:
            with several.one("another tool"):
                consents.expect_asked(
                    yes.call(second), sent=f"{second.name}, {app}, after {tool.name} was allowed"
                )
            with several.one("all tools"):
                sent = f"{second.name}, {app}, after all were allowed"
                consents.expect_served(all_tools.call(second), second, sent=sent)
        with several.one("once"):
            _once(consents, once, tool, app)


def _once(consents, client, tool, app):
    consents.decided(client, tool, remember=False)
    answer = client.call(tool)
    consents.expect_served(answer, tool, sent=f"{tool.name}, {app}, allowed once")
    if answer.succeeded:  # else the app is asked first, and the decision is not used
        consents.expect_asked(
            client.call(tool), sent=f"{tool.name}, {app}, allowed once, the second call"
        )


@requirement("gateway_consent/remember", needs=[])
def test_one_decision_is_one_call_of_a_web_app(consents):
    """Allowed once, and the app is authorised: the first call is served, the second asks."""
    consents.need_apps()
    apps = consents.with_apps()
    client = apps.client()
    if apps.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    with apps.several() as several:
        for app in apps.each_app("key-header", "office", "cookie"):
            apps.let_in(client, apps.app_tool(app))
            tool = apps.app_tool(app, "write")
            apps.decided(client, tool, remember=False)
            with several.one(app):
                sent = f"{tool.name}, allowed once"
                apps.expect_served(client.call(tool), tool, sent=sent)
                apps.expect_asked(client.call(tool), sent=f"{sent}, the second call")


def _sorts(double):
    """Apps of every kind and platform, with and without what a descriptor may leave out."""
    look = {"name": "look", "description": "Looks.", "parameters": {}}
    for number, (kind, platforms) in enumerate(
        [
            *(("desktop", one) for one in (["macos"], ["windows"], ["linux"], [], None)),
            *(("command", one) for one in (["macos"], ["windows"], ["linux"], [], None)),
            *(("web", one) for one in (["web"], [], None)),
        ]
    ):
        app = {"id": f"suite.sort{number}", "name": f"Sort {number}", "type": kind, "tools": [look]}
        if platforms is not None:
            app["platforms"] = platforms
        if kind == "web":
            app["baseUrl"] = f"{double.url()}/sort{number}"
        yield app


@requirement("gateway_consent/all-platforms", needs=[])
def test_no_sort_of_app_is_left_out(consents):
    """On every platform, for several or for none that is named; web apps also where they need no
    authorisation. A gateway need not have all of them."""
    consents.need_apps()
    apps = consents.with_apps(more=lambda double: list(_sorts(double)))
    client, asked = apps.client(), 0
    with apps.several() as several:
        for app in _sorts(apps.double):
            tool = SafeTool(tool_name(app["id"], "look"), app["id"], "look", {}, Kind(app["type"]))
            if not apps.lists(tool):
                continue
            asked += 1
            what = f"a {app['type']} app for {app.get('platforms', 'platforms that it leaves out')}"
            answer = client.call(tool)
            heard = len(apps.double.seen(app["id"].removeprefix("suite.")))
            with several.one(what):
                apps.expect_asked(answer, sent=f"a first call of a tool of {what}")
                apps.expect(
                    not heard,
                    sent=f"a first call of a tool of {what}",
                    expected="no request to the app",
                    got=f"{heard} request(s)",
                )
    if not asked:
        raise NotVerified("the gateway was given apps and does not list their tools")


MANY = 12


@requirement("gateway_consent/remember", needs=[])
def test_every_tool_of_an_app_is_remembered(consents):
    """Twelve, one after the other, allowed and denied by turns: the first as well as the last."""
    consents.need_apps()
    names = [f"tool{number}" for number in range(MANY)]
    app = {
        "id": "suite.many",
        "name": "Many",
        "type": "desktop",
        "platforms": ["linux"],
        "tools": [
            {"name": name, "description": "Looks.", "parameters": {}, "execution": {"event": name}}
            for name in names
        ],
    }
    other = consents.with_descriptors([app])
    client = other.client()
    tools = [
        SafeTool(tool_name("suite.many", name), "suite.many", name, {}, Kind.DESKTOP)
        for name in names
    ]
    for number, tool in enumerate(tools):
        other.decided(client, tool, Choice.DENY if number % 2 else Choice.TOOL)
    with other.several() as several:
        for number, tool in enumerate(tools):
            with several.one(tool.name):
                sent = f"{tool.name}, remembered as one of {MANY}"
                if number % 2:
                    other.expect_denied(client.call(tool), sent=sent)
                else:
                    other.expect_served(client.call(tool), tool, sent=sent)
