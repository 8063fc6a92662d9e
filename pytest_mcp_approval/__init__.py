"""A pytest plugin that checks how MCP servers ask for human approval.

These are the names that test authors and family authors may import (docs/public-api.md); everything
else may change. Each name is loaded when it is first used, because pytest loads this package in
every run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .browser.errors import BrowserError as BrowserError
    from .browser.pages import ApprovalPage as ApprovalPage
    from .catalogue import Finding as Finding
    from .catalogue import Grade as Grade
    from .catalogue import NotApplicable as NotApplicable
    from .catalogue import NotVerified as NotVerified
    from .catalogue import may_poison as may_poison
    from .catalogue import requirement as requirement
    from .clock import ClockControl as ClockControl
    from .clock import ClockError as ClockError
    from .config.reader import Place as Place
    from .config.reader import SettingsError as SettingsError
    from .config.reader import Sources as Sources
    from .config.reader import read as read
    from .config.reader import setting as setting
    from .families.base.decoder import DecodedMessage as DecodedMessage
    from .families.base.decoder import Meaning as Meaning
    from .families.base.decoder import member_in as member_in
    from .families.base.decoder import short as short
    from .families.base.driver import Driver as Driver
    from .families.base.driver import DriverError as DriverError
    from .families.base.exploration import AnyChange as AnyChange
    from .families.base.exploration import BrokenRule as BrokenRule
    from .families.base.exploration import EndOfWalk as EndOfWalk
    from .families.base.exploration import Model as Model
    from .families.base.exploration import one_of as one_of
    from .families.base.exploration import transition as transition
    from .families.base.exploration import which as which
    from .families.base.needs import Check as Check
    from .families.base.outcome import ObservedOutcome as ObservedOutcome
    from .families.base.outcome import object_in as object_in
    from .families.base.preflight import NotOffered as NotOffered
    from .families.base.preflight import Preflight as Preflight
    from .families.base.preflight import PreflightError as PreflightError
    from .families.base.proposal import Proposal as Proposal
    from .families.base.proposal import ToRun as ToRun
    from .families.base.proposal import Wanted as Wanted
    from .families.base.scenario import ScenarioView as ScenarioView
    from .families.base.scenario import Warn as Warn
    from .families.base.scenario import check_preconditions as check_preconditions
    from .families.base.token_exploration import TokenModel as TokenModel
    from .families.base.token_state import HeldApproval as HeldApproval
    from .families.base.token_state import Misuses as Misuses
    from .families.confirmation_tokens.binding import ConfirmationBinding as ConfirmationBinding
    from .families.confirmation_tokens.driver import ConfirmationTokens as ConfirmationTokens
    from .families.elicitation.driver import Elicitation as Elicitation
    from .families.execution_tokens.driver import ExecutionTokens as ExecutionTokens
    from .families.gateway_consent.driver import GatewayConsent as GatewayConsent
    from .families.prepare_confirm.driver import PrepareConfirm as PrepareConfirm
    from .families.sep2672.driver import Approval as Approval
    from .families.sep2672.driver import Passkey as Passkey
    from .families.sep2672.page import PageDriver as PageDriver
    from .support.text import neutralise as neutralise
    from .target import EffectsError as EffectsError
    from .target import Target as Target
    from .target import TargetError as TargetError
    from .wire import Outcome as Outcome
    from .wire import RawJson as RawJson
    from .wire import Reply as Reply
    from .wire import Session as Session
    from .wire import WireError as WireError
    from .wire import race as race

    __version__: str

_PLACES = {
    "browser.errors": ["BrowserError"],
    "browser.pages": ["ApprovalPage"],
    "catalogue": [
        *("Finding", "Grade", "NotApplicable", "NotVerified"),
        *("may_poison", "requirement"),
    ],
    "clock": ["ClockControl", "ClockError"],
    "config.reader": ["Place", "SettingsError", "Sources", "read", "setting"],
    "families.base.decoder": ["DecodedMessage", "Meaning", "member_in", "short"],
    "families.base.driver": ["Driver", "DriverError"],
    "families.base.exploration": [
        *("AnyChange", "BrokenRule", "EndOfWalk", "Model", "one_of", "transition", "which"),
    ],
    "families.base.needs": ["Check"],
    "families.base.outcome": ["ObservedOutcome", "object_in"],
    "families.base.preflight": ["NotOffered", "Preflight", "PreflightError"],
    "families.base.proposal": ["Proposal", "ToRun", "Wanted"],
    "families.base.scenario": ["ScenarioView", "Warn", "check_preconditions"],
    "families.base.token_exploration": ["TokenModel"],
    "families.base.token_state": ["HeldApproval", "Misuses"],
    "families.confirmation_tokens.binding": ["ConfirmationBinding"],
    "families.confirmation_tokens.driver": ["ConfirmationTokens"],
    "families.elicitation.driver": ["Elicitation"],
    "families.execution_tokens.driver": ["ExecutionTokens"],
    "families.gateway_consent.driver": ["GatewayConsent"],
    "families.prepare_confirm.driver": ["PrepareConfirm"],
    "families.sep2672.driver": ["Approval", "Passkey"],
    "families.sep2672.page": ["PageDriver"],
    "support.text": ["neutralise"],
    "target": ["EffectsError", "Target", "TargetError"],
    "wire": ["Outcome", "RawJson", "Reply", "Session", "WireError", "race"],
}
"""The same names as in the imports above, by module."""

__all__ = sorted(name for names in _PLACES.values() for name in names)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module(".support.version", __name__).own_version()
    for place, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f".{place}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__, "__version__"]
