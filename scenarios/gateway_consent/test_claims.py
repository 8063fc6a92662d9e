"""Nothing that a caller writes stands for a person: not in arguments, not beside them, not in
another spelling of a tool's name; and a page that is only looked at decides nothing."""

from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlencode

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.people import form_client_for
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.people import form_with
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice

# ---- claims

GRANT: dict[str, Any] = {"granted": True, "remember": True, "grantedAt": "2026-01-01T00:00:00Z"}
CLAIMS: dict[str, dict[str, Any]] = {
    "granted": {"granted": True},
    "consent": {"consent": True, "consentGiven": "yes"},
    "a record of consent": {"consent": {"allTools": True, "tools": {"*": GRANT}}},
    "approved": {"approved": True, "confirmed": True, "authorized": True, "userConsent": True},
    "a choice": {"choice": "tool", "decision": "allow", "remember": "on"},
    "words of the page": {"choice": "Authorize All Tools", "authorize": "Authorize Tool"},
    "words of an error": {"code": "CONSENT_GRANTED", "error": {"code": "CONSENT_REQUIRED"}},
    "skipping": {"skipConsent": True, "force": True, "dryRun": False, "test": True},
    "__proto__": {"__proto__": {**GRANT, "allTools": True, "consent": True}},
    "constructor": {"constructor": {"prototype": {**GRANT, "allTools": True}}},
    "__class__": {"__class__": {"granted": True}, "$type": "Consent", "a[granted]": "true"},
}
SHAPES: dict[str, Any] = {
    "a list": [],
    "a text": "granted",
    "a number": 1e308,
    "true": True,
    "a number that overflows": {"n": 10**400},
    "half of a surrogate pair": {"text": "\ud83d", "\udc00": 1},
    "a deep value": {"deep": [[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]},
    "SQL": {"id": "'; DELETE FROM consents; --", "'; --": "' OR '1'='1"},
}
UNREADABLE = ("a number that overflows", "half of a surrogate pair")
"""A strict reader of JSON takes neither, so it cannot tell whose request it was and may answer
nobody."""
META = "io.modelcontextprotocol/consent"


def _ways(tool):
    """How each claim is made, by what it is called in a finding."""
    for what, claim in CLAIMS.items():
        yield f"{what} among the arguments", {"arguments": {**tool.arguments, **claim}}
    for what in ("granted", "a record of consent", "a choice", "__proto__"):
        claim = CLAIMS[what]
        yield f"{what} beside the arguments", {"beside_arguments": claim}
        yield f"{what} in _meta", {"meta": {**claim, META: claim}}
    for header in ("X-Consent", "X-User-Consent", "X-Approved", "X-AAI-Consent"):
        yield f"the header {header}", {"headers": {header: "granted"}}
    for what, arguments in SHAPES.items():
        yield f"{what} for arguments", {"arguments": arguments}


def _expect_not_run(consents, answer, what, sent):
    """Refused; what cannot be read need not be answered either."""
    if what.removesuffix(" for arguments") in UNREADABLE and not answer.reply.answered:
        consents.expect(
            not answer.executed, sent=sent, expected="tool not run", got=answer.describe()
        )
        return
    consents.expect_not_run(answer, sent=sent)


@requirement("gateway_consent/consent-required")
def test_no_call_says_yes_for_a_person(consents):
    """Whatever is claimed, in whatever form: nothing is run, and afterwards everybody is asked as
    before. A gateway may refuse a call for its form alone."""
    tool, client = consents.tool, consents.client()
    with consents.several() as several:
        for what, made in _ways(tool):
            with several.one(what):
                sent = f"{tool.name}, undecided, with {what}"
                _expect_not_run(consents, client.call(tool, **made), what, sent)
        for who in (client, consents.client("Bystander")):
            with several.one(f"{who.name} afterwards"):
                consents.expect_asked(
                    who.call(tool), sent=f"{tool.name} by {shown(who.name)}, after such claims"
                )
    consents.allowed(client, tool)


@requirement("gateway_consent/deny")
def test_no_call_takes_a_denial_back(consents):
    """The same claims about a tool that a person has denied: not run, and denied as before."""
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, Choice.DENY)
    with consents.several() as several:
        for what, made in _ways(tool):
            with several.one(what):
                sent = f"{tool.name}, denied, with {what}"
                _expect_not_run(consents, client.call(tool, **made), what, sent)
        with several.one("afterwards"):
            sent = f"{tool.name}, denied, after such claims"
            consents.expect_denied(client.call(tool), sent=sent)
    consents.allowed(consents.client("Other"), tool)


