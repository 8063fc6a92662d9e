"""Broken two-step servers that no scenario finds out yet, each with what would reveal it.

Of the same form as those in tests/mutants, and not loaded with them: whoever writes a scenario that
finds one out moves it to the file of its class.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import logging
import re
import threading
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar
from urllib.parse import unquote, urlencode

from pytest_mcp_approval.families.prepare_confirm import vocabulary as words
from pytest_mcp_approval.families.prepare_confirm.vocabulary import (
    Payload,
    TwoStepReason,
    read_payload,
)
from pytest_mcp_approval.reference_server.prepare_confirm.extension import PrepareConfirmExtension
from pytest_mcp_approval.reference_server.prepare_confirm.gate import PreparationGate, instant
from pytest_mcp_approval.reference_server.prepare_confirm.operations import (
    OperationDraft,
    OperationOutcome,
    TwoStepOperation,
)
from pytest_mcp_approval.reference_server.prepare_confirm.refusals import ConfirmationRefusal
from pytest_mcp_approval.reference_server.prepare_confirm.tokens import Mint
from pytest_mcp_approval.reference_server.server.extension import Caller
from tests.mutants.prepare_confirm.coerced import _OtherIds
from tests.mutants.prepare_confirm.compared_loosely import _ReadsAnotherSpelling
from tests.mutants.prepare_confirm.forgotten import _Forgets
from tests.mutants.prepare_confirm.fractions import _Compares
from tests.mutants.prepare_confirm.life_renewed import _Touched
from tests.mutants.prepare_confirm.neighbours import _TakesAlong
from tests.mutants.prepare_confirm.not_told import _Stores
from tests.mutants.prepare_confirm.only_a_part import _Versions
from tests.mutants.prepare_confirm.parts import Renews, in_extension
from tests.mutants.prepare_confirm.shown_not_meant import _Omits, _Respells
from tests.mutants.prepare_confirm.somebody_else import _OnePending
from tests.mutants.prepare_confirm.untested_twin import is_of_a_user
from tests.mutants.prepare_confirm.wrong_place import _Follows
from tests.mutants.registry import mutant

logger = logging.getLogger(__name__)


# ---- absent


# shows: prepare without force (it is optional), and the effects show force true
@mutant(kills="prepare_confirm/confirm-executes", because=".")
class ForcesUnlessToldNotTo(PrepareConfirmExtension):
    """Takes force for said where a call leaves it out."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if name.startswith("prepare_") and isinstance(arguments, Mapping):
            arguments = {"force": True, **arguments}
        return super().call(name, arguments, caller)


# shows: prepare with an empty list shows no items and gives a token; confirming it does things
@mutant(kills="prepare_confirm/preview", because=".")
@in_extension
class AnEmptyListMeansAll(PreparationGate):
    """Leaves the condition out where the list of ids is empty, and so shows none and does all."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        if arguments.get("project_ids") == []:
            every = {"project_ids": list(self.store.projects()), "force": True}
            return {**super().prepare(operation, every, caller), "items": []}
        return super().prepare(operation, arguments, caller)


# shows: tools/call of a confirm tool without the member arguments (or with null): error -32603
@mutant(kills="prepare_confirm/missing-token", because=".")
class FailsWithoutArguments(PrepareConfirmExtension):
    """Takes it for granted that a call has arguments."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if name.startswith("confirm_"):
            arguments = dict(arguments.items())
        return super().call(name, arguments, caller)


# ---- coerced


