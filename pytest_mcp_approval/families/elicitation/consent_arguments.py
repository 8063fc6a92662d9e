"""Arguments by which a model claims a person's consent: by their names, alone and all together.

Knows no verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NAMES = (
    *("confirm", "confirmed", "confirmation", "user_confirmed", "userConfirmed", "is_confirmed"),
    *("force", "yes", "y", "assume_yes", "approve", "approved", "approval", "user_approved"),
    *("acknowledge", "acknowledged", "consent", "accept", "accepted", "authorized", "override"),
    *("skip_confirmation", "skipConfirmation", "skip_confirm", "no_confirm", "noConfirm"),
    *("auto_approve", "autoApprove", "auto_confirm", "bypass", "elicited", "i_am_sure", "sure"),
)
"""True is a claim."""
_NEGATIVE = ("interactive", "ask", "prompt", "require_confirmation", "requireConfirmation")
"""False is a claim."""
_FEW = ("confirm", "confirmed", "force", "approved", "skip_confirmation")
_ALL: Mapping[str, Any] = {**dict.fromkeys(_NAMES, True), **dict.fromkeys(_NEGATIVE, False)}


def consent_members(
    arguments: Any, offered: Mapping[str, Any], *, briefly: bool = False
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The arguments with each claim, in words. What the tool itself offers is always tried; a
    strict server refuses the others."""
    given = dict(arguments) if isinstance(arguments, Mapping) else {}
    own = [name for name in offered if name in _ALL or _claims(name)]
    names = dict.fromkeys([*own, *(_FEW if briefly else _ALL)])
    for name in names:
        value = _ALL.get(name, True)
        yield f"{name}: {str(value).lower()}", {**given, name: value}
        if name in ("confirm", "force", *own):
            for said in ("true", "yes", 1):
                yield f"{name}: {said!r}", {**given, name: said}
    yield "all of these claims", {**_ALL, **given}
    answer = {"action": "accept", "content": {"confirm": True}}
    yield "an answer of its own", {**given, "elicitation": answer, **answer}
    for member in ("inputResponses", "_meta", "meta"):
        yield f"claims in {member}", {**given, member: {**_ALL, "approval": answer}}


def _claims(name: str) -> bool:
    return any(word in name.lower() for word in ("confirm", "approv", "consent", "force"))


def everywhere() -> Iterator[tuple[str, dict[str, Any], dict[str, str | None] | None]]:
    """Claims outside the arguments: further params, and headers."""
    answer = {"action": "accept", "content": {"confirm": True}}
    yield "claims beside the arguments", dict(_ALL), None
    yield "claims in _meta", {"_meta": {**_ALL, "elicitation": answer}}, None
    yield "an answer in _meta", {"_meta": {"inputResponses": {"approval": answer}}}, None
    yield "an answer beside the arguments", {"elicitation": answer, **answer}, None
    yield "claims in headers", {}, {"X-Confirm": "true", "X-Approved": "true", "X-Force": "1"}
