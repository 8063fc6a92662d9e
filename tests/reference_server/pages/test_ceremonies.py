"""Enrol, approve, decline, too late, gone: the page on the real server, in a real browser."""

from __future__ import annotations

import contextlib

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import META_KEY
from tests.reference_server.pages.visiting import TRADE, Site
from tests.reference_server.running import exchange

ERAS = {"2026-07-28": "", "2025-11-25": "?protocol=2025-11-25"}
WITHOUT_JSON = """
delete PublicKeyCredential.parseCreationOptionsFromJSON;
delete PublicKeyCredential.parseRequestOptionsFromJSON;
delete PublicKeyCredential.prototype.toJSON;
"""


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("answers", ["event streams", "JSON"])
def test_enrol_approve_and_see_the_result(visit, era, answers):
    with contextlib.closing(Site(json_response=answers == "JSON")) as site:
        visit.attach_key()
        page = visit.open(site.url + ERAS[era])
        assert f"MCP {era}" in page.locator("#connection").inner_text()
        assert "No passkey is enrolled" in page.locator("#passkeys-state").inner_text()
        assert visit.enrol().get_attribute("data-outcome") == "enrolled"
        assert page.get_by_role("list", name="Enrolled passkeys").locator("li").count() == 1
        visit.fill_trade()
        shown = visit.ask().text_content()
        assert shown.startswith("Place an order for 10 of ACME. Exactly: place_trade {")
        assert len(site.server.effects) == 0
        outcome = visit.approve()
        assert outcome.get_attribute("data-outcome") == "executed"
        assert [one["arguments"] for one in site.server.effects] == [TRADE]
        assert '"quantity": 10' in outcome.get_by_role("region", name="Result").inner_text()
        # What is enrolled is still known to a page that is opened anew.
        page.reload()
        page.get_by_role("list", name="Enrolled passkeys").locator("li").wait_for()
    assert visit.problems == []
    assert ("initialize" in visit.methods()) == (era == "2025-11-25")
    assert "initialize" not in visit.methods() or len(set(visit.sessions)) == 2


def test_a_browser_that_knows_no_json_for_passkeys(visit, site):
    visit.page.add_init_script(WITHOUT_JSON)
    visit.attach_key()
    visit.open(site.url)
    assert visit.enrol().get_attribute("data-outcome") == "enrolled"
    visit.fill_trade()
    visit.ask()
    assert visit.approve().get_attribute("data-outcome") == "executed"
    (finished,) = visit.params_of("approval/enroll/finish")
    assert finished["response"]["response"]["transports"] == ["usb"]
    assert visit.problems == []


def test_a_tool_without_annotation_is_called_at_once(visit, site):
    page = visit.open(site.url)
    visit.choose("get_quote")
    page.get_by_label("symbol").fill("ACME")
    visit.button("Call").click()
    assert visit.outcome("call").get_attribute("data-outcome") == "executed"
    assert not [method for method in visit.methods() if method.startswith("approval/")]


def test_by_keyboard_alone(visit, site):
    visit.attach_key()
    page = visit.open(site.url)

    def tab_to(name):
        for _ in range(60):
            page.keyboard.press("Tab")
            focused = page.evaluate(
                """() => { const one = document.activeElement;
                return one.labels?.[0]?.textContent ?? one.ariaLabel ?? one.textContent; }"""
            )
            if focused.strip().startswith(name):
                outline = page.evaluate(
                    """() => { const one = document.activeElement;
                    return [getComputedStyle(one), getComputedStyle(one, "::after")]
                      .map(style => style.outlineStyle).join(" "); }"""
                )
                assert "solid" in outline, f"the focus on {name} cannot be seen"
                return
        raise AssertionError(f"{name} cannot be reached")

    tab_to("Enrol a passkey")
    page.keyboard.press("Enter")
    visit.outcome("enrolment")
    assert page.evaluate("document.activeElement.textContent") == "✓Passkey enrolled"
    assert page.locator("#live").inner_text().startswith("Passkey enrolled")
    tab_to("Transfer funds")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "call-title"
    tab_to("account")
    page.keyboard.type("savings")
    tab_to("amount")
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    visit.button("Approve").wait_for()
    # Whoever keeps Enter pressed approves nothing.
    assert page.evaluate("document.activeElement.id") == "display-text"
    page.keyboard.press("Enter")
    tab_to("Decline")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "approve"
    page.keyboard.press("Space")
    assert visit.outcome("call").get_attribute("data-outcome") == "executed"
    assert page.evaluate("document.activeElement.textContent") == "✓Done"
    assert len(site.server.effects) == 1


@pytest.mark.parametrize("how", ["Decline", "Escape"])
def test_who_declines_signs_and_calls_nothing(visit, site, how):
    visit.attach_key()
    page = visit.open(site.url)
    visit.enrol()
    visit.fill_trade()
    visit.ask()
    page.keyboard.press("Escape") if how == "Escape" else visit.button("Decline").click()
    outcome = visit.outcome("call")
    assert outcome.get_attribute("data-outcome") == "declined"
    assert "Nothing was called" in outcome.inner_text()
    assert visit.params_of("tools/call") == []
    # Asking again is a new challenge, not the old one.
    visit.button("Ask again").click()
    visit.button("Approve").wait_for()
    assert visit.approve().get_attribute("data-outcome") == "executed"
    assert len(visit.params_of("approval/challenge/create")) == 2