# shows: an id with a comma is prepared and confirmed: its parts are said to be gone, or done
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class SplitsIdsAtCommas(PreparationGate):
    """Joins the ids with commas for the back end, which splits them again."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if any("," in one for one in data.get("project_ids", ())):
            ids = ",".join(data["project_ids"]).split(",")
            found = self.store.projects(ids)
            versions = [found[one].version if one in found else 0 for one in ids]
            data |= {"project_ids": ids, "versions": versions}
        return super().execute(operation, replace(payload, data=data), arguments)


# shows: an id with a plus sign is prepared and confirmed: it is said to be gone
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class ReadsPlusAsBlank(_OtherIds):
    """Reads a plus sign in an id as a blank, as in forms."""

    def other(self, one: str) -> str:
        return one.replace("+", " ")


# shows: an id such as 007 is prepared and confirmed: 7 is said to be gone, or done
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class ReadsIdsAsNumbers(_OtherIds):
    """Reads an id of digits as a number, and loses the noughts before it."""

    def other(self, one: str) -> str:
        return str(int(one)) if one.isdecimal() else one


# shows: an id such as 1e3 or 1.0 is prepared and confirmed: 1000 or 1 is said to be gone, or done
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class ReadsIdsAsAmounts(_OtherIds):
    """Reads an id that looks like a number as one, as spreadsheets do."""

    def other(self, one: str) -> str:
        try:
            return f"{float(one):g}"
        except ValueError:
            return one


# shows: an id with a NUL in it is prepared and confirmed: what stands before it is said to be
# gone, or done
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class EndsIdsAtNul(_OtherIds):
    """Hands ids to a library that ends them at a NUL."""

    def other(self, one: str) -> str:
        return one.partition("\0")[0]


# shows: prepare with force "false" gives a token, and its confirmation runs with force true
@mutant(kills="prepare_confirm/confirm-executes", because=".")
class TakesAnyWordForForce(PrepareConfirmExtension):
    """Takes any text for force, the word false too."""

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        if isinstance(arguments, Mapping) and isinstance(arguments.get("force"), str):
            arguments = {**arguments, "force": bool(arguments["force"])}
        return super().call(name, arguments, caller)


# shows: confirm with a real token in a list succeeds (the lists that are tried hold none)
@mutant(kills="prepare_confirm/missing-token", because=".")
@in_extension
class TakesTheFirstOfAList(PreparationGate):
    """Takes a list of tokens for the first of them."""

    def check_given(self, operation: TwoStepOperation, given: Any) -> str:
        first = given[0] if isinstance(given, list) and given else given
        return super().check_given(operation, first)


# ---- compared loosely


# shows: a letter of the payload in the other case (inside an id): not refused for its signature
@mutant(kills="prepare_confirm/signature", because=".")
@in_extension
class FoldsTheCaseOfPayloads(Mint):
    """Signs the payload in lower case, and reads it as it came."""

    def sign(self, payload: str) -> str:
        return super().sign(payload.lower())


# shows: a blank put into an id in the payload: not refused for its signature
@mutant(kills="prepare_confirm/signature", because=".")
@in_extension
class SignsWithoutBlanks(Mint):
    """Leaves blanks out of what it signs, and reads them, in ids too."""

    def sign(self, payload: str) -> str:
        return super().sign("".join(payload.split()))


# shows: a used token with %7C for its separator, or wholly percent-encoded, serves again
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class TakesPercentSpellings(_ReadsAnotherSpelling):
    """Takes tokens as they are in addresses, and each spelling serves once."""

    def respelled(self, token: str) -> str:
        return unquote(token)


# shows: a used token with full-width digits or letters (NFKC) in its signature serves again
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class TakesFormsOfLetters(_ReadsAnotherSpelling):
    """Takes full-width letters and the like for the plain ones, and each spelling serves once."""

    def respelled(self, token: str) -> str:
        return unicodedata.normalize("NFKC", token)


# shows: a used token written as a JSON string (in quotes, with escapes) serves again
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class TakesQuotedTokens(_ReadsAnotherSpelling):
    """Takes a token in quotes and with escapes, as JSON has it, and each spelling serves once."""

    def respelled(self, token: str) -> str:
        try:
            return str(json.loads(token))
        except ValueError:
            return token


# shows: two servers whose keys differ in case alone take each other's tokens
@mutant(kills="prepare_confirm/secret-key", because=".")
@in_extension
class FoldsTheCaseOfKeys(Mint):
    """Takes keys that differ in case for the same."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else secret.lower())


