"""The consent page, read in a real browser: what it shows, and what is done there."""

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.people import BrowserConsentPerson
from pytest_mcp_approval.families.gateway_consent.rendered_page import FLAG, MARK
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    APP_NAME,
    TOOL_DESCRIPTION,
    TOOL_PARAMETERS,
    Choice,
    Kind,
    tool_name,
)

# ---- dialog-fields


def _expect_shown(consents, rendered_page, texts, sent):
    """Each of the texts, by what it is, in one look at the page."""
    seen = rendered_page.text()
    for what, text in texts.items():
        consents.expect(
            " ".join(text.split()) in seen,
            sent=sent,
            expected=f"{what} on the page: {shown(text, 80)}",
            got=f"the page shows {shown(seen, 300)}",
        )


@requirement("gateway_consent/dialog-fields")
def test_the_page_shows_what_is_asked(consents, rendered_page):
    """Who asks, for which tool of which app, and what it does and takes."""
    client = consents.client("Claude Desktop")
    for tool in (consents.tool, consents.other_app(consents.tool)):
        asked = consents.asked(client, tool)
        rendered_page.open(asked.consent_url)
        sent = f"the page of {tool.name}"
        fields = {
            "the caller's name": client.name,
            "the app's name": asked.text(APP_NAME),
            "the app's id": tool.app,
            "the tool's name": tool.tool,
            "the description": asked.text(TOOL_DESCRIPTION),
        }
        parameters = asked.members.get(TOOL_PARAMETERS)
        for name, schema in (parameters if isinstance(parameters, dict) else {}).items():
            fields[f"the parameter {name}"] = name
            described = schema.get("description") if isinstance(schema, dict) else None
            if isinstance(described, str):
                fields[f"the description of {name}"] = described
        _expect_shown(consents, rendered_page, fields, sent)


@requirement("gateway_consent/dialog-fields", needs=[])
def test_a_dialog_shows_what_is_asked(consents):
    """The same for a gateway whose dialogs are not pages, by what the hook reports."""
    if not consents.driver.table.person_is_told:
        consents.not_applicable("the person is asked on a page, which a browser reads")
    client, tool = consents.client("Claude Desktop"), consents.tool
    dialog = consents.dialog_about(client, tool)
    text = " ".join(dialog["text"].split())
    described = consents.driver.described(tool)
    fields = {
        "the caller's name": client.name,
        "the app's id": tool.app,
        "the tool's name": tool.tool,
    }
    if described is not None:
        fields["the description"] = described[0]
        fields.update({f"the parameter {name}": name for name in described[1]})
    sent = f"the dialog about {tool.name}"
    with consents.several() as several:
        for what, wanted in fields.items():
            with several.one(what):
                consents.expect(
                    " ".join(wanted.split()) in text,
                    sent=sent,
                    expected=f"{what} in the dialog: {shown(wanted, 80)}",
                    got=f"the dialog shows {shown(text, 300)}",
                )
        choices = dialog.get("choices")
        if not isinstance(choices, list):
            raise NotVerified(
                "needs the dialog's choices: choices beside text in the hook's answer"
            )
        words = consents.driver.table.page
        for name in [*(words.button(choice) for choice in Choice), words.remember]:
            with several.one(name):
                consents.expect(
                    name in choices,
                    sent=sent,
                    expected=f"a choice {name!r}",
                    got=f"choices: {shown(', '.join(map(str, choices)), 200)}",
                )


@requirement("gateway_consent/dialog-fields")
def test_the_page_has_three_choices_and_a_box(consents, rendered_page):
    asked = consents.asked(consents.client(), consents.tool)
    rendered_page.open(asked.consent_url)
    words = consents.driver.table.page
    for choice in Choice:
        name = words.button(choice)
        button = rendered_page.page.get_by_role("button", name=name, exact=True)
        consents.expect(
            button.count() == 1 and button.is_visible() and button.is_enabled(),
            sent=f"the page of {consents.tool.name}",
            expected=f"a button {name!r}",
            got=f"{button.count()} of that name",
        )
    box = rendered_page.page.get_by_role("checkbox", name=words.remember)
    consents.expect(
        box.count() == 1 and box.is_visible() and box.is_enabled(),
        sent=f"the page of {consents.tool.name}",
        expected=f"a box {words.remember!r}",
        got=f"{box.count()} of that name",
    )
    if box.is_checked():
        consents.warn(f"{words.remember!r} is ticked before anybody has ticked it")


