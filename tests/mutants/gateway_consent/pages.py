"""Gateways whose page hides something, or takes a text for more than text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pytest_mcp_approval.families.gateway_consent import vocabulary as words
from pytest_mcp_approval.families.gateway_consent.vocabulary import Choice
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.server import pages
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

if TYPE_CHECKING:
    from starlette.responses import Response

FIELDS = "gateway_consent/dialog-fields"
INJECTION = "gateway_consent/dialog-injection"


class _Rewrites(ConsentPages):
    """Changes what is sent to the browser; what is to be changed has to be there."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        raise NotImplementedError

    def render(self, question: ConsentQuestion, app: App, tool: AppTool) -> Response:
        answer = super().render(question, app, tool)
        html = bytes(answer.body).decode()
        changed = self.rewritten(html, question, app, tool)
        answer.body = changed.encode()
        answer.headers["content-length"] = str(len(answer.body))
        return answer


# ---- dialog-fields


class _Hides(_Rewrites):
    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        raise NotImplementedError

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        hidden = escape(self.text(question, app, tool))
        assert hidden in html
        return html.replace(hidden, "…")


@mutant(kills=FIELDS, because="the caller's name on the page[^§]*the page shows")
@in_extension
class HidesTheCaller(_Hides):
    """Does not say who asks."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return question.caller


@mutant(kills=FIELDS, because="the app's name on the page[^§]*the page shows")
@in_extension
class HidesTheAppName(_Hides):
    """Does not say what the app is called."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return app.name


@mutant(kills=FIELDS, because="the app's id on the page[^§]*the page shows")
@in_extension
class HidesTheAppId(_Hides):
    """Says what the app is called, and not which one it is."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return app.id


@mutant(kills=FIELDS, because="the tool's name on the page[^§]*the page shows")
@in_extension
class HidesTheTool(_Hides):
    """Does not name the tool."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return tool.name


@mutant(kills=FIELDS, because="the description on the page[^§]*the page shows")
@in_extension
class HidesTheDescription(_Hides):
    """Does not say what the tool does."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return tool.description


@mutant(kills=FIELDS, because="the parameter .* on the page[^§]*the page shows")
@in_extension
class HidesTheParameters(ConsentPages):
    """Does not say what the tool takes."""

    def parameters(self, tool: AppTool) -> str:
        return f"{len(tool.parameters)}"


@mutant(kills=FIELDS, because="returns on the page[^§]*the page shows")
@in_extension
class HidesWhatComesBack(ConsentPages):
    """Does not say what the tool gives."""

    def returns(self, tool: AppTool) -> str:
        return "data"


@mutant(kills=FIELDS, because="the app's id on the page[^§]*the page shows")
@in_extension
class HidesTheAppIdFromEyes(_Rewrites):
    """Has the app's id in the page, where nobody sees it."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        shown = pages.shown(app.id)
        assert shown in html
        return html.replace(shown, f"<span hidden>{shown}</span>")


class _WhiteOnWhite(_Rewrites):
    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        raise NotImplementedError

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        shown = pages.shown(self.text(question, app, tool))
        assert shown in html
        # By attributes: the page's policy lets no style of its own in.
        faded = f'<font color="#fefefe">{shown}</font>'
        return html.replace(shown, f'<table bgcolor="#ffffff"><tr><td>{faded}</td></tr></table>')


@mutant(kills=FIELDS, because="the description on the page[^§]*the page shows")
@in_extension
class WritesTheDescriptionWhiteOnWhite(_WhiteOnWhite):
    """Has the description in the colour of its background."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return tool.description


@mutant(kills=FIELDS, because="the app's id on the page[^§]*the page shows")
@in_extension
class WritesTheAppIdWhiteOnWhite(_WhiteOnWhite):
    """Has the app's id in the colour of its background."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return app.id


class _LacksButton(ConsentPages):
    choice: Choice

    def form(self, question: ConsentQuestion) -> str:
        html = super().form(question)
        name = escape(words.CHOICE_NAMES[self.choice])
        assert f">{name}</button>" in html
        return html.replace(f">{name}</button>", "></button>")