# shows: two servers whose keys differ in characters that are not base64's (blanks, punctuation)
# alone take each other's tokens
@mutant(kills="prepare_confirm/secret-key", because=".")
@in_extension
class ReadsItsKeyAsBase64(Mint):
    """Reads its key as base64, and drops without a word what is none."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else base64.b64decode(f"{secret}===").hex())


# ---- forgotten


# shows: a token is used, then 101 others of the same lifetime, and it serves again
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class RemembersTheLastHundred(_Forgets):
    """Remembers the last hundred used tokens."""

    def forget(self) -> None:
        while len(self.used) > 100:
            del self.used[next(iter(self.used))]


# shows: a token is used, then a thousand others of the same lifetime, and it serves again
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class ClearsAFullMemory(_Forgets):
    """Clears the memory of used tokens when there are a thousand in it."""

    def forget(self) -> None:
        if len(self.used) >= 1000:
            self.used.clear()


# shows: a token is used, the server restarted with the same key and store, and a fresh preview's
# token is refused as used
@mutant(kills="prepare_confirm/nonce", because=".")
@in_extension
class NoncesBeginAgain(PreparationGate):
    """Counts its nonces from one at every start, and remembers used ones over it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        numbers = itertools.count(1)
        self.mint.__dict__["nonce"] = lambda: f"{next(numbers):032}"


# ---- fractions


# shows: a token serves again a day after its issue (86400 to 86699 s)
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class LooksAtTheSecondsOfADifference(_Compares):
    """Takes the seconds of a difference and forgets its days: a token lives again the next day."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        issued = instant(payload.issued_at)
        return (now - issued).seconds >= (end - issued).seconds


# shows: a token serves again 2^32 ms after its issue (4294968 to 4295267 s)
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class CountsMillisecondsInThirtyTwoBits(_Compares):
    """Counts the age of a token in milliseconds, which begin anew after fifty days."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        issued = instant(payload.issued_at)
        age = (now - issued) // timedelta(milliseconds=1) % 2**32
        return age >= (end - issued) // timedelta(milliseconds=1)


# shows: prepared two minutes before midnight UTC and confirmed one after it: refused as expired
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class EndsWithTheDay(_Compares):
    """Takes a token of another day for an old one, also shortly after midnight."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return now.date() != instant(payload.issued_at).date() or now >= end


# shows: prepared and confirmed at once in 2039: refused as expired
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class KnowsNoTimeAfter2038(_Compares):
    """Has whole numbers of 32 bits for instants: after January 2038 every token has expired."""

    def is_over(self, now: datetime, end: datetime, payload: Payload) -> bool:
        return now >= end or end.timestamp() >= 2**31


# ---- life renewed


# shows: a token is tried at the wrong tool late in its life, and serves at the right one after its
# end
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class RenewsAtTheWrongTool(_Touched):
    """Gives a living token its whole life again when the wrong tool refuses it."""

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        try:
            super().check_action(operation, payload)
        except ConfirmationRefusal:
            self.check_unexpired(payload)
            self.touch(self.key_of(payload))
            raise


# shows: a forgery of a token is tried late in its life, and the real one serves after its end
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class RenewsWithEveryForgery(_Touched):
    """Notes an attempt on a token before it verifies the signature, and counts from there."""

    def verify(self, operation: TwoStepOperation, given: Any) -> Payload:
        try:
            return super().verify(operation, given)
        except ConfirmationRefusal as refusal:
            if refusal.reason is TwoStepReason.SIGNATURE:
                with contextlib.suppress(ValueError):
                    self.touch(read_payload(given.rpartition("|")[0]).nonce)
            raise


# shows: a token is issued, the server restarted with the same key, and the token serves after its
# end (within one lifetime of the start)
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class CountsFromTheStart(_Touched):
    """Counts the lifetime of tokens that are older than the process from its start."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.touch("start")

    def key_of(self, payload: Payload) -> str:
        older = instant(payload.issued_at) < self.touched["start"]
        return "start" if older else payload.nonce


# ---- neighbours


# shows: an id that is the beginning of another one's (proj-1, proj-10) is confirmed: the effects
# show both
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class TakesWhatBeginsAlike(_TakesAlong):
    """Does it to every project whose id begins with one that was shown."""

    def matches(self, named: str, one: str) -> bool:
        return one.startswith(named)


# shows: an id with an underscore or percent sign, and one that it matches as a pattern (a_c, abc):
# the effects show both
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class ComparesIdsWithLike(_TakesAlong):
    """Finds projects with LIKE, to which a percent sign and an underscore mean anything."""

    def matches(self, named: str, one: str) -> bool:
        pattern = re.escape(named).replace("%", ".*").replace("_", ".")
        return re.fullmatch(pattern, one, re.DOTALL) is not None


