"""Who calls: the name of the handshake, and nobody else's decisions."""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.callers import LEFT_OUT
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.vocabulary import UNKNOWN_CLIENT, Choice
from pytest_mcp_approval.wire import Era, RefusedError
from pytest_mcp_approval.wire.eras import CLIENT_INFO_KEY

# ---- caller-identity

NAMELESS = {
    "no clientInfo": LEFT_OUT,
    "clientInfo without a name": {"version": "1.0"},
    "null for a name": {"name": None, "version": "1.0"},
    "an empty name": {"name": "", "version": "1.0"},
    "a number for a name": {"name": 7, "version": "1.0"},
}
NAMES_OF_A_SORT = ("an empty name", "a number for a name")
"""The document's own code, `clientInfo?.name ?? 'Unknown Client'`, leaves these as they are."""


MALFORMED = (-32600, -32602)
"""Invalid request, invalid params: how JSON-RPC refuses what MCP does not allow."""


@requirement("gateway_consent/caller-identity")
def test_who_says_nothing_is_the_unknown_client(consents):
    """Clients without a name are one caller, and it has a name: Unknown Client. What is decided
    here is for one call, so that nothing stays behind under a name that others have too, unless
    each client is a process: one that asks for one call keeps the answer to itself."""
    unknown = consents.named(UNKNOWN_CLIENT)
    tool = consents.undecided(unknown)
    taken = []
    with consents.several() as several:
        for what, client_info in NAMELESS.items():
            with several.one(what):
                if _is_taken_for(consents, tool, unknown, what, client_info):
                    taken.append(what)
    if not taken:
        consents.allowed(consents.client(), tool)


def _is_taken_for(consents, tool, unknown, what, client_info):
    """Whether a client that says this is served at all; as Unknown Client, or it is a finding."""
    client = consents.named(UNKNOWN_CLIENT, client_info)
    try:
        answer = client.call(tool)
    except RefusedError:
        return False  # MCP demands clientInfo, and this server insists on it
    if answer.reply.error is not None and answer.reply.error.code in MALFORMED:
        consents.expect_not_run(answer, sent=f"{tool.name} by a client with {what}")
        return False  # the same, in the era in which each request says who asks
    allowed = unknown.call(tool)
    if allowed.needs_consent:
        consents.expect_asked(answer, sent=f"{tool.name} by a client with {what}")
        # A decision in a dialog is for the waiting call, and for no other client's.
        alone = unknown.connection.target is not consents.target
        consents.decide(allowed, remember=alone or consents.driver.asks_in_dialogs)
    sent = f"after it was allowed to '{UNKNOWN_CLIENT}'"
    consents.expect_asked(
        consents.client(what).call(tool), sent=f"{tool.name} by a client with a name, {sent}"
    )
    served = client.call(tool)
    if consents.is_served(served, tool):
        return True
    unknown.call(tool)  # so that the decision is used up
    sent = f"{tool.name} by a client with {what}, {sent}"
    if what not in NAMES_OF_A_SORT:
        consents.expect_served(served, tool, sent=sent)
    consents.expect_asked(served, sent=sent)
    consents.warn(f"a client with {what} is a caller of its own, and not '{UNKNOWN_CLIENT}'")
    return True


@requirement("gateway_consent/caller-identity")
def test_the_name_of_the_handshake_decides(consents):
    """Two conversations under one name are one caller. Asking again for another version breaks
    nothing: a warning."""
    tool, name = consents.tool, consents.fresh("Cursor")
    said = {"name": name, "version": "1.0"}
    consents.allowed(consents.named(name, said), tool)
    for again in (said, {**said, "title": f"Another title {consents.mark}"}):
        consents.expect_served(
            consents.named(name, again).call(tool),
            tool,
            sent=f"{tool.name} by another session of {shown(name)}",
        )
    newer = consents.named(name, {**said, "version": "9.9.9"}).call(tool)
    sent = f"{tool.name} by another version of {shown(name)}"
    if newer.needs_consent and not newer.executed:
        consents.warn(f"{sent}: asked again; a consent is stored for the caller's name")
    else:
        consents.expect_served(newer, tool, sent=sent)


PLACES = {
    "clientInfo": lambda name: {"clientInfo": {"name": name, "version": "1.0"}},
    "caller": lambda name: {"caller": name},
    "callerName": lambda name: {"callerName": name},
    "client_name": lambda name: {"client_name": name},
    "_meta": lambda name: {"_meta": {"clientInfo": {"name": name}}},
}