@mutant(kills=FIELDS, because="a button 'Deny'[^§]*0 of that name")
@in_extension
class HasNoDeny(_LacksButton):
    """Leaves no choice but yes."""

    choice = Choice.DENY


@mutant(kills=FIELDS, because="a button 'Authorize All Tools'[^§]*0 of that name")
@in_extension
class HasNoAuthorizeAll(_LacksButton):
    """Has no way to allow all tools at once."""

    choice = Choice.ALL


@mutant(kills=FIELDS, because="a box 'Remember this decision'[^§]*0 of that name")
@in_extension
class HasNoBox(ConsentPages):
    """Does not ask whether to remember."""

    def form(self, question: ConsentQuestion) -> str:
        return super().form(question).replace('type="checkbox"', 'type="hidden"')


@mutant(kills=FIELDS, because="'Deny' in a browser[^§]*tool run")
@in_extension
class TakesEveryButtonForYes(ConsentPages):
    """Allows the tool, whichever button is pressed."""

    def decide(self, question: ConsentQuestion, choice: Choice, remember: bool) -> None:
        super().decide(question, Choice.TOOL, remember)


@mutant(kills=FIELDS, because="without a tick in a browser, the second call[^§]*, tool run")
@in_extension
class DoesNotLookAtTheBox(ConsentPages):
    """Remembers, ticked or not."""

    def decide(self, question: ConsentQuestion, choice: Choice, remember: bool) -> None:
        super().decide(question, choice, True)


# ---- dialog-injection


class _Raw(_Rewrites):
    """Puts a text into the page as it is."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        raise NotImplementedError

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        text = self.text(question, app, tool)
        return html.replace(pages.shown(text), text)


@mutant(kills=INJECTION, because="it made an element")
@in_extension
class TrustsTheCaller(_Raw):
    """Writes the client's name into the page as HTML."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return question.caller


@mutant(kills=INJECTION, because="it made an element")
@in_extension
class TrustsTheAppName(_Raw):
    """Writes the app's name into the page as HTML."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return app.name


@mutant(kills=INJECTION, because="it made an element")
@in_extension
class TrustsDescriptions(_Raw):
    """Lets descriptions have markup."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return tool.description


@mutant(kills=INJECTION, because="it made an element")
@in_extension
class TrustsParameters(ConsentPages):
    """Lets descriptions of parameters have markup."""

    def parameters(self, tool: AppTool) -> str:
        return "".join(
            f"<p>{escape(name)}: {schema.get('description', '')}</p>"
            for name, schema in tool.parameters.items()
        )


@mutant(kills=INJECTION, because="it made an element")
@in_extension
class TrustsReturns(ConsentPages):
    """Lets the description of what comes back have markup."""

    def returns(self, tool: AppTool) -> str:
        return str(tool.returns.get("description", ""))


@mutant(kills=INJECTION, because="(?:texts hold|name holds)[^§]*the page shows")
@in_extension
class EscapesTwice(_Rewrites):
    """Shows the person escapes in place of the text."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return html.replace(pages.shown(app.name), escape(pages.shown(app.name)))


@mutant(kills=INJECTION, because="hold entities[^§]*the page shows")
@in_extension
class EscapesTheRestOnly(_Rewrites):
    """Takes what looks like an escape for one, and leaves it."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return html.replace("&amp;lt;", "&lt;").replace("&amp;gt;", "&gt;")


@mutant(kills=INJECTION, because="from right to left")
@in_extension
class FollowsDirectionMarks(_Rewrites):
    """Lets a description say in which order it is read."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return html.replace(pages.shown(tool.description), f"<bdi>{escape(tool.description)}</bdi>")


@mutant(kills=INJECTION, because="from right to left")
@in_extension
class TurnsTheHeadingAround(_Rewrites):
    """Lets a client's name reverse the sentence around it."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        short = pages.shown_shortly(question.caller)
        assert short in html
        return html.replace(short, escape(question.caller))


@mutant(kills=INJECTION, because="the end of tool description on the page[^§]*the page shows")
@in_extension
class CutsDescriptions(_Rewrites):
    """Shows the beginning of a description, and asks about all of it."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return html.replace(pages.shown(tool.description), pages.shown(tool.description[:200]))