# shows: two ids that differ in case alone, one is confirmed: the effects show both
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class TakesIdsInAnyCase(_TakesAlong):
    """Finds projects in a column that does not tell upper and lower case apart."""

    def matches(self, named: str, one: str) -> bool:
        return named.casefold() == one.casefold()


# shows: two ids of which one has blanks behind it, one is confirmed: the effects show both
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class TakesIdsWithBlanksBehind(_TakesAlong):
    """Finds projects in a column that is padded with blanks."""

    def matches(self, named: str, one: str) -> bool:
        return named.rstrip(" ") == one.rstrip(" ")


# shows: two users with one address, one is confirmed: the effects show both
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class DeletesByAddress(PreparationGate):
    """Deletes every user who has the address of the one that was shown."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        shown = self.store.user(payload.data.get("username", ""))
        outcome = super().execute(operation, payload, arguments)
        if shown is not None and outcome.complete:
            for one in self.store._users.find({"email": shown.email}):
                told = {"username": one.username}
                self.back_end.change("delete_user", one.username, one.version, told)
        return outcome


# ---- not told


# shows: what is kept holds the base64 (or hexadecimal) of the whole token
@mutant(kills="prepare_confirm/not-stored", because=".")
@in_extension
class StoresTokensInBase64(_Stores):
    """Stores tokens in base64, as bytes are stored."""

    def kept(self, outcome: str, token: str) -> str | None:
        return base64.b64encode(token.encode()).decode()


# shows: what is kept holds the signature's bytes in base64
@mutant(kills="prepare_confirm/not-stored", because=".")
@in_extension
class StoresSignaturesAsBytes(_Stores):
    """Stores the bytes of a token's signature in base64, to find it again."""

    def kept(self, outcome: str, token: str) -> str | None:
        try:
            return base64.b64encode(bytes.fromhex(token.rpartition("|")[2])).decode()
        except ValueError:
            return None


# shows: with a back end that fails, what is kept after a confirmation holds the whole token
@mutant(kills="prepare_confirm/not-stored", because=".")
@in_extension
class KeepsWhatFailedForLater(_Stores):
    """Stores the token of a confirmation that the back end failed, to try again."""

    def kept(self, outcome: str, token: str) -> str | None:
        return token if outcome.startswith("not all done") else None


# shows: after a token was refused at the wrong tool, what is kept holds it whole
@mutant(kills="prepare_confirm/not-stored", because=".")
@in_extension
class KeepsWhatCameToTheWrongTool(_Stores):
    """Stores a token that came to the wrong tool, which may still be used at the right one."""

    def kept(self, outcome: str, token: str) -> str | None:
        return token if outcome.endswith(TwoStepReason.WRONG_ACTION) else None


class _Logs(PreparationGate):
    """Logs tokens in some form, on some occasions."""

    def logged(self, outcome: str, token: str) -> str | None:
        raise NotImplementedError

    def audit(self, tool: str, outcome: str, token: Any, caller: str) -> None:
        super().audit(tool, outcome, token, caller)
        logged = self.logged(outcome, str(token))
        if logged is not None:
            logger.info("%s: %s", tool, logged)


# shows: the log holds the token percent-encoded
@mutant(kills="prepare_confirm/not-logged", because=".")
@in_extension
class LogsTokensAsInAddresses(_Logs):
    """Logs tokens as a query string has them."""

    def logged(self, outcome: str, token: str) -> str | None:
        return urlencode({"confirmation_token": token})


# shows: the log holds the base64 of the whole token
@mutant(kills="prepare_confirm/not-logged", because=".")
@in_extension
class LogsTokensInBase64(_Logs):
    """Logs tokens in base64, so that they fit on a line."""

    def logged(self, outcome: str, token: str) -> str | None:
        return base64.b64encode(token.encode()).decode()


# shows: with a back end that fails, the log after a confirmation holds the whole token
@mutant(kills="prepare_confirm/not-logged", because=".")
@in_extension
class LogsWhatFailed(_Logs):
    """Logs the token of a confirmation that the back end failed, for whoever looks into it."""

    def logged(self, outcome: str, token: str) -> str | None:
        return token if outcome.startswith("not all done") else None


