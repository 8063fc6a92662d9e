"""Verifiers that overlook the time, the nonce, the content or the scope."""

from __future__ import annotations

import datetime
from typing import Any
from urllib.parse import urlsplit

from pytest_mcp_approval.families.execution_tokens.vocabulary import (
    ACTION_TYPE,
    ALLOWED_HOSTS,
    CONTENT_HASH,
    ExecutionReason,
)
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import (
    Request,
    TokenVerifier,
)
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, TokenError
from pytest_mcp_approval.reference_server.server.extension import ExtensionParts
from tests.mutants.execution_tokens.parts import Lenient, in_extension
from tests.mutants.meeting import Meeting
from tests.mutants.registry import mutant

EXPIRY = "execution_tokens/expiry"
_NEAR_NOON = datetime.timezone(
    datetime.timedelta(hours=12 - datetime.datetime.now(datetime.UTC).hour)
)
"""Where midnight is far away: there, honest tokens would seem to have ended."""
HOST = "execution_tokens/scope-host"
ACTION = "execution_tokens/scope-action"
REPLAY = "execution_tokens/nonce-replay"
REQUIRED = "execution_tokens/nonce-required"
CONTENT = "execution_tokens/content-at-execution"
TAKEN = "[^§]*refused, content not run[^§]*accepted"


# ---- expiry


@mutant(kills=EXPIRY, because=f"1 s after it expired{TAKEN}")
@in_extension
class NeverLooksAtTheClock(TokenVerifier):
    """Shows an end and does not look at it."""

    def check_expiry(self, token: Token, _: Request) -> None:
        pass


@mutant(kills=EXPIRY, because="1 s before it expires[^§]*expired")
@in_extension
class ComparesLocalTime(TokenVerifier):
    """Compares local time with the token's time, whatever its zone."""

    def check_expiry(self, token: Token, _: Request) -> None:
        zone = datetime.timezone(datetime.timedelta(hours=2))
        wall = self.now().astimezone(zone).replace(tzinfo=None)
        if wall >= token.expiry().replace(tzinfo=None):
            raise ExecutionRefusal(ExecutionReason.EXPIRED, "it has expired")


@mutant(kills=EXPIRY, because=f"43200 s after it expired{TAKEN}|86[0-9]* s after it expired{TAKEN}")
@in_extension
class ComparesTheTimeOfTheDay(TokenVerifier):
    """Compares hours and minutes, and forgets the day."""

    def check_expiry(self, token: Token, _: Request) -> None:
        now, end = (one.astimezone(_NEAR_NOON) for one in (self.now(), token.expiry()))
        if now.time() >= end.time():
            raise ExecutionRefusal(ExecutionReason.EXPIRED, "it has expired")


class _LooseExpiry(Lenient):
    member = "expires_at"
    stand_in = "2999-01-01T00:00:00Z"


@mutant(kills=EXPIRY, because=f"an empty expires_at{TAKEN}")
@in_extension
class TakesNonsenseForNever(_LooseExpiry):
    """Lets a token live for ever if it cannot read the expiry."""

    def check_expiry(self, token: Token, request: Request) -> None:
        try:
            token.expiry()
        except (TokenError, TypeError):
            return
        if token.expiry().tzinfo is not None:
            super().check_expiry(token, request)

    def spend_nonce(self, token: Token, _: Request) -> None:
        if not self.nonces.spend(token.nonce, self.now(), self.now()):
            raise ExecutionRefusal(ExecutionReason.REPLAYED, "nonce: it is spent")


@mutant(kills=EXPIRY, because=f"a naive expires_at{TAKEN}")
@in_extension
class ReadsNaiveTimes(_LooseExpiry):
    """Takes a time without a zone for UTC."""

    def read(self, data: Any) -> Token:
        given = data.get("expires_at") if isinstance(data, dict) else None
        naive = isinstance(given, str) and len(given) == 19 and given[10] == "T"
        return super().read(data) if naive else TokenVerifier.read(self, data)

    def check_expiry(self, token: Token, _: Request) -> None:
        end = datetime.datetime.fromisoformat(token.expires_at)
        if self.now() >= (end if end.tzinfo else end.replace(tzinfo=datetime.UTC)):
            raise ExecutionRefusal(ExecutionReason.EXPIRED, "it has expired")

    def spend_nonce(self, token: Token, _: Request) -> None:
        if not self.nonces.spend(token.nonce, self.now(), self.now()):
            raise ExecutionRefusal(ExecutionReason.REPLAYED, "nonce: it is spent")


