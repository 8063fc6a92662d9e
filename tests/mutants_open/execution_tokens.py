"""Broken servers of execution tokens that no scenario of their rule finds out yet.

Each breaks ADR-006; the comment above it says what shows it. One that is found out moves to the
file of its class in tests/mutants/execution_tokens.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import secrets
import threading
import time
import unicodedata
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.families.execution_tokens.vocabulary import ExecutionReason
from pytest_mcp_approval.reference_server.execution_tokens.demonstration import demonstrated
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.operator import Arbiter, Operator
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.settings import SecretError
from pytest_mcp_approval.reference_server.execution_tokens.store import NonceStore, SpentNonce
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from pytest_mcp_approval.reference_server.server.extension import Caller, ExtensionParts
from tests.mutants.execution_tokens.absent import _WritesAbsence
from tests.mutants.execution_tokens.coerced import _without_prototype
from tests.mutants.execution_tokens.commands import broken
from tests.mutants.execution_tokens.fractions import _Reads
from tests.mutants.execution_tokens.parts import (
    FittingActions,
    FittingHosts,
    LenientScope,
    OtherLogKey,
    RewritingContent,
    RewritingUrls,
    Unsigned,
    WritingScopes,
    changed,
    in_extension,
)
from tests.mutants.registry import mutant

ACTION = "execution_tokens/scope-action"
CANONICAL = "execution_tokens/canonical-string"
CONTENT = "execution_tokens/content-at-execution"
EXPIRY = "execution_tokens/expiry"
HOST = "execution_tokens/scope-host"
LANGUAGES = "execution_tokens/cross-language"
RACE = "execution_tokens/nonce-race"
REPLAY = "execution_tokens/nonce-replay"
REQUIRED = "execution_tokens/nonce-required"
RESTART = "execution_tokens/nonce-restart"
SECRET = "execution_tokens/default-secret"
SIGNATURE = "execution_tokens/signature"


# ---- life renewed


# shows: a good token refused once for another content, then presented rightly 1 s after its
# expiry; it is accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class SeenTokensLiveOn(TokenVerifier):
    """Gives a token five minutes from each time that it sees it, as sessions have them."""

    def check_expiry(self, token: Token, request: Request) -> None:
        seen: dict[str, datetime.datetime] = self.__dict__.setdefault("seen", {})
        last = seen.get(token.signature)
        if last is None or self.now() >= last + datetime.timedelta(minutes=5):
            super().check_expiry(token, request)
        seen[token.signature] = self.now()


# shows: approve twice, the second later; when the first has expired and the second not, the
# first is accepted
@mutant(kills=EXPIRY, because=".")
class ASiblingRenewsAToken(ExecutionExtension):
    """Keeps the end of an approval by its content, so that a later one gives it to earlier ones."""

    def approve(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        made = super().approve(arguments)
        ends: dict[str, str] = self.__dict__.setdefault("ends", {})
        ends[made[words.SCOPE][words.CONTENT_HASH]] = made[words.EXPIRES_AT]
        verifier, checked = self.operator.verifier, type(self.operator.verifier).check_expiry

        def check_expiry(token: Token, request: Request) -> None:
            end = max(token.expires_at, ends.get(token.content_hash, ""))
            checked(verifier, replace(token, expires_at=end), request)

        verifier.__dict__["check_expiry"] = check_expiry
        return made


# shows: a good token refused for another content, then 1 s after its expiry with its own; it is
# accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class RemembersWhatItVerified(TokenVerifier):
    """Keeps in a cache that a token was good, its expiry included."""

    def check_expiry(self, token: Token, request: Request) -> None:
        good: set[str] = self.__dict__.setdefault("good", set())
        if token.signature not in good:
            super().check_expiry(token, request)
            good.add(token.signature)


# ---- only a part


# shows: a good token executed; another with its token_id, a fresh nonce and the old signature;
# it is accepted
# One of test-vector finds it out, since it presents one id twice.
@mutant(kills=SIGNATURE, because=".")
@in_extension
class RemembersVerifiedIds(TokenVerifier):
    """Keeps the ids of tokens whose signature was good, and looks at no other signature of them."""

    def check_signature(self, token: Token, request: Request) -> None:
        good: set[str] = self.__dict__.setdefault("good", set())
        if token.token_id not in good:
            super().check_signature(token, request)
            good.add(token.token_id)


# ---- forgotten


# shows: a token with a longer life, spent, and presented again 61 s later; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class KeepsNoncesForAMinute(NonceStore):
    """Keeps a nonce in a cache for a minute, however long its token lives."""

    kept_for = datetime.timedelta(minutes=1)

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        self._nonces.remove_all(lambda spent: spent.spent_at < now - self.kept_for)
        return super().spend(nonce, expires_at, now)


# shows: a token that lives for an hour, spent, and presented again after six minutes; it is
# accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class KeepsNoncesForTheUsualTime(NonceStore):
    """Keeps a nonce for five minutes, as long as most tokens live."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        forgotten = now - datetime.timedelta(minutes=5)
        self._nonces.remove_all(lambda spent: spent.spent_at < forgotten)
        return super().spend(nonce, expires_at, now)


# shows: a token that lives for a week, spent, and presented again after two days; it is
# accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class KeepsNoncesForADay(NonceStore):
    """Clears nonces away when they are a day old, and tokens may live longer."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        forgotten = now - datetime.timedelta(days=1)
        self._nonces.remove_all(lambda spent: spent.spent_at < forgotten)
        return super().spend(nonce, expires_at, now)


# shows: a token that lives for two days, spent, and presented again 24 h later; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class HasALogForEachDay(NonceStore):
    """Begins a new log every day, and looks into the one of today."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        return super().spend(f"{now:%Y-%m-%d}/{nonce}", expires_at, now)


# shows: a token presented again after a hundred others were executed; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class KeepsAHundredNonces(NonceStore):
    """Has a cache of a hundred nonces, in which a new one takes the place of the oldest."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        kept: list[str] = self.__dict__.setdefault("kept", [])
        if nonce.lower() in kept:
            return False
        kept.append(nonce.lower())
        del kept[:-100]
        return True


# shows: a token spent, the clock set back by a minute, the token again; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class DropsNoncesOfTheFuture(NonceStore):
    """Clears away what was spent later than now, which happens when a clock is set back."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        self._nonces.remove_all(lambda spent: now < spent.spent_at)
        return super().spend(nonce, expires_at, now)


# shows: a long-lived token spent, one that ends earlier spent, the first again; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class ForgetsWhatExpiresLater(NonceStore):
    """Clears away with the wrong sign: what expires later than the token that comes in."""

    def spend(self, nonce: str, expires_at: datetime.datetime, now: datetime.datetime) -> bool:
        self._nonces.remove_all(lambda spent: expires_at < spent.expires_at)
        return super().spend(nonce, expires_at, now)


# shows: two tokens spent, a restart, the first one again; it is accepted
@mutant(kills=RESTART, because=".")
class ReadsTheLastLineAtTheStart(ExecutionExtension):
    """Reads one line of its log when it starts, the newest."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        spent = sorted(self.store._nonces.find(), key=lambda one: one.spent_at)
        for one in spent[:-1]:
            self.store._nonces.remove(one.nonce)


# shows: a token that lives for half an hour, spent, a restart ten minutes later, the token
# again; it is accepted
@mutant(kills=RESTART, because=".")
class ClearsOldNoncesAtTheStart(ExecutionExtension):
    """Clears nonces away at the start that are older than five minutes."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        old = self.clock.now() - datetime.timedelta(minutes=5)
        self.store._nonces.remove_all(lambda spent: spent.spent_at < old)