@pytest.mark.parametrize("how", ["Cancel", "Escape"])
def test_an_open_prompt_can_be_cancelled(visit, site, how):
    visit.hold_prompts()
    visit.attach_key()
    page = visit.open(site.url)
    visit.button("Enrol a passkey").click()
    visit.button("Cancel").click()
    outcome = visit.outcome("enrolment")
    assert outcome.get_attribute("data-outcome") == "declined"
    assert "Enrolment cancelled" in outcome.inner_text()
    visit.button("Enrol a passkey").click()
    visit.button("Cancel").wait_for()
    assert page.get_by_text("Waiting for your passkey").first.is_visible()
    visit.release_prompts()
    assert visit.outcome("enrolment").get_attribute("data-outcome") == "enrolled"
    page.reload()
    page.wait_for_selector("html[data-ready=connected]", state="attached")
    visit.fill_trade()
    visit.ask()
    visit.button("Approve").click()
    visit.button("Cancel").wait_for()
    page.keyboard.press("Escape") if how == "Escape" else visit.button("Cancel").click()
    outcome = visit.outcome("call")
    assert outcome.get_attribute("data-outcome") == "declined"
    assert "Approval cancelled" in outcome.inner_text()
    assert visit.params_of("tools/call") == []


def test_a_device_that_is_enrolled_already(visit, site):
    visit.attach_key()
    visit.open(site.url)
    visit.enrol()
    visit.button("Enrol a passkey").click()
    outcome = visit.page.locator("#enrolment-outcome[data-outcome=failed]")
    outcome.wait_for()
    assert "already enrolled" in outcome.inner_text()
    assert "InvalidStateError" in outcome.inner_text()


def test_an_expired_challenge_is_told(visit, site):
    visit.attach_key()
    visit.open(site.url)
    visit.enrol()
    visit.fill_trade()
    visit.ask()
    expiry = visit.page.locator("#review-expiry")
    assert expiry.get_attribute("datetime").endswith("Z")
    assert ":" in expiry.inner_text()
    site.clock.advance(60)
    outcome = visit.approve()
    assert outcome.get_attribute("data-reason") == "challenge_expired"
    assert "came too late" in outcome.inner_text()
    assert len(site.server.effects) == 0


def test_an_internal_key_is_not_enough_for_a_cross_platform_tool(visit, site):
    visit.attach_key("internal")
    visit.open(site.url)
    visit.enrol()
    visit.fill_trade()
    visit.button("Ask for approval").click()
    outcome = visit.outcome("call")
    assert outcome.get_attribute("data-reason") == "no_eligible_credential"
    visit.choose("wipe_cache")
    visit.ask()
    assert visit.approve().get_attribute("data-outcome") == "executed"


def test_a_lost_session_is_told_and_nothing_is_sent_twice(visit, site):
    visit.attach_key()
    visit.open(f"{site.url}?protocol=2025-11-25")
    visit.enrol()
    visit.fill_trade()
    visit.ask()
    headers = {"Mcp-Session-Id": visit.sessions[-1], "MCP-Protocol-Version": "2025-11-25"}
    assert exchange(site.port, b"", headers, "DELETE")[0] < 300
    outcome = visit.approve()
    assert outcome.get_attribute("data-outcome") == "failed"
    assert "forgotten this session" in outcome.inner_text()
    assert len(visit.params_of("tools/call")) == 1
    visit.button("Ask again").click()
    visit.button("Approve").wait_for()
    assert visit.approve().get_attribute("data-outcome") == "executed"
    evidence = [one["_meta"][META_KEY]["challengeId"] for one in visit.params_of("tools/call")]
    assert len(set(evidence)) == len(evidence) == 2
    assert len(site.server.effects) == 1


def test_a_session_that_was_lost_before_a_harmless_request_is_opened_again(visit, site):
    visit.open(f"{site.url}?protocol=2025-11-25")
    headers = {"Mcp-Session-Id": visit.sessions[-1], "MCP-Protocol-Version": "2025-11-25"}
    assert exchange(site.port, b"", headers, "DELETE")[0] < 300
    visit.choose("get_quote")
    visit.page.get_by_label("symbol").fill("ACME")
    visit.button("Call").click()
    assert visit.outcome("call").get_attribute("data-outcome") == "executed"


def test_a_server_that_goes_while_the_person_reads(visit, site):
    visit.attach_key()
    page = visit.open(site.url)
    visit.enrol()
    visit.fill_trade()
    visit.ask()
    site.stop()
    outcome = visit.approve()
    assert outcome.get_attribute("data-outcome") == "failed"
    assert "cannot be reached" in outcome.inner_text()
    assert "may or may not have run" in outcome.inner_text()
    visit.button("Enrol a passkey").click()
    page.locator("#enrolment-outcome[data-outcome=failed]").wait_for()


def test_the_page_can_connect_again(visit, site):
    visit.page.route("**/mcp", lambda route: route.abort())
    page = visit.open(site.url, state="failed")
    assert "cannot be reached" in page.locator("#notices .notice").inner_text()
    visit.page.unroute("**/mcp")
    visit.button("Connect again").click()
    page.wait_for_selector("html[data-ready=connected]", state="attached")
    assert page.locator("#notices .notice").count() == 0


def test_a_server_that_never_answers_is_given_up(visit, site):
    visit.page.clock.install()
    page = visit.open(site.url)
    page.route("**/mcp", lambda _: None)
    visit.choose("list_effects")
    visit.button("Call").click()
    page.get_by_text("Calling list_effects").first.wait_for()
    page.clock.run_for(31_000)
    outcome = visit.outcome("call")
    assert "does not answer" in outcome.inner_text()
    assert "may or may not have run" in outcome.inner_text()