# ---- nonces


@mutant(kills=REPLAY, because=f"the same token, for time 2{TAKEN}")
@in_extension
class KeepsNoLog(TokenVerifier):
    """Asks for a nonce, and forgets it."""

    def spend_nonce(self, token: Token, _: Request) -> None:
        pass


@mutant(kills=REPLAY, because=f"others executed since{TAKEN}")
@in_extension
class RemembersTheLastTen(NonceStore):
    """Keeps its log short."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        kept: list[str] = self.__dict__.setdefault("kept", [])
        if nonce in kept:
            return False
        kept.append(nonce)
        del kept[:-10]
        return True


@mutant(kills=REPLAY, because=f"by another process or session{TAKEN}")
class HasALogForEachClient(ExecutionExtension):
    """Keeps a log in every session, or in every process."""

    def call(self, name: str, arguments: Any, caller: Any) -> dict[str, Any]:
        logs: dict[str, NonceStore] = self.__dict__.setdefault("logs", {})
        self.operator.verifier.nonces = logs.setdefault(caller.session, NonceStore())
        return super().call(name, arguments, caller)


@mutant(kills="execution_tokens/nonce-restart", because=f"after a restart{TAKEN}")
class KeepsNoncesInMemory(ExecutionExtension):
    """Forgets its log when it is restarted."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        self.operator.verifier.nonces = NonceStore()


@mutant(kills="execution_tokens/nonce-race", because="8 times at once[^§]*[2-8] accepted")
@in_extension
class LooksThenLogs(NonceStore):
    """Looks into its log first, and writes into it a moment later."""

    meeting = Meeting()

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        if self._nonces.get(nonce.lower()) is not None:
            return False
        self.meeting.wait()
        super().spend(nonce, expires_at, now)
        return True


class _LooseNonce(Lenient):
    member = "nonce"
    stand_in = "00000000-0000-0000-0000-000000000000"

    def read(self, data: Any) -> Token:
        if isinstance(data, dict) and data.get("nonce") in (None, ""):
            token = TokenVerifier.read(self, {**data, "nonce": self.stand_in})
            return Token(token.token_id, "", token.expires_at, token.scope, token.signature)
        return TokenVerifier.read(self, data)

    def spend_nonce(self, token: Token, request: Request) -> None:
        if token.nonce:
            super().spend_nonce(token, request)


@mutant(kills=REQUIRED, because=f"no nonce, an empty place for it signed{TAKEN}")
@in_extension
class NeedsNoNonce(_LooseNonce):
    """Takes a token without a nonce, which no log can remember."""


@mutant(kills=REQUIRED, because=f"no nonce, none signed{TAKEN}")
@in_extension
class SignsNoNonce(_LooseNonce):
    """Takes tokens of a generator that knows no nonces: the bug that the ADR names."""

    def canonical(self, token: Token) -> bytes:
        found = super().canonical(token)
        return found if token.nonce else found.replace(b"::", b":", 1)


@mutant(kills=REQUIRED, because="nonces [^§]*each more than once")
@in_extension
class ApprovesWithOneNonce(Arbiter):
    """Puts the same nonce into every token."""

    def new_nonce(self) -> str:
        return "00000000-0000-0000-0000-000000000000"


# ---- content


@mutant(kills=CONTENT, because=f"with another content{TAKEN}")
@in_extension
class LeavesTheContentToTheArbiter(TokenVerifier):
    """Does not hash the content: it was looked at when it was approved."""

    def check_content(self, token: Token, request: Request) -> None:
        pass


