"""Every kind of app is held to every rule: what holds on the desktop holds on the web, and for
commands."""

from functools import partial

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.settings import NO_TOOL, SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Kind, tool_name


def _second(consents, tool):
    """None if the app has no other tool."""
    try:
        return consents.second_tool(tool)
    except NotApplicable:
        return None


def _of_each_kind(consents):
    """A tool of each kind of app that there is, and words for it; what is decided is found here."""
    found = [one for one in map(partial(_of_kind, consents), Kind) if one is not None]
    if not found:
        raise NotVerified(NO_TOOL)
    return [(tool, f"of a {tool.kind} app") for tool in found]


def _of_kind(consents, kind):
    try:
        return consents.tool_of(kind)
    except (NotApplicable, NotVerified):
        return None


def _decide(consents, client, tool, choice, app):
    answer = client.call(tool)
    consents.expect_asked(answer, sent=f"{tool.name}, {app}, by a client that nobody decided on")
    consents.decide(answer, choice)


@requirement("gateway_consent/deny")
def test_every_kind_of_app_keeps_a_denial(consents):
    client = consents.client()
    with consents.several() as several:
        for tool, app in _of_each_kind(consents):
            with several.one(app):
                _decide(consents, client, tool, Choice.DENY, app)
                for _ in range(2):
                    sent = f"{tool.name}, {app}, denied for ever"
                    consents.expect_denied(client.call(tool), sent=sent)


@requirement("gateway_consent/caller-isolation")
def test_every_kind_of_app_keeps_clients_apart(consents):
    first, second = consents.client("First"), consents.client("Second")
    with consents.several() as several:
        for tool, app in _of_each_kind(consents):
            with several.one(app):
                _decide(consents, first, tool, Choice.TOOL, app)
                consents.expect_served(first.call(tool), tool, sent=f"{tool.name}, {app}, allowed")
                _decide(consents, second, tool, Choice.DENY, app)
                consents.expect_served(
                    first.call(tool), tool, sent=f"{tool.name}, {app}, denied to another client"
                )


@requirement("gateway_consent/tool-isolation")
def test_every_kind_of_app_keeps_tools_apart(consents):
    client = consents.client()
    with consents.several() as several:
        for tool, app in _of_each_kind(consents):
            second = _second(consents, tool)
            with several.one(app):
                _decide(consents, client, tool, Choice.TOOL, app)
                consents.expect_served(client.call(tool), tool, sent=f"{tool.name}, {app}, allowed")
                if second is not None:
                    consents.expect_asked(
                        client.call(second),
                        sent=f"{second.name}, {app}, after {tool.name} was allowed",
                    )


@requirement("gateway_consent/authorize-all")
def test_every_kind_of_app_is_opened_as_a_whole(consents):
    client = consents.client()
    with consents.several() as several:
        for tool, app in _of_each_kind(consents):
            second = _second(consents, tool)
            with several.one(app):
                _decide(consents, client, tool, Choice.ALL, app)
                for one in (tool, second or tool):
                    sent = f"{one.name}, {app}, after all were allowed"
                    consents.expect_served(client.call(one), one, sent=sent)


@requirement("gateway_consent/remember", needs=[])
def test_every_kind_of_app_serves_one_call(consents):
    client = consents.client()
    with consents.several() as several:
        for tool, app in _of_each_kind(consents):
            with several.one(app):
                _once(consents, client, tool, app)


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
            what = f"a {app['type']} app for {app.get('platforms', 'platforms that it leaves out')}"
            answer = client.call(tool)
            heard = len(apps.double.seen(app["id"].removeprefix("suite.")))
            if answer.denied and not answer.executed and not heard:
                continue  # a gateway may say first that such an app does not run here
            asked += 1
            with several.one(what):
                apps.expect_asked(answer, sent=f"a first call of a tool of {what}")
                apps.expect(
                    not heard,
                    sent=f"a first call of a tool of {what}",
                    expected="no request to the app",
                    got=f"{heard} request(s)",
                )
    if not asked:
        raise NotVerified("the gateway was given apps and asks about none of their tools")


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
