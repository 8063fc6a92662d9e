"""Gateways and apps whose pages show something else than what is decided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from starlette.responses import Response

from pytest_mcp_approval.families.gateway_consent.vocabulary import (
    Choice,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.dialogs import (
    Dialogs,
)
from pytest_mcp_approval.reference_server.gateway_consent.authorisation.ways import (
    settings_of,
)
from pytest_mcp_approval.reference_server.gateway_consent.consent import ConsentQuestion
from pytest_mcp_approval.reference_server.gateway_consent.consent_page import ConsentPages
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app import (
    DemonstrationApp,
)
from pytest_mcp_approval.reference_server.gateway_consent.demonstration_app.oauth import (
    AuthorisationServer,
)
from pytest_mcp_approval.reference_server.gateway_consent.descriptors import App, AppTool
from pytest_mcp_approval.reference_server.gateway_consent.gate import Gateway
from pytest_mcp_approval.reference_server.gateway_consent.refusals import GatewayRefusal
from pytest_mcp_approval.reference_server.server import pages
from tests.mutants.gateway_consent.pages import _Raw, _Rewrites
from tests.mutants.gateway_consent.parts import in_extension
from tests.mutants.registry import mutant

INJECTION = "gateway_consent/dialog-injection"

if TYPE_CHECKING:
    from starlette.responses import Response

FIELDS = "gateway_consent/dialog-fields"
AUTHORIZE = "gateway_consent/oauth-authorize"


class _ShowsAnother(ConsentPages):
    """Shows another tool, app or caller than the question is about."""

    def tool_shown(self, tool: AppTool) -> AppTool:
        return tool

    def caller_shown(self, question: ConsentQuestion) -> str:
        return question.caller

    def fields(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return super().fields(question, app, self.tool_shown(tool))

    def render(self, question: ConsentQuestion, app: App, tool: AppTool) -> Response:
        shown = replace(question, caller=self.caller_shown(question))
        return super().render(shown, app, tool)


@mutant(kills=FIELDS, because="on the page: [^§]*the page shows '")
@in_extension
class ShowsRequiredParameters(_ShowsAnother):
    """Shows the parameters that a tool needs, and not those that it also takes."""

    def tool_shown(self, tool: AppTool) -> AppTool:
        needed = {name: one for name, one in tool.parameters.items() if name in tool.required}
        return replace(tool, parameters=needed)


@mutant(kills=FIELDS, because="on the page: [^§]*the page shows '")
@in_extension
class ShowsBareParameters(_ShowsAnother):
    """Shows the names of parameters, and not what they are for."""

    def tool_shown(self, tool: AppTool) -> AppTool:
        bare = {name: {"type": one.get("type")} for name, one in tool.parameters.items()}
        return replace(tool, parameters=bare)


@mutant(kills=FIELDS, because="on the page: [^§]*the page shows '")
@in_extension
class ShowsTheSortOfWhatComesBack(_ShowsAnother):
    """Shows that an object comes back, and not what is in it."""

    def tool_shown(self, tool: AppTool) -> AppTool:
        known = {name: one for name, one in tool.returns.items() if name == "type"}
        return replace(tool, returns=known)


@mutant(kills=FIELDS, because="the caller's name on the page[^§]*the page shows '(?!Claude)")
@in_extension
class ShowsTheFirstCaller(_ShowsAnother):
    """Keeps a page by app and tool: a second client is shown as the first."""

    def caller_shown(self, question: ConsentQuestion) -> str:
        first: dict[tuple[str, ...], str] = self.__dict__.setdefault("first", {})
        return first.setdefault(question.subject[1:], question.caller)


@mutant(
    kills=FIELDS,
    because="the caller's name on the page[^§]*the page shows 'Claude Desktop [0-9a-f]{5} asks",
)
@in_extension
class ShortensCallers(_ShowsAnother):
    """Shows the first twenty characters of a client's name."""

    def caller_shown(self, question: ConsentQuestion) -> str:
        return question.caller[:20]


@mutant(kills=AUTHORIZE, because="the page shows[^§]*more 1 others")
@in_extension
class ListsTheFirstTool(DemonstrationApp):
    """Lists one tool, and says that there are more."""

    def tools_shown(self, server: AuthorisationServer, tools: Sequence[str]) -> dict[str, str]:
        shown = super().tools_shown(server, tools[:1])
        return {**shown, "more": f"{len(tools) - 1} others"} if len(tools) > 1 else shown


