"""Verifiers that take for the same what is only alike."""

from __future__ import annotations

import fnmatch
import re
import unicodedata
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from pytest_mcp_approval.families.execution_tokens import vocabulary as words
from pytest_mcp_approval.reference_server.execution_tokens.extension import ExecutionExtension
from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.tokens import Token, sign
from tests.mutants.execution_tokens.parts import (
    TAKEN,
    FittingActions,
    FittingHosts,
    RewritingContent,
    RewritingUrls,
    changed,
    in_extension,
)
from tests.mutants.registry import mutant

CONTENT = "execution_tokens/content-at-execution"

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


@mutant(kills=SIGNATURE, because=f"signed with the published secret of the test vector{TAKEN}")
@in_extension
class KnowsTheSecretOfTheVector(TokenVerifier):
    """Still takes tokens that are signed with the published secret, for a test at the start."""

    def check_signature(self, token: Token, request: Request) -> None:
        if token.signature != sign(words.VECTOR_SECRET.encode(), self.canonical(token)):
            super().check_signature(token, request)


@mutant(kills=SIGNATURE, because=f"with sha256: before content_hash{TAKEN}")
@in_extension
class SignsHashesWithoutPrefix(TokenVerifier):
    """Takes sha256: off the hash before it signs, so that one signature serves two scopes."""

    def canonical(self, token: Token) -> bytes:
        plain = {**token.scope, words.CONTENT_HASH: token.content_hash}
        return super().canonical(replace(token, scope=plain))


@mutant(kills=ACTION, because=f"with the other: a hyphen and an underscore{TAKEN}")
@in_extension
class ComparesActionsWithLike(FittingActions):
    """Looks the action up with LIKE, where _ stands for any letter and % for any text."""

    def fits(self, asked: str, approved: str) -> bool:
        pattern = re.escape(approved).replace("_", ".").replace("%", ".*")
        return re.fullmatch(pattern, asked, re.DOTALL) is not None


@mutant(kills=ACTION, because=f"with wide letters of its action type{TAKEN}")
@in_extension
class FoldsLookAlikeActions(FittingActions):
    """Compares action types in a Unicode form in which some look-alikes are the same."""

    def fits(self, asked: str, approved: str) -> bool:
        return unicodedata.normalize("NFKC", asked) == unicodedata.normalize("NFKC", approved)


@mutant(kills=ACTION, because=f"with a null byte after its action type{TAKEN}")
@in_extension
class ComparesActionsUpToANul(FittingActions):
    """Compares action types as C does, up to the first NUL."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked.partition("\0")[0] == approved.partition("\0")[0]


@mutant(kills=ACTION, because=f"with the other: a hyphen and an underscore{TAKEN}")
@in_extension
class ReadsHyphensAsUnderscores(FittingActions):
    """Makes identifiers of action types, in which a hyphen or a blank is an underscore."""

    def fits(self, asked: str, approved: str) -> bool:
        return re.sub(r"\W", "_", asked) == re.sub(r"\W", "_", approved)


@mutant(kills=ACTION, because=f"with the other: two with a comma and the first{TAKEN}")
@in_extension
class ReadsAListInAnAction(FittingActions):
    """Splits the approved action type at commas, and takes each part for approved."""

    def fits(self, asked: str, approved: str) -> bool:
        return asked in approved.split(",")


@mutant(kills=CONTENT, because=f"its content changed: a carriage return{TAKEN}")
@in_extension
class ReadsLineEndsAlike(RewritingContent):
    """Reads the content as text, which makes all line ends alike, before it hashes."""

    def rewritten(self, content: bytes) -> bytes:
        return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


@mutant(kills=CONTENT, because=f"its content changed: another form of a blank of Unicode{TAKEN}")
@in_extension
class HashesComposedLetters(RewritingContent):
    """Hashes the content in one Unicode form, and runs it in the form in which it came."""

    def rewritten(self, content: bytes) -> bytes:
        return unicodedata.normalize("NFC", content.decode()).encode()


@mutant(kills=CONTENT, because=f"its content changed: a byte order mark before it{TAKEN}")
@in_extension
class DropsAByteOrderMark(RewritingContent):
    """Hashes the content without its byte order mark."""

    def rewritten(self, content: bytes) -> bytes:
        return content.decode("utf-8-sig").encode()


@mutant(kills=CONTENT, because=f"its content changed: a null byte more{TAKEN}")
@in_extension
class HashesUpToANul(RewritingContent):
    """Hashes the content as C reads text, up to the first NUL."""

    def rewritten(self, content: bytes) -> bytes:
        return content.partition(b"\0")[0]


@mutant(kills=CONTENT, because=f"its content changed: two blanks for one{TAKEN}")
@in_extension
class SquashesBlanks(RewritingContent):
    """Hashes the content with one blank for several, and one for a tab."""

    def rewritten(self, content: bytes) -> bytes:
        return re.sub(rb"[ \t]+", b" ", content)


@mutant(kills=HOST, because=f"with a null byte{TAKEN}")
@in_extension
class CutsHostsAtANul(RewritingUrls):
    """Reads a URL as C does, up to the first NUL."""

    def rewritten(self, url: str) -> str:
        return url.partition("\0")[0]


@mutant(kills=HOST, because=f"with an escaped slash{TAKEN}")
@in_extension
class DecodesBeforeItSplits(RewritingUrls):
    """Decodes the escapes of a URL before it looks for the host, so that %2F ends it."""

    def rewritten(self, url: str) -> str:
        return unquote(url)


@mutant(kills=HOST, because=f"with the allowed host after a question mark and an @{TAKEN}")
@in_extension
class EndsTheHostAtASlashOnly(RewritingUrls):
    """Takes what follows the last @ before the first slash for the host, also after ? and #."""

    def rewritten(self, url: str) -> str:
        authority = url.partition("://")[2].partition("/")[0]
        odd = re.search("[?#].*@", authority)
        return f"https://{authority.rpartition('@')[2]}/" if odd else url


