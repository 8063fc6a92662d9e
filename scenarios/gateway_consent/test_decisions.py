"""What a person can decide: this tool, all tools of the app, or no; once, or from now on."""

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice

# ---- authorize-all


@requirement("gateway_consent/authorize-all")
def test_every_tool_of_the_app_is_open(consents):
    first = consents.tool
    second = consents.second_tool(first)
    client = consents.client()
    consents.expect_asked(client.call(second), sent=f"{second.name}, before anything")
    consents.allowed(client, first, Choice.ALL)
    with consents.several() as several:
        for tool in [one for one in consents.tools() if one.app == first.app]:
            with several.one(tool.name):
                consents.expect_served(
                    client.call(tool), tool, sent=f"{tool.name}, after Authorize All Tools"
                )


@requirement("gateway_consent/authorize-all")
def test_no_other_app_is_open(consents):
    first = consents.tool
    consents.other_app(first)
    client = consents.client()
    consents.allowed(client, first, Choice.ALL)
    with consents.several() as several:
        for tool in [one for one in consents.tools() if one.app != first.app]:
            with several.one(tool.name):
                consents.expect_asked(
                    client.call(tool), sent=f"{tool.name}, after Authorize All Tools of {first.app}"
                )


@requirement("gateway_consent/authorize-all")
def test_it_is_open_for_that_caller_only(consents):
    tool = consents.tool
    client, other = consents.client("Claude Desktop"), consents.client("Cursor")
    consents.allowed(client, tool, Choice.ALL)
    with consents.several() as several:
        for one in [one for one in consents.tools() if one.app == tool.app]:
            with several.one(one.name):
                consents.expect_asked(
                    other.call(one),
                    sent=f"{one.name} by {shown(other.name)}, after {shown(client.name)}",
                )


# ---- deny


@requirement("gateway_consent/deny")
def test_a_remembered_denial_asks_no_more(consents):
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, Choice.DENY)
    with consents.several() as several:
        for time in ("first", "second", "third"):
            with several.one(f"the {time} call"):
                consents.expect_denied(
                    client.call(tool),
                    sent=f"{tool.name}, denied for ever, the {time} call after that",
                )
    consents.allowed(consents.client("Other"), tool)


@requirement("gateway_consent/deny")
def test_a_denial_for_now_refuses_the_call(consents):
    """Refused, or asked about anew; and after that it can still be allowed. The document does not
    say how long a denial that is not remembered counts beyond the call."""
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, Choice.DENY, remember=False)
    consents.expect_not_run(client.call(tool), sent=f"{tool.name}, denied for now")
    answer = client.call(tool)
    sent = f"{tool.name}, once more after it was denied for now"
    consents.expect_not_run(answer, sent=sent)
    if not answer.needs_consent:
        consents.warn(f"{sent}: refused without a question; it was not to be remembered")
        return
    consents.decide(answer)
    consents.expect_served(client.call(tool), tool, sent=f"{tool.name}, allowed after a denial")


@requirement("gateway_consent/deny")
def test_a_denial_is_about_that_tool(consents):
    """Other tools, apps and clients are asked about as before."""
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, Choice.DENY)
    consents.expect_asked(
        consents.client("Other").call(tool), sent=f"{tool.name} by another client, after a denial"
    )
    second = consents.second_tool(tool)
    answer = client.call(second)
    consents.expect_asked(answer, sent=f"{second.name}, after {tool.name} was denied")
    consents.decide(answer)
    consents.expect_denied(
        client.call(tool), sent=f"{tool.name}, denied, after {second.name} was allowed"
    )


# ---- remember


@requirement("gateway_consent/remember", needs=[])
def test_what_is_remembered_is_not_asked_again(consents):
    tool, client = consents.tool, consents.client()
    consents.allowed(client, tool)
    for time in ("second", "third"):
        consents.expect_served(
            client.call(tool), tool, sent=f"{tool.name}, remembered, the {time} call"
        )


@requirement("gateway_consent/remember", needs=[])
def test_what_is_not_remembered_serves_one_call(consents):
    tool, client = consents.tool, consents.client()
    consents.allowed(client, tool, remember=False)
    consents.expect_asked(
        client.call(tool), sent=f"{tool.name}, allowed once, the second call after that"
    )


@requirement("gateway_consent/remember", needs=[])
def test_all_tools_that_are_not_remembered_are_asked_about_again(consents):
    tool, client = consents.tool, consents.client()
    consents.allowed(client, tool, Choice.ALL, remember=False)
    consents.expect_asked(
        client.call(tool), sent=f"{tool.name}, all tools allowed once, the second call after that"
    )


@requirement("gateway_consent/remember", needs=[])
def test_of_many_calls_at_once_one_is_served(consents):
    """Allowed once: eight calls that come together are still eight calls."""
    tool, client = consents.tool, consents.client()
    if consents.driver.asks_in_dialogs:
        consents.not_applicable("each call has a dialog of its own")
    consents.need_effects()
    consents.allowed(client, tool, remember=False)
    consents.decided(client, tool, remember=False)
    answers, runs = client.at_once(tool, 8)
    served = sum(1 for one in answers if one.succeeded)
    most = 1 if runs is None else runs
    consents.expect(
        served <= 1 and most <= 1,
        sent=f"eight calls of {tool.name} at once, allowed once",
        expected="one served at most",
        got=f"{served} served, {runs} run",
    )
    consents.expect(
        served == 1 or tool.own_authorisation,
        sent=f"eight calls of {tool.name} at once, allowed once",
        expected="one served",
        got=f"{served} served, {runs} run",
    )


KEPT = {
    "this tool": Choice.TOOL,
    "all tools": Choice.ALL,
    "a denial": Choice.DENY,
}


@requirement("gateway_consent/remember")
@pytest.mark.parametrize("what", KEPT)
def test_what_is_remembered_survives_a_restart(consents, what):
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, KEPT[what])
    consents.restart()
    answer = client.call(tool)
    sent = f"{tool.name}, {what} remembered, after a restart"
    if KEPT[what] is Choice.DENY:
        consents.expect_denied(answer, sent=sent)
    else:
        consents.expect_served(answer, tool, sent=sent)
    consents.expect_asked(
        consents.client("Other").call(tool), sent=f"{tool.name} by another client, after a restart"
    )


@requirement("gateway_consent/remember")
@pytest.mark.parametrize("what", KEPT)
def test_what_is_not_remembered_does_not_survive_a_restart(consents, what):
    """Decided, used up, and then the gateway restarts: it asks."""
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, KEPT[what], remember=False)
    answer, sent = client.call(tool), f"{tool.name}, {what} for one call"
    if KEPT[what] is Choice.DENY:
        consents.expect_not_run(answer, sent=sent)
    else:
        consents.expect_served(answer, tool, sent=sent)
    consents.restart()
    consents.expect_asked(
        client.call(tool), sent=f"{tool.name}, {what} not remembered, after a restart"
    )