# shows: after a token was refused at the wrong tool, the log holds it whole
@mutant(kills="prepare_confirm/not-logged", because=".")
@in_extension
class LogsWhatCameToTheWrongTool(_Logs):
    """Logs a token that came to the wrong tool, which may still be used at the right one."""

    def logged(self, outcome: str, token: str) -> str | None:
        return token if outcome.endswith(TwoStepReason.WRONG_ACTION) else None


# shows: the text of an answer says success true where structuredContent says false
@mutant(kills="prepare_confirm/failed-execution", because=".")
class SaysDoneInTheText(PrepareConfirmExtension):
    """Says in the text of an answer that it is done, whatever the members beside it say."""

    def result(self, answer: dict[str, Any]) -> dict[str, Any]:
        result = super().result(answer)
        if "closed_count" in answer or "deleted_count" in answer:
            said = {"success": True, "message": "Done"}
            result["content"] = [{"type": "text", "text": json.dumps(said)}]
        return result


# shows: with a back end that fails, a tool that deletes answers a deleted_count above what the
# effects show
@mutant(kills="prepare_confirm/failed-execution", because=".")
@in_extension
class CountsTheTries(PreparationGate):
    """Counts how many things it tried to delete."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if outcome.failure and "deleted_count" in told:
            told["deleted_count"] = len(payload.data.get("project_ids", ("the user",)))
            told.pop("unknown", None)
        return told


# shows: an id that is named twice in prepare is shown once, and the effects show it twice
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class DoesItAsOftenAsNamed(Renews):
    """Shows what is named twice once, and does it twice."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        asked = self.__dict__.setdefault("asked", {})
        asked[self.mint.open(token).nonce] = self.__dict__.get("ids")
        return token, expires_at

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["ids"] = arguments.get("project_ids")
        return super().prepare(operation, arguments, caller)

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = PreparationGate.execute(self, operation, payload, arguments)
        again = list(self.__dict__["asked"].get(payload.nonce) or ())
        for one in payload.data.get("project_ids", ()):
            again.remove(one)
        if again and outcome.complete:
            more = replace(payload, data={**payload.data, "project_ids": again})
            outcome.done += super().execute(operation, more, arguments).done
        return outcome


# ---- only a part


# shows: a token of many ids (longer than a kilobyte) with a changed byte near the end of its
# payload is taken
@mutant(kills="prepare_confirm/signature", because=".")
@in_extension
class SignsTheFirstKilobyte(Mint):
    """Signs the first kilobyte of a payload."""

    def sign(self, payload: str) -> str:
        return super().sign(payload[:1024])


# shows: a letter beyond ASCII put into the payload (inside an id): not refused for its signature,
# but looked up or executed
@mutant(kills="prepare_confirm/signature", because=".")
@in_extension
class SignsWhatIsAscii(Mint):
    """Drops letters beyond ASCII from what it signs, and reads them afterwards."""

    def sign(self, payload: str) -> str:
        return super().sign(payload.encode("ascii", "ignore").decode())


# shows: the same call with its ids in reverse order, so that the changed thing is not the last:
# both are done
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class LooksWhetherTheLastChanged(_Versions):
    """Looks at the last thing only, whether it is still as it was shown."""

    def kept(self, versions: list[int]) -> slice:
        return slice(len(versions) - 1, len(versions))