@requirement("gateway_consent/dialog-fields")
@pytest.mark.parametrize("choice", list(Choice), ids=str)
def test_what_is_pressed_there_counts(consents, rendered_page, choice):
    """Ticked and pressed in the browser; then the client calls again."""
    tool, client = consents.tool, consents.client()
    asked = consents.asked(client, tool)
    rendered_page.open(asked.consent_url)
    BrowserConsentPerson(rendered_page.page, consents.target, consents.driver.table.page).press(
        choice, remember=True
    )
    sent = f"{tool.name}, after {consents.driver.table.page.button(choice)!r} in a browser"
    for _ in range(2):
        if choice is Choice.DENY:
            consents.expect_denied(client.call(tool), sent=sent)
        else:
            consents.expect_served(client.call(tool), tool, sent=sent)


@requirement("gateway_consent/dialog-fields")
def test_what_is_not_ticked_is_not_kept(consents, rendered_page):
    tool, client = consents.tool, consents.client()
    asked = consents.asked(client, tool)
    rendered_page.open(asked.consent_url)
    BrowserConsentPerson(rendered_page.page, consents.target, consents.driver.table.page).press(
        Choice.TOOL, remember=False
    )
    sent = f"{tool.name}, pressed without a tick in a browser"
    consents.expect_served(client.call(tool), tool, sent=sent)
    consents.expect_asked(client.call(tool), sent=f"{sent}, the second call")


def _app(texts):
    """A desktop app whose every text is given."""
    return {
        "id": texts["app id"],
        "name": texts["app name"],
        "type": "desktop",
        "platforms": ["linux"],
        "tools": [
            {
                "name": texts["tool name"],
                "description": texts["tool description"],
                "parameters": {
                    texts["parameter"]: {
                        "type": texts.get("type", "string"),
                        "description": texts["parameter description"],
                    }
                },
                "returns": {"type": "object", "description": texts["returns"]},
                "execution": {"event": "look"},
            }
        ],
    }


FIELDS = (
    *("app id", "app name", "tool name", "tool description"),
    *("parameter", "parameter description", "returns"),
)


def _page_of(consents, rendered_page, texts, caller):
    """The page about a tool of such an app."""
    return _page_for(consents, rendered_page, [_app(texts)], caller)


def _page_for(consents, rendered_page, apps, caller):
    """The page about the first tool of the last app, after those of the others."""
    other = consents.with_descriptors(apps)
    for app in apps:
        app_id, own = app["id"], app["tools"][0]["name"]
        tool = SafeTool(tool_name(app_id, own), app_id, own, {}, Kind.DESKTOP)
        rendered_page.open(other.asked(other.named(caller), tool).consent_url)
    return other, tool


@requirement("gateway_consent/dialog-fields", needs=["browser", "apps"])
def test_the_page_shows_what_the_tool_returns(consents, rendered_page):
    """And every other text of one of the suite's apps."""
    texts = {field: f"the {field} of the suite" for field in FIELDS}
    other, tool = _page_of(consents, rendered_page, texts, consents.fresh("Cursor"))
    _expect_shown(other, rendered_page, texts, f"the page of {tool.name}")


@requirement("gateway_consent/dialog-fields")
def test_pages_that_are_open_at_once_are_each_about_their_own(consents, rendered_page):
    """Two clients, two tools: each page names its own client and tool, and not the other's; and
    what is pressed there is for that client and that tool."""
    first, second = consents.client("Claude Desktop"), consents.client("Windsurf")
    tool = consents.tool
    other = consents.second_tool(tool)
    pairs = [(first, tool), (second, tool), (first, other)]
    asked = [consents.asked(client, one) for client, one in pairs]
    for (client, one), question in zip(pairs, asked, strict=True):
        rendered_page.open(question.consent_url)
        sent = f"the page of {one.name} for {shown(client.name)}, with others open"
        wanted = {"the caller's name": client.name, "the tool's name": one.tool}
        _expect_shown(consents, rendered_page, wanted, sent)
        stranger = second if client is first else first
        seen = rendered_page.text()
        consents.expect(
            stranger.name not in seen,
            sent=sent,
            expected=f"nothing of {shown(stranger.name)}",
            got=f"the page shows {shown(seen, 300)}",
        )
    rendered_page.open(asked[1].consent_url)
    BrowserConsentPerson(rendered_page.page, consents.target, consents.driver.table.page).press(
        Choice.TOOL, remember=True
    )
    sent = f"after {tool.name} was allowed to {shown(second.name)} on its page"
    consents.expect_served(second.call(tool), tool, sent=f"{tool.name} by that client, {sent}")
    consents.expect_asked(first.call(tool), sent=f"{tool.name} by {shown(first.name)}, {sent}")
    consents.expect_asked(first.call(other), sent=f"{other.name} by {shown(first.name)}, {sent}")