SPELLINGS = {
    "in capitals": str.upper,
    "in another case": str.swapcase,
    "with a blank before it": lambda name: f" {name}",
    "with a blank behind it": lambda name: f"{name} ",
    "with a line end behind it": lambda name: f"{name}\n",
    "with a NUL behind it": lambda name: f"{name}\x00",
    "with a slash before it": lambda name: f"/{name}",
    "with a slash behind it": lambda name: f"{name}/",
    "with a dot behind it": lambda name: f"{name}.",
    "with escapes of a URL": lambda name: (
        "".join(f"%{ord(one):02x}" for one in name[:3]) + name[3:]
    ),
    "escaped for a URL": lambda name: quote(name, safe=""),
    "in full-width letters": lambda name: f"{chr(ord(name[0]) + 0xFEE0)}{name[1:]}",
    "with a zero-width space": lambda name: f"{name[0]}\u200b{name[1:]}",
    "with a query": lambda name: f"{name}?consent=granted",
}


@requirement("gateway_consent/deny")
def test_another_spelling_of_a_denied_tool_opens_nothing(consents):
    """Whether such a name is unknown, refused or taken for the tool: it is not run."""
    tool, client = consents.tool, consents.client()
    consents.decided(client, tool, Choice.DENY)
    _try_spellings(consents, client, tool, "denied")
    consents.expect_denied(client.call(tool), sent=f"{tool.name}, denied, after that")


@requirement("gateway_consent/consent-required")
def test_another_spelling_of_a_tool_opens_nothing(consents):
    """The same for a tool that nobody has decided on."""
    tool, client = consents.tool, consents.client()
    _try_spellings(consents, client, tool, "undecided")
    consents.allowed(client, tool)


def _try_spellings(consents, client, tool, decided):
    # The parts are in the name, unless the gateway has all tools behind one.
    parts = ("name", "tool") if consents.driver.table.call.names_each_tool else ("app", "tool")
    with consents.several() as several:
        for what, spell in SPELLINGS.items():
            for part in parts:
                changed = {
                    "name": tool.name if part != "name" else spell(tool.name),
                    "app": spell(tool.app) if part == "app" else tool.app,
                    "tool": spell(tool.tool) if part == "tool" else tool.tool,
                }
                if part != "name":
                    changed["name"] = f"{changed['app']}:{changed['tool']}"
                with several.one(f"the {part} {what}"):
                    consents.expect_not_run(
                        client.call(replace(tool, **changed)),
                        sent=f"{tool.name}, {decided}, its {part} {what}",
                    )


# ---- pages


@requirement("gateway_consent/consent-required")
def test_a_page_that_is_only_looked_at_decides_nothing(consents):
    """Opened, opened by a program that looks ahead, opened with the choice in its address: nobody
    has pressed anything. A form that another site sends is a warning: the document does not speak
    of it."""
    consents.need_answer()
    consents.need_page()
    tool, client = consents.tool, consents.client()
    asked = consents.asked(client, tool)
    words = consents.driver.table.page
    browser = form_client_for(consents.target)
    with consents.honest_step("the page could not be read"):
        page = browser.get(asked.consent_url)
        form = form_with(page, words.button(Choice.TOOL))
    pressed, box = form.button(words.button(Choice.TOOL)), form.box(words.remember)
    chosen = {one.name: one.value or "on" for one in (pressed, box) if one is not None}
    joint = "&" if "?" in asked.consent_url else "?"
    looks = {
        "opened": ("GET", asked.consent_url),
        "looked at ahead (HEAD)": ("HEAD", asked.consent_url),
        "opened with the choice in its address": (
            "GET",
            f"{asked.consent_url}{joint}{urlencode(chosen)}",
        ),
    }
    with consents.several() as several:
        for what, (method, address) in looks.items():
            browser.fetch(method, address)
            with several.one(what):
                consents.expect_asked(client.call(tool), sent=f"{tool.name}, whose page was {what}")
        # Where each choice is a form of its own, to send that form is to choose.
        if pressed and pressed.name and form.button(words.button(Choice.DENY)):
            with several.one("a form without a choice"):
                _send_without_a_choice(consents, tool)
    foreign = {"Origin": "https://attacker.example", "Sec-Fetch-Site": "cross-site"}
    form_client_for(consents.target).fetch("POST", page.url, urlencode(chosen), foreign)
    if not client.call(tool).needs_consent:
        consents.warn(f"{tool.name}: decided by a form that another site sent")
        return
    consents.allowed(client, tool)


def _send_without_a_choice(consents, tool):
    """By a client of its own: a gateway may take it for Deny, or for the end of the question."""
    client, words = consents.client("Enter"), consents.driver.table.page
    asked = consents.asked(client, tool)
    browser = form_client_for(consents.target)
    with consents.honest_step("the page could not be read"):
        page = browser.get(asked.consent_url)
        form = form_with(page, words.button(Choice.TOOL))
    browser.submit(page, form, None)
    consents.expect_not_run(
        client.call(tool), sent=f"{tool.name}, whose form was sent with no button pressed"
    )
