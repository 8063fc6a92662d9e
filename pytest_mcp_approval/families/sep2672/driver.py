"""Speaks SEP-2672 to a target: enrol, challenge, sign, call; as a client does, or an attacker.

    passkey = approval.enrol("icloud-keychain")
    request = approval.challenge("place_trade", {"symbol": "AAPL", "quantity": 10})
    evidence = passkey.sign(request)
    assert approval.call(request, evidence).executed

Knows no verdicts: it does what it is told and reports what came back. A refusal is an outcome; a
`DriverError` means that the driver did not get what it needs itself.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from virtual_authenticator import Authenticator, Profile, WebAuthnError
from virtual_authenticator.faults import Fault

from ...support.origins import origin_of_url
from ...support.recording import note
from ...target import Target
from ...target.arguments import example_arguments
from ...wire import Reply, Session
from ..base.driver import Driver, DriverError
from ..base.paths import value_at
from . import vocabulary as words
from .outcome import ApprovalOutcome
from .settings import own_settings, settings_of
from .vocabulary import Annotation, AnnotationError, annotation_of

NOT_GIVEN: Any = object()
"""Left out; None would be a JSON null."""
REGISTERED_ODDLY = "a registration other than an honest one was sent"
"""Remembered for a target: a successful call does not show what that did to enrolments."""


@dataclass(frozen=True)
class ListedTool:
    name: str
    listing: Mapping[str, Any]
    annotation: Annotation | None
    arguments: Mapping[str, Any] | None = None
    """Arguments that are safe to run it with, where they are known."""

    @property
    def gated(self) -> bool:
        return self.annotation is not None

    @property
    def properties(self) -> Mapping[str, Any]:
        """What its schema says about its arguments, by name."""
        found = value_at(self.listing, "inputSchema.properties")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Challenge:
    """An approval request: a call, and the envelope that the target issued for it."""

    tool: str
    arguments: Any
    envelope: Mapping[str, Any]
    reply: Reply = field(repr=False)

    @property
    def id(self) -> str:
        return str(self.envelope.get("challengeId"))

    @property
    def display_text(self) -> str:
        return str(self.envelope.get("displayText"))

    @property
    def options(self) -> dict[str, Any]:
        """The requestOptions, as a client hands them to `navigator.credentials.get`."""
        return dict(self.envelope["requestOptions"])

    @property
    def expires_at(self) -> datetime.datetime:
        return parse_instant(self.envelope.get("expiresAt"))

    @property
    def wire_challenge(self) -> bytes:
        return words.base64url_decode(self.options["challenge"])

    @property
    def offered(self) -> dict[str, Any]:
        """The transports in allowCredentials by credential id, None for one that has none."""
        listed = self.options.get("allowCredentials")
        entries = listed if isinstance(listed, list) else []
        return {
            str(one.get("id")): one.get("transports") for one in entries if isinstance(one, dict)
        }

    def with_arguments(self, arguments: Any) -> Challenge:
        """The same approval on a call with other arguments."""
        return replace(self, arguments=arguments)

    def with_tool(self, tool: str) -> Challenge:
        """The same approval on a call of another tool."""
        return replace(self, tool=tool)


def parse_instant(value: Any) -> datetime.datetime:
    """An ISO 8601 instant with a time zone; ValueError for anything else."""
    if not isinstance(value, str):
        raise ValueError(f"instant: got {value!r}, expected ISO 8601 text")
    instant = datetime.datetime.fromisoformat(value)
    if instant.tzinfo is None:
        raise ValueError(f"instant: got {value!r} without a time zone")
    return instant


class Passkey:
    """An enrolled credential on one of the suite's authenticators."""

    def __init__(
        self, authenticator: Authenticator, origin: str, registration: Mapping[str, Any]
    ) -> None:
        self.authenticator = authenticator
        self.origin = origin
        self.registration = registration

    @property
    def id(self) -> str:
        """The credential id, base64url."""
        return str(self.registration["id"])

    def sign(
        self,
        challenge: Challenge,
        *,
        faults: Fault | str | Iterable[Fault | str] = (),
        ignoring: Iterable[str] = (),
        origin: str | None = None,
    ) -> dict[str, Any]:
        """Evidence for the call of this challenge: what goes into `_meta` (section 4.5)."""
        credential = self.authenticator.credential(words.base64url_decode(self.id))
        response = self.authenticator.get(
            challenge.options,
            origin or self.origin,
            credential=credential,
            faults=faults,
            ignoring=ignoring,
        )
        note(
            "authenticator",
            "signed",
            device=self.authenticator.profile.name,
            origin=origin or self.origin,
            response=response,
            faults=faults,
            ignoring=ignoring,
        )
        return {"method": words.WEBAUTHN, "challengeId": challenge.id, "response": response}