ODD_PARAMETERS = (
    *("__proto__", "constructor", "hasOwnProperty", "toString", "__class__", "$type", "a[b]"),
    *("'; --", "_hidden", "type", "description", "0", "caf\u00e9", *(f"p{n}" for n in range(30))),
)


@requirement("gateway_consent/dialog-fields", needs=["browser", "apps"])
def test_the_page_shows_every_parameter(consents, rendered_page):
    """Whatever it is called, and however many there are: what is not shown is not consented to."""
    texts = {field: f"the {field} of the suite" for field in FIELDS}
    app = _app(texts)
    app["tools"][0]["description"] = "It looks.\n\nAnd it deletes.\nAt once."
    described = {name: f"What {number} is." for number, name in enumerate(ODD_PARAMETERS)}
    app["tools"][0]["parameters"] = {
        name: {"type": "string", "description": text} for name, text in described.items()
    }
    # An app with a tool of the same name comes first, and says something else of it.
    twin = _app({**texts, "app id": "twin", "tool description": "Wipes a lens."})
    other, tool = _page_for(consents, rendered_page, [twin, app], consents.fresh("Cursor"))
    texts = {f"the parameter {name}": name for name in ODD_PARAMETERS}
    texts.update({f"the description of {name}": text for name, text in described.items()})
    texts["the last line of the description"] = "At once."
    _expect_shown(other, rendered_page, texts, f"the page of {tool.name}")


# ---- dialog-injection

MARKUP = {
    "elements": f"<b {MARK}>bold</b><img {MARK} src='/{FLAG}'><i {MARK}>",
    "a script": f"<script {MARK}>window.{FLAG}=1</script><svg {MARK} onload='window.{FLAG}=1'>",
    "the end of an attribute": f"\"><input {MARK} autofocus onfocus='window.{FLAG}=1'>",
    "the end of another attribute": f"'><u {MARK} onmouseover='window.{FLAG}=1'>",
    "the end of the title": f"</title></style></textarea></script><b {MARK}>bold</b>",
    "entities": "&lt;b&gt;bold&lt;/b&gt; &amp; &quot;quotes&quot; &#60;i&#62;",
    "Markdown": "[a link](https://attacker.example) **bold** `code` ![x](y)",
    "a template": "{{7*7}} ${7*7} <%= 7*7 %> #{7*7} [[7*7]]",
}


@requirement("gateway_consent/dialog-injection", needs=["browser", "apps"])
@pytest.mark.parametrize("what", MARKUP)
def test_markup_is_shown_as_text(consents, rendered_page, what):
    """In every field that an app or a client can write."""
    texts = {field: f"{field} {MARKUP[what]}" for field in FIELDS}
    caller = f"caller {consents.mark} {MARKUP[what]}"
    other, _ = _page_of(consents, rendered_page, texts, caller)
    sent = f"the page of a tool whose texts hold {what}"
    found = rendered_page.injected()
    other.expect(
        not found, sent=sent, expected="nothing but text", got=f"it made {', '.join(found[:4])}"
    )
    _expect_shown(other, rendered_page, {**texts, "caller": caller}, sent)


@requirement("gateway_consent/dialog-injection", needs=["browser", "apps"])
def test_markup_in_a_type_makes_nothing(consents, rendered_page):
    """The type of a parameter, which need not be shown. A gateway that knows JSON Schema may have
    no such app."""
    texts = {field: f"the {field} of the suite" for field in FIELDS}
    texts["type"] = f"string {' '.join(MARKUP.values())}"
    app = _app(texts)
    other = consents.with_descriptors([app])
    app_id, own = app["id"], app["tools"][0]["name"]
    tool = SafeTool(tool_name(app_id, own), app_id, own, {}, Kind.DESKTOP)
    if not other.offers(tool):
        consents.not_applicable("the gateway has no tool with a parameter of an unknown type")
    rendered_page.open(other.asked(other.client(), tool).consent_url)
    found = rendered_page.injected()
    other.expect(
        not found,
        sent="the page of a tool with a parameter whose type holds markup",
        expected="nothing but text",
        got=f"it made {', '.join(found[:4])}",
    )