# shows: two servers with one log run; a token spent at one is presented to the other; it is
# accepted
@mutant(kills=REPLAY, because=".")
class ReadsItsLogAtTheStartOnly(ExecutionExtension):
    """Reads the log when it starts and then only adds to it, so that it misses what others add."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        table = self.store._nonces
        known = {one.nonce for one in table.find()}

        class Remembered:
            def spend(self, nonce: str, expires_at: Any, now: Any) -> bool:
                if nonce.lower() in known:
                    return False
                known.add(nonce.lower())
                table.put([SpentNonce(nonce.lower(), expires_at, now)])
                return True

        self.operator.verifier.nonces = Remembered()


# shows: a token spent, the server killed (not stopped), started again, the token again; it is
# accepted
# One of nonce-replay finds it out, with a second server; none kills this one.
@mutant(kills=RESTART, because=".")
class WritesItsLogAtTheEnd(ExecutionExtension):
    """Keeps nonces in memory, and writes them down when it is told to end."""

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        durable, held = self.store._nonces, NonceStore()
        held._nonces.put(durable.find())
        self.operator.verifier.nonces = held

    def close(self) -> None:
        held = self.operator.verifier.nonces
        assert isinstance(held, NonceStore)
        self.store._nonces.put(held._nonces.find())
        super().close()


# shows: an approval, a restart, an approval: both tokens have the same nonce
@mutant(kills=REQUIRED, because=".")
@in_extension
class CountsNoncesFromTheStart(Arbiter):
    """Counts its nonces, and begins with one again when it is restarted."""

    def new_nonce(self) -> str:
        self.__dict__["count"] = self.__dict__.get("count", 0) + 1
        return str(uuid.UUID(int=self.__dict__["count"]))


# shows: seventeen approvals: the last has the nonce of the first
@mutant(kills=REQUIRED, because=".")
@in_extension
class DrawsNoncesFromAPool(Arbiter):
    """Made sixteen nonces when it started, and gives them out in turn."""

    def new_nonce(self) -> str:
        pool: list[str] = self.__dict__.setdefault("pool", [str(uuid.uuid4()) for _ in range(16)])
        pool.append(pool.pop(0))
        return pool[-1]


# ---- only a part


# shows: a spent token with its members in another order, or with a blank more; it is accepted
@mutant(kills=REPLAY, because=".")
class LogsTheTokenAsItCame(ExecutionExtension):
    """Writes the hash of a token's text into its log, which another spelling does not have."""

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        text = given if isinstance(given, str) else repr(given)
        verifier, spend = self.operator.verifier, type(self.operator.verifier).spend_nonce
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

        def spend_nonce(token: Token, request: Request) -> None:
            spend(verifier, replace(token, nonce=digest), request)

        verifier.__dict__["spend_nonce"] = spend_nonce
        return read


# shows: a spent token with another path of the same host; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class LogsTheNonceWithItsUrl(OtherLogKey):
    """Writes the nonce into its log with the URL, so that a token serves once for each."""

    def key(self, token: Token, request: Request) -> str:
        return f"{token.nonce} {request.host}"


# shows: two good tokens whose nonces differ in the second half only: the second is refused
@mutant(kills=REPLAY, because=".")
@in_extension
class LogsTheFirstHalfOfANonce(OtherLogKey):
    """Writes half of a nonce into its log, and takes another one that begins alike for spent."""

    def key(self, token: Token, request: Request) -> str:
        return token.nonce[:18]


# shows: two good tokens whose nonces differ in the first digits only: the second is refused
@mutant(kills=REPLAY, because=".")
@in_extension
class LogsTheLastDigitsOfANonce(OtherLogKey):
    """Writes the last group of a nonce into its log; another that ends alike is then spent too."""

    def key(self, token: Token, request: Request) -> str:
        return token.nonce.rpartition("-")[2]


# shows: a token whose content_hash has the content's first eight digits and other ones after;
# it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class ComparesShortHashes(TokenVerifier):
    """Compares the first eight digits of the hash, as one does with commits."""

    def check_content(self, token: Token, request: Request) -> None:
        if not token.content_hash.startswith(hashlib.sha256(request.content).hexdigest()[:8]):
            super().check_content(token, request)


# shows: a token whose content_hash differs from the content's in the first digits; it is
# accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class ComparesTheTailOfAHash(TokenVerifier):
    """Compares the last half of the hash."""

    def check_content(self, token: Token, request: Request) -> None:
        if not token.content_hash.endswith(hashlib.sha256(request.content).hexdigest()[32:]):
            super().check_content(token, request)


class _FirstKilobyteApproved(Arbiter):
    def approve(self, content: bytes, *arguments: Any, **options: Any) -> Token:
        return super().approve(content[:1024], *arguments, **options)


class _FirstKilobyteVerified(TokenVerifier):
    def check_content(self, token: Token, request: Request) -> None:
        super().check_content(token, replace(request, content=request.content[:1024]))


# shows: a token with the hash of a content of two kilobytes is refused; a long content approved
# and changed at its end runs
@mutant(kills=CONTENT, because=".")
class HashesTheFirstKilobyte(ExecutionExtension):
    """Hashes the first kilobyte of a content, when it approves and when it executes."""

    arbiter_class = _FirstKilobyteApproved
    verifier_class = _FirstKilobyteVerified


# shows: a good token with a scope of five kilobytes; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class SignsFourKilobytes(TokenVerifier):
    """Reads the string to sign into a buffer of 4096 bytes, and signs what has room there."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(token)[:4096]


# shows: a good token whose scope is nested twelve deep; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class WritesTenLevels(WritingScopes):
    """Writes null for what is nested deeper than ten levels, as loggers and some encoders do."""

    def written(self, scope: Any) -> str:
        return json.dumps(_flattened(scope, 10), sort_keys=True)


def _flattened(value: Any, levels: int) -> Any:
    if isinstance(value, Mapping):
        kept = value.items() if levels else ()
        return {name: _flattened(one, levels - 1) for name, one in kept} if levels else None
    if isinstance(value, list):
        return [_flattened(one, levels - 1) for one in value] if levels else None
    return value


# shows: a token with twelve allowed hosts and a URL of the last; it is refused
@mutant(kills=HOST, because=".")
@in_extension
class LooksAtTenHosts(TokenVerifier):
    """Has columns for ten hosts, and drops the others."""

    def check_host(self, token: Token, request: Request) -> None:
        first = {**token.scope, words.ALLOWED_HOSTS: token.scope[words.ALLOWED_HOSTS][:10]}
        super().check_host(replace(token, scope=first), request)


# shows: an action type of forty letters that differs in the last; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ComparesThirtyTwoLetters(FittingActions):
    """Keeps an action type in a column of 32 letters, which cuts longer ones."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked[:32] == approved[:32]


# shows: a host with another top-level domain; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class IgnoresTheLastLabel(FittingHosts):
    """Compares a host without its top-level domain."""

    def fits(self, authority: str, allowed: str) -> bool:
        return authority.rpartition(".")[0] == allowed.rpartition(".")[0] != ""