class Approval(Driver):
    """The ceremonies of SEP-2672 with one target."""

    def __init__(self, target: Target, session_of: Callable[[], Session] | None = None) -> None:
        """`session_of` gives the conversation of another user; without it, the usual one."""
        super().__init__(target)
        self._session_of = session_of or target.session
        own = own_settings(target)
        of_the_page = origin_of_url(own.page.url) if own.page.url is not None else None
        self._origin = own.origin or of_the_page or settings_of(target).origin

    @property
    def session(self) -> Session:
        return self._session_of()

    # ---- what there is

    def tools(self) -> list[ListedTool]:
        """All tools, as listed once; a listing that breaks section 4.2 has no annotation here."""
        known: list[ListedTool] | None = self.target.remembered.get("tools")
        if known is None:
            known = [
                ListedTool(
                    str(entry.get("name")), entry, _annotation(entry), self._safe_arguments(entry)
                )
                for entry in self.session.list_tools()
            ]
            self.target.remembered["tools"] = known
        return known

    def _safe_arguments(self, entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """What the user says is safe; made up only if they asked for that."""
        name = str(entry.get("name"))
        known = {**self.target.known_arguments, **self.target.settings.tools}
        marked = words.META_KEY in (entry.get("_meta") or {})
        if name in known or not (marked and self.target.settings.generate_arguments):
            return known.get(name)
        return example_arguments(entry.get("inputSchema"))

    def tool(self, name: str) -> ListedTool:
        for tool in self.tools():
            if tool.name == name:
                return tool
        raise DriverError(f"the target lists no tool {name!r}")

    # ---- section 4.4: enrolment

    def begin(self, params: Any = None, *, session: Session | None = None) -> Reply:
        return (session or self.session).call(words.ENROLL_BEGIN, params)

    def begin_options(self, *, session: Session | None = None) -> dict[str, Any]:
        """The creation options of a new enrolment."""
        reply = self.begin(session=session)
        options = reply.result.get("options") if isinstance(reply.result, dict) else None
        if not isinstance(options, dict):
            raise DriverError(f"{words.ENROLL_BEGIN}: {reply.describe()}", reply)
        return options

    def finish(self, response: Any, *, session: Session | None = None) -> Reply:
        self.target.remembered[REGISTERED_ODDLY] = True
        return (session or self.session).call(words.ENROLL_FINISH, {"response": response})

    def origin_for(self, options: Mapping[str, Any]) -> str:
        """The page that users enrol on: as configured, or what the RP ID suggests."""
        if self._origin is None:
            rp = options.get("rp")
            rp_id = rp.get("id") if isinstance(rp, dict) else None
            host = rp_id if isinstance(rp_id, str) else "localhost"
            scheme = "http" if host == "localhost" or host.endswith(".localhost") else "https"
            self._origin = f"{scheme}://{host}"
        return self._origin

    def register(
        self,
        shape: str | Profile | Authenticator = "security-key",
        options: Mapping[str, Any] | None = None,
        *,
        origin: str | None = None,
        **create: Any,
    ) -> tuple[Authenticator, str, dict[str, Any]]:
        """The client's half of an enrolment: an authenticator, its origin, and its response."""
        options = self.begin_options() if options is None else options
        page = origin or self.origin_for(options)
        device = shape if isinstance(shape, Authenticator) else Authenticator(shape)
        try:
            response = device.create(options, page, **create)
        except (WebAuthnError, ValueError) as error:
            raise DriverError(f"the creation options cannot be used: {error}") from error
        note(
            "authenticator",
            "registered",
            device=device.profile.name,
            origin=page,
            response=response,
            faults=create.get("faults", ()),
            ignoring=create.get("ignoring", ()),
        )
        return device, page, response

    def enroll(
        self, shape: str | Profile | Authenticator = "security-key", **changes: Any
    ) -> Passkey:
        """Enroll a passkey of this shape; other keywords change members of its profile."""
        if changes and not isinstance(shape, Authenticator):
            shape = Authenticator(shape, **changes)
        device, page, response = self.register(shape)
        odd = self.target.remembered.get(REGISTERED_ODDLY, False)
        reply = self.finish(response)
        self.target.remembered[REGISTERED_ODDLY] = odd
        if not confirmed_enrolment(reply):
            raise DriverError(f"an honest enrolment was refused: {reply.describe()}", reply)
        return Passkey(device, page, response)

    enrol = enroll
    """The spelling of earlier versions."""

    # ---- section 4.4.3: challenges

    def request_challenge(
        self, tool: Any, arguments: Any, *, session: Session | None = None
    ) -> Reply:
        params = {"toolName": tool, "arguments": arguments}
        return (session or self.session).call(words.CHALLENGE_CREATE, params)

    def challenge(
        self, tool: str, arguments: Any = None, *, session: Session | None = None
    ) -> Challenge:
        """A challenge for this call; `wire.RawJson` spells arguments exactly."""
        arguments = {} if arguments is None else arguments
        reply = self.request_challenge(tool, arguments, session=session)
        envelope = reply.result
        if not isinstance(envelope, dict) or not isinstance(envelope.get("requestOptions"), dict):
            raise DriverError(f"{words.CHALLENGE_CREATE} for {tool}: {reply.describe()}", reply)
        return Challenge(tool, arguments, envelope, reply)

    # ---- section 4.5: calls

    def call_params(
        self, challenge: Challenge, evidence: Any = NOT_GIVEN, *, meta: Any = NOT_GIVEN
    ) -> dict[str, Any]:
        """The params of the tools/call; no evidence and no meta: no `_meta` of ours at all."""
        params: dict[str, Any] = {"name": challenge.tool, "arguments": challenge.arguments}
        if meta is not NOT_GIVEN:
            params["_meta"] = meta
        elif evidence is not NOT_GIVEN:
            params["_meta"] = {words.META_KEY: evidence}
        return params

    def call(
        self,
        challenge: Challenge,
        evidence: Any = NOT_GIVEN,
        *,
        meta: Any = NOT_GIVEN,
        session: Session | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> ApprovalOutcome:
        """Call the challenge's tool with its arguments and this evidence; look at the effects."""
        params = self.call_params(challenge, evidence, meta=meta)
        outcome = self.observe(
            lambda: (session or self.session).call("tools/call", params, headers=headers)
        )
        odd = self.target.remembered.get(REGISTERED_ODDLY, False)
        if outcome.served and not odd:
            self.served()
        return outcome

    def call_without_evidence(self, tool: str, arguments: Any, **meta: Any) -> ApprovalOutcome:
        params = {"name": tool, "arguments": arguments, **meta}
        return self.observe(lambda: self.session.call("tools/call", params))

    def observe(self, act: Any) -> ApprovalOutcome:
        """Do something that gives a reply, and look at the effects before and after it."""
        reply, runs = self.runs_during(act)
        return ApprovalOutcome(reply, runs=runs, probed=self.effects is not None)


def confirmed_enrolment(reply: Reply) -> bool:
    """Whether a finish was answered with the confirmation of section 4.4.2."""
    return value_at(reply.result, "success") is True


def _annotation(entry: Mapping[str, Any]) -> Annotation | None:
    try:
        return annotation_of(entry)
    except AnnotationError:
        return None