@requirement("gateway_consent/caller-identity")
def test_a_name_among_the_arguments_is_no_name(consents):
    """Arguments are written by the model: it must not choose whose consent it uses."""
    tool = consents.tool
    trusted, other = consents.client("Trusted"), consents.client("Other")
    consents.allowed(trusted, tool)
    who = f"{tool.name} by {shown(other.name)}"
    with consents.several() as several:
        for place, claim in PLACES.items():
            said = f"{place} {shown(trusted.name)}"
            with several.one(place):
                consents.expect_not_run(
                    other.call(tool, {**tool.arguments, **claim(trusted.name)}),
                    sent=f"{who} with {said} among the arguments",
                )
                if not consents.driver.table.call.names_each_tool:
                    consents.expect_not_run(
                        other.call(tool, beside=claim(trusted.name)),
                        sent=f"{who} with {said} beside the arguments",
                    )
        with several.one("afterwards"):
            consents.expect_asked(other.call(tool), sent=f"{who}, after such claims")


BESIDE_THE_NAME = ("title", "version", "id", "displayName", "Name", "name ", "__proto__")
NEAR_KEYS = (
    "clientInfo",
    "caller",
    "clientName",
    "io.modelcontextprotocol/clientName",
    "clientinfo",
    "client",
)


@requirement("gateway_consent/caller-identity")
def test_what_stands_beside_the_name_is_no_name(consents):
    """The title, the version and whatever else a client says of itself, and other keys beside
    clientInfo, do not choose whose consent is used."""
    tool = consents.tool
    trusted = consents.client("Trusted")
    consents.allowed(trusted, tool)
    own = {"name": consents.fresh("Other"), "version": "1.0"}
    with consents.several() as several:
        for member in BESIDE_THE_NAME:
            said = {"name": trusted.name} if member == "__proto__" else trusted.name
            other = consents.named(own["name"], {**own, member: said})
            sent = f"{tool.name} by {shown(own['name'])} with {shown(trusted.name)} as {member}"
            try:
                answer = other.call(tool)
            except RefusedError:
                continue  # a client that MCP does not allow
            with several.one(member):
                if answer.reply.error is not None and answer.reply.error.code in MALFORMED:
                    consents.expect_not_run(answer, sent=sent)
                else:
                    consents.expect_asked(answer, sent=sent)
        other = consents.named(own["name"])
        for key in NEAR_KEYS:
            for value in (trusted.name, {"name": trusted.name, "version": "1.0"}):
                with several.one(f"_meta.{key}"):
                    consents.expect_asked(
                        other.call(tool, meta={key: value}),
                        sent=f"{tool.name} by {shown(other.name)} with {shown(trusted.name)} in "
                        f"_meta.{key}",
                    )
        with several.one("params.clientInfo"):
            consents.expect_not_run(
                other.call(tool, beside_arguments={"clientInfo": {"name": trusted.name}}),
                sent=f"{tool.name} by {shown(other.name)} with clientInfo beside its arguments",
            )
    consents.expect_served(
        trusted.call(tool), tool, sent=f"{tool.name} by {shown(trusted.name)}, as before"
    )


@requirement("gateway_consent/caller-identity")
def test_a_name_in_a_header_is_no_name(consents):
    tool = consents.tool
    trusted, other = consents.client("Trusted"), consents.client("Other")
    consents.allowed(trusted, tool)
    with consents.several() as several:
        for header in ("User-Agent", "X-Client-Name", "Mcp-Client-Name", "X-MCP-Client"):
            with several.one(header):
                consents.expect_asked(
                    other.call(tool, headers={header: trusted.name}),
                    sent=f"{tool.name} by {shown(other.name)} with the header {header}: "
                    f"{trusted.name}",
                )


@requirement("gateway_consent/caller-identity")
def test_a_request_does_not_rename_its_session(consents):
    """Where there is a handshake, its name stays; _meta of a later request does not change it."""
    if consents.driver.session.era is not Era.HANDSHAKE:
        consents.not_applicable("each request says who asks in this era")
    tool = consents.tool
    trusted, other = consents.client("Trusted"), consents.client("Other")
    consents.allowed(trusted, tool)
    with consents.several() as several:
        for key in (CLIENT_INFO_KEY, "clientInfo"):
            meta = {key: {"name": trusted.name, "version": "1.0"}}
            with several.one(key):
                consents.expect_asked(
                    other.call(tool, meta=meta),
                    sent=f"{tool.name} by {shown(other.name)} with _meta.{key} of "
                    f"{shown(trusted.name)}",
                )