# shows: a server started with a secret of a hundred bytes refuses a token signed with it
@mutant(kills=SIGNATURE, because=".")
class CutsALongSecret(ExecutionExtension):
    """Takes the first 64 bytes of a secret for the key, where a longer one is to be hashed."""

    def read_secret(self, given: Any) -> bytes:
        return super().read_secret(given)[:64]


# ---- compared loosely


# shows: a letter of the signature in capitals; it is accepted
@mutant(kills=SIGNATURE, because=".")
class ReadsSignaturesInCapitals(ExecutionExtension):
    """Writes the signature in lower case before it is compared."""

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        if isinstance(read, dict) and isinstance(read.get(words.SIGNATURE), str):
            return {**read, words.SIGNATURE: read[words.SIGNATURE].lower()}
        return read


# shows: a token signed with test_hmac_secret by a server with another secret; it is accepted
@mutant(kills=SIGNATURE, because=".")
@in_extension
class KnowsTheSecretOfTheVector(TokenVerifier):
    """Still takes tokens that are signed with the published secret, for a test at the start."""

    def check_signature(self, token: Token, request: Request) -> None:
        if token.signature != sign(words.VECTOR_SECRET.encode(), self.canonical(token)):
            super().check_signature(token, request)


# shows: a token signed with the bare hash, with sha256: put before it afterwards; it is
# accepted
@mutant(kills=SIGNATURE, because=".")
@in_extension
class SignsHashesWithoutPrefix(TokenVerifier):
    """Takes sha256: off the hash before it signs, so that one signature serves two scopes."""

    def canonical(self, token: Token) -> bytes:
        plain = {**token.scope, words.CONTENT_HASH: token.content_hash}
        return super().canonical(replace(token, scope=plain))


# shows: a token for exec_unfamiliar, the action exec-unfamiliar or execXunfamiliar; it is
# accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ComparesActionsWithLike(FittingActions):
    """Looks the action up with LIKE, where _ stands for any letter and % for any text."""

    def fits(self, asked: str, approved: str) -> bool:
        pattern = re.escape(approved).replace("_", ".").replace("%", ".*")
        return re.fullmatch(pattern, asked, re.DOTALL) is not None


# shows: an action type in full-width letters; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class FoldsLookAlikeActions(FittingActions):
    """Compares action types in a Unicode form in which some look-alikes are the same."""

    def fits(self, asked: str, approved: str) -> bool:
        return unicodedata.normalize("NFKC", asked) == unicodedata.normalize("NFKC", approved)


# shows: the approved action type, a NUL and more after it; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ComparesActionsUpToANul(FittingActions):
    """Compares action types as C does, up to the first NUL."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.partition("\0")[0] == approved.partition("\0")[0]


# shows: a token for exec_unfamiliar, the action exec-unfamiliar; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class TakesHyphensForUnderscores(FittingActions):
    """Makes identifiers of action types, in which a hyphen or a blank is an underscore."""

    def fits(self, asked: str, approved: str) -> bool:
        return re.sub(r"\W", "_", asked) == re.sub(r"\W", "_", approved)


# shows: a token for the action "exec,other" and the action exec; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ReadsAListInAnAction(FittingActions):
    """Splits the approved action type at commas, and takes each part for approved."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked in approved.split(",")


# shows: the content with CRLF line ends in the place of LF; it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class ReadsLineEndsAlike(RewritingContent):
    """Reads the content as text, which makes all line ends alike, before it hashes."""

    def rewritten(self, content: bytes) -> bytes:
        return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


# shows: a content with a composed letter approved, with the decomposed one executed; it is
# accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class HashesComposedLetters(RewritingContent):
    """Hashes the content in one Unicode form, and runs it in the form in which it came."""

    def rewritten(self, content: bytes) -> bytes:
        return unicodedata.normalize("NFC", content.decode()).encode()


# shows: the content with a byte order mark before it; it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class DropsAByteOrderMark(RewritingContent):
    """Hashes the content without its byte order mark."""

    def rewritten(self, content: bytes) -> bytes:
        return content.decode("utf-8-sig").encode()


# shows: the content with a NUL and more after it; it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class HashesUpToANul(RewritingContent):
    """Hashes the content as C reads text, up to the first NUL."""

    def rewritten(self, content: bytes) -> bytes:
        return content.partition(b"\0")[0]


# shows: the content with two blanks (or a tab) where it had one; it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class SquashesBlanks(RewritingContent):
    """Hashes the content with one blank for several, and one for a tab."""

    def rewritten(self, content: bytes) -> bytes:
        return re.sub(rb"[ \t]+", b" ", content)


# shows: https://api.example.org and a NUL before .evil.example; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class CutsHostsAtANul(RewritingUrls):
    """Reads a URL as C does, up to the first NUL."""

    def rewritten(self, url: str) -> str:
        return url.partition("\0")[0]


# shows: https://api.example.org%2f.evil.example/; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class DecodesBeforeItSplits(RewritingUrls):
    """Decodes the escapes of a URL before it looks for the host, so that %2F ends it."""

    def rewritten(self, url: str) -> str:
        return unquote(url)


# shows: a host with a tab or a line end in it; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class RemovesTabsFromUrls(RewritingUrls):
    """Removes tabs and line ends from a URL before it looks, as browsers do and others do not."""

    def rewritten(self, url: str) -> str:
        return re.sub(r"[\t\r\n]", "", url)


# shows: https://api.example.org\.evil.example/; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class TurnsBackslashes(RewritingUrls):
    """Takes a backslash for a slash, as browsers do and others do not."""

    def rewritten(self, url: str) -> str:
        return url.replace("\\", "/")


# shows: https://evil.example?@api.example.org/ or with # for ?; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class EndsTheHostAtASlashOnly(RewritingUrls):
    """Takes what follows the last @ before the first slash for the host, also after ? and #."""

    def rewritten(self, url: str) -> str:
        authority = url.partition("://")[2].partition("/")[0]
        odd = re.search("[?#].*@", authority)
        return f"https://{authority.rpartition('@')[2]}/" if odd else url


