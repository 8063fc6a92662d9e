"""Apps and tools side by side: a decision about one does not affect the others."""

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice, Kind, tool_name

# ---- key-collision


def _colliding(consents):
    """Tools of two apps, where one id is the other with a part and a separator before it; and that
    part and the separator."""
    for tool in consents.tools():
        for other in consents.tools():
            before = other.app.removesuffix(tool.app)
            if other.app.endswith(tool.app) and len(before) > 1 and not before[-1].isalnum():
                yield tool, other, before[:-1], before[-1]


@requirement("gateway_consent/key-collision")
def test_a_separator_in_names_joins_nothing(consents):
    """'A-b' with the app 'com.x', and 'A' with the app 'b-com.x': joined they read the same."""
    found = next(_colliding(consents), None)
    if found is None:
        if consents.driver.table.all_tools_named:
            consents.not_applicable("no id of an app is another one with a part before it")
        raise NotVerified(
            "needs two apps of which one id is the other with a part before it, such as com.x and "
            "b-com.x, with tools that may be run; or all-tools-named = true if there are none"
        )
    tool, other, part, separator = found
    base = consents.fresh("A")
    first, second = consents.named(f"{base}{separator}{part}"), consents.named(base)
    consents.keeps_apart(first, tool, second, other, what=f"names joined by {separator!r}")
    consents.keeps_apart(
        consents.named(f"{base}+{separator}{part}"),
        tool,
        consents.named(f"{base}+"),
        tool,
        what="the same app",
    )


def _app(app_id, *tools):
    return {
        "id": app_id,
        "name": f"Neighbour {app_id[:30]}",
        "type": "desktop",
        "platforms": ["linux"],
        "tools": [
            {"name": name, "description": "Looks.", "parameters": {}, "execution": {"event": name}}
            for name in tools
        ],
    }


def _tool(app_id, tool):
    return SafeTool(tool_name(app_id, tool), app_id, tool, {}, Kind.DESKTOP)


SEPARATORS = ["-", ":", "/", "|", ".", "_", "\x1f", "\n", '","', "%3A", "\\", "::", "&", ""]


@requirement("gateway_consent/key-collision", needs=["apps"])
def test_no_separator_joins_callers_and_apps(consents):
    """The same with every separator that a program might join names by."""
    pairs = {sep: (f"x{number}.y", f"b{sep}x{number}.y") for number, sep in enumerate(SEPARATORS)}
    apps = [_app(app_id, "look") for pair in pairs.values() for app_id in pair]
    other = consents.with_descriptors(apps)
    with other.several() as several:
        for separator, (short, long) in pairs.items():
            base = other.fresh("A")
            with several.one(repr(separator)):
                other.keeps_apart(
                    other.named(f"{base}{separator}b"),
                    _tool(short, "look"),
                    other.named(base),
                    _tool(long, "look"),
                    what=f"names joined by {separator!r}",
                )


@requirement("gateway_consent/key-collision", needs=["apps"])
def test_no_separator_joins_apps_and_tools(consents):
    """The app 'x' with the tool 'y:z', and the app 'x:y' with the tool 'z'."""
    separators = [":", "-", "/", ".", "__"]
    short = "x.one"
    others = [_app(f"{short}{separator}y", "z") for separator in separators]
    own = _app(short, *(f"y{separator}z" for separator in separators))
    other = consents.with_descriptors([own, *others])
    client = other.client()
    with other.several() as several:
        for separator in separators:
            first = _tool(short, f"y{separator}z")
            second = _tool(f"{short}{separator}y", "z")
            what = f"names joined by {separator!r}"
            with several.one(separator):
                other.keeps_apart(client, first, client, second, what=what)


@requirement("gateway_consent/key-collision", needs=["apps"])
def test_apps_whose_ids_look_alike_are_two(consents):
    """Case, Unicode forms, markup, very long ids: every id is one app."""
    pairs = [
        ("com.shop", "com.Shop"),
        ("com.caf\u00e9", "com.cafe\u0301"),
        ("com.shop2", "\u0441om.shop2"),
        ("com.shop3", "com.shop3 "),
        ("com.<b>shop</b>", "com.&lt;b&gt;shop&lt;/b&gt;"),
        ("__proto__", "constructor"),
        (f"com.{'l' * 600}.a", f"com.{'l' * 600}.b"),
    ]
    other = consents.with_descriptors([_app(app_id, "look") for pair in pairs for app_id in pair])
    client = other.client()
    with other.several() as several:
        for first, second in pairs:
            with several.one(ascii(second)[:60]):
                other.keeps_apart(
                    client,
                    _tool(first, "look"),
                    client,
                    _tool(second, "look"),
                    what="ids look alike",
                )


# ---- tool-isolation


@requirement("gateway_consent/tool-isolation")
def test_authorize_tool_opens_that_tool_only(consents):
    """In both directions, for two tools of one app."""
    first = consents.tool
    second = consents.second_tool(first)
    client = consents.client()
    consents.keeps_apart(client, first, client, second, what="two tools of one app")
    other = consents.client("Other")
    consents.keeps_apart(other, second, other, first, what="two tools of one app")


@requirement("gateway_consent/tool-isolation")
def test_tools_of_two_apps_are_two_tools(consents):
    """Also where they have the same name."""
    pairs = [
        (one, two)
        for one in consents.tools()
        for two in consents.tools()
        if one.app != two.app and one.tool == two.tool
    ]
    first = consents.tool
    for one, two in pairs[:2] or [(first, consents.other_app(first))]:
        client = consents.client(one.app)
        consents.keeps_apart(client, one, client, two, what="tools of two apps")


@requirement("gateway_consent/tool-isolation")
def test_a_tool_allowed_once_opens_no_other(consents):
    first = consents.tool
    second = consents.second_tool(first)
    client = consents.client()
    consents.decided(client, first, remember=False)
    consents.expect_asked(
        client.call(second), sent=f"{second.name}, after {first.name} was allowed once"
    )
    consents.expect_served(client.call(first), first, sent=f"{first.name}, allowed once")


@requirement("gateway_consent/tool-isolation", needs=["apps"])
def test_tools_whose_names_look_alike_are_two(consents):
    """Case, a part of the other, Unicode forms, names that mean something to a program."""
    names = ["read", "Read", "readAll", "re", "r\u0435ad", "*", "allTools", "__proto__", "tools"]
    other = consents.with_descriptors([_app("com.lookalike", *names)])
    client = other.client()
    other.allowed(client, _tool("com.lookalike", "read"))
    with other.several() as several:
        for name in names[1:]:
            tool = _tool("com.lookalike", name)
            if not other.lists(tool):
                continue  # a gateway may have no tools of such names
            with several.one(name):
                other.expect_asked(
                    client.call(tool), sent=f"{tool.name}, after 'read' of the same app was allowed"
                )
                other.decided(client, tool, Choice.DENY)
    other.expect_served(
        client.call(_tool("com.lookalike", "read")),
        _tool("com.lookalike", "read"),
        sent="'read', after all of its neighbours were denied",
    )
