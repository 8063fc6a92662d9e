"""The gateway: the order in which a call is checked before an app's tool is run.

    1. who calls: what the client said about itself at the handshake
    2. consent: has a person allowed this tool of this app to this caller
    3. arguments: those that the tool needs
    4. the app's own authorisation, for the tools that were allowed and no others
    5. a consent for one call is used up
    6. the tool is run

No step begins before the earlier ones have passed: an app learns of a call only if a person wants
it, and a consent for one call leads to one call at most. Each check is a method of its own. Knows
no MCP and no storage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...families.gateway_consent.vocabulary import UNKNOWN_CLIENT, Kind, tool_name
from ..server.answers import InvalidParamsError, object_arguments
from ..server.effects import RecordedEffects
from ..server.extension import Caller
from ..server.pages import MOST_SHOWN
from . import execution, refusals
from .consent import ConsentQuestion, Decisions
from .descriptors import App, AppTool
from .http_client import SendingError
from .log import logger

if TYPE_CHECKING:
    from .authorisation import Authoriser, Sending

LONGEST_NAME = MOST_SHOWN
_SCHEMA_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
}


class Gateway:
    """`authoriser` and `locate` are asked only for web apps: both may start something."""

    def __init__(
        self,
        decisions: Decisions,
        effects: RecordedEffects,
        consent_url: Callable[[ConsentQuestion], str],
        authoriser: Callable[[], Authoriser],
        locate: Callable[[App], App],
    ) -> None:
        self.decisions = decisions
        self.effects = effects
        self.consent_url = consent_url
        self.authoriser = authoriser
        self.locate = locate

    def call(self, who: Caller, app: App, tool: AppTool, arguments: Any) -> dict[str, Any]:
        """What the app answers; `GatewayRefusal` says why it was not asked."""
        caller = self.caller_name(who, arguments)
        if self.needs_consent(app):
            self.check_consent(caller, app, tool)
        given = self.check_arguments(tool, arguments)
        if app.kind is Kind.WEB:
            result = self.call_web(caller, self.locate(app), tool, given)
        else:
            self.take_consent(caller, app, tool)
            result = self.run(app, tool, given, None)
        self.effects.record(tool_name(app.id, tool.name), given)
        return result

    # ---- 1. who calls

    def caller_name(self, who: Caller, arguments: Any) -> str:  # noqa: ARG002
        """As the client wrote it: names that look alike are still two names."""
        length = len(who.client)
        if length > LONGEST_NAME:
            # A page could not show all of it, and two names could look the same.
            raise InvalidParamsError(
                f"clientInfo.name: got {length} characters, expected {LONGEST_NAME} at most"
            )
        return who.client or UNKNOWN_CLIENT

    # ---- 2. consent

    def needs_consent(self, app: App) -> bool:  # noqa: ARG002
        """Of every kind, on every platform."""
        return True

    def check_consent(self, caller: str, app: App, tool: AppTool) -> None:
        granted = self.decisions.granted(caller, app.id, tool.name)
        if granted is None:
            raise self.ask(caller, app, tool)
        if not granted:
            # A denial that is not remembered is used up by this call.
            self.decisions.use_up(caller, app.id, tool.name)
            raise refusals.consent_denied(app, tool)

    def ask(self, caller: str, app: App, tool: AppTool) -> refusals.GatewayRefusal:
        question = self.decisions.ask(caller, app.id, tool.name)
        logger.info("a call waits for consent")
        return refusals.consent_required(app, tool, self.consent_url(question))

    # ---- 3. arguments

    def check_arguments(self, tool: AppTool, arguments: Any) -> dict[str, Any]:
        given = object_arguments(arguments)
        for name in tool.required:
            if name not in given:
                raise InvalidParamsError(f"{ascii(name)[:60]}: got nothing, expected a value")
        for name, value in given.items():
            if name not in tool.parameters:
                raise InvalidParamsError(f"{ascii(name)[:60]}: this tool has no such parameter")
            kinds = _SCHEMA_TYPES.get(str(tool.parameters[name].get("type")), (object,))
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise InvalidParamsError(
                    f"{ascii(name)[:60]}: got {type(value).__name__}, expected "
                    f"{ascii(tool.parameters[name].get('type'))[:40]}"
                )
        return dict(given)

    # ---- 4. the app's authorisation

    def call_web(
        self, caller: str, app: App, tool: AppTool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        consented = self.consented(caller, app)
        sending = self.authorise(caller, app, tool, consented)
        self.take_consent(caller, app, tool)
        try:
            return self.run(app, tool, arguments, sending)
        except execution.RejectedError:
            logger.info("an app no longer knows its credential")
        self.authoriser().rejected(app, caller)
        try:
            sending = self.authorise(caller, app, tool, consented)
            return self.run(app, tool, arguments, sending)
        except execution.RejectedError as error:
            raise refusals.app_failed(app, tool, str(error)) from None

    def authorise(
        self, caller: str, app: App, tool: AppTool, consented: list[str]
    ) -> Sending | None:
        """What to add to the request, or the refusal that leads a person to the app's page."""
        from .authorisation import AuthorisationNeeded  # here: not every app is a web app

        if app.auth is None:
            return None
        try:
            return self.authoriser().authorise(
                app, caller, consented, execution.url_of(app, tool), tool.name
            )
        except AuthorisationNeeded as needed:
            raise refusals.authorization_required(
                app, tool, app.auth.type.value, needed.url
            ) from None
        except SendingError as error:
            raise refusals.app_failed(app, tool, str(error)) from None

    def consented(self, caller: str, app: App) -> list[str]:
        """What an app is told: the tools that this caller may use, and no others."""
        return self.decisions.tools_granted(app, caller)

    # ---- 5. consent for one call

    def take_consent(self, caller: str, app: App, tool: AppTool) -> None:
        """Last of all, so that a call that fails earlier does not use it up."""
        if not self.needs_consent(app):
            return
        kept = self.decisions.remembered(caller, app.id, tool.name)
        granted = self.decisions.use_up(caller, app.id, tool.name) if kept is None else kept
        if granted is None:
            raise self.ask(caller, app, tool)  # another call took it first
        if not granted:
            raise refusals.consent_denied(app, tool)  # a person denied it meanwhile

    # ---- 6. running

    def run(
        self,
        app: App,
        tool: AppTool,
        arguments: dict[str, Any],
        sending: Sending | None,
    ) -> dict[str, Any]:
        try:
            if app.kind is Kind.WEB:
                return execution.over_http(app, tool, arguments, sending)
            if app.kind is Kind.COMMAND:
                return execution.as_command(tool, arguments)
            return execution.on_desktop(tool, arguments)
        except execution.RejectedError:
            raise
        except execution.ExecutionError as error:
            raise refusals.app_failed(app, tool, str(error)) from None
