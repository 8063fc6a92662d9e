"""A question that is a URL: shown whole, opened only after a yes, never fetched by the client."""

from __future__ import annotations

import pytest

from pytest_mcp_approval.catalogue import requirement
from pytest_mcp_approval.families.base.client_scenario import shortly, shown_whole
from pytest_mcp_approval.families.elicitation.vocabulary import Action, Mode

ADDRESSES = {
    "short": "/approve",
    "with a query": "/approve?account=acme-17&next=%2Fhome%3Fa%3D1#part",
    "long": "/approve?token=" + "0123456789abcdef" * 90 + "END",
}


@requirement("elicitation/client-url")
@pytest.mark.parametrize("kind", ADDRESSES)
def test_an_address_is_shown_whole_and_opened_only_after_a_yes(asked, kind):
    """The person sees where it leads; nobody goes there before, and the client itself never."""
    asked.need_mode(Mode.URL)
    url = asked.client.page_url + ADDRESSES[kind]
    asked.script.asks_for_url(url)
    sent = f"a question of mode url, whose address is {kind} ({len(url)} characters)"
    asked.is_asked(sent=sent)
    asked.expect(
        shown_whole(url, asked.screen()),
        sent=sent,
        expected="the whole address on the screen, before the person decides",
        got=f"a screen that ends {shortly(asked.screen())}",
    )
    _expect_untouched(asked, sent=f"{sent}; the person has not decided yet")
    before = len(asked.answered)
    answered = asked.agrees()
    asked.expect_answer(Action.ACCEPT, before, sent=f"{sent}; the person agrees")
    asked.expect(
        not answered.content,
        sent=f"{sent}; the person agrees",
        expected="accept without content: what the person does there is not the client's",
        got=answered.describe(),
    )
    opened = asked.client.opened_urls()
    asked.expect(
        opened in ([], [asked.client.as_opened(url)]),
        sent=f"{sent}; the person agrees",
        expected="that address in the person's browser",
        got=f"another address: {', '.join(opened)}",
    )
    asked.expect(
        not asked.server.fetched,
        sent=f"{sent}; the person agrees",
        expected="a browser opened, and nothing fetched by the client",
        got="the client fetched the address itself",
    )


@requirement("elicitation/client-url")
@pytest.mark.parametrize("action", [Action.DECLINE, Action.CANCEL], ids=str)
def test_an_address_that_the_person_does_not_want_stays_closed(asked, action):
    """A no is sent as such, and nobody goes there."""
    asked.need_mode(Mode.URL)
    typed = asked.need_cancel() if action is Action.CANCEL else asked.description.decline
    asked.script.asks_for_url(asked.client.page_url + ADDRESSES["short"])
    before = len(asked.answered)
    asked.is_asked()
    asked.decides(typed)
    sent = f"a question of mode url; the person types {typed!r}, which means {action}"
    asked.expect_answer(action, before, sent=sent)
    _expect_untouched(asked, sent=sent)


SUSPICIOUS = {
    "a host in punycode": "https://xn--pple-43d.example/approve",
    "a name before the host": "https://bank.example@elsewhere.example/approve",
    "another scheme": "file:///etc/hosts",
}


@requirement("elicitation/client-url")
def test_a_person_is_told_where_an_address_leads(asked):
    """Its host stands apart, and an address that looks like another one comes with a warning. The
    specification recommends both: warnings, never failures."""
    asked.need_mode(Mode.URL)
    usual_url = "https://shop.example/approve?next=https://bank.example/"
    usual = _words_about(asked, usual_url)
    if "shop.example" not in asked.screen().replace(usual_url, ""):
        asked.warn("the host of an address is not shown apart from the rest of it")
    for kind, url in SUSPICIOUS.items():
        if _words_about(asked, url) <= usual:
            asked.warn(f"an address with {kind} is shown like any other: {url}")
    opened = [one for one in asked.client.opened_urls() if one in SUSPICIOUS.values()]
    asked.expect(
        not opened,
        sent="suspicious addresses, all of which the person declined",
        expected="none of them opened",
        got=f"opened {', '.join(opened)}",
    )


def _words_about(asked, url: str) -> set[str]:
    """What the client says about an address, without the address itself."""
    asked.script.asks_for_url(url)
    asked.is_asked()
    said = asked.screen()
    asked.decides(asked.description.decline)
    host = url.partition("//")[2].partition("/")[0]
    for text in (url, host, host.rpartition("@")[2]):
        said = said.replace(text, "") if text else said
    return {word for word in said.lower().split() if word.isalpha()}


def _expect_untouched(asked, *, sent: str) -> None:
    opened, fetched = asked.client.opened_urls(), asked.server.fetched
    asked.expect(
        not opened,
        sent=sent,
        expected="no browser opened",
        got=f"a browser opened at {', '.join(opened)[:120]}",
    )
    asked.expect(
        not fetched,
        sent=sent,
        expected="nothing fetched",
        got="the client fetched the address itself",
    )
