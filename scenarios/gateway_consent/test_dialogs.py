"""The pages on which a person gives a credential: whose it is, one thing at a time, and Cancel."""

import html
import re

from pytest_mcp_approval.catalogue import NotApplicable, NotVerified, requirement
from pytest_mcp_approval.families.base.people import form_client_for
from pytest_mcp_approval.families.gateway_consent.app_descriptors import HELP_URL, HOW_TO_GET_IT
from pytest_mcp_approval.families.gateway_consent.outcome import shown
from pytest_mcp_approval.families.gateway_consent.people import form_with
from pytest_mcp_approval.families.gateway_consent.settings import SafeTool
from pytest_mcp_approval.families.gateway_consent.vocabulary import Kind, tool_name

TYPED = ["key-header", "office", "cookie"]
"""The apps whose credential is typed in."""


class Dialog:
    """The dialog of an app, in a browser without script."""

    def __init__(self, apps, client, tool):
        needed = apps.needing(client, tool)
        if not needed.auth_url.startswith(("http://", "https://")):
            raise NotApplicable("a credential is asked for in a dialog that is no page")
        self.words = apps.driver.table.page
        self.browser = form_client_for(apps.target)
        self.page = self.browser.get(needed.auth_url)

    @property
    def form(self):
        return form_with(self.page, self.words.submit)

    @property
    def text(self):
        return html.unescape(self.page.body.decode("utf-8", "replace"))

    @property
    def raw(self):
        return self.page.body.decode("utf-8", "replace").lower()

    def press(self, button, value=None):
        """With a value in its field, if one is given."""
        form = self.form
        if value is not None:
            form.fields()[0].value = value
        self.page = self.browser.submit(self.page, form, form.button(button))


def _label(dialog):
    """What its field is for."""
    field = dialog.form.fields()[0]
    return f"{field.label or field.name}"


def _dialog(apps, app):
    """The dialog that comes up first for an unknown client; and its call."""
    client, tool = apps.client(), apps.app_tool(app)
    with apps.honest_step("the dialog could not be opened"):
        dialog = Dialog(apps, client, tool)
        fields = len(dialog.form.fields())
    if not fields:
        raise NotVerified("the dialog has no field to type into that can be seen without script")
    return dialog, client, tool


@requirement("gateway_consent/credential-dialog")
def test_a_dialog_says_whose_credential_and_how_to_get_it(consents):
    """The app's name and its own instructions."""
    apps = consents.with_apps()
    with apps.several() as several:
        for app in apps.each_app(*TYPED):
            with several.one(app):
                _a_dialog_says_whose_credential_and_how_to_get_it(apps, app)


def _a_dialog_says_whose_credential_and_how_to_get_it(apps, app):
    dialog, _, tool = _dialog(apps, app)
    for what, expected in {
        "the app's name": f"Suite {app}",
        "the app's instructions": HOW_TO_GET_IT,
    }.items():
        apps.expect(
            expected in dialog.text,
            sent=f"{tool.name}, whose credential is asked for",
            expected=f"{what} in the dialog",
            got=f"a page without {expected!r}",
        )


@requirement("gateway_consent/credential-dialog")
def test_a_dialog_asks_for_one_thing(consents):
    """A key, some cookies, an app id: nothing beside it on the same page."""
    apps = consents.with_apps()
    with apps.several() as several:
        for app in apps.each_app(*TYPED):
            with several.one(app):
                _a_dialog_asks_for_one_thing(apps, app)


def _a_dialog_asks_for_one_thing(apps, app):
    dialog, client, tool = _dialog(apps, app)
    fields = len(dialog.form.fields())
    apps.expect(
        fields == 1,
        sent=f"{tool.name}, whose credential is asked for",
        expected="one field to type into",
        got=f"{fields} fields",
    )
    apps.type_in(apps.needing(client, tool), apps.typed(tool))
    apps.expect_served(client.call(tool), tool, sent=f"{tool.name}, authorised in the dialog")


@requirement("gateway_consent/credential-dialog")
def test_the_app_hears_nothing_between_the_two_steps(consents):
    """The app id is typed in, and the secret is not: there is nothing to exchange yet."""
    apps = consents.with_apps()
    dialog, client, tool = _dialog(apps, "office")
    if len(dialog.form.fields()) != 1:
        raise NotApplicable("app id and secret are asked for on one page")
    dialog.press(dialog.words.submit, apps.double.app_id)
    heard = len(apps.double.seen("office"))
    sent = f"{tool.name}, when its app id was typed in and its secret was not"
    apps.expect(not heard, sent=sent, expected="no request to the app", got=f"{heard} request(s)")
    apps.expect_not_run(client.call(tool), sent=sent)
    with apps.honest_step("the second step could not be made"):
        dialog.press(dialog.words.submit, apps.double.app_secret)
    apps.expect_served(client.call(tool), tool, sent=f"{tool.name}, after both steps")


