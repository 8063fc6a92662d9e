"""What became of a request: an answer, or the way in which there was none.

Knows nothing of how it travelled. Everything that a server can do is a value here; none of it is an
exception.
"""

import enum
from dataclasses import dataclass

from pytest_mcp_approval.support import http1, http_status
from pytest_mcp_approval.support.text import first_sentence, neutralise
from pytest_mcp_approval.wire.messages import Json, Message, RequestId, to_json


class Outcome(enum.Enum):
    """The ways in which a request can end. The value is how a report says it."""

    RESULT = "a result"
    ERROR = "an error"
    ACCEPTED = "accepted"
    """A notification was accepted; no answer is due."""
    NO_ANSWER = "no answer in time"
    CLOSED = "the connection was closed"
    UNREACHABLE = "not reachable"
    """Nothing was sent: no connection came about."""
    GARBAGE = "no JSON-RPC"
    HTTP_STATUS = "an HTTP status without JSON-RPC"
    WRONG_ID = "an answer under another id"
    NULL_ID = "an error under the id null"
    """JSON-RPC's way to answer what could not be read. Not under our id, so never a refusal of our
    request."""
    TOO_LARGE = "too large"


Headers = http1.Headers


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """A JSON-RPC error, as far as its members have the types they should have."""

    code: int | None
    message: str
    data: Json
    raw: Json

    @classmethod
    def read(cls, error: Json) -> "ErrorObject":
        if not isinstance(error, dict):
            return cls(None, "", None, error)
        code, message = error.get("code"), error.get("message")
        # bool is an int in Python, and no error code.
        return cls(
            code if type(code) is int else None,
            message if isinstance(message, str) else "",
            error.get("data"),
            error,
        )

    def describe(self) -> str:
        if not isinstance(self.raw, dict):
            return f"error {show_json(self.raw)}"
        code = show_json(self.raw.get("code")) if self.code is None else str(self.code)
        line = f"error {code}"
        if self.message:
            line += f" {first_sentence(self.message)}"
        if self.data is not None:
            line += f" {show_json(self.data)}"
        return line


def show_json(value: Json, limit: int = 160) -> str:
    """A JSON value on one short line."""
    try:
        return neutralise(to_json(value), limit)
    except (ValueError, TypeError, RecursionError):  # an infinity from 1e999, say
        return neutralise(repr(value), limit)


@dataclass(frozen=True, slots=True)
class Reply:
    """How one request ended, with the exact bytes that came back."""

    outcome: Outcome
    raw: bytes = b""
    """The text of the answer: an HTTP body, a line, or an SSE event's data; what there was of it,
    if cut short."""
    message: dict[str, Json] | None = None
    """The whole response, only if it is one and under our id."""
    detail: str = ""
    """What more is known, in words; may quote the server, so it is neutralised before it is
    shown."""
    status: int | None = None
    headers: Headers = ()
    seconds: float = 0.0
    stray: dict[str, Json] | None = None
    """A response under another id or none, when that is all there was."""

    @property
    def result(self) -> Json:
        return self.message.get("result") if self.message is not None else None

    @property
    def error(self) -> ErrorObject | None:
        """The error under our id, if that is the outcome."""
        if self.outcome is not Outcome.ERROR or self.message is None:
            return None
        return ErrorObject.read(self.message["error"])

    @property
    def stray_error(self) -> ErrorObject | None:
        """An error under another id or none."""
        if self.stray is None or "error" not in self.stray:
            return None
        return ErrorObject.read(self.stray["error"])

    @property
    def answered(self) -> bool:
        """Whether the server answered this request, for or against, under its id."""
        return self.outcome in (Outcome.RESULT, Outcome.ERROR)

    @property
    def advice(self) -> str:
        """What to do if the HTTP status says "not you" or "not now"; empty otherwise."""
        return http_status.advice_for(self.status, self.header("retry-after") or "")

    def header(self, name: str) -> str | None:
        """The first header of that name, in any case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    def describe(self) -> str:
        """One short line for a report, safe to print."""
        if self.error is not None:
            line = self.error.describe()
        elif self.outcome is Outcome.RESULT:
            line = f"result {show_json(self.result)}"
        elif self.outcome is Outcome.HTTP_STATUS:
            line = f"HTTP {self.status} without JSON-RPC"
        else:
            line = self.outcome.value
        if self.detail:
            line += f": {neutralise(self.detail, 300)}"
        if self.stray is not None:
            line += f": id {show_json(self.stray.get('id'), 40)}"
            if self.stray_error is not None:
                line += f", {self.stray_error.describe()}"
        elif self.outcome in (Outcome.GARBAGE, Outcome.HTTP_STATUS) and self.raw:
            line += f": {neutralise(self.raw.strip(), 80)}"
        if self.status not in (None, 200) and self.outcome is not Outcome.HTTP_STATUS:
            line += f" (HTTP {self.status})"
        # An error under our id may be a refusal that was meant for just this call.
        return line if self.answered or not self.advice else f"{line}; {self.advice}"


def read_response(message: Message, request_id: RequestId | None) -> Reply:
    """What a response means if one to `request_id` is awaited, or none at all (None)."""
    if request_id is not None and message.answers(request_id):
        outcome = Outcome.ERROR if "error" in message.value else Outcome.RESULT
        return Reply(outcome, message.raw, message.value)
    unaddressed = message.id is None and "error" in message.value
    outcome = Outcome.NULL_ID if unaddressed else Outcome.WRONG_ID
    return Reply(outcome, message.raw, stray=message.value)