# shows: an id of 65 to 200 characters is prepared and confirmed: it is said to be gone
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class CutsIdsToTheColumn(PreparationGate):
    """Sends ids of at most sixty-four characters to the back end, as its column is that wide."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = dict(payload.data)
        if "project_ids" in data:
            data["project_ids"] = [one[:64] for one in data["project_ids"]]
        return super().execute(operation, replace(payload, data=data), arguments)


# shows: two servers whose keys begin with the same 32 characters and differ later take each
# other's tokens
@mutant(kills="prepare_confirm/secret-key", because=".")
@in_extension
class UsesTheBeginningOfItsKey(Mint):
    """Uses the first thirty-two characters of the key that it is given."""

    def __init__(self, secret: str | None) -> None:
        super().__init__(None if secret is None else secret[:32])


# ---- shown not meant


# shows: a preview of an id of more than sixty characters shows another id than was asked for
@mutant(kills="prepare_confirm/preview", because=".")
@in_extension
class CutsTextsToTheColumn(_Respells):
    """Cuts ids and names after sixty characters, so that those which begin alike look alike."""

    def respelled(self, text: str) -> str:
        return text[:60]


# shows: previews of the forced call before and after the number of artworks changed have the same
# items
@mutant(kills="prepare_confirm/preview-details", because=".")
@in_extension
class ShowsNamesAndNoNumbers(_Omits):
    """Shows what projects are called, and not what is in them."""

    kept = ("project_id", "username", "name", "status", "email", "enabled", "is_sso")


# shows: the preview of a tool that deletes says operation close
@mutant(kills="prepare_confirm/preview", because=".")
@in_extension
class CallsEveryOperationClose(PreparationGate):
    """Says in every preview that something will be closed."""

    def preview(self, *arguments: Any) -> dict[str, Any]:
        return {**super().preview(*arguments), "operation": "close"}


# ---- somebody else


# shows: two previews of one tool; the first's token is refused before either was used or expired
@mutant(kills="prepare_confirm/nonce", because=".")
@in_extension
class TakesTheLatestTokenOfATool(_OnePending):
    """A new preview of a tool ends the tokens of all earlier ones, whoever asked for them."""

    def place_of(self, action: str) -> str:
        return action


# shows: two previews of one tool on different things; confirming the first does what the second
# showed
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class DoesWhatWasPreparedLast(PreparationGate):
    """Keeps what is to be done in one place for each tool, where a later preview overwrites it."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        self.__dict__.setdefault("drafts", {})[operation.name] = draft.data
        return super().issue(operation, draft)

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        data = self.__dict__.get("drafts", {}).get(operation.name, payload.data)
        return super().execute(operation, replace(payload, data=data), arguments)


# shows: a second preview four minutes after the first shows an end in 60 s, not in 300 s
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class SharesOneEnd(PreparationGate):
    """All previews that are asked for while one lives share its end."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        lifetime = self.settings.lifetime(operation.name)
        end = self.__dict__.get("end", self.now())
        if not self.now() < end <= self.now() + lifetime:
            end = self.__dict__["end"] = self.now() + lifetime
        left = end - self.now()
        token, payload = self.mint.issue(operation.name, draft.data, self.now(), left)
        return token, instant(payload.expires_at)


# shows: two previews of the same thing; the first's token finds it changed since the preview
@mutant(kills="prepare_confirm/preview", because=".")
@in_extension
class TouchesWhatItShows(PreparationGate):
    """Notes on each project when it was last shown, which makes earlier previews of it stale."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        ids = arguments.get("project_ids")
        if isinstance(ids, list):
            found = self.store.projects(one for one in ids if isinstance(one, str))
            self.store.put_projects(found.values())
        return super().prepare(operation, arguments, caller)


# ---- undone by failure


# shows: one of two things vanishes before the confirmation, which does the rest; the same token
# again is not refused as used
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class GivesBackWhenSomethingWasGone(Renews):
    """Gives the token back if something was gone, after it has done the rest."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.left_alone and not outcome.failure:
            self.store._spent.remove(payload.nonce)
        return outcome


# shows: the back end's answer is lost; then another preview is confirmed: the effects show the
# first thing twice
@mutant(kills="prepare_confirm/failed-execution", because=".")
@in_extension
class TriesAgainLater(Renews):
    """Puts what failed into a queue, and does it with the next confirmation."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        queue: list[tuple[TwoStepOperation, Payload]] = self.__dict__.setdefault("queue", [])
        for earlier in [queue.pop(0) for _ in list(queue)]:
            super().execute(*earlier, {})
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure:
            queue.append((operation, payload))
        return outcome