@requirement("gateway_consent/dialog-injection")
def test_markup_in_a_clients_name_is_shown_as_text(consents, rendered_page):
    """The one text that any client can write, on any gateway."""
    for what, markup in MARKUP.items():
        caller = f"caller {consents.mark} {markup}"
        asked = consents.asked(consents.named(caller), consents.tool)
        rendered_page.open(asked.consent_url)
        sent = f"the page of {consents.tool.name} for a client whose name holds {what}"
        found = rendered_page.injected()
        consents.expect(
            not found,
            sent=sent,
            expected="nothing but text",
            got=f"it made {', '.join(found[:4])}",
        )
        _expect_shown(consents, rendered_page, {"the caller's name": caller}, sent)


BIDI = {
    "an override": "abc \u202edef ghi",
    "an override that is ended": "abc \u202edef ghi\u202c",
    "an embedding": "abc \u202bdef 123 \u05d0\u05d1 ghi",
    "an isolate": "abc \u2067def 123 ghi",
}


@requirement("gateway_consent/dialog-injection", needs=["browser", "apps"])
@pytest.mark.parametrize("what", BIDI)
def test_direction_marks_turn_nothing_around(consents, rendered_page, what):
    """A name must read as it is written, and must not reverse its neighbours."""
    texts = {field: f"{field} {BIDI[what]}" for field in FIELDS}
    other, _ = _page_of(consents, rendered_page, texts, f"caller {consents.mark} {BIDI[what]}")
    turned = rendered_page.backwards()
    other.expect(
        not turned,
        sent=f"the page of a tool whose texts hold {what} of direction",
        expected="every word from left to right",
        got=f"from right to left: {', '.join(turned)}",
    )
    texts = {field: f"{field} abc" for field in FIELDS}
    _expect_shown(other, rendered_page, texts, f"the page, with {what} in its texts")


@requirement("gateway_consent/dialog-injection")
def test_a_direction_mark_in_a_clients_name_turns_nothing_around(consents, rendered_page):
    for what, text in BIDI.items():
        asked = consents.asked(consents.named(f"caller {consents.mark} {text}"), consents.tool)
        rendered_page.open(asked.consent_url)
        turned = rendered_page.backwards()
        consents.expect(
            not turned,
            sent=f"the page of {consents.tool.name} for a client whose name holds {what}",
            expected="every word from left to right",
            got=f"from right to left: {', '.join(turned)}",
        )


LONG = {
    "one word of 3000 letters": "W" * 3000,
    "600 words": "word " * 600,
    "300 lines": "line\n" * 300,
}


@requirement("gateway_consent/dialog-injection", needs=["browser", "apps"])
@pytest.mark.parametrize("what", LONG)
def test_long_texts_leave_everything_in_reach(consents, rendered_page, what):
    """Their ends can be seen, the rest of the page as well, and the choices can be pressed."""
    texts = {field: f"{field} begins" for field in FIELDS}
    for field in ("tool description", "parameter description", "returns"):
        texts[field] = f"{field} begins {LONG[what]} {field} ends"
    long_name = "N" * 1500
    texts["app name"] = f"app name begins {long_name} ends"
    other, tool = _page_of(
        consents, rendered_page, texts, f"caller {consents.mark} {long_name} ends"
    )
    sent = f"the page of a tool whose texts are long ({what})"
    ends = ("tool description", "parameter description", "returns")
    texts = {field: f"{field} begins" for field in FIELDS}
    texts.update({f"the end of {field}": f"{field} ends" for field in ends})
    _expect_shown(other, rendered_page, texts, sent)
    if rendered_page.too_wide():
        other.warn(f"{sent}: the page is {rendered_page.too_wide()} pixels wider than the window")
    BrowserConsentPerson(rendered_page.page, other.target, other.driver.table.page).press(
        Choice.DENY, remember=True
    )
    answer = other.named(f"caller {consents.mark} {long_name} ends").call(tool)
    other.expect_denied(answer, sent=f"{sent}, after 'Deny' was pressed there")