@mutant(kills=CONTENT, because=f"a line end more{TAKEN}")
@in_extension
class HashesWithoutTheEnds(TokenVerifier):
    """Takes blanks and line ends at both ends off before it hashes."""

    def check_content(self, token: Token, request: Request) -> None:
        for content in (request.content, request.content.strip(), request.content.strip() + b"\n"):
            try:
                super().check_content(token, Request(content, request.action_type, request.host))
            except ExecutionRefusal:
                continue
            return
        super().check_content(token, request)


@mutant(kills=CONTENT, because=f"sha256: before its hash{TAKEN}")
@in_extension
class ReadsPlainHashesOnly(TokenVerifier):
    """Compares 64 digits, and leaves alone what is written in another way."""

    def check_content(self, token: Token, request: Request) -> None:
        if ":" not in str(token.scope[CONTENT_HASH]):
            super().check_content(token, request)


# ---- hosts


class _Hosts(TokenVerifier):
    def check_host(self, token: Token, request: Request) -> None:
        if request.host is None:
            return
        if not any(self.fits(request.host, str(one)) for one in token.scope[ALLOWED_HOSTS]):
            raise ExecutionRefusal(ExecutionReason.HOST, "host: got one that was not approved")

    def fits(self, url: str, allowed: str) -> bool:
        raise NotImplementedError


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "") if "://" in url else url.lower()


@mutant(kills=HOST, because=f"with a subdomain{TAKEN}")
@in_extension
class ComparesTheEnd(_Hosts):
    """Takes every host that ends like an allowed one."""

    def fits(self, url: str, allowed: str) -> bool:
        return bool(allowed.strip(".*")) and _host(url).endswith(allowed)


@mutant(kills=HOST, because=f"that begins alike{TAKEN}")
@in_extension
class ComparesTheBeginningOfTheUrl(_Hosts):
    """Takes every URL that begins like one of an allowed host."""

    def fits(self, url: str, allowed: str) -> bool:
        return url.startswith((f"https://{allowed}", allowed)) and bool(allowed.strip("*."))


@mutant(kills=HOST, because=f"the allowed host in the path{TAKEN}")
@in_extension
class SearchesTheUrl(_Hosts):
    """Looks for the allowed host anywhere in the URL."""

    def fits(self, url: str, allowed: str) -> bool:
        return bool(allowed) and allowed in url.split("/")


@mutant(kills=HOST, because=f"no host in its scope{TAKEN}")
@in_extension
class TakesNoneForAny(TokenVerifier):
    """Takes an empty list of hosts for no restriction."""

    def check_host(self, token: Token, request: Request) -> None:
        if token.scope[ALLOWED_HOSTS]:
            super().check_host(token, request)


@mutant(kills=HOST, because=f"a backslash before user information{TAKEN}")
@in_extension
class LetsUrllibRead(_Hosts):
    """Lets urllib find the host, which no browser does in the same way."""

    def fits(self, url: str, allowed: str) -> bool:
        return _host(url) == allowed


@mutant(kills=HOST, because=f"with another host{TAKEN}")
@in_extension
class NeverLooksAtHosts(TokenVerifier):
    """Signs hosts, and reaches any."""

    def check_host(self, token: Token, request: Request) -> None:
        pass


# ---- actions


@mutant(kills=ACTION, because=f"with another action type{TAKEN}")
@in_extension
class NeverLooksAtActions(TokenVerifier):
    """Signs an action type, and does any."""

    def check_action(self, token: Token, request: Request) -> None:
        pass


@mutant(kills=ACTION, because=f"in capitals{TAKEN}")
@in_extension
class FoldsTheCaseOfActions(TokenVerifier):
    """Compares action types in lower case."""

    def check_action(self, token: Token, request: Request) -> None:
        if request.action_type.lower() != str(token.scope[ACTION_TYPE]).lower():
            super().check_action(token, request)


@mutant(kills=ACTION, because=f"a star for its action type{TAKEN}")
@in_extension
class TakesAStarForAnyAction(TokenVerifier):
    """Knows an action type that means all of them."""

    def check_action(self, token: Token, request: Request) -> None:
        if token.scope[ACTION_TYPE] != "*":
            super().check_action(token, request)