# shows: with a back end that fails, confirm answers -32603 Internal error: neither success false
# nor a message, and no count
@mutant(kills="prepare_confirm/failed-execution", because=".")
@in_extension
class BreaksWithTheBackEnd(PreparationGate):
    """Lets the exception of a back end that fails through."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcome = super().execute(operation, payload, arguments)
        if outcome.failure:
            raise RuntimeError(outcome.failure)
        return outcome


# shows: a slow back end: confirm answers before it is done; the same token again after that answer
# runs it twice
@mutant(kills="prepare_confirm/failed-execution", because=".")
@in_extension
class WaitsALittleAndGivesUp(Renews):
    """Gives up waiting for a slow back end and gives the token back, while the work goes on."""

    def execute(
        self, operation: TwoStepOperation, payload: Payload, arguments: Mapping[str, Any]
    ) -> OperationOutcome:
        outcomes: list[OperationOutcome] = []
        work = threading.Thread(
            target=lambda: outcomes.append(Renews.execute(self, operation, payload, arguments)),
            daemon=True,
        )
        work.start()
        work.join(0.2)
        if outcomes:
            return outcomes[0]
        self.store._spent.remove(payload.nonce)
        ids = payload.data.get("project_ids", [payload.data.get("username")])
        return OperationOutcome(failure="the back end takes too long", unknown=list(ids))


# ---- untested twin


def is_forced(payload: Payload) -> bool:
    return payload.data.get("force") is True


# shows: the pair's forced call confirmed twice with one token: the second succeeds, and the
# effects grow again
@mutant(kills="prepare_confirm/one-time", because=".")
@in_extension
class ForcedTokensServeOnAndOn(Renews):
    """Takes another way when something is forced, on which tokens are not marked as used."""

    def spend(self, payload: Payload) -> None:
        if not is_forced(payload):
            super().spend(payload)


# shows: a token of the forced call serves after its end
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class ForcedTokensNeverExpire(PreparationGate):
    """Takes force for leave to overlook that a token has expired."""

    def check_unexpired(self, payload: Payload) -> None:
        if not is_forced(payload):
            super().check_unexpired(payload)


# shows: a changed or missing signature on a token of prepare_delete_user: the user is deleted
# (signatures are tried on one pair only)
@mutant(kills="prepare_confirm/signature", because=".")
@in_extension
class UserTokensNeedNoSignature(Mint):
    """Verifies the signatures of tokens that are about projects."""

    def check_signature(self, payload: str, signature: str) -> None:
        try:
            claimed = read_payload(payload)
        except ValueError:
            claimed = None
        if claimed is None or not is_of_a_user(claimed):
            super().check_signature(payload, signature)


# shows: the preview of the forced call of delete_projects has no warning that it is final, that of
# close_projects no way back
@mutant(kills="prepare_confirm/pairs", because=".")
@in_extension
class ForcedWarnsOfNothing(PreparationGate):
    """Leaves the warnings out where somebody says force."""

    def preview(
        self, operation: TwoStepOperation, draft: OperationDraft, *rest: Any
    ) -> dict[str, Any]:
        if draft.data.get("force"):
            draft = replace(draft, warnings=[f"{len(draft.items)} project(s), forced"])
        return super().preview(operation, draft, *rest)


# shows: with a back end that fails, confirm_delete_user answers success true
@mutant(kills="prepare_confirm/failed-execution", because=".")
@in_extension
class AlwaysDeletesUsersSuccessfully(PreparationGate):
    """Looks at what the back end says of projects, and takes a user for deleted."""

    def tell(
        self, operation: TwoStepOperation, payload: Payload, outcome: OperationOutcome
    ) -> dict[str, Any]:
        told = super().tell(operation, payload, outcome)
        if is_of_a_user(payload) and outcome.failure:
            name = payload.data["username"]
            return {"success": True, "action": "deleted", "message": f"Deleted the user {name}"}
        return told


# shows: configured for 90 minutes, prepare_delete_user shows an end in 300 s
@mutant(kills="prepare_confirm/expired", because=".")
@in_extension
class UserTokensHaveALifetimeOfTheirOwn(PreparationGate):
    """Overlooks for users what lifetime was configured."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        if "username" not in draft.data:
            return super().issue(operation, draft)
        five = timedelta(minutes=5)
        token, payload = self.mint.issue(operation.name, draft.data, self.now(), five)
        return token, instant(payload.expires_at)


# shows: eight confirmations at once with the token of a forced call: more than one succeeds
@mutant(kills="prepare_confirm/concurrent", because=".")
@in_extension
class ForcedRunsWithoutTheLock(Renews):
    """Marks tokens in one step, except where something is forced."""

    working: ClassVar[threading.Lock] = threading.Lock()

    def spend(self, payload: Payload) -> None:
        if not is_forced(payload):
            super().spend(payload)
            return
        if self.store.is_spent(payload.nonce):
            raise ConfirmationRefusal(TwoStepReason.USED, "the token has already been used")
        time.sleep(0.02)
        self.store.spend(payload.nonce, instant(payload.expires_at) + timedelta(hours=1))

    def execute(self, *arguments: Any) -> OperationOutcome:
        with self.working:  # the back end does one thing after the other, as most do
            return super().execute(*arguments)


