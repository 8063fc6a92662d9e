"""Names that are nearly the same: compared loosely, or in part, one would get what is another's."""

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.lookalikes import NAMED, NAMES, PAIRS
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    UNKNOWN_CLIENT,
    AuthType,
    Choice,
    Kind,
    tool_name,
)
from pytest_mcp_approval.wire import RefusedError


def _expect_another(consents, other, first, what):
    """Asked about what the first was allowed. A gateway may refuse a client for its name."""
    tool = consents.tool
    try:
        answer = other.call(tool)
    except RefusedError:
        return
    if answer.denied and not answer.executed:
        return
    sent = f"{tool.name} by {shown(other.name)} ({what}), allowed to {shown(first.name)}"
    consents.expect_asked(answer, sent=sent)


@requirement("gateway_consent/caller-isolation")
def test_a_name_that_is_nearly_the_same_is_another(consents):
    """A decision for one client, however its name is folded, cut or escaped, is for no other."""
    tool = consents.tool
    first = consents.named(NAMED.format(consents.mark))
    consents.allowed(first, tool)
    with consents.several() as several:
        for what, near in NAMES.items():
            other = consents.named(near(first.name))
            with several.one(what):
                _expect_another(consents, other, first, what)
    consents.expect_served(
        first.call(tool), tool, sent=f"{tool.name} by {shown(first.name)}, as allowed before"
    )


@requirement("gateway_consent/caller-isolation")
def test_names_that_are_one_in_another_reading_are_two(consents):
    """As a pattern, a path, a number, in ASCII or by a hash: a decision on the first is none on the
    second."""
    tool, marks = consents.tool, {"mark": consents.mark, "number": int(consents.mark, 16) + 1000}
    allowed = set()
    with consents.several() as several:
        for what, pair in PAIRS.items():
            first, second = (consents.named(name.format(**marks)) for name in pair)
            if first.name not in allowed:
                try:
                    answer = first.call(tool)
                except RefusedError:
                    continue
                if answer.denied and not answer.executed:
                    continue
                consents.allowed(first, tool)
                allowed.add(first.name)
            with several.one(what):
                _expect_another(consents, second, first, what)
    if not allowed:
        raise NotVerified("every client was refused, whatever its name")


NOTHING = ("undefined", "None", "nil", "NaN", "")


@requirement("gateway_consent/caller-isolation")
def test_a_word_for_nothing_is_a_name(consents):
    """A client that is called null is not one without a name, nor one that is called undefined.
    These names are the same in every run: the decision is for one call."""
    tool, null = consents.undecided(consents.named(UNKNOWN_CLIENT)), consents.named("null")
    answer = null.call(tool)
    if answer.denied and not answer.executed:
        consents.not_applicable("a client that is called null is refused")
    consents.expect_asked(answer, sent=f"a first call of {tool.name} by 'null'")
    # A decision in a dialog is for the waiting call, and for no other client's.
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("a decision for one call is made while that call waits")
    consents.decide(answer, remember=False)
    with consents.several() as several:
        for name in NOTHING:
            other = consents.named(name or UNKNOWN_CLIENT)
            with several.one(name):
                consents.expect_asked(
                    other.call(tool),
                    sent=f"{tool.name} by {shown(other.name)}, allowed once to 'null'",
                )
    consents.expect_served(null.call(tool), tool, sent=f"{tool.name} by 'null', allowed once")


LONG = 5000
PLACES = {"at its beginning": 0, "a quarter on": LONG // 4, "in its middle": LONG // 2,
          "at its end": LONG}  # fmt: skip


@requirement("gateway_consent/caller-isolation")
def test_all_of_a_long_name_counts(consents):
    """Two names of the same length that differ in one place."""
    tool = consents.tool

    def named(place, letter):
        name = f"{consents.mark}{'L' * (LONG - 8)}"
        return consents.named(f"{name[:place]}{letter}{name[place:]}")

    first = named(0, "a")
    consents.allowed(first, tool)
    with consents.several() as several:
        for what, place in PLACES.items():
            if place:
                consents.allowed(named(place, "a"), tool)
            with several.one(what):
                consents.expect_asked(
                    named(place, "b").call(tool),
                    sent=f"{tool.name} by a client whose long name differs {what} from one that "
                    "it was allowed to",
                )


# ---- apps


def _app(app_id, *tools):
    return {
        "id": app_id,
        "name": "Neighbour",
        "type": "desktop",
        "platforms": ["linux"],
        "tools": [
            {"name": name, "description": "Looks.", "parameters": {}, "execution": {"event": name}}
            for name in tools
        ],
    }