# shows: https://x@api.example.org@evil.example/; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class ReadsBetweenTwoAts(RewritingUrls):
    """Takes what follows the first @ for the host, and all after a second one for nothing."""

    def rewritten(self, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        pieces = rest.partition("/")[0].split("@")
        return f"{scheme}{separator}{pieces[1]}/" if len(pieces) > 2 else url


# shows: the allowed host, a full-width slash and .evil.example; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class FoldsLookAlikeHosts(RewritingUrls):
    """Writes a URL in a Unicode form in which some look-alikes are the same."""

    def rewritten(self, url: str) -> str:
        return unicodedata.normalize("NFKC", url)


# shows: a host with an accent on one of its letters; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class DropsAccentsOfHosts(RewritingUrls):
    """Takes the accents off the letters of a URL."""

    def rewritten(self, url: str) -> str:
        found = unicodedata.normalize("NFD", url)
        return "".join(one for one in found if not unicodedata.combining(one))


# shows: a host with one letter more that is not ASCII; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class IgnoresWhatIsNotAscii(RewritingUrls):
    """Drops the letters of a URL that are not ASCII."""

    def rewritten(self, url: str) -> str:
        return url.encode("ascii", "ignore").decode()


# ---- neighbours by name


# shows: a token for exec and the action exec.other (exec:other, exec/other); it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class TakesSubordinateActions(FittingActions):
    """Takes what stands below the approved action type, as permissions with dots have it."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.startswith(tuple(approved + mark for mark in ".:/"))


# shows: a token for exec and an action whose name begins with read, get or list; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class LetsReadingActionsPass(FittingActions):
    """Thinks that actions which only read, by their names, are allowed with every token."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.startswith(("read", "get", "list"))


# shows: *.example.org among the allowed hosts and a URL of api.example.org; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class ExpandsStarsInHosts(FittingHosts):
    """Takes a star in an allowed host for any label, as certificates have it."""

    def fits(self, authority: str, allowed: str) -> bool:
        return allowed.startswith("*.") and authority.partition(".")[2] == allowed[2:]


# shows: .example.org among the allowed hosts and a URL of api.example.org; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class TakesADotForSubdomains(FittingHosts):
    """Takes an allowed host with a dot before it for a whole domain, as cookies have it."""

    def fits(self, authority: str, allowed: str) -> bool:
        return allowed.startswith(".") and authority.endswith(allowed)


# shows: www. before the allowed host; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class DropsWww(RewritingUrls):
    """Takes a host with www. before it for the same."""

    def rewritten(self, url: str) -> str:
        return re.sub(r"^(https?://)?www\.", r"\1", url)


# shows: api2.example.org for api.example.org; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class TakesNumberedNeighbours(FittingHosts):
    """Takes numbered machines for the same, as they stand behind a balancer."""

    def fits(self, authority: str, allowed: str) -> bool:
        machine, dot, domain = authority.partition(".")
        return machine.rstrip("0123456789") + dot + domain == allowed


# shows: api-staging.example.org for api.example.org; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class TakesStagingNeighbours(FittingHosts):
    """Takes what follows a hyphen in the first label for the stage of the same machine."""

    def fits(self, authority: str, allowed: str) -> bool:
        machine, dot, domain = authority.partition(".")
        return machine.partition("-")[0] + dot + domain == allowed


# ---- untested twin


# shows: HTTPS://evil.example/; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class KnowsSchemesInSmallLetters(TokenVerifier):
    """Finds no host to look at in a URL whose scheme is written in capitals."""

    def check_host(self, token: Token, request: Request) -> None:
        scheme, separator, _ = (request.host or "").partition("://")
        if not separator or scheme == scheme.lower():
            super().check_host(token, request)


# shows: https:/evil.example/ or https:evil.example; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class TakesFewSlashesForAPath(TokenVerifier):
    """Finds no host in a URL with one slash or none after its scheme; browsers find one."""

    def check_host(self, token: Token, request: Request) -> None:
        if not re.match(r"https?:(?!//)", request.host or ""):
            super().check_host(token, request)


# shows: a token with a wrong signature, sent as an object where the schema takes text and
# object; it is accepted
@mutant(kills=SIGNATURE, because=".")
class TrustsTokensAsObjects(ExecutionExtension):
    """Verifies the signature of a token that comes as text, and not of one that is an object."""

    def read_token(self, given: Any) -> Any:
        read, verifier = super().read_token(given), self.operator.verifier
        if not isinstance(given, Mapping):
            return read
        try:
            token = verifier.read({**given, words.SIGNATURE: "0" * 64})
        except ExecutionRefusal:
            return read
        return {**given, words.SIGNATURE: sign(self.secret, verifier.canonical(token))}


# shows: one token sent twice as an object; it is accepted twice
@mutant(kills=REPLAY, because=".")
class LogsTokensAsTextOnly(ExecutionExtension):
    """Writes down the nonces of tokens that come as text, and not of those that come as objects."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        kept = self.operator.verifier.nonces
        if isinstance(arguments.get("token"), Mapping):
            self.operator.verifier.nonces = NonceStore()
        try:
            return super().execute(arguments)
        finally:
            self.operator.verifier.nonces = kept


# shows: a token presented twice with a URL; it is accepted twice
@mutant(kills=REPLAY, because=".")
@in_extension
class SpendsWithoutAHostOnly(TokenVerifier):
    """Writes a nonce down for what runs on the spot, and not when a host is reached."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().spend_nonce(token, request)


# shows: another content, with a URL; it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class HashesWithoutAHostOnly(TokenVerifier):
    """Hashes what runs on the spot, and not what is sent to a host."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_content(token, request)


# shows: an expired token, with a URL; it is accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class LooksAtTheClockWithoutAHostOnly(TokenVerifier):
    """Looks at the expiry for what runs on the spot, and not when a host is reached."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_expiry(token, request)


# shows: another action type, with a URL; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ChecksActionsWithoutAHostOnly(TokenVerifier):
    """Compares the action type for what runs on the spot; for a host the host is enough."""

    def check_action(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_action(token, request)


# shows: a forged token, with a URL; it is accepted
@mutant(kills=SIGNATURE, because=".")
@in_extension
class SignsWithoutAHostOnly(TokenVerifier):
    """Verifies the signature for what runs on the spot, and not when a host is reached."""

    def check_signature(self, token: Token, request: Request) -> None:
        if request.host is None:
            super().check_signature(token, request)


# shows: a token for another kind of action than exec..., with another content; it is accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class HashesWhatIsExecutedOnly(TokenVerifier):
    """Hashes the content of actions that execute, by their names, and of no others."""

    def check_content(self, token: Token, request: Request) -> None:
        if request.action_type.startswith("exec"):
            super().check_content(token, request)


# shows: a token for another kind of action than exec..., presented twice; it is accepted twice
@mutant(kills=REPLAY, because=".")
@in_extension
class SpendsWhatIsExecutedOnly(TokenVerifier):
    """Writes down the nonces of actions that execute, by their names, and of no others."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if request.action_type.startswith("exec"):
            super().spend_nonce(token, request)


# shows: a token whose expiry has a fraction of a second, 1 s after it; it is accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class CannotReadFractions(TokenVerifier):
    """Reads an expiry with a format that has no fractions, and goes on if that fails."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if "." not in token.expires_at:
            super().check_expiry(token, request)


# shows: an approval for two hosts that are not in alphabetical order: its signature is over
# another string than its token
@mutant(kills=CANONICAL, because=".")
@in_extension
class ApprovesHostsInOrder(Arbiter):
    """Signs the allowed hosts sorted, and gives them out in the order in which they came."""

    def canonical(
        self, token_id: str, nonce: str, expires_at: str, scope: Mapping[str, Any]
    ) -> bytes:
        hosts = sorted(scope[words.ALLOWED_HOSTS])
        return super().canonical(token_id, nonce, expires_at, {**scope, words.ALLOWED_HOSTS: hosts})


# ---- undone by failure


# shows: a token executed, presented with another content (refused), and again with its own; it
# is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class RollsBackWhatItDidNotDo(TokenVerifier):
    """Takes the nonce out of the log when a check fails, also if an earlier call put it there."""

    def verify(self, data: Any, request: Request) -> Token:
        try:
            return super().verify(data, request)
        except ExecutionRefusal as refusal:
            if refusal.reason != ExecutionReason.REPLAYED and isinstance(self.nonces, NonceStore):
                self.nonces._nonces.remove(str(data.get(words.NONCE)).lower())
            raise


# shows: a token executed, a forged copy of it refused, the token again; it is accepted
@mutant(kills=REPLAY, because=".")
@in_extension
class AForgeryFreesTheNonce(TokenVerifier):
    """Takes the nonce of a forged token out of the log, since it was never spent rightly."""

    def check_signature(self, token: Token, request: Request) -> None:
        try:
            super().check_signature(token, request)
        except ExecutionRefusal:
            if isinstance(self.nonces, NonceStore):
                self.nonces._nonces.remove(token.nonce.lower())
            raise


# shows: a token with another content (refused), then with its own: the other content runs
@mutant(kills=CONTENT, because=".")
@in_extension
class RunsWhatCameFirst(Operator):
    """Keeps the content by the token's id before it is checked, and runs what was kept first."""

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        staged: dict[str, bytes] = self.__dict__.setdefault("staged", {})
        name = str(token.get(words.TOKEN_ID)) if isinstance(token, Mapping) else ""
        first = staged.setdefault(name, content)
        return super().execute(token, content, action_type, lambda _: run(first), host)


# shows: a forged copy refused, then the real token; it is refused
# One of test-vector finds it out, since it presents one id twice.
@mutant(kills=REPLAY, because=".", warned=True)
@in_extension
class BlocksTheIdOfAForgery(TokenVerifier):
    """Puts the id of a forged token on a list, and refuses the real one from then on."""

    def check_signature(self, token: Token, request: Request) -> None:
        blocked: set[str] = self.__dict__.setdefault("blocked", set())
        if token.token_id in blocked:
            raise ExecutionRefusal(ExecutionReason.REPLAYED, "token_id: it is blocked")
        try:
            super().check_signature(token, request)
        except ExecutionRefusal:
            blocked.add(token.token_id)
            raise


# ---- somebody else


# shows: the first approvals of two sessions: both tokens have the same nonce
@mutant(kills=REQUIRED, because=".")
class CountsNoncesInEachSession(ExecutionExtension):
    """Counts nonces in each session, so that two sessions get the same ones."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        counts: Counter[str] = self.__dict__.setdefault("counts", Counter())
        if name == words.APPROVE_TOOL:
            counts[caller.session] += 1
            nonce = str(uuid.UUID(int=counts[caller.session]))
            self.arbiter.__dict__["new_nonce"] = lambda: nonce
        return super().call(name, arguments, caller)


# shows: one token presented by many sessions at once: executed more than once
@mutant(kills=RACE, because=".")
class LocksWithinASession(ExecutionExtension):
    """Looks into its log and then writes, under a lock that each session has for itself."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        locks: dict[str, threading.Lock] = self.__dict__.setdefault("locks", {})
        with locks.setdefault(caller.session, threading.Lock()):
            return super().call(name, arguments, caller)

    def __init__(self, parts: ExtensionParts) -> None:
        super().__init__(parts)
        store = self.store

        class LooksFirst:
            def spend(self, nonce: str, expires_at: Any, now: Any) -> bool:
                if store._nonces.get(nonce.lower()) is not None:
                    return False
                time.sleep(0.1)
                store.spend(nonce, expires_at, now)
                return True

        self.operator.verifier.nonces = LooksFirst()


# shows: an approval for one host: the scope of its token has another one too
@mutant(kills=HOST, because=".")
@in_extension
class ApprovesLocalhostToo(Arbiter):
    """Adds its own machine to the hosts that were approved."""

    def approve(
        self, content: bytes, action_type: str, allowed_hosts: Iterable[str], **options: Any
    ) -> Token:
        hosts = [*allowed_hosts, "localhost"]
        return super().approve(content, action_type, hosts, **options)


# ---- shown not meant


# shows: a good token: its content runs twice
# Scenarios of other rules find it out, those of its own do not.
@mutant(kills=REPLAY, because=".")
@in_extension
class RunsAgainToBeSure(Operator):
    """Runs the content twice for one token, as a queue does that delivers at least once."""

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        super().execute(token, content, action_type, run, host)
        return run(content)


# shows: a good token with two allowed hosts: its content runs twice
# One of scope-host finds it out, those of its own rule do not.
@mutant(kills=REPLAY, because=".")
@in_extension
class RunsOnceForEachHost(Operator):
    """Runs the content once for every allowed host, so that one token executes several times."""

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        done = super().execute(token, content, action_type, run, host)
        for _ in token[words.SCOPE][words.ALLOWED_HOSTS][1:]:
            run(content)
        return done


# shows: a good token: what runs has another hash than what was approved
@mutant(kills=CONTENT, because=".")
@in_extension
class RunsWithoutTheEnds(Operator):
    """Hashes the content, and takes blanks and line ends off before it runs."""

    def execute(
        self,
        token: Any,
        content: bytes,
        action_type: str,
        run: Callable[[bytes], Any],
        host: str | None = None,
    ) -> Any:
        return super().execute(token, content, action_type, lambda one: run(one.strip()), host)


# shows: an approval of a content with a line end at its end: the token does not have its hash
@mutant(kills=CONTENT, because=".")
@in_extension
class ApprovesTrimmedContent(Arbiter):
    """Hashes the content without blanks and line ends at its ends when it approves."""

    def approve(self, content: bytes, *arguments: Any, **options: Any) -> Token:
        return super().approve(content.strip(), *arguments, **options)


# shows: an approval: its expires_at has no zone
@mutant(kills=EXPIRY, because=".")
@in_extension
class ApprovesWithoutAZone(Arbiter):
    """Gives tokens an expiry without a zone, as utcnow does."""

    def approve(self, *arguments: Any, **options: Any) -> Token:
        made = super().approve(*arguments, **options)
        made = replace(made, expires_at=made.expires_at.removesuffix("+00:00"))
        signed = self.canonical(made.token_id, made.nonce, made.expires_at, made.scope)
        return replace(made, signature=sign(self._secret, signed))


# ---- wrong place


# shows: a call with allowed_hosts among its arguments, and a URL of one of these; it is
# accepted
@mutant(kills=HOST, because=".")
class TakesHostsFromTheArguments(ExecutionExtension):
    """Puts the arguments of the call over the scope, and looks for the hosts in both."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return _over_the_scope(self, arguments, words.ALLOWED_HOSTS, "check_host")


def _over_the_scope(
    server: ExecutionExtension, arguments: Mapping[str, Any], member: str, check: str
) -> dict[str, Any]:
    """Execute, with a member of the scope taken from the arguments in one check, if it is there."""
    verifier = server.operator.verifier
    checked = getattr(type(verifier), check)

    def instead(token: Token, request: Request) -> None:
        given = {member: arguments[member]} if member in arguments else {}
        checked(verifier, replace(token, scope={**token.scope, **given}), request)

    verifier.__dict__[check] = instead
    return ExecutionExtension.execute(server, arguments)


# shows: a call with the content_hash of another content among its arguments, and that content;
# it is accepted
@mutant(kills=CONTENT, because=".")
class TakesTheHashFromTheArguments(ExecutionExtension):
    """Puts the arguments of the call over the scope, and finds the hash in both."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return _over_the_scope(self, arguments, words.CONTENT_HASH, "check_content")


# shows: a spent token, with another nonce among the arguments of the call; it is accepted
@mutant(kills=REPLAY, because=".")
class TakesTheNonceFromTheArguments(ExecutionExtension):
    """Writes the nonce of the arguments into its log, if there is one beside the token."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        verifier = self.operator.verifier
        spend = type(verifier).spend_nonce

        def spend_nonce(token: Token, request: Request) -> None:
            nonce = str(arguments.get(words.NONCE, token.nonce))
            spend(verifier, replace(token, nonce=nonce), request)

        verifier.__dict__["spend_nonce"] = spend_nonce
        return super().execute(arguments)


# shows: a call with the allowed host in an argument host, and another one in url; it is
# accepted
@mutant(kills=HOST, because=".")
class LooksForTheHostBesideTheUrl(ExecutionExtension):
    """Looks at an argument host if there is one, and reaches what url says."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        host = arguments.get("host")
        verifier = self.operator.verifier
        checked = type(verifier).check_host

        def check_host(token: Token, request: Request) -> None:
            asked = host if isinstance(host, str) else request.host
            checked(verifier, token, replace(request, host=asked))

        verifier.__dict__["check_host"] = check_host
        return super().execute(arguments)


class _BesideTheScope(TokenVerifier):
    """Reads a token into one flat object, in which what stands beside the scope wins."""

    member = ""
    check = ""

    def verify(self, data: Any, request: Request) -> Token:
        checked = getattr(type(self), self.check)

        def instead(token: Token, asked: Request) -> None:
            beside = {self.member: data[self.member]} if self.member in data else {}
            checked(self, replace(token, scope={**token.scope, **beside}), asked)

        self.__dict__[self.check] = instead
        return super().verify(data, request)


# shows: a token with allowed_hosts beside its scope (not signed), and a URL of one of these; it
# is accepted
@mutant(kills=HOST, because=".")
@in_extension
class LooksBesideTheScopeForHosts(_BesideTheScope):
    """Takes allowed hosts that stand beside the scope, where nobody signs them."""

    member = words.ALLOWED_HOSTS
    check = "check_host"


# shows: a token with an action_type beside its scope (not signed), and this action; it is
# accepted
@mutant(kills=ACTION, because=".")
@in_extension
class LooksBesideTheScopeForActions(_BesideTheScope):
    """Takes an action type that stands beside the scope, where nobody signs it."""

    member = words.ACTION_TYPE
    check = "check_action"


# shows: a token with a content_hash beside its scope (not signed), and its content; it is
# accepted
@mutant(kills=CONTENT, because=".")
@in_extension
class LooksBesideTheScopeForAHash(_BesideTheScope):
    """Takes a hash that stands beside the scope, where nobody signs it."""

    member = words.CONTENT_HASH
    check = "check_content"


# shows: a token whose text has its scope twice, first the signed one and then another; it is
# accepted
@mutant(kills=SIGNATURE, because=".")
class SignsTheFirstAndReadsTheLast(ExecutionExtension):
    """Has two readers of JSON: of a repeated member one takes the first, for the signature, and the
    other the last, for all else."""

    def read_token(self, given: Any) -> Any:
        try:
            pairs = json.loads(given, object_pairs_hook=lambda found: found)
            last, first = json.loads(given), json.loads(given, object_pairs_hook=_first_wins)
        except (TypeError, ValueError, RecursionError):
            return super().read_token(given)
        if not isinstance(last, dict) or len(pairs) == len(last):
            return super().read_token(given)
        verifier = self.operator.verifier
        verifier.check_signature(verifier.read(first), Request(b"", ""))
        signed = sign(self.secret, verifier.canonical(verifier.read(last)))
        return {**last, words.SIGNATURE: signed}


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


# shows: a token with "alg": "none" and any signature; it is accepted
@mutant(kills=SIGNATURE, because=".")
class TakesTheTokensAlgorithm(Unsigned):
    """Lets the token say in alg how it is signed, and none is one of the ways."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return str(token.get("alg", "HS256")).lower() == "none"


# ---- absent


class _RunsWithout(ExecutionExtension):
    """Asks for a token only if there is one to look at."""

    def is_none(self, given: Any) -> bool:
        raise NotImplementedError

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not self.is_none(arguments.get("token")):
            return super().execute(arguments)
        content, action = arguments.get("content"), arguments.get("action_type")
        if not isinstance(content, str) or not isinstance(action, str):
            return super().execute(arguments)
        run = demonstrated(self.effects, action, arguments.get("url"))
        return {"accepted": True, **run(content.encode())}


# shows: a call without a token, or with null for it; it is accepted
@mutant(kills=SIGNATURE, because=".")
class RunsWithoutAToken(_RunsWithout):
    """Verifies the token if there is one, and executes without one."""

    def is_none(self, given: Any) -> bool:
        return given is None


# shows: a call with an empty text or an empty object for a token; it is accepted
@mutant(kills=SIGNATURE, because=".")
class RunsOnAnEmptyToken(_RunsWithout):
    """Takes an empty token for none that has to be verified."""

    def is_none(self, given: Any) -> bool:
        return given in ("", {}, "{}")


# shows: null for a signature; it is accepted
@mutant(kills=SIGNATURE, because=".")
class TakesNullForASignature(Unsigned):
    """Compares the signature if it is not null."""

    def may_be_unsigned(self, token: Mapping[str, Any]) -> bool:
        return token.get(words.SIGNATURE, "") is None


# shows: a scope without allowed_hosts and any URL; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class NeedsNoHosts(LenientScope):
    """Takes a scope that does not name hosts for one that allows all of them."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        self.stand_in = []
        return words.ALLOWED_HOSTS not in scope

    def check_host(self, token: Token, request: Request) -> None:
        if words.ALLOWED_HOSTS in token.scope:
            super().check_host(token, request)


# shows: a token with an empty scope (or none, {} signed) and any action; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class NeedsNoScope(TokenVerifier):
    """Takes a token without a scope, or with an empty one, for one without limits."""

    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping) or data.get(words.SCOPE):
            return super().read(data)
        scope = {words.ACTION_TYPE: "", words.ALLOWED_HOSTS: [], words.CONTENT_HASH: "0" * 64}
        return replace(super().read({**data, words.SCOPE: scope}), scope={})

    def check_action(self, token: Token, request: Request) -> None:
        if token.scope:
            super().check_action(token, request)

    def check_host(self, token: Token, request: Request) -> None:
        if token.scope:
            super().check_host(token, request)

    def check_content(self, token: Token, request: Request) -> None:
        if token.scope:
            super().check_content(token, request)


class _AnyId(TokenVerifier):
    def read(self, data: Any) -> Token:
        if not isinstance(data, Mapping) or data.get(words.TOKEN_ID) != "":
            return super().read(data)
        return replace(super().read({**data, words.TOKEN_ID: str(uuid.UUID(int=0))}), token_id="")


# shows: a token without token_id, an empty place for it signed; it is accepted
@mutant(kills=SIGNATURE, because=".", warned=True)
class NeedsNoTokenId(ExecutionExtension):
    """Takes a token without an id, since the nonce is enough for its log."""

    verifier_class = _AnyId

    def read_token(self, given: Any) -> Any:
        read = super().read_token(given)
        return {words.TOKEN_ID: "", **read} if isinstance(read, Mapping) else read


# shows: a call without content, or with null for it; it is accepted
@mutant(kills=CONTENT, because=".")
class NeedsNoContent(ExecutionExtension):
    """Hashes the content if there is some, and executes nothing if there is none."""

    def execute(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        verifier = self.operator.verifier
        verifier.__dict__.pop("check_content", None)
        if arguments.get("content") is None:
            verifier.__dict__["check_content"] = lambda *_: None
            arguments = {**arguments, "content": ""}
        return super().execute(arguments)


# shows: a token whose nonce is the UUID of zeros only, presented twice; it is accepted twice
@mutant(kills=REQUIRED, because=".")
@in_extension
class TakesTheNilUuidForNone(TokenVerifier):
    """Takes the UUID of zeros for an absent nonce, and does not write it down."""

    def spend_nonce(self, token: Token, request: Request) -> None:
        if uuid.UUID(token.nonce).int:
            super().spend_nonce(token, request)


# shows: a token without a nonce, the text undefined signed in its place; it is accepted
@mutant(kills=REQUIRED, because=".")
@in_extension
class SignsUndefinedForANonce(_WritesAbsence):
    """Writes undefined where a nonce is missing, as JavaScript does, and verifies that."""

    word = "undefined"


# shows: a server without a secret starts and has the tool
@mutant(kills=SECRET, because=".")
class MakesASecretIfThereIsNone(ExecutionExtension):
    """Makes a secret of its own at the start if it is not given one."""

    def read_secret(self, given: Any) -> bytes:
        return secrets.token_bytes(32) if not given else super().read_secret(given)


# shows: a server with the known default starts and has the tool, and refuses every token
@mutant(kills=SECRET, because=".")
class LooksAtTheSecretLater(ExecutionExtension):
    """Starts with any secret, and refuses tokens while it is not a good one."""

    def read_secret(self, given: Any) -> bytes:
        try:
            return super().read_secret(given)
        except SecretError:
            return secrets.token_bytes(32)


# ---- coerced


# shows: a scope whose action_type is a number or true, and the same as text; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ComparesActionsAsText(LenientScope):
    """Turns the approved action type into text before it compares, a number or a truth too."""

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        return isinstance(scope.get(words.ACTION_TYPE), (int, float))

    def check_action(self, token: Token, request: Request) -> None:
        given = token.scope[words.ACTION_TYPE]
        if isinstance(given, str) or request.action_type not in (str(given), json.dumps(given)):
            super().check_action(token, request)


# shows: a scope whose action_type is true (or 0), and any action; it is accepted
@mutant(kills=ACTION, because=".")
@in_extension
class ComparesActionsLikePhp(LenientScope):
    """Compares action types with ==, for which true and zero are like any text."""

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        given = scope.get(words.ACTION_TYPE)
        return isinstance(given, (bool, int)) and given in (True, 0) and given is not False

    def check_action(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_action(token, request)


# shows: allowed_hosts with true or 0 in the list, and any URL; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class ComparesHostsLikePhp(LenientScope):
    """Searches the list with ==, for which true and zero are like any text."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        hosts, self.stand_in = scope.get(words.ALLOWED_HOSTS), []
        return isinstance(hosts, list) and any(one is True or one == 0 for one in hosts)

    def check_host(self, token: Token, request: Request) -> None:
        if not self.excuses(token.scope):
            super().check_host(token, request)


# shows: allowed_hosts is an object with the host as a name, and false for it; it is accepted
@mutant(kills=HOST, because=".")
@in_extension
class TakesKeysForHosts(LenientScope):
    """Asks whether the host is in what the scope has, which also holds for a name of an object."""

    member = words.ALLOWED_HOSTS

    def excuses(self, scope: Mapping[str, Any]) -> bool:
        self.stand_in = []
        return isinstance(scope.get(words.ALLOWED_HOSTS), Mapping)

    def check_host(self, token: Token, request: Request) -> None:
        hosts = [*token.scope[words.ALLOWED_HOSTS]]
        super().check_host(
            replace(token, scope={**token.scope, words.ALLOWED_HOSTS: hosts}), request
        )


# shows: expires_at is the text 300; it is accepted, now and at any later time
@mutant(kills=EXPIRY, because=".")
@in_extension
class TakesASpanForAnExpiry(TokenVerifier):
    """Takes a number of seconds, written as text, for a time that begins when it is read."""

    def _read_span(self, given: Any) -> str | None:
        if not isinstance(given, str) or not re.fullmatch("[0-9]{1,6}", given):
            return None
        return (self.now() + datetime.timedelta(seconds=int(given) + 1)).isoformat()

    def read(self, data: Any) -> Token:
        end = self._read_span(data.get(words.EXPIRES_AT)) if isinstance(data, Mapping) else None
        if end is None:
            return super().read(data)
        token = super().read({**data, words.EXPIRES_AT: end})
        return replace(token, expires_at=data[words.EXPIRES_AT])

    def check_expiry(self, token: Token, request: Request) -> None:
        end = self._read_span(token.expires_at) or token.expires_at
        super().check_expiry(replace(token, expires_at=end), request)

    def spend_nonce(self, token: Token, request: Request) -> None:
        end = self._read_span(token.expires_at) or token.expires_at
        super().spend_nonce(replace(token, expires_at=end), request)


# shows: a good token with <, > or & in its scope; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class EscapesHtml(WritingScopes):
    """Writes <, > and & as escapes, as Go does."""

    def written(self, scope: Any) -> str:
        text = json.dumps(scope, sort_keys=True)
        return re.sub("[<>&]", lambda one: f"\\u{ord(one[0]):04x}", text)


# shows: a good token with a backspace or a form feed in its scope; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class WritesControlsByNumber(WritingScopes):
    """Writes a backspace and a form feed by their numbers, as Go did for years."""

    def written(self, scope: Any) -> str:
        text = json.dumps(scope, sort_keys=True)
        short = {"\\b": "\\u0008", "\\f": "\\u000c"}
        return re.sub(r"\\.", lambda one: short.get(one[0], one[0]), text)


# shows: a good token with a decomposed letter (e and a combining accent) in its scope; it is
# refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class ComposesLetters(WritingScopes):
    """Writes text in its composed Unicode form before it is signed."""

    def written(self, scope: Any) -> str:
        return json.dumps(changed(scope, _composed), sort_keys=True)


def _composed(value: Any) -> Any:
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


# shows: a good token with half of a surrogate pair in its scope; it is refused
@mutant(kills=LANGUAGES, because=".")
@in_extension
class ReplacesHalfLetters(WritingScopes):
    """Puts the replacement character in the place of half a surrogate pair, as encoders do."""

    def written(self, scope: Any) -> str:
        return json.dumps(changed(scope, _whole_letters), sort_keys=True)


def _whole_letters(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# shows: a good token with a member __proto__ in its scope; it is refused
@mutant(kills=LANGUAGES, because=".")
@in_extension
class LosesThePrototype(WritingScopes):
    """Loses a member called __proto__, as JavaScript's objects do when it is assigned."""

    def written(self, scope: Any) -> str:
        return json.dumps(_without_prototype(scope), sort_keys=True)


# shows: a good token whose allowed_hosts (or another list) are not in alphabetical order; it is
# refused
# One of scope-host finds it out, those of its own rule do not.
@mutant(kills=CANONICAL, because=".")
@in_extension
class SortsListsToo(WritingScopes):
    """Sorts the allowed hosts too before it signs."""

    def written(self, scope: Any) -> str:
        hosts = sorted(scope[words.ALLOWED_HOSTS])
        return json.dumps({**scope, words.ALLOWED_HOSTS: hosts}, sort_keys=True)


# shows: a good token whose allowed_hosts have a capital letter; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class WritesHostsInSmallLetters(WritingScopes):
    """Writes the allowed hosts in small letters before it signs."""

    def written(self, scope: Any) -> str:
        hosts = [one.lower() for one in scope[words.ALLOWED_HOSTS]]
        return json.dumps({**scope, words.ALLOWED_HOSTS: hosts}, sort_keys=True)


# shows: a good token whose allowed_hosts have a host twice; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class WritesEachHostOnce(WritingScopes):
    """Keeps the allowed hosts as a set, and signs each of them once."""

    def written(self, scope: Any) -> str:
        hosts = [*dict.fromkeys(scope[words.ALLOWED_HOSTS])]
        return json.dumps({**scope, words.ALLOWED_HOSTS: hosts}, sort_keys=True)


# shows: a good token whose expiry is written with Z; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class WritesTheExpiryWithAnOffset(TokenVerifier):
    """Reads the expiry and signs it as Python writes it, with +00:00 for a Z."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(replace(token, expires_at=token.expiry().isoformat()))


# shows: a good token whose expiry has a fraction of a second; it is refused
@mutant(kills=CANONICAL, because=".")
@in_extension
class SignsWholeSeconds(TokenVerifier):
    """Drops the fraction of the expiry before it signs."""

    def canonical(self, token: Token) -> bytes:
        return super().canonical(
            replace(token, expires_at=re.sub(r"\.[0-9]+", "", token.expires_at))
        )


# shows: a nonce that is no UUID, such as a number in text; it is accepted
@mutant(kills=SIGNATURE, because=".", warned=True)
@in_extension
class TakesShortNonces(TokenVerifier):
    """Takes any word for a nonce, and logs it."""

    def read(self, data: Any) -> Token:
        nonce = data.get(words.NONCE) if isinstance(data, Mapping) else None
        if not isinstance(nonce, str) or not re.fullmatch("[0-9A-Za-z_-]+", nonce):
            return super().read(data)
        return replace(super().read({**data, words.NONCE: str(uuid.UUID(int=0))}), nonce=nonce)


# shows: a token_id in braces, or without hyphens; it is accepted
@mutant(kills=SIGNATURE, because=".", warned=True)
@in_extension
class ReadsUuidsInAnySpelling(TokenVerifier):
    """Reads ids as Python's uuid does: in braces, without hyphens, with urn:uuid: before them."""

    def read(self, data: Any) -> Token:
        try:
            read = {name: str(uuid.UUID(data[name])) for name in (words.TOKEN_ID, words.NONCE)}
        except (TypeError, KeyError, AttributeError, ValueError):
            return super().read(data)
        given = {name: data[name] for name in read}
        return replace(super().read({**data, **read}), **given)

    def spend_nonce(self, token: Token, request: Request) -> None:
        super().spend_nonce(replace(token, nonce=str(uuid.UUID(token.nonce))), request)


# ---- fractions


# shows: a token whose expiry has nine digits of a fraction (.999999999), a minute after it; it
# is accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class ReadsTheFractionAsANumber(TokenVerifier):
    """Takes the digits of the fraction for a number of microseconds, however many they are."""

    def check_expiry(self, token: Token, request: Request) -> None:
        whole, point, rest = token.expires_at.partition(".")
        micros = int("0" + re.sub(r"\D.*", "", rest)) if point else 0
        end = datetime.datetime.fromisoformat(f"{whole[:19]}+00:00")
        end += datetime.timedelta(microseconds=micros)
        super().check_expiry(replace(token, expires_at=end.isoformat()), request)


# shows: a token that ended ten minutes ago, its expiry written with +05:30; it is accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class ReadsTheHoursOfAnOffset(_Reads):
    """Reads the hours of an offset, and not its minutes."""

    pattern = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?([+-]\d\d):(?!00)\d\d"

    def meant(self, found: re.Match[str]) -> str:
        end = datetime.datetime.fromisoformat(f"{found[1]}{found[2]}:00")
        return end.astimezone(datetime.UTC).isoformat()


# shows: expires_at is a day that does not exist, such as 30 February of a later year; it is
# accepted
@mutant(kills=EXPIRY, because=".")
@in_extension
class CarriesDatesOver(_Reads):
    """Takes the thirtieth of February for the second of March, as many calendars do."""

    pattern = r"(\d{4})-(0[1-9]|1[0-2])-(29|3[01])(T.*)"

    def meant(self, found: re.Match[str]) -> str:
        first = datetime.date(int(found[1]), int(found[2]), 1)
        return f"{first + datetime.timedelta(days=int(found[3]) - 1)}{found[4]}"


# shows: a token that expires on 29 February of a leap year; it is refused
@mutant(kills=EXPIRY, because=".")
@in_extension
class KnowsNoLeapDays(TokenVerifier):
    """Has a table of the months in which February has 28 days."""

    def check_expiry(self, token: Token, request: Request) -> None:
        if "-02-29T" in token.expires_at:
            raise ExecutionRefusal(ExecutionReason.MALFORMED, "expires_at: no such day")
        super().check_expiry(token, request)


# shows: a token that expires in 2040; it is refused
@mutant(kills=EXPIRY, because=".")
@in_extension
class CountsIn32Bits(TokenVerifier):
    """Counts seconds in 32 bits, which end in January 2038."""

    def check_expiry(self, token: Token, request: Request) -> None:
        seconds = (int(token.expiry().timestamp()) + 2**31) % 2**32 - 2**31
        end = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        end += datetime.timedelta(seconds=seconds)
        super().check_expiry(replace(token, expires_at=end.isoformat()), request)


# ---- verifiers that are commands

# shows: a token whose content fails (its command ends with another code than 0), presented
# again; it is accepted
broken(
    "BashGivesTheNonceBack",
    "bash",
    "Gives the nonce back when the execution ends with an error.",
    (
        '"${command[@]}" <"$work/content" >&2',
        '"${command[@]}" <"$work/content" >&2 || rm -f -- "$spent"',
    ),
    kills="nonce-replay",
    because=".",
)

# shows: a token whose content fails (its command ends with another code than 0), presented
# again; it is accepted
broken(
    "NodeGivesTheNonceBack",
    "node",
    "Gives the nonce back when the execution ends with an error.",
    (
        "answer.exit_code = done.status ?? 127;",
        "answer.exit_code = done.status ?? 127;\n      if (answer.exit_code !== 0) "
        'rmSync(join(options["nonce-log"], token.nonce.toLowerCase()));',
    ),
    ("openSync, readFileSync }", "openSync, readFileSync, rmSync }"),
    kills="nonce-replay",
    because=".",
)

# shows: a token that expires on 29 February of a leap year; it is refused
broken(
    "BashKnowsNoLeapDays",
    "bash",
    "Has a table of the months in which February has 28 days.",
    ("((year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))) && month_days[2]=29\n", ""),
    kills="expiry",
    because=".",
)

# shows: expires_at is a day that does not exist, such as 30 February of a later year; it is
# accepted
broken(
    "NodeCarriesDatesOver",
    "node",
    "Takes the thirtieth of February for the second of March, as Date does.",
    ("if (!same || year < 1", "if (year < 1"),
    kills="expiry",
    because=".",
)

# shows: with a secret of a hundred bytes a good token is refused
broken(
    "BashCutsALongSecret",
    "bash",
    "Takes the first 64 bytes of a secret for the key, where a longer one is to be hashed.",
    ("""((${#key_hex} <= 128)) || key_hex=$(printf '%s' "$secret" | sha256)\n""", ""),
    kills="cross-language",
    because=".",
)

# shows: without a secret it ends with an error, and writes nothing
broken(
    "BashEndsWithoutAWord",
    "bash",
    "Ends when the secret is not a good one, and does not say why.",
    (
        """not_started() { printf '{"accepted": false, "error": "%s"}\\n' "$1"; exit 2; }""",
        "not_started() { exit 2; }",
    ),
    kills="default-secret",
    because=".",
    warned=True,
)