@mutant(kills=INJECTION, because="it made an element B")
@in_extension
class TrustsAppIds(_Raw):
    """Writes the app's id into the page as HTML."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return app.id


@mutant(kills=INJECTION, because="it made an element B")
@in_extension
class TrustsToolNames(_Raw):
    """Writes the tool's name into the page as HTML."""

    def text(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return tool.name


@mutant(kills=INJECTION, because="it made an element B")
@in_extension
class TrustsNamesOfParameters(_Rewrites):
    """Writes the names of parameters into the page as HTML."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        for name in tool.parameters:
            html = html.replace(f"<code>{pages.shown(name)}</code>", f"<code>{name}</code>")
        return html


@mutant(kills=INJECTION, because="from right to left: def")
@in_extension
class LetsAppNamesTurnAround(_Rewrites):
    """Lets an app's name say in which order it is read."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return html.replace(pages.shown(app.name), f"<bdi>{escape(app.name)}</bdi>")


@mutant(kills=INJECTION, because="from right to left: def")
@in_extension
class LetsToolNamesTurnAround(_Rewrites):
    """Lets a tool's name say in which order it is read."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        return html.replace(pages.shown(tool.name), f"<bdi>{escape(tool.name)}</bdi>")


@mutant(kills="gateway_consent/tool-isolation", because="two tools of one app[^§]*, tool run")
@in_extension
class SwapsTwoButtons(ConsentPages):
    """Sends the choice of all tools from the button for one tool, and the other way round."""

    def form(self, question: ConsentQuestion) -> str:
        one, every = f'value="{Choice.TOOL}"', f'value="{Choice.ALL}"'
        before, _, rest = super().form(question).partition(one)
        return f"{before}{every}{rest.replace(every, one)}"


@mutant(
    kills="gateway_consent/dialog-fields",
    because="the parameter __proto__ on the page[^§]*the page shows",
)
@in_extension
class HidesInternalParameters(ConsentPages):
    """Takes parameters that begin with a low line for internal ones, and does not show them."""

    def render(self, question: ConsentQuestion, app: App, tool: AppTool) -> Any:
        shown = {name: one for name, one in tool.parameters.items() if name[:1] != "_"}
        return super().render(question, app, replace(tool, parameters=shown))


@mutant(
    kills="gateway_consent/oauth-authorize",
    because="with markup in [^§]*with the element <b data-suite>",
)
@in_extension
class EchoesRequests(DemonstrationApp):
    """Shows on its page what it was asked, as it came."""

    async def ask(self, request: Any) -> Any:
        answer = await super().ask(request)
        if answer.status_code in (200, 400):
            echo = f"<p>{unquote_plus(request.url.query)}</p>"
            answer.body = bytes(answer.body) + echo.encode()
            answer.headers["content-length"] = str(len(answer.body))
        return answer


@mutant(
    kills="gateway_consent/dialog-injection",
    because="a parameter whose type holds markup[^§]*it made",
)
@in_extension
class TrustsTypesOfParameters(_Rewrites):
    """Writes the types of parameters into the page as HTML."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        for schema in tool.parameters.values():
            sort = str(schema.get("type", "any"))
            html = html.replace(escape(sort), sort)
        return html


@mutant(
    kills="gateway_consent/dialog-injection",
    because="whose instructions hold markup[^§]*in the page",
)
@in_extension
class TrustsInstructions(Dialogs):
    """Lets an app's instructions for a credential have markup."""

    def instructions(self, app: App) -> str:
        given = settings_of(app).get("instructions")
        text = given.get("short") if isinstance(given, Mapping) else given
        return f"<p>{text}</p>" if text else ""


@mutant(
    kills="gateway_consent/dialog-injection",
    because="the page of a tool whose texts hold Markdown[^§]*the page shows",
)
@in_extension
class ReadsMarkdown(_Rewrites):
    """Reads descriptions as Markdown: a link shows what the app wants in place of its address."""

    def rewritten(self, html: str, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        shown = pages.shown(tool.description)
        links = re.sub(r"\[([^\]]*)\]\((https?://[^)\s]*)\)", r'<a href="\2">\1</a>', shown)
        return html.replace(shown, re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", links))


@mutant(
    kills="gateway_consent/dialog-fields",
    because="the page of the app id of the[^§]*the page shows",
)
@in_extension
class ShowsTheToolOfAnotherApp(_ShowsAnother):
    """Keeps what a tool does by its name: that of a second app is shown as the first's."""

    def tool_shown(self, tool: AppTool) -> AppTool:
        first: dict[str, AppTool] = self.__dict__.setdefault("first_tools", {})
        return first.setdefault(tool.name, tool)


@mutant(kills="gateway_consent/consent-required", because='a first call of[^§]*toolDescription "')
@in_extension
class TellsTheToolOfAnotherApp(Gateway):
    """Keeps what a tool does by its name: the agent is told what a tool of another app does."""

    def ask(self, caller: str, app: App, tool: AppTool) -> GatewayRefusal:
        first: dict[str, AppTool] = self.__dict__.setdefault("first_tools", {})
        known = first.setdefault(tool.name, tool)
        return super().ask(caller, app, known)
