"""The HTML page in a real browser: nothing is loaded, filters work, conversations unfold, and
hostile text is text."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest

from pytest_mcp_approval.catalogue import Verdict
from pytest_mcp_approval.report.replay import read_finding
from tests.report import samples
from tests.report.samples import COUNTER, earlier_of, exchange, steps

HOSTILE = [
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "</script></style></textarea><svg onload=document.title='pwned'>",
    "javascript:document.title='pwned'",
    "\"'><a href=\"javascript:document.title='pwned'\" autofocus onfocus=document.title='pwned'>x",
    "\u202egnp.exe\u2066\u200b\ufeff right to left",
    "\x1b[31mred\x1b]0;pwned\x07\x9b2J",
    "]]>--><!--{{7*7}}${7*7}",
]


def rule(page, full_id):
    return page.locator(f"[id='{full_id}']")


def test_the_page_opens_from_disk_without_any_request(page_of, opened):
    page = page_of(samples.typical())
    rule(page, COUNTER).locator(".flow").first.wait_for()
    assert len(opened.requests) == 1
    assert opened.requests[0].startswith("file:")
    assert opened.problems == []
    assert page.locator("h1").inner_text() == "1 of 6 rules broken"


def test_filters_leave_what_they_say(page_of):
    page = page_of(samples.typical())
    visible = page.locator(".rule:visible")
    assert visible.count() == 7
    page.get_by_label("Search the rules").fill("4.8 COUNTER")
    assert visible.count() == 1
    assert page.locator("#shown").inner_text() == "1 of 7 rules shown"
    page.get_by_label("Search the rules").fill("")
    # By keyboard: what is above it may still be growing back, and a click would miss it.
    page.get_by_role("checkbox", name="not verified").press("Space")
    assert visible.evaluate_all("all => all.map(one => one.id)") == [samples.EXPIRED]
    page.get_by_role("checkbox", name="not verified").press("Space")
    page.get_by_label("Level", exact=True).select_option("SHOULD")
    assert visible.evaluate_all("all => all.map(one => one.dataset.level)") == ["SHOULD"]
    # A cell of the matrix leads to its rule, whatever the filters say.
    page.locator(f".cell[href='#{COUNTER}']").click()
    rule(page, COUNTER).locator("> summary").wait_for(state="visible")
    assert rule(page, COUNTER).evaluate("one => one.open")


def test_a_finding_can_be_saved_and_replayed_elsewhere(page_of, tmp_path):
    """A page that was attached to a message is all that its reader has."""
    name = "4.8-11-counter-3f2a91.json"
    again = f"pytest --mcp-approval-replay='a folder/{name}' --mcp-approval-launch='npm start'"
    found = replace(samples.finding(), replay=name, again=again)
    options = {"target": ["http://localhost:3000/mcp"], "timeout": 7}
    facts = replace(samples.FACTS, options=options, withheld={"header": ["Authorization"]})
    page = page_of(samples.report(found, facts=facts))
    place = rule(page, COUNTER).locator(".elsewhere").first
    place.locator("summary").click()
    with page.expect_download() as download:
        place.get_by_role("button", name="Save the finding").click()
    assert download.value.suggested_filename == name
    saved = tmp_path / name
    download.value.save_as(saved)
    read = read_finding(saved, name)
    assert (read.result.scenario, read.result.evidence) == (found.scenario, found.evidence)
    assert (read.options, read.withheld) == (options, {"header": ("Authorization",)})
    told = place.locator("code").nth(1).inner_text()
    assert shlex.split(told)[1:] == [
        *(f"--mcp-approval-replay={name}", "--mcp-approval-launch=npm start")
    ]


def test_everything_can_be_reached_with_the_keyboard(page_of):
    page = page_of(samples.typical())
    target = rule(page, samples.HASH)
    target.locator("> summary").focus()
    page.keyboard.press("Enter")
    scenario = target.locator(".scenario > summary").first
    scenario.wait_for()
    flow = target.locator(".flow")
    if not flow.count():
        scenario.focus()
        page.keyboard.press("Enter")
    flow.wait_for()
    step = flow.locator(".step summary").first
    step.focus()
    page.keyboard.press("Enter")
    flow.locator(".detail").first.wait_for()


def test_a_conversation_is_drawn_and_taken_apart(page_of):
    page = page_of(samples.typical())
    flow = rule(page, COUNTER).locator(".flow").first
    flow.wait_for()
    assert flow.locator(".lanes span").all_inner_texts() == [
        "authenticator",
        "client",
        "server",
        "clock",
    ]
    arrows = flow.locator(".arrow").all_text_contents()
    for said in (
        "client to server: approval/enroll/begin",
        "authenticator to client: registered",
        "server to client: refused: challenge_consumed",
        "clock to server: +61 s",
    ):
        assert any(arrow.startswith(said) for arrow in arrows), arrows
    parts = opened_parts(flow, "place_trade, with evidence")
    recorded = json.loads(samples.real_conversation())["steps"]
    sent = next(
        s for s in recorded if s["kind"] == "exchange" and "challengeId" in s["sent"]["text"]
    )
    arguments = json.loads(sent["sent"]["text"])["params"]["arguments"]
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
    assert parts["call"]["canonical arguments"] == canonical
    assert parts["clientDataJSON"]["type"] == "webauthn.get"
    issued = next(s for s in recorded if s.get("method") == "approval/challenge/create")
    challenge = json.loads(issued["received"]["text"])["result"]["requestOptions"]["challenge"]
    both = (
        parts["clientDataJSON"]["challenge, nonce"]
        + parts["clientDataJSON"]["challenge, action hash"]
    )
    assert both == samples.hex_of(challenge)
    assert "UP user present, UV user verified" in parts["authenticatorData"]["flags"]
    assert parts["authenticatorData"]["signCount"].isdigit()
    key = opened_parts(flow, "enroll/finish")["attestationObject"]
    assert key["COSE key"] == "EC2, ES256 (-7)"
    assert key["COSE curve"] == "P-256"
    assert len(key["COSE x"]) == len(key["COSE y"]) == 64


def opened_parts(flow, text):
    """Opens the first step with this text; what its parts say, by title and name."""
    step = flow.locator(".step", has_text=text).first
    step.locator("summary").click()
    step.locator(".part").first.wait_for()
    return step.locator(".part").evaluate_all(
        """tables => Object.fromEntries(tables.map(table => [table.caption.textContent,
        Object.fromEntries([...table.rows].map(row => [...row.cells].map(c => c.textContent)))]))"""
    )


def test_the_exact_bytes_are_there(page_of):
    sent = '{"jsonrpc": "2.0",   "id": 1, "method":"tools/call"}'
    told = steps(
        exchange(sent, "not json \x00", outcome="no JSON-RPC"),
        {**exchange("{}", ""), "received": {"bytes": 90_000, "base64": "/wAB", "more": 89_997}},
    )
    page = page_of(samples.report(samples.finding(conversation=told)))
    flow = rule(page, COUNTER).locator(".flow").first
    for step in flow.locator(".step > details > summary").all():
        step.click()
    flow.locator(".raw").nth(3).wait_for()  # a step is filled in after it has opened
    shown = flow.locator(".raw").all_inner_texts()
    assert shown[0] == sent
    assert shown[1] == "not json \\u0000"
    assert "ff 00 01" in shown[3]
    assert shown[3].endswith("… 89,997 more bytes")


@pytest.mark.parametrize("width", [1280, 400])
def test_hostile_text_runs_nothing_and_breaks_no_layout(page_of, opened, width):
    everything = " ".join(HOSTILE)
    long_line = "A" * 64_000
    result = {"content": [{"type": "text", "text": everything}], "isError": everything}
    error = {"code": everything, "message": everything, "data": {"reason": everything}}
    listing = {"tools": [{"name": everything, "_meta": everything}, None, 7]}
    options = {"requestOptions": {"challenge": everything}, "displayText": everything}
    told = steps(
        *(
            exchange(json.dumps({"params": {"name": everything}}), json.dumps(answer), **more)
            for answer in ({"result": result}, {"error": error}, {"result": options}, [], None)
            for more in ({}, {"method": "approval/challenge/create"}, {"method": everything})
        ),
        exchange("{}", json.dumps({"result": listing}), method="tools/list"),
        exchange(everything, long_line, outcome=everything, detail=everything, status=599),
        exchange("{}", "{}", responseHeaders=[[everything, everything], ["x", long_line]]),
        {"kind": "overheard", "at": 0, "seconds": 0, "method": everything}
        | {"sent": {"bytes": 0, "text": ""}, "received": {"bytes": 3, "text": everything}},
        {"kind": "clock", "at": 0, "what": "moved", "details": {"instant": everything}},
        {"kind": "effects", "at": 0, "what": "looked", "details": {"count": everything}},
        {"kind": "authenticator", "at": 0, "what": everything, "details": {"response": result}},
    )
    facts = replace(
        samples.FACTS, target=everything, header=(("target", everything), ("gated", long_line))
    )
    found = samples.finding(got=everything, name=f"test[{everything}]", conversation=told)
    page = page_of(
        samples.report(
            found,
            samples.result(samples.HASH, Verdict.NOT_VERIFIED, why=everything + long_line),
            facts=facts,
        )
    )
    page.set_viewport_size({"width": width, "height": 900})
    for opened_rule in page.locator(".rule").all():
        opened_rule.evaluate("one => { one.open = true; }")
    flow = rule(page, COUNTER).locator(".flow").first
    flow.wait_for()
    flow.locator(".step > details").evaluate_all("all => all.forEach(one => { one.open = true; })")
    page.wait_for_function("document.querySelectorAll('.detail').length === 22")
    assert page.title() != "pwned"
    assert opened.problems == []
    assert len(opened.requests) == 1
    assert page.locator("main script, main img, main a[href^='javascript']").count() == 0
    too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert too_wide <= 0
    # What reverses text, or controls a terminal, is spelled out.
    shown = flow.text_content() or ""
    assert "\\u202e" in shown
    assert "\\u001b[31m" in shown
    assert not {"\u202e", "\x1b", "\u200b"} & set(shown)


def test_a_comparison_tells_better_from_worse(page_of):
    before = earlier_of({COUNTER: Verdict.PASSED, samples.HASH: Verdict.FAILED})
    page = page_of(samples.report(samples.finding(), samples.result(samples.HASH), earlier=before))
    sections = page.locator(".compare section").all_inner_texts()
    assert [text.splitlines()[0] for text in sections] == ["Worse", "Better"]
    assert COUNTER in sections[0]
    assert samples.HASH in sections[1]


def test_what_is_wrong_is_open_on_paper(page_of):
    page = page_of(samples.typical())
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    closed = page.locator(".rule:not([open])").evaluate_all(
        "all => all.map(o => o.dataset.verdict)"
    )
    assert set(closed) == {"passed", "not applicable"}


def offending(page):
    """The labels of the arrows in steps that are marked, one list for each step."""
    steps = page.locator(".step.offending")
    return [step.locator(".arrow").all_text_contents() for step in steps.all()]


def test_only_what_was_not_expected_is_red(page_of):
    """A refusal that was expected looks like any other answer."""
    refused = exchange("{}", "{}", asked="tools/call replayed", answered="refused", refused=True)
    told = steps(refused, {**exchange("{}", "{}", asked="tools/call changed"), "offending": True})
    page = page_of(samples.report(samples.finding(conversation=told)))
    page.locator(".flow").first.wait_for()
    (marked,) = offending(page)
    assert marked[0].startswith("client to server: tools/call changed")
    assert (
        page.locator(".verdict-note").inner_text() == "not what was expected: this is the finding"
    )
    red = page.locator(".step.offending .arrow").first.evaluate(COLOUR)
    others = page.locator(".step:not(.offending) .arrow").evaluate_all(f"all => all.map({COLOUR})")
    assert red not in others
    assert red == page.locator(".pill").first.evaluate("one => getComputedStyle(one).color")


COLOUR = "one => getComputedStyle(one).borderBottomColor"


def many():
    """A long page: conversations, and twenty findings above the rule that a link names."""
    told = samples.real_conversation()
    found = [
        samples.finding(rule=one.id, name=f"test_{number}", conversation=told)
        for number, one in enumerate(samples.RULES[:20])
    ]
    fine = [
        samples.result(one.id, name=f"test_fine_{number}", conversation=told)
        for number, one in enumerate(samples.RULES[20:])
    ]
    return samples.report(*found, *fine)


@pytest.mark.parametrize("place", [1, 12, 19, 30, -1])
def test_a_link_lands_on_its_rule(page_of, opened, place):
    name = samples.RULES[place].id
    page = page_of(many())
    page.goto("about:blank")
    address = opened.requests[0]
    page.goto(f"{address}#{name}")
    page.wait_for_selector("html[data-ready]", state="attached")
    assert rule(page, name).evaluate("one => one.open")
    rule(page, name).locator(".scenario").first.wait_for()
    box = rule(page, name).bounding_box()
    assert box is not None
    at_the_end = page.evaluate("innerHeight + scrollY >= document.documentElement.scrollHeight - 2")
    assert -1 <= box["y"] <= 60 or at_the_end, box


def test_a_check_is_found_by_its_name(page_of):
    results = [
        *(samples.result(COUNTER, name=f"test_fine[{number}]") for number in range(40)),
        samples.result(COUNTER, name="test_the_needle_in_it[upper-case]"),
        samples.result(samples.HASH, name="test_hash"),
    ]
    page = page_of(samples.report(*results))
    search = page.get_by_label("Search the rules")
    search.fill("Needle upper")
    page.get_by_text("1 of 2 rules shown; 1 check is named so").wait_for()
    assert page.locator(".rule:visible").evaluate_all("all => all.map(o => o.id)") == [COUNTER]
    rule(page, COUNTER).locator("> summary").click()
    found = rule(page, COUNTER).locator(".scenario.sought")
    found.wait_for()
    assert "test_the_needle_in_it" in found.inner_text()
    search.fill("")
    page.get_by_text("All 2 rules shown").wait_for()
    assert rule(page, COUNTER).locator(".scenario.sought").count() == 0


def test_the_first_sheet_has_the_verdict_the_findings_and_every_rule(page_of):
    """A4 with margins of 12 mm has 703 by 1032 of a browser's pixels."""
    page = page_of(many())
    page.set_viewport_size({"width": 703, "height": 1032})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    rest = page.locator(".on-a-new-sheet")
    assert rest.evaluate("one => getComputedStyle(one).breakBefore") == "page"
    last = page.locator(".matrix").last.bounding_box()
    assert last is not None
    assert last["y"] + last["height"] <= 1032