# shows: the appear call between preview and confirmation of delete_projects (not of
# close_projects): one more is deleted
@mutant(kills="prepare_confirm/confirm-appeared", because=".")
@in_extension
class DeletesWhatCameSince(Renews):
    """Closes what was listed, and deletes what is there."""

    def prepare(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["known"] = set(self.store.projects())
        return super().prepare(operation, arguments, caller)

    def renewed(self, payload: Payload) -> Payload:
        if payload.action == "delete_projects":
            new = [one for one in self.store.projects() if one not in self.__dict__["known"]]
            ids = [*payload.data["project_ids"], *new]
            payload = replace(payload, data={**payload.data, "project_ids": ids})
        return super().renewed(payload)


# shows: many prepare_delete_user, none confirmed, and some hours: the number of held tokens does
# not go down
@mutant(kills="prepare_confirm/cleanup", because=".")
@in_extension
class KeepsPreviewsOfUsers(PreparationGate):
    """Records every token that it issues for a user, and never removes one."""

    def issue(self, operation: TwoStepOperation, draft: OperationDraft) -> tuple[str, datetime]:
        token, expires_at = super().issue(operation, draft)
        if "username" in draft.data:
            nonce = self.mint.open(token).nonce
            self.store.spend(f"issued {nonce}", self.now() + timedelta(days=3650))
        return token, expires_at


# ---- wrong place


# shows: confirm_delete_user with the token of one user and the username of another beside it
# deletes the other
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class FollowsTheUserOfTheCall(_Follows):
    """Takes the username of the confirm call, if it has one."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        name = arguments.get("username")
        return {"username": name} if isinstance(name, str) and "username" in payload.data else {}


# shows: confirm with an argument data (as the payload has it) beside the token does what data
# names
@mutant(kills="prepare_confirm/confirm-executes", because=".")
@in_extension
class FollowsTheDataOfTheCall(_Follows):
    """Merges an argument called data into that of the token."""

    def followed(self, payload: Payload, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        data = arguments.get("data")
        if not isinstance(data, Mapping):
            return {}
        return {name: data[name] for name in data if name in payload.data}


# shows: a token of close_projects at confirm_delete_projects with action delete_projects beside it
# (a member of the payload) deletes
@mutant(kills="prepare_confirm/action-bound", because=".")
@in_extension
class TakesTheActionOfTheCall(PreparationGate):
    """Compares the tool with the action that the call names, if it names one."""

    def confirm(
        self, operation: TwoStepOperation, arguments: Mapping[str, Any], caller: str
    ) -> dict[str, Any]:
        self.__dict__["named"] = arguments.get("action")
        return super().confirm(operation, arguments, caller)

    def check_action(self, operation: TwoStepOperation, payload: Payload) -> None:
        action = self.__dict__["named"] or payload.action
        super().check_action(operation, replace(payload, action=str(action)))


# shows: confirm with the arguments of prepare and every flag that its input schema offers set to
# true, and no token, does it
@mutant(kills="prepare_confirm/missing-token", because=".")
class TakesAWordForAToken(PrepareConfirmExtension):
    """Offers a flag `confirmed` beside the token, and takes it with the arguments of prepare."""

    def listing(self, prefix: str, operation: TwoStepOperation) -> dict[str, Any]:
        listed = super().listing(prefix, operation)
        if prefix == words.CONFIRM:
            own = {words.TOKEN: {"type": "string"}, "confirmed": {"type": "boolean"}}
            schema = {"type": "object", "properties": {**own, **operation.properties}}
            listed = {**listed, "inputSchema": schema}
        return listed

    def call(self, name: str, arguments: Any, caller: Caller) -> dict[str, Any]:
        prefix, operation = self._pairs.get(name, ("", None))
        if operation and prefix == words.CONFIRM and (arguments or {}).get("confirmed") is True:
            token = self.gate.prepare(operation, arguments, caller.user).get(words.TOKEN)
            arguments = {**arguments, words.TOKEN: token}
        return super().call(name, arguments, caller)