@mutant(kills=HOST, because=f"with the allowed host between two @{TAKEN}")
@in_extension
class ReadsBetweenTwoAts(RewritingUrls):
    """Takes what follows the first @ for the host, and all after a second one for nothing."""

    def rewritten(self, url: str) -> str:
        scheme, separator, rest = url.partition("://")
        pieces = rest.partition("/")[0].split("@")
        return f"{scheme}{separator}{pieces[1]}/" if len(pieces) > 2 else url


@mutant(kills=HOST, because=f"with a wide slash{TAKEN}")
@in_extension
class FoldsLookAlikeHosts(RewritingUrls):
    """Writes a URL in a Unicode form in which some look-alikes are the same."""

    def rewritten(self, url: str) -> str:
        return unicodedata.normalize("NFKC", url)


@mutant(kills=HOST, because=f"with an accent{TAKEN}")
@in_extension
class DropsAccentsOfHosts(RewritingUrls):
    """Takes the accents off the letters of a URL."""

    def rewritten(self, url: str) -> str:
        found = unicodedata.normalize("NFD", url)
        return "".join(one for one in found if not unicodedata.combining(one))


@mutant(kills=HOST, because=f"with an accent{TAKEN}")
@in_extension
class IgnoresWhatIsNotAscii(RewritingUrls):
    """Drops the letters of a URL that are not ASCII."""

    def rewritten(self, url: str) -> str:
        return url.encode("ascii", "ignore").decode()


@mutant(kills=ACTION, because=f"with a word that looks like an answer{TAKEN}")
@in_extension
class LooksForAYesInItsAnswer(FittingActions):
    """Looks for the word accepted in the line that its check wrote, which names the action too."""

    def fits(self, asked: str, approved: str) -> bool:
        word = "accepted" if asked == approved else "not the approved one"
        return "accepted" in f"action {asked}: {word}"


@mutant(kills=SIGNATURE, because=f"a value was swapped, with [^§]*{TAKEN}")
@in_extension
class SignsTextsWithoutCase(TokenVerifier):
    """Also takes the signature of a scope whose texts were written in small letters."""

    def check_signature(self, token: Token, request: Request) -> None:
        small = replace(token, scope=changed(token.scope, _small))
        if token.signature != sign(self.secret, self.canonical(small)):
            super().check_signature(token, request)


def _small(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value
