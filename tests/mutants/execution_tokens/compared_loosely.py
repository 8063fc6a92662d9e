"""Verifiers that take for the same what is only alike."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    FittingActions,
    FittingHosts,
    in_extension,
)
from tests.mutants.registry import mutant

SIGNATURE = "execution_tokens/signature"
ACTION = "execution_tokens/scope-action"
HOST = "execution_tokens/scope-host"
SECRET = "execution_tokens/default-secret"


@mutant(kills=ACTION, because=f"with a blank after its action type{TAKEN}")
@in_extension
class TrimsActions(FittingActions):
    """Takes blanks and line ends off an action type."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.strip() == approved.strip()


@mutant(kills=ACTION, because=f"with an empty action type{TAKEN}")
@in_extension
class SearchesTheAction(FittingActions):
    """Asks whether the action is in the approved one, which also holds for a part of it."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked in approved


@mutant(kills=ACTION, because=f"a star for its action type{TAKEN}")
@in_extension
class ReadsActionsAsPatterns(FittingActions):
    """Lets the approved action type be a pattern of the shell."""

    def fits(self, asked: str, approved: str) -> bool:
        return fnmatch.fnmatchcase(asked, approved)


# ---- hosts


@mutant(kills=HOST, because=rf"with a dot for the dot: https://apixexample\.org/{TAKEN}")
@in_extension
class ReadsHostsAsExpressions(FittingHosts):
    """Puts the allowed host into a regular expression, where its dots stand for any letter."""

    def fits(self, authority: str, allowed: str) -> bool:
        return re.fullmatch(allowed.replace("*", ""), authority) is not None


# ---- secrets


@mutant(kills=SECRET, because="a blank secret[^§]*accepted", warned=True)
class TakesBlanksForASecret(ExecutionExtension):
    """Asks whether a secret is empty, which blanks are not."""

    def read_secret(self, given: Any) -> bytes:
        if isinstance(given, str) and given and not given.strip():
            return given.encode()
        return super().read_secret(given)


@mutant(kills=SIGNATURE, because=f"one digit more than its signature{TAKEN}")
class ReadsHexUntilItEnds(ExecutionExtension):
    """Reads 32 bytes from the signature, and does not ask what comes after them."""

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        if isinstance(read, dict) and isinstance(read.get(words.SIGNATURE), str):
            return {**read, words.SIGNATURE: read[words.SIGNATURE][:64]}
        return read


@mutant(kills=SIGNATURE, because=f"signed with the known default secret{TAKEN}")
@in_extension
class KnowsTheDefaultSecret(TokenVerifier):
    """Looks at the secret first and then at earlier ones, and the earliest is the known default."""

    def check_signature(self, token: Token, request: Request) -> None:
        if token.signature != sign(words.DEFAULT_SECRET.encode(), self.canonical(token)):
            super().check_signature(token, request)
