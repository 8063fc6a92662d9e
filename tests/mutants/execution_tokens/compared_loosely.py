"""Verifiers that take for the same what is only alike."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

from pytest_mcp_approval.families.execution_tokens.vocabulary import (
    ACTION_TYPE,
    ALLOWED_HOSTS,
)
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token
from tests.mutants.execution_tokens.parts import TAKEN, in_extension
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"
HOST = "execution_tokens/scope-host"
SECRET = "execution_tokens/default-secret"


class _Actions(TokenVerifier):
    """Takes an action for the approved one if it fits."""

    def fits(self, asked: str, approved: str) -> bool:
        raise NotImplementedError

    def check_action(self, token: Token, request: Request) -> None:
        if not self.fits(request.action_type, str(token.scope[ACTION_TYPE])):
            super().check_action(token, request)


@mutant(kills=ACTION, because=f"with a blank after its action type{TAKEN}")
@in_extension
class TrimsActions(_Actions):
    """Takes blanks and line ends off an action type."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.strip() == approved.strip()


@mutant(kills=ACTION, because=f"with an empty action type{TAKEN}")
@in_extension
class SearchesTheAction(_Actions):
    """Asks whether the action is in the approved one, which also holds for a part of it."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked in approved


@mutant(kills=ACTION, because=f"a star for its action type{TAKEN}")
@in_extension
class ReadsActionsAsPatterns(_Actions):
    """Lets the approved action type be a pattern of the shell."""

    def fits(self, asked: str, approved: str) -> bool:
        return fnmatch.fnmatchcase(asked, approved)


# ---- hosts


class _Hosts(TokenVerifier):
    """Takes a host for an allowed one if it fits."""

    def fits(self, authority: str, allowed: str) -> bool:
        raise NotImplementedError

    def check_host(self, token: Token, request: Request) -> None:
        authority = re.split(r"[/?#]", (request.host or "").rpartition("://")[2])[0]
        if not any(self.fits(authority, one) for one in token.scope[ALLOWED_HOSTS] if one):
            super().check_host(token, request)


@mutant(kills=HOST, because=rf"with a dot for the dot: https://apixexample\.org/{TAKEN}")
@in_extension
class ReadsHostsAsExpressions(_Hosts):
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
