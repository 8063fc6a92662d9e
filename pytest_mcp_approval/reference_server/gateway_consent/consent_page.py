"""The consent page: who wants which tool of which app, what it does, and three choices.

Whoever has the page's address can answer, unless there is a code that only the person knows: it
cannot be guessed, and leads to one question about one tool for one caller, once. But the client
gets it first (docs/self-approval.md). Decides nothing itself; knows no MCP and no credential.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from ...families.gateway_consent import vocabulary as words
from ...families.gateway_consent.vocabulary import Choice
from ..server import pages
from ..server.secret_text import same
from .consent import ConsentError, ConsentQuestion, Decisions
from .descriptors import App, AppTool
from .log import logger
from .person_code import PersonCode
from .vault import VaultError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PATH = "/consent"
COOKIE = "gateway_consent"
_KINDS = {"web": "web app", "desktop": "desktop app", "command": "command-line app"}
_MOST_LISTED = 100


class ConsentPages:
    """`apps` are the apps that the questions are about."""

    def __init__(
        self, decisions: Decisions, apps: Callable[[], Mapping[str, App]], person_code: str = ""
    ) -> None:
        self.decisions = decisions
        self.apps = apps
        self.person = PersonCode(person_code, decisions.clock)

    def path(self, question: ConsentQuestion) -> str:
        """The path of the page's address."""
        return f"{PATH}/{question.id}"

    def routes(self) -> list[Route]:
        from starlette.routing import Route

        where = f"{PATH}/{{id}}"
        return [
            Route(where, self.show, methods=["GET"]),
            Route(where, self.take, methods=["POST"]),
        ]

    # ---- showing

    async def show(self, request: Request) -> Response:
        question = self.decisions.questions.find(request.path_params["id"])
        if question is None:
            return _not_open()
        app = self.apps()[question.app_id]
        answer = self.render(question, app, app.tools[question.tool])
        answer.set_cookie(
            COOKIE, question.cookie, path=self.path(question), httponly=True, samesite="strict"
        )
        return answer

    def render(self, question: ConsentQuestion, app: App, tool: AppTool) -> Response:
        caller = pages.shown_shortly(question.caller)
        return pages.page(
            "Consent to a tool",
            f"<h1>{caller} asks to use a tool</h1>\n"
            f"<dl>\n{self.fields(question, app, tool)}\n</dl>\n"
            f'<p class="warning">If you authorize it, {caller} can call this tool with data of '
            "its own choice. The name is the client's own claim.</p>\n"
            f"{self.form(question)}",
        )

    def fields(self, question: ConsentQuestion, app: App, tool: AppTool) -> str:
        """Everything that the document wants to be shown."""
        rows = [
            pages.field("Client", question.caller),
            pages.field("App", app.name),
            pages.field("App ID", app.id, code=True),
            pages.field("Kind of app", _KINDS[app.kind]),
            pages.field("Tool", tool.name, code=True),
            pages.field("Description", tool.description or "none given"),
            pages.row("Parameters", self.parameters(tool)),
        ]
        if tool.returns:
            rows.append(pages.row("Returns", self.returns(tool)))
        return "\n".join(rows)

    def parameters(self, tool: AppTool) -> str:
        return _members(tool.parameters, tool.required) or "none"

    def returns(self, tool: AppTool) -> str:
        described = tool.returns.get("description", "")
        sort = _sort_of(tool.returns)
        text = pages.shown(f"{described} ({sort})" if described else sort)
        properties = tool.returns.get("properties", {})
        return text + (_members(properties) if isinstance(properties, Mapping) else "")

    def form(self, question: ConsentQuestion) -> str:
        buttons = "\n".join(
            f'<button class="{style}" name="{words.CHOICE_MEMBER}" value="{choice}">'
            f"{escape(words.CHOICE_NAMES[choice])}</button>"
            for choice, style in ((Choice.TOOL, "go"), (Choice.ALL, "all"), (Choice.DENY, "stop"))
        )
        return (
            f'<form method="post" action="{self.path(question)}" autocomplete="off">\n'
            f"{pages.no_default_button(words.CHOICE_MEMBER)}"
            f"{pages.hidden(words.CSRF_MEMBER, question.csrf)}\n"
            f'<label class="tick"><input type="checkbox" name="{words.REMEMBER_MEMBER}" '
            f'value="yes" aria-describedby="once"> {escape(words.REMEMBER)}</label>\n'
            '<p class="note" id="once">Otherwise your choice counts for the next call of this tool '
            "only, within five minutes.</p>\n"
            f"{self.person.field()}"
            f'<div class="buttons">\n{buttons}\n</div></form>'
        )

    # ---- deciding

    async def take(self, request: Request) -> Response:
        import anyio.to_thread

        question = self.decisions.questions.find(request.path_params["id"])
        if question is None:
            return _not_open()
        try:
            members = await pages.read_form(request)
            self.check_sender(question, members, request.cookies)
            if members.get(words.CHOICE_MEMBER) == "":
                return await self.show(request)  # Enter was pressed, and none of the three buttons
            choice, remember = self.read_choice(members)
            self.person.check(members)
        except pages.FormError as error:
            return pages.message("Nothing was decided", str(error), 400)
        try:
            await anyio.to_thread.run_sync(self.decide, question, choice, remember)
        except ConsentError:
            return _not_open()
        except VaultError:
            logger.exception("a decision could not be kept")
            return pages.message("Nothing was decided", "The decision could not be kept.", 500)
        return pages.message("Your decision counts", _said(choice, remember))

    def check_sender(
        self, question: ConsentQuestion, members: Mapping[str, str], cookies: Mapping[str, str]
    ) -> None:
        """The form belongs to this page, and was shown to this browser."""
        if not same(members.get(words.CSRF_MEMBER), question.csrf):
            raise pages.FormError("This form does not belong to this page.")
        if not same(cookies.get(COOKIE), question.cookie):
            raise pages.FormError("This browser has not been shown this page (is a cookie lost?).")

    def read_choice(self, members: Mapping[str, str]) -> tuple[Choice, bool]:
        try:
            choice = Choice(members.get(words.CHOICE_MEMBER, ""))
        except ValueError:
            raise pages.FormError("This form makes none of the three choices.") from None
        return choice, words.REMEMBER_MEMBER in members

    def decide(self, question: ConsentQuestion, choice: Choice, remember: bool) -> None:
        self.decisions.decide(question.id, choice, remember=remember)