def _tool(app_id, tool):
    return SafeTool(tool_name(app_id, tool), app_id, tool, {}, Kind.DESKTOP)


NEAR_APPS = (
    *("COM.SHOP", "com.shop2", "com.shop.more", "com.sho", "my.com.shop", "com-shop", "com.shop "),
    *("com.shop/", "com%2eshop", "com.sh\u043ep", "com.shop:all", "*", "allTools", "com.*"),
)


@requirement("gateway_consent/authorize-all", needs=[])
def test_all_tools_of_one_app_are_none_of_its_neighbours(consents):
    """Apps whose ids are near, and clients whose names are."""
    consents.need_apps()
    apps = [_app(app_id, "look", "wipe") for app_id in ("com.shop", *NEAR_APPS)]
    other = consents.with_descriptors(apps)
    client = other.client("Cursor")
    tool = _tool("com.shop", "look")
    other.allowed(client, tool, Choice.ALL)
    with other.several() as several:
        for app_id in NEAR_APPS:
            near = _tool(app_id, "wipe")
            if not other.offers(near):
                continue  # a gateway may have no apps of such ids
            with several.one(app_id):
                other.expect_asked(
                    client.call(near), sent=f"{near.name}, after Authorize All Tools of com.shop"
                )
        for what in ("in capitals", "a word behind it", "without its last character"):
            near_client = other.named(NAMES[what](client.name))
            with several.one(what):
                other.expect_asked(
                    near_client.call(_tool("com.shop", "wipe")),
                    sent=f"com.shop:wipe by {shown(near_client.name)} ({what}), after Authorize "
                    f"All Tools by {shown(client.name)}",
                )
    wipe = _tool("com.shop", "wipe")
    other.expect_served(client.call(wipe), wipe, sent=f"{wipe.name}, after Authorize All Tools")


NEAR_TOOLS = (
    *("READ", "read ", " read", "read.", "read/", "read\n", "rea", "readme", "re%61d", "read()"),
    *("granted", "remember", "constructor", "hasOwnProperty", "__class__", "a[b]", "'; --"),
)


TOOL_PAIRS = (
    ("*", "read"),
    ("caf\u00e9", "cafe\u0301"),
    (f"{'t' * 100}a", f"{'t' * 100}b"),
    (f"a{'t' * 100}", f"b{'t' * 100}"),
    ("7", "07"),
)
"""Two names each: a decision on the first is none on the second."""


@requirement("gateway_consent/tool-isolation", needs=["apps"])
def test_a_tool_of_nearly_the_same_name_is_another(consents):
    """Allowed, then denied: neither decision on 'read' is one on its neighbours."""
    pairs = [_app(f"com.pair{n}", *pair) for n, pair in enumerate(TOOL_PAIRS)]
    other = consents.with_descriptors([_app("com.near", "read", *NEAR_TOOLS), *pairs])
    yes, no = other.client("Yes"), other.client("No")
    read = _tool("com.near", "read")
    other.allowed(yes, read)
    other.decided(no, read, Choice.DENY)
    asked = 0
    with other.several() as several:
        for name in NEAR_TOOLS:
            tool = _tool("com.near", name)
            if not other.offers(tool):
                continue  # a gateway may have no tools of such names
            asked += 1
            for client, decided in ((yes, "allowed"), (no, "denied")):
                with several.one(f"{name}, {decided}"):
                    other.expect_asked(
                        client.call(tool), sent=f"{shown(tool.name)}, after 'read' was {decided}"
                    )
        for number, pair in enumerate(TOOL_PAIRS):
            first, second = (_tool(f"com.pair{number}", name) for name in pair)
            if not other.offers(first) or not other.offers(second):
                continue
            other.allowed(yes, first)
            with several.one(shown(second.name)):
                other.expect_asked(
                    yes.call(second), sent=f"{shown(second.name)}, after another was allowed"
                )
    if not asked:
        raise NotVerified("the gateway lists no tools whose names are near")
    other.expect_denied(no.call(read), sent="'read', denied, after its neighbours were asked about")


