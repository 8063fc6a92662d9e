"""The page's driver and the traffic, in a browser, on small pages that are made up here."""

from __future__ import annotations

import re

import pytest

from pytest_mcp_approval.families.sep2672 import page, page_traffic
from pytest_mcp_approval.families.sep2672.page import PageDriver, PageError, PageMemory
from pytest_mcp_approval.families.sep2672.page_traffic import Traffic
from pytest_mcp_approval.families.sep2672.settings import read_table

URL = "http://localhost:9/page"
"""There is no server: the test answers everything that the browser asks for."""
DESCRIPTION = read_table(
    {
        "page": {
            "ready": "body",
            "enrol": "#enrol",
            "enrolled": "#said",
            "tool": "#tool",
            "arguments": "#arguments",
            "ask": "#ask",
            "display-text": "#text",
            "approve": "#yes",
            "decline": "#no",
            "outcome": "#said",
            "busy": "#ask:disabled",
        }
    }
).page


@pytest.fixture
def driver(approval_page):
    """Opens a page with this markup and script."""

    def opened(markup: str, script: str = "", patience: float = 5.0, **more) -> PageDriver:
        html = f"<!doctype html><title>Made up</title>{markup}<script>{script}</script>"
        approval_page.context.route(
            URL, lambda route: route.fulfill(body=html, content_type="text/html")
        )
        made = PageDriver(approval_page, URL, more.pop("description", DESCRIPTION), **more)
        made.open()
        made.patience = patience  # only after the page is there: a loaded machine takes its time
        return made

    return opened


FORM = """
<select id=tool><option>other<option value=wipe>Wipe it</select><input id=arguments>
<button id=ask>Ask</button><p id=said>Nothing yet.</p><pre id=text hidden></pre>
"""


def test_a_list_is_chosen_from_and_a_field_filled(driver):
    made = driver(
        FORM,
        "ask.onclick = () => said.textContent = tool.value + arguments.value;".replace(
            "arguments.value", "document.getElementById('arguments').value"
        ),
    )
    made.ask("wipe", {"a": "é"})
    assert not made.await_review()
    assert made.outcome() == 'wipe{"a": "é"}'


def test_a_page_that_is_caught_in_a_loop_costs_its_time_once(driver, monkeypatch):
    """It stops answering while the outcome is waited for: one line says so, in time."""
    monkeypatch.setattr(page, "PATIENCE", 1.0)
    made = driver(FORM, "ask.onclick = () => setTimeout(() => { for (;;); }, 50);", patience=1.0)
    made.ask("wipe", {})
    with pytest.raises(PageError, match="got nothing"):
        made.outcome()


def test_a_field_that_has_become_another_sort_is_used_as_what_it_is(driver):
    """A list at first, then a plain field under the same selector, then there twice."""
    made = driver(FORM, "ask.onclick = () => said.textContent = document.all.tool.value")
    made.ask("wipe", {})
    made.ask("wipe", {})
    assert made.memory.kinds["#tool"].startswith("select:")
    made.patience = 1.0
    made.page.evaluate("tool.outerHTML = '<button id=tool value=pressed>Wipe it</button>'")
    made.ask("wipe", {})
    assert made.outcome() == "pressed"
    made.page.evaluate("tool.after(tool.cloneNode(true))")
    with pytest.raises(PageError, match="tool: got 2 elements"):
        made.ask("wipe", {})


def test_one_field_for_each_argument(driver):
    described = read_table(
        {
            "page": {
                "tool": "#tool",
                "argument": "[name='{name}']",
                "ask": "#ask",
                "outcome": "#said",
                "ready": "body",
            }
        }
    ).page
    made = driver(
        FORM + "<input name=a><select name=b><option>1<option>2</select>",
        "ask.onclick = () => said.textContent = document.querySelector('[name=a]').value"
        " + document.querySelector('[name=b]').value",
        description=described,
    )
    made.ask("wipe", {"a": "x", "b": 2})
    assert made.outcome() == "x2"


def test_what_the_page_says_while_it_works_is_not_the_outcome(driver):
    script = """
    let count = 0;
    ask.onclick = () => {
      ask.disabled = true;
      said.textContent = 'Working';
      setTimeout(() => { ask.disabled = false; said.textContent = 'Done'; count += 1; }, 60);
    };"""
    made = driver(FORM, script)
    for _ in range(2):  # the second time it says the same
        made.ask("wipe", {})
        assert not made.await_review()
        assert made.outcome() == "Done"
    assert made.page.evaluate("count") == 2