@requirement("gateway_consent/credential-dialog")
def test_cancel_keeps_nothing(consents):
    """What was typed is gone: the app is not called with it, and the person is asked again."""
    apps = consents.with_apps()
    with apps.several() as several:
        for app in apps.each_app(*TYPED):
            with several.one(app):
                _cancel_keeps_nothing(apps, app)


def _cancel_keeps_nothing(apps, app):
    dialog, client, tool = _dialog(apps, app)
    *before, last = apps.typed(tool)
    first = _label(dialog)
    with apps.honest_step("the second step could not be made"):
        for value in before:
            dialog.press(dialog.words.submit, value)
        button = dialog.form.button(dialog.words.cancel)
    apps.expect(
        button is not None,
        sent=f"{tool.name}, whose credential is asked for",
        expected=f"a button {dialog.words.cancel!r} (page.cancel in the table)",
        got="none",
    )
    dialog.press(dialog.words.cancel, last)
    answer = client.call(tool)
    apps.expect_not_run(answer, sent=f"{tool.name}, whose dialog was cancelled")
    with apps.honest_step("the dialog could not be opened again"):
        again = Dialog(apps, client, tool)
    apps.expect(
        _label(again) == first,
        sent=f"{tool.name}, whose dialog was cancelled at its last step, and opened again",
        expected=f"the first step: {first}",
        got=_label(again),
    )
    apps.let_in(client, tool)


@requirement("gateway_consent/credential-dialog")
def test_a_dialog_offers_help(consents):
    """Where to get the credential, as the descriptor says it (helpUrl, or loginUrl for cookies):
    a link, or at least its address to read. In both steps of the app's credentials."""
    apps = consents.with_apps()
    with apps.several() as several:
        for app in apps.each_app(*TYPED):
            dialog, _, tool = _dialog(apps, app)
            for step, value in enumerate(apps.typed(tool), 1):
                with several.one(f"{app}, step {step}"):
                    apps.expect(
                        HELP_URL in dialog.text,
                        sent=f"{tool.name}, whose credential is asked for, step {step}",
                        expected=f"a link to {HELP_URL}",
                        got="a page without it",
                    )
                with several.one(f"{app}, step {step}, whose"):
                    apps.expect(
                        f"Suite {app}" in dialog.text,
                        sent=f"{tool.name}, whose credential is asked for, step {step}",
                        expected="the app's name",
                        got=f"a page without 'Suite {app}'",
                    )
                dialog.press(dialog.words.submit, value)


BAD_LINKS = ("javascript:document.suite=1", "data:text/html,<b>x</b>", " javascript:suite(1)")
PLANTED = ("javascript:document.suite", "data:text/html,", "javascript:suite")
"""How those begin in a page, which may have such links of its own."""


@requirement("gateway_consent/dialog-injection", needs=["apps"])
def test_a_help_link_leads_to_a_page_only(consents):
    """An address that a browser would run as a script is no link, whatever the app calls it."""
    bad = dict(enumerate(BAD_LINKS))
    apps = consents.with_apps(
        more=lambda double: [double.helping(f"key-help-{n}", url) for n, url in bad.items()]
    )
    with apps.several() as several:
        for number, url in bad.items():
            tool = SafeTool(
                tool_name(f"suite.key-help-{number}", "read"),
                *(f"suite.key-help-{number}", "read", {}, Kind.WEB, True),
            )
            if not apps.offers(tool):
                continue  # a gateway may refuse such an app
            client = apps.client()
            with apps.honest_step("the dialog could not be opened"):
                dialog = Dialog(apps, client, tool)
            found = "<b data-suite>" in dialog.raw
            with several.one("markup"):
                apps.expect(
                    not found,
                    sent=f"{tool.name}, whose instructions hold markup",
                    expected="nothing but text",
                    got="an element <b data-suite> in the page",
                )
            links = re.findall(r"""(?:href|action|src)\s*=\s*["']?([^"'>]*)""", dialog.raw)
            made = [
                link for one in links if (link := html.unescape(one).strip()).startswith(PLANTED)
            ]
            with several.one(url):
                apps.expect(
                    not made,
                    sent=f"{tool.name}, whose helpUrl is {shown(url)}",
                    expected="no link that a browser runs",
                    got=f"{shown(made[0]) if made else ''} in the page",
                )
            apps.let_in(client, tool)
