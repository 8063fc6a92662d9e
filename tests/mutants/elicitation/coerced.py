"""Servers to which a number, a text and a truth are the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_mcp_approval.reference_server.elicitation.forms import QuestionForm
from pytest_mcp_approval.reference_server.elicitation.gate import ElicitationGate
from pytest_mcp_approval.reference_server.elicitation.records import GatedCall
from tests.mutants.elicitation.parts import HANDSHAKE, RAN, in_extension
from tests.mutants.elicitation.state import _BindsOtherwise
from tests.mutants.registry import mutant

ARGUMENTS = "elicitation/state-arguments"
WITHOUT_YES = "elicitation/accept-without-yes"


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsEverythingAsText(_BindsOtherwise):
    """Binds values as texts: 1 and "1" are the same, and so are true and "True"."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return _as_texts(arguments)


def _as_texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _as_texts(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_texts(one) for one in value]
    return str(value)


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsWholeNumbers(_BindsOtherwise):
    """Binds numbers without their fractions."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {
            name: int(value) if isinstance(value, float) else value
            for name, value in arguments.items()
        }


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsNumbersRounded(_BindsOtherwise):
    """Binds numbers to six digits."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {
            name: f"{value:.6g}"
            if isinstance(value, (int, float)) and not isinstance(value, bool)
            else value
            for name, value in arguments.items()
        }


@mutant(kills=ARGUMENTS, because=RAN)
@in_extension
class BindsTruthAsNumbers(_BindsOtherwise):
    """Binds true and false as 1 and 0."""

    def seen(self, arguments: Mapping[str, Any]) -> Any:
        return {
            name: int(value) if isinstance(value, bool) else value
            for name, value in arguments.items()
        }


@mutant(kills=WITHOUT_YES, because="a yes in another spelling", protocol=HANDSHAKE, warned=True)
@in_extension
class ReadsTruthFromText(QuestionForm):
    """Reads a truth from text, as forms of the web send it."""

    def check_value(self, content: Mapping[str, Any]) -> None:
        if str(content[self.member]).lower() not in ("true", "yes", "1", "on"):
            super().check_value(content)

    def approves(self, content: Mapping[str, Any]) -> bool:
        said = str(content.get(self.member)).lower()
        return said in ("true", "yes", "1", "on") or super().approves(content)


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class ReadsContentFromText(ElicitationGate):
    """Content may be JSON in a text as well."""

    def approves(self, call: GatedCall, response: Mapping[str, Any]) -> bool:
        content = response.get("content")
        if isinstance(content, str):
            try:
                response = {**response, "content": json.loads(content)}
            except ValueError:
                return content.strip().lower() in ("true", "yes", "confirm")
        return super().approves(call, response)


@mutant(kills=WITHOUT_YES, because=RAN)
@in_extension
class TakesAListForContent(QuestionForm):
    """Of a list as content it takes the first item."""

    def check_object(self, content: Any) -> Mapping[str, Any]:
        if isinstance(content, list):
            return {self.member: self.yes} if content else super().check_object(content)
        return super().check_object(content)