def test_the_text_is_read_as_the_screen_has_it(driver):
    made = driver(FORM, "text.hidden = false; text.textContent = 'a  <b>\\n'.repeat(400);")
    assert made.review_is_open()
    found = made.display_text()
    assert found.content == found.rendered == "a  <b>\n" * 400
    assert not found.cut
    made.page.evaluate("text.style.cssText = 'overflow: hidden; height: 50px'")
    assert made.display_text().cut
    made.page.evaluate("text.style.cssText = 'overflow: auto; height: 50px'")
    assert not made.display_text().cut, "whoever scrolls can read it"
    made.page.evaluate("text.style.cssText = 'text-transform: uppercase; white-space: normal'")
    assert made.display_text().rendered.startswith("A <B> A <B>")
    made.page.evaluate("text.style.cssText = 'font-size: 1px'")
    assert made.display_text().too_small


@pytest.mark.parametrize(
    ("markup", "line"),
    [
        (
            "<h1>Bank</h1><button>Sign</button><button hidden>Not seen</button>",
            "[sep2672.page] approve: got nothing for '#yes' on http://localhost:9/page, expected "
            'one element; there is: h1 "Bank", button "Sign"',
        ),
        (
            "<button id=yes>One</button><button id=yes>Two</button>",
            "[sep2672.page] approve: got 2 elements for '#yes' on http://localhost:9/page, "
            'expected one element; there is: button#yes "One", button#yes "Two"',
        ),
    ],
)
def test_an_entry_that_finds_nothing_is_told_with_what_is_there(driver, markup, line):
    made = driver(markup, patience=0.2)
    with pytest.raises(PageError, match=re.escape(line)):
        made.approve()


def test_a_selector_that_cannot_be_read_is_told(driver):
    described = read_table({"page": {"ready": "body", "approve": "role=button[name='x"}}).page
    made = driver("<p>x", description=described)
    with pytest.raises(PageError, match=r"approve: got .*, expected a selector that Playwright"):
        made.approve()


def test_a_wrong_entry_is_waited_for_once(driver):
    memory = PageMemory()
    made = driver("<p>x", patience=0.2, memory=memory)
    with pytest.raises(PageError):
        made.approve()
    made.patience = 60.0
    with pytest.raises(PageError, match="approve: got nothing"):
        made.open()


def test_text_of_the_page_does_not_reach_the_terminal_raw(driver):
    made = driver("<button>\x1b[31mred\u202e</button>", patience=0.2)
    with pytest.raises(PageError) as error:
        made.approve()
    assert "\x1b" not in str(error.value)
    assert "\u202e" not in str(error.value)


# ---- traffic

ASK = """async (method) => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { name: 'wipe' } });
  const response = await fetch('/mcp', { method: 'POST', body }).catch(() => null);
  return response === null ? 'lost' : await response.text();
}"""


def test_answers_and_requests_are_seen_and_changed(driver, approval_page):
    traffic = Traffic(approval_page.context)
    made = driver("<p>x")
    heard: list[str] = []

    def serve(route) -> None:
        heard.append(route.request.post_data)
        event = 'data: {"jsonrpc":"2.0","id":1,"result":{"n":1}}\n\n'
        route.fulfill(body=event, content_type="text/event-stream")

    approval_page.context.route("**/mcp", serve)
    ask = made.page.evaluate
    assert '"n":1' in ask(ASK, "tools/list")
    [sent] = traffic.of("tools/list")
    assert sent.result == {"n": 1}
    assert sent.params == {"name": "wipe"}

    refusal = {"error": {"code": -32001, "message": "no", "data": {"reason": "challenge_expired"}}}
    traffic.answer_instead("tools/call", refusal)
    assert '"challenge_expired"' in ask(ASK, "tools/call")
    assert traffic.of("tools/call")[-1].reason == "challenge_expired"
    assert len(heard) == 1, "the server heard nothing of it"

    traffic.answer_instead("tools/call", "connectionreset")
    assert ask(ASK, "tools/call") == "lost"
    assert traffic.of("tools/call")[-1].answer() is None

    traffic.leave_alone()
    assert len(traffic.sent) == 3


def test_what_is_no_message_is_let_be(driver, approval_page):
    traffic = Traffic(approval_page.context)
    made = driver("<p>x")
    approval_page.context.route("**/other", lambda route: route.fulfill(body="ok"))
    post = "body => fetch('/other', { method: 'POST', body }).then((one) => one.text())"
    for body in ("", "{", '{"jsonrpc": 1}', '"jsonrpc"', "[" * 10_000 + '"jsonrpc"'):
        assert made.page.evaluate(post, body) == "ok"
    assert traffic.sent == []


def test_an_answer_that_never_comes_is_not_waited_for(driver, approval_page, monkeypatch):
    """A server that holds the page's request for ever blocks nobody else."""
    monkeypatch.setattr(page_traffic, "_ANSWER_MILLISECONDS", 100.0)
    traffic = Traffic(approval_page.context)
    made = driver("<p>x")
    approval_page.context.route("**/mcp", lambda _: None)
    made.page.evaluate(f"() => {{ ({ASK})('tools/call'); }}")
    approval_page.until(lambda: bool(traffic.sent), "the request")
    assert traffic.sent[0].answer() is None
