"""Several things under way at once: questions, dialogs and decisions of several clients, each for
itself."""

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice


@requirement("gateway_consent/caller-isolation")
def test_questions_of_two_clients_are_each_answered(consents):
    """Answered in another order than they were asked: each answer is for its own question, and the
    other stays open."""
    tool = consents.tool
    first, other = consents.client("First"), consents.client("Other")
    _answer_backwards(consents, [(first, tool, Choice.TOOL), (other, tool, Choice.DENY)])


@requirement("gateway_consent/tool-isolation")
def test_questions_about_two_tools_are_each_answered(consents):
    """The same for one client and two tools."""
    client, tool = consents.client(), consents.tool
    second = consents.second_tool(tool)
    _answer_backwards(consents, [(client, tool, Choice.DENY), (client, second, Choice.TOOL)])


def _answer_backwards(consents, pairs):
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("a question is open as long as its call waits")
    waiting = [(one, consents.asked(one[0], one[1])) for one in pairs]
    while waiting:
        (client, tool, choice), question = waiting.pop()
        sent = f"{tool.name} by {shown(client.name)}, answered while other questions were open"
        with consents.promised(sent=sent, expected="a question that can be answered"):
            consents.decide_or_refused(question, choice)
        if choice is Choice.DENY:
            consents.expect_denied(client.call(tool), sent=sent)
        else:
            consents.expect_served(client.call(tool), tool, sent=sent)
        for (client, tool, _), _ in waiting:
            consents.expect_asked(
                client.call(tool), sent=f"{tool.name} by {shown(client.name)}, not answered yet"
            )


@requirement("gateway_consent/api-key", needs=["apps"])
def test_dialogs_that_are_open_at_once_are_each_for_their_own(consents):
    """Two apps and two clients wait for a key. What is typed in for one is for no other: the app
    that nobody gave a key for gets none, and the client that was let in is served."""
    apps = consents.with_apps()
    first, other = apps.client("First"), apps.client("Other")
    near, far = apps.app_tool("key-header"), apps.app_tool("key-plain")
    for client, tool in ((first, near), (first, far), (other, near)):
        apps.decided(client, tool)
    needed = first.call(near)
    sent = f"{far.name}, after {near.name} was asked for its key"
    second = first.call(far)
    apps.expect(
        second.needs_authorization, sent=sent, expected="its own dialog", got=second.describe()
    )
    other.call(near)
    apps.type_in(second, apps.typed(far))
    apps.expect_served(first.call(far), far, sent=f"{far.name}, whose key was typed in")
    for client in (first, other):
        answer = client.call(near)
        sent = f"{near.name} by {shown(client.name)}, whose key was not typed in"
        called = len(apps.double.seen("key-header", "/key-header/tools"))
        apps.expect(
            answer.needs_authorization and not called,
            sent=sent,
            expected="the app's authorisation asked for, and no call of the app",
            got=f"{answer.describe()}, {called} call(s)",
        )
    apps.type_in(apps.needing(other, near), apps.typed(near))
    apps.expect_served(other.call(near), near, sent=f"{near.name} by the client that gave a key")
    apps.type_in(needed, apps.typed(near))
    apps.expect_served(first.call(near), near, sent=f"{near.name}, in the dialog opened first")


@requirement("gateway_consent/deny")
def test_nothing_that_others_decide_ends_a_denial(consents):
    """Denied to one client: what others are allowed, and the same name in another app, change
    nothing, in either direction."""
    tool = consents.tool
    pairs = [
        (one, two)
        for one in consents.tools()
        for two in consents.tools()
        if one.app != two.app and one.tool == two.tool
    ]
    first, near = pairs[0] if pairs else (tool, consents.other_app(tool))
    no, other = consents.client("No"), consents.client("Other")
    consents.decided(no, first, Choice.DENY)
    consents.allowed(other, first, Choice.ALL)
    sent = f"{first.name}, denied, after another client was allowed all tools"
    consents.expect_denied(no.call(first), sent=sent)
    answer = no.call(near)
    consents.expect_asked(answer, sent=f"{near.name}, after {first.name} was denied")
    consents.decide(answer, Choice.ALL)
    consents.expect_denied(
        no.call(first), sent=f"{first.name}, denied, after all tools of {near.app} were allowed"
    )


# ---- aai-tools-only-consented


@requirement("gateway_consent/aai-tools-only-consented")
def test_the_tools_told_are_those_of_now(consents):
    """A tool allowed once is told for its call, and not after it; one that is allowed while the
    app's page is waiting is told too."""
    apps = consents.with_apps()
    if apps.driver.asks_in_dialogs:
        consents.not_applicable("a decision is made while its call waits")
    client, read, write = apps.client(), apps.app_tool("oauth"), apps.app_tool("oauth", "write")
    apps.double.holds = True
    apps.decided(client, read, remember=False)
    client.call(read)
    if client.call(read).needs_consent:
        consents.not_applicable("a decision for one call is used up before the app is authorised")
    told = apps.asked_for(client, read).get("aaiTools", "left out")
    with apps.several() as several:
        with several.one("once"):
            apps.expect(
                told == "read",
                sent=f"{read.name}, allowed once",
                expected="aaiTools read",
                got=f"aaiTools {told}",
            )
        apps.decided(client, write)
        told = apps.asked_for(client, write).get("aaiTools", "left out")
        with several.one("meanwhile"):
            apps.expect(
                sorted(told.split(",")) == ["read", "write"],
                sent=f"{write.name}, allowed after {read.name}, which was not called yet",
                expected="aaiTools read,write",
                got=f"aaiTools {told}",
            )
        apps.double.holds = False
        apps.driver.person_at_pages.let_in(client.call(read).auth_url)
        if not client.call(read).succeeded:
            return  # nothing was used up
        apps.double.holds = True
        wipe = apps.app_tool("oauth", "wipe")
        apps.decided(client, wipe)
        told = apps.asked_for(client, wipe).get("aaiTools", "left out")
        with several.one("used up"):
            apps.expect(
                sorted(told.split(",")) == ["wipe", "write"],
                sent=f"{wipe.name}, allowed after {read.name} was allowed once and called",
                expected="aaiTools write,wipe",
                got=f"aaiTools {told}",
            )


@requirement("gateway_consent/aai-tools-only-consented")
def test_all_of_many_tools_are_told(consents):
    """Authorize All Tools of an app with twelve: an app is told of all of them."""
    apps = consents.with_apps(more=lambda double: [double.many()])
    tools = apps.double.many_tools
    client, tool = apps.client(), apps.made("many", tools[0])
    if not apps.lists(tool):
        consents.not_applicable("the gateway did not take an app with so many tools")
    apps.decided(client, tool, Choice.ALL)
    told = apps.asked_for(client, tool).get("aaiTools", "").split(",")
    missing = [name for name in tools if name not in told]
    apps.expect(
        not missing and len(told) == len(tools),
        sent=f"{tool.name}, with Authorize All Tools of {len(tools)}",
        expected=f"aaiTools with all {len(tools)}",
        got=f"{len(told)} in aaiTools, without {', '.join(missing) or 'none of them'}",
    )