@requirement("gateway_consent/aai-tools-only-consented")
def test_what_clients_of_nearly_the_same_name_may_use_is_not_told(consents):
    """An app is told of this client's tools, and of none that a neighbour may use."""
    apps = consents.with_apps()
    client = apps.client("Cursor")
    for what in ("in capitals", "two blanks for one", "a digit more", "without its last character"):
        apps.decided(apps.named(NAMES[what](client.name)), apps.app_tool("oauth", "wipe"))
    tool = apps.app_tool("oauth")
    told = apps.asked_for(client, tool).get("aaiTools", "left out")
    apps.expect(
        told == "read",
        sent=f"{tool.name}, consented to, with consents of clients whose names are near to 'wipe'",
        expected="aaiTools read",
        got=f"aaiTools {told}",
    )


@requirement("gateway_consent/aai-tools-only-consented")
def test_a_name_with_a_comma_is_not_two_tools(consents):
    """Tools are listed with commas between them: a tool called 'read,wipe' must not be read as two
    that the user never authorised. A gateway may refuse to have such a tool."""
    apps = consents.with_apps(more=lambda double: [double.commas()])
    client = apps.client()
    tool = SafeTool(
        tool_name("suite.commas", "read,wipe"), "suite.commas", "read,wipe", {}, Kind.WEB, True
    )
    if not apps.offers(tool):
        consents.not_applicable("the gateway has no tools with a comma in their names")
    apps.decided(client, tool)
    answer = client.call(tool)
    if answer.needs_authorization:
        apps.driver.person_at_pages.let_in(answer.auth_url)
    told = [one.form.get("aaiTools", "") for one in apps.double.seen("commas", "/commas/authorize")]
    wrong = [one for one in told if {"read", "wipe"} & set(one.split(","))]
    apps.expect(
        not wrong,
        sent=f"{tool.name}, the only tool that was consented to",
        expected="aaiTools that name neither 'read' nor 'wipe'",
        got=f"aaiTools {', '.join(wrong)}",
    )
    apps.let_in(client, apps.app_tool("oauth"))


# ---- key-collision


def _collide(separator):
    """Two pairs of a caller's end and an app's beginning that read the same when joined."""
    return (f"{separator}b", ""), ("", f"b{separator}"), (separator, ""), ("", separator)


@requirement("gateway_consent/key-collision", needs=["apps"])
def test_what_serves_once_is_not_joined_either(consents):
    """Names that are joined, with a separator at their ends too; decisions for one call."""
    apps = [f"{begins}x.once" for separator in "-:" for _, begins in _collide(separator)]
    other = consents.with_descriptors([_app(app_id, "look") for app_id in dict.fromkeys(apps)])
    if other.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    with other.several() as several:
        for separator in "-:":
            base = other.fresh(f"A{separator}")
            pairs = [
                (other.named(f"{base}{ends}"), _tool(f"{begins}x.once", "look"))
                for ends, begins in _collide(separator)
            ]
            for (first, tool), (second, near) in (pairs[:2], pairs[2:]):
                with several.one(f"{separator}, {shown(near.app)}"):
                    other.decided(first, tool, remember=False)
                    other.expect_asked(
                        second.call(near),
                        sent=f"{near.name} by {shown(second.name)}, after {tool.name} was allowed "
                        f"once to {shown(first.name)}",
                    )
                    other.expect_served(
                        first.call(tool), tool, sent=f"{tool.name}, allowed once, by its client"
                    )
                    other.decided(first, tool)
                    other.expect_asked(
                        second.call(near),
                        sent=f"{near.name} by {shown(second.name)}, after {tool.name} was allowed "
                        f"for good to {shown(first.name)}",
                    )


@requirement("gateway_consent/key-collision", needs=["apps"])
def test_credentials_are_not_joined_either(consents):
    """The key that one client gave for one app is not another client's for another app."""
    apps = consents.with_apps(more=lambda double: double.colliding())
    if not apps.driver.table.has(AuthType.API_KEY):
        consents.not_applicable("the gateway has no apps with apiKey")
    second = apps.client("A")
    near, far = (
        SafeTool(tool_name(app, "read"), app, "read", {}, Kind.WEB, True)
        for app in ("x.suite", "b-x.suite")
    )
    first = apps.named(f"{second.name}-b")
    apps.type_in(apps.needing(first, near), (apps.double.key,))
    apps.expect_served(first.call(near), near, sent=f"{near.name}, authorised by a key")
    apps.decided(second, far)
    answer = second.call(far)
    found = [one for one in apps.double.seen("key-far-off") if one.places_of(apps.double.key)]
    apps.expect(
        answer.refused and not answer.executed and not found,
        sent=f"{far.name} by {shown(second.name)}, who gave no key for it",
        expected="a refusal, and no key at that app",
        got=f"{answer.describe()}, the key in {len(found)} request(s)",
    )