def _not_open() -> Response:
    return pages.message(
        "There is no open question here",
        "It was answered, or is too old. If the client still needs the tool, it asks again.",
        404,
    )


def _said(choice: Choice, remember: bool) -> str:
    what = {
        Choice.TOOL: "The client may use this tool",
        Choice.ALL: "The client may use all tools of this app",
        Choice.DENY: "The client may not use this tool",
    }
    if remember:
        return f"{what[choice]} from now on. You can close this page."
    if choice is Choice.DENY:
        return "The next call is refused; after that you are asked again. You can close this page."
    return "The client may use this tool once, within five minutes. You can close this page."


def _members(schemas: Mapping[str, Any], required: tuple[str, ...] = ()) -> str:
    """A list of names, each with its type and its description."""
    rows = []
    for name, given in list(schemas.items())[:_MOST_LISTED]:
        schema = given if isinstance(given, Mapping) else {}
        sort = _sort_of(schema) + (", required" if name in required else "")
        described = str(schema.get("description", ""))
        text = f"<code>{pages.shown(name)}</code> ({pages.shown(sort)})"
        rows.append(f"<li>{text}{': ' + pages.shown(described) if described else ''}</li>")
    if len(schemas) > _MOST_LISTED:
        rows.append(f"<li>and {len(schemas) - _MOST_LISTED} more</li>")
    return f"<ul>{''.join(rows)}</ul>" if rows else ""


def _sort_of(schema: Mapping[str, Any]) -> str:
    sort = schema.get("type", "any")
    items = schema.get("items")
    if sort == "array" and isinstance(items, Mapping):
        return f"array of {items.get('type', 'any')}"
    return " or ".join(map(str, sort)) if isinstance(sort, list) else str(sort)