# ---- caller-isolation

NEIGHBOURS = {
    "two clients": ("Claude Desktop {}", "Cursor {}"),
    "another case": ("Cursor {}", "cursor {}"),
    "quotes": ("Cursor {}", "\"Cursor {}\"' OR '1'='1"),
    "very long, the end differs": ("L" * 4000 + " {} a", "L" * 4000 + " {} b"),
}


@requirement("gateway_consent/caller-isolation")
@pytest.mark.parametrize("what", NEIGHBOURS)
def test_two_names_are_two_callers(consents, what):
    """A grant to the first does not affect the second, nor a denial of the second the first."""
    first, second = (name.format(consents.mark) for name in NEIGHBOURS[what])
    tool = consents.tool
    consents.keeps_apart(consents.named(first), tool, consents.named(second), tool, what=what)


MEANINGFUL = (
    *("__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "allTools"),
    *("granted", "__class__", "a[b]", "'; --", "*", "CONSENT_DENIED"),
)


@requirement("gateway_consent/caller-isolation")
def test_a_name_that_means_something_to_a_program_is_a_name(consents):
    """Nobody has decided about such a client: a built-in property of an object is no decision.
    These names are the same in every run, so decisions about them are for one call only."""
    tool, first = consents.tool, consents.client("Cursor")
    consents.allowed(first, tool)
    asked = 0
    with consents.several() as several:
        for name in MEANINGFUL:
            client = consents.named(name)
            answer = client.call(tool)
            if answer.denied and not answer.executed:
                continue  # a gateway may refuse clients of such names
            asked += 1
            with several.one(name):
                sent = f"{tool.name} by {shown(name)}, a name that means something to a program"
                consents.expect_asked(answer, sent=sent)
                consents.decide(answer, remember=False)
                consents.expect_served(client.call(tool), tool, sent=f"{sent}, allowed once")
                consents.expect_asked(client.call(tool), sent=f"{sent}, the call after that")
    if not asked:
        raise NotVerified(f"clients of the names {', '.join(MEANINGFUL)} are refused")
    consents.expect_served(
        first.call(tool), tool, sent=f"{tool.name} by {shown(first.name)}, as allowed before"
    )


@requirement("gateway_consent/caller-isolation")
@pytest.mark.parametrize("blank", [" ", "\t", "\u00a0"], ids=["space", "tab", "no-break space"])
def test_blanks_around_a_name_make_another(consents, blank):
    """Reading: a gateway that strips them gets a warning. It may refuse such a name."""
    tool = consents.tool
    first = consents.client("Cursor")
    second = consents.named(f"{first.name}{blank}")
    consents.allowed(first, tool)
    try:
        answer = second.call(tool)
    except RefusedError:
        consents.not_applicable("a client of such a name is refused")
    if answer.denied and not answer.executed:
        consents.not_applicable("a client of such a name is refused")
    if consents.is_served(answer, tool):
        consents.warn(f"{shown(second.name)} is taken for {shown(first.name)}")
        return
    consents.expect_asked(answer, sent=f"{tool.name} by {shown(second.name)}")


@requirement("gateway_consent/caller-isolation")
def test_all_tools_for_one_client_are_none_for_another(consents):
    tool = consents.tool
    first, second = consents.client("Claude Desktop"), consents.client("Cursor")
    consents.allowed(first, tool, Choice.ALL)
    consents.expect_asked(
        second.call(tool),
        sent=f"{tool.name} by {shown(second.name)}, after Authorize All by {shown(first.name)}",
    )


@requirement("gateway_consent/caller-isolation")
def test_a_decision_for_one_call_is_one_clients(consents):
    """Allowed once, not remembered: the other client cannot use it up."""
    tool = consents.tool
    first, second = consents.client("Claude Desktop"), consents.client("Cursor")
    consents.decided(first, tool, remember=False)
    consents.expect_asked(
        second.call(tool),
        sent=f"{tool.name} by {shown(second.name)}, after it was allowed once to {first.name}",
    )
    consents.expect_served(
        first.call(tool), tool, sent=f"{tool.name} by {shown(first.name)}, allowed once"
    )
