"""The form follows the schema and invents nothing; and the page is for everybody."""

from __future__ import annotations

import pytest

from tests.axe import violations
from tests.reference_server.pages.visiting import SIGNS, Scripted, listing

SCHEMA = {
    "type": "object",
    "required": ["name", "count"],
    "properties": {
        "name": {"type": "string", "description": "Whose it is"},
        "count": {"type": "integer"},
        "share": {"type": "number"},
        "side": {"enum": ["buy", 7, None]},
        "force": {"type": "boolean", "default": True},
        "more": {"type": ["array", "null"]},
        "__proto__": {"type": "string"},
    },
}


@pytest.fixture
def form(visit, files):
    server = Scripted(visit, tools=[{**listing("act", gated=False), "inputSchema": SCHEMA}])
    server.results["tools/call"] = {"content": [], "structuredContent": {}}
    visit.open(files.url)
    return visit.page


def called(visit):
    visit.button("Call").click()
    visit.page.locator("#call-outcome h3").wait_for()
    return visit.params_of("tools/call")[-1]["arguments"]


def test_what_is_left_empty_is_left_out(visit, form):
    form.get_by_label("name").fill(" Ann ")
    form.get_by_label("count").fill("3")
    assert called(visit) == {"name": " Ann ", "count": 3}


def test_every_kind_of_field(visit, form):
    form.get_by_label("name").fill("7")
    form.get_by_label("count").fill("-2")
    form.get_by_label("share").fill("0.25")
    form.get_by_label("side").select_option(label="7")
    form.get_by_label("force").select_option(label="false")
    form.get_by_label("more").fill("[1, null]")
    form.get_by_label("__proto__").fill("kept")
    assert called(visit) == {
        "name": "7",
        "count": -2,
        "share": 0.25,
        "side": 7,
        "force": False,
        "more": [1, None],
        "__proto__": "kept",
    }


def test_a_default_is_mentioned_and_not_sent(visit, form):
    assert form.get_by_text("The tool's own default is true; it is not sent.").is_visible()


@pytest.mark.parametrize(
    ("field", "text", "words"),
    [
        ("name", "", "name is needed"),
        ("count", "ten", "expected a number"),
        ("count", "1.5", "expected a whole number"),
        ("count", "9007199254740993", "too large to be sent exactly"),
        ("share", "1e999", "too large to be sent exactly"),
        ("more", "[1", "this is not JSON"),
        ("more", "[9007199254740993]", "too large to be sent exactly"),
    ],
)
def test_what_cannot_be_sent_is_said_at_its_field(visit, form, field, text, words):
    form.get_by_label("name").fill("Ann")
    form.get_by_label("count").fill("1")
    form.get_by_label(field).fill(text)
    visit.button("Call").click()
    control = form.get_by_label(field)
    assert control.get_attribute("aria-invalid") == "true"
    assert control.evaluate("one => one === document.activeElement")
    described = control.get_attribute("aria-describedby").split()
    assert any(words in form.locator(f"[id='{one}']").inner_text() for one in described)
    assert visit.params_of("tools/call") == []


@pytest.mark.parametrize(("text", "words"), [("{", "not JSON"), ("[]", "one JSON object")])
def test_raw_json_must_be_an_object(visit, form, text, words):
    form.get_by_label("name").fill("Ann")
    form.get_by_label("Write the arguments as JSON").check()
    area = form.get_by_label("Arguments (JSON)")
    assert area.input_value() == '{\n  "name": "Ann"\n}'
    area.fill(text)
    visit.button("Call").click()
    assert words in form.locator("#arguments-json-error").inner_text()
    area.fill('{"anything": [true]}')
    assert called(visit) == {"anything": [True]}


def test_many_tools_can_be_searched(visit, files):
    Scripted(visit, tools=[listing(f"tool_{number}") for number in range(40)])
    page = visit.open(files.url)
    page.get_by_label("Find a tool").fill("TOOL_37")
    assert page.locator("button.tool:visible code").all_inner_texts() == ["tool_37"]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1240), ("dark", 320)])
def test_for_everybody_in_every_state(visit, files, scheme, width):
    """axe-core finds nothing, and nothing is wider than the screen."""
    visit.page.emulate_media(color_scheme=scheme)
    visit.page.set_viewport_size({"width": width, "height": 800})
    visit.page.add_init_script(SIGNS)
    visit.hold_prompts()
    hostile = "<b>x</b> " + "W" * 3000
    tools = [{**listing("act"), "description": hostile, "inputSchema": SCHEMA}]
    tools += [{**listing("n" * 200), "title": hostile[:300]}, listing("look", gated=False)]
    server = Scripted(visit, tools=tools, capabilities={})
    server.envelope["displayText"] = hostile
    server.results["tools/call"] = {"content": [{"type": "text", "text": hostile}]}
    page = visit.open(files.url)

    def look(state):
        assert violations(page) == [], state
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, state

    look("start")
    visit.button("Ask for approval").click()
    look("a field is wrong")
    page.get_by_label("name").fill("Ann")
    page.get_by_label("count").fill("1")
    visit.ask()
    look("review")
    visit.button("Approve").click()
    visit.button("Cancel").wait_for()
    look("waiting")
    visit.release_prompts()
    visit.outcome("call")
    look("done")
    server.errors["tools/call"] = {"code": -32001, "message": hostile, "data": {"reason": "x" * 90}}
    server.envelope["challengeId"] = "c-2"
    visit.ask()
    visit.button("Approve").click()
    page.locator("#call-outcome[data-outcome=refused]").wait_for()
    look("refused")
