"""The WebAuthn layer: `create` and `get` as a page calls them, including the browser's part.

Options in, response JSON out; a failure is a DOM exception (see `errors`). Each client rule can be
ignored on purpose. The core does what the authenticator itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from . import cbor
from .algorithms import ALGORITHMS, BY_NAME, Algorithm, PrivateKey, algorithm_of
from .attestation import attestation_object
from .choosing import choose, name_of, why_not
from .client_data import ClientDataDraft, Page
from .client_rules import Rule, check_rp_id, check_secure_context, effective_rp_id, page_may_use
from .core import Core, NewCredential, Registered
from .credentials import Credential
from .encoding import shorten
from .errors import (
    AbortError,
    InvalidStateError,
    NotAllowedError,
    NotSupportedError,
    SecurityError,
    WebAuthnError,
)
from .options import CreationOptions, creation_options, request_options
from .person import Gesture
from .response_json import assertion_json, registration_json

if TYPE_CHECKING:
    from .faults import Fault, FaultRun

VERIFICATION_ATTEMPTS = 3
"""How often a client lets a person try again before it gives up."""

# Client data up to the challenge, which is plain ASCII (section 5.8.1.1).
_CREATES, _GETS = (
    b'{"type":"webauthn.create","challenge":"',
    b'{"type":"webauthn.get","challenge":"',
)
NO_RULES: frozenset[Rule] = frozenset()


class Ceremonies:
    """Runs ceremonies on one core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._known = core.store.by_encoded_id
        self.related_origins: dict[str, Sequence[str]] = {}
        self.enterprise_policy: set[str] = set()
        self._previous: dict[str, tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]] = {}
        """By ceremony, how to make the last response again: tests may change the one they got."""
        self._transports = core.profile.sorted_transports
        self._names_no_model = core.profile.names_no_model

    # ---- create

    def create(
        self,
        given: Any,
        page: Page,
        ignoring: frozenset[Rule],
        faults: tuple[Fault, ...],
        credential_id: bytes | None,
        private_key: PrivateKey | None,
        conditional: bool,
    ) -> dict[str, Any]:
        core, profile = self.core, self.core.profile
        options = creation_options(given)
        with core.lock:
            run = core.fault_run(faults, "create") if faults else None
            rp_id = options.rp_id
            if rp_id is None or not page_may_use(rp_id, page.origin):
                rp_id = self._rp_id(rp_id, page.origin, ignoring)
            excluded_app_id = None
            if options.extensions:
                from . import client_extensions

                excluded_app_id = self._app_id(
                    client_extensions.check_registration, options, page.origin, ignoring=ignoring
                )
            if (
                options.attachment not in (None, profile.attachment)
                and Rule.ATTACHMENT not in ignoring
            ):
                raise self._refused(f"no {options.attachment} authenticator is here")
            discoverable = self._discoverable(options, rp_id, ignoring)
            # Section 5.1.3: a passkey that is added beside a sign-in asks nobody, unless it must.
            silent = conditional and self._adds_silently(options.user_verification)
            verified = not silent and (
                (options.user_verification == "required" and core.can_verify)
                or self._verification(options.user_verification, ignoring)
            )
            algorithm = core.choose_algorithm(options.algorithms)
            if algorithm is None or private_key is not None or run is not None:
                algorithm = self._algorithm(
                    algorithm, options.algorithms, private_key, ignoring, run
                )
            if not silent and core.person.has_a_mind_of_their_own:
                self._consent(options.timeout, verified, ignoring)
            if options.exclude and Rule.EXCLUDE_CREDENTIALS not in ignoring:
                self._check_excluded(options.exclude, rp_id, excluded_app_id, verified)
            if run is None and page.plain_tail is not None:
                client_data = _CREATES + options.challenge.encode() + page.plain_tail
            else:
                client_data = self._client_data("webauthn.create", options.challenge, page, run)
            attestation = self._attestation(options.attestation, ignoring)
            enterprise = options.attestation == "enterprise" and self._names_device_to(rp_id)
            if enterprise:
                attestation = "packed"  # the one format with a place for it (section 8.2.2)
            wanted = NewCredential(
                rp_id,
                # Nothing but a statement is about it.
                sha256(client_data).digest() if attestation != "none" else b"",
                algorithm,
                options.user_id,
                options.user_name,
                options.user_display_name,
                options.rp_name,
                discoverable,
                not silent,
                verified,
                attestation,
                enterprise=enterprise,
                credential_id=credential_id,
                private_key=private_key,
            )
            if options.extensions:
                try:
                    client_extensions.prepare_registration(
                        core,
                        options.extensions,
                        wanted,
                        enforce_large_blob=Rule.LARGE_BLOB not in ignoring,
                    )
                except (NotAllowedError, NotSupportedError) as error:
                    raise self._failed(error) from None
            registered = core.register(wanted, run)
            results: dict[str, Any] = {}
            if options.extensions:
                results = client_extensions.registration_results(
                    core, options.extensions, registered.credential, verified=verified
                )
            parts = (
                registered.credential,
                client_data,
                registered.authenticator_data,
                registered.public_der,
                # None means the one without a statement.
                self._attestation_object(registered, run)
                if run is not None or registered.fmt != "none"
                else None,
                self._transports,
                profile.attachment,
                results,
            )
            return self._deliver("create", registration_json, parts, run)

    def _check_excluded(
        self, excluded: list[str], rp_id: str, app_id: str | None, verified: bool
    ) -> None:
        for credential_id in excluded:
            held = self._known.get(credential_id)
            if held is None or not (
                held.belongs_to(rp_id) or (app_id is not None and held.belongs_to(app_id))
            ):
                continue
            # CTAP 2.1, section 6.1.2, step 12: credProtect hides from the unverified.
            if verified or held.protection < 3:
                raise self._failed(
                    InvalidStateError("the authenticator holds a credential that is excluded")
                )

    def _adds_silently(self, verification: str) -> bool:
        profile = self.core.profile
        if profile.attachment != "platform" or profile.discoverable == "never":
            raise self._refused("no passkey provider is here that adds a passkey by itself")
        return verification != "required"

    def _discoverable(
        self, options: CreationOptions, rp_id: str, ignoring: frozenset[Rule]
    ) -> bool:
        profile, wanted = self.core.profile, options.resident_key
        able = profile.discoverable != "never"
        if wanted == "required" and not able and Rule.RESIDENT_KEY not in ignoring:
            raise self._refused("the authenticator makes no discoverable credentials")
        if not able or (wanted == "discouraged" and profile.discoverable != "always"):
            return False
        if self.core.is_full and self.core.store.account(rp_id, options.user_id) is None:
            if wanted == "required" and Rule.RESIDENT_KEY not in ignoring:
                raise self._refused(f"the authenticator is full ({profile.capacity} credentials)")
            return False
        return True

    def _algorithm(
        self,
        chosen: Algorithm | None,
        offered: tuple[int, ...],
        key: PrivateKey | None,
        ignoring: frozenset[Rule],
        run: FaultRun | None,
    ) -> Algorithm:
        """What is used in place of the one `chosen` from the offer."""
        own = algorithm_of(key) if key is not None else None
        if key is not None and (chosen is None or not chosen.takes(key)):
            takes = [one for one in offered if one in ALGORITHMS and ALGORITHMS[one].takes(key)]
            chosen = self.core.choose_algorithm(takes)
        if chosen is None:
            if Rule.ALGORITHMS not in ignoring:
                mine = ", ".join(self.core.profile.algorithms)
                raise self._failed(
                    NotSupportedError(
                        f"got pubKeyCredParams {shorten(list(offered))}, expected one of {mine}"
                        + (f" (the key given is for {own.name})" if own is not None else "")
                    )
                )
            chosen = own or BY_NAME[self.core.profile.algorithms[0]]
        if run is not None:
            run.offered = offered
            for one in run.at("algorithm"):
                chosen = one.algorithm(chosen, run)
        return chosen

    def _attestation(self, asked: str, ignoring: frozenset[Rule]) -> str:
        # Section 5.1.3: under "none" the client drops what could identify the device. The AAGUID
        # stays, as in Level 3, and so does a self attestation that names no model.
        if asked == "none" and not self._names_no_model and Rule.ATTESTATION not in ignoring:
            return "none"
        return self.core.profile.attestation

    def _names_device_to(self, rp_id: str) -> bool:
        """Section 5.4.7: only where the authenticator's or the client's configuration permits it;
        anybody else who asks for enterprise attestation gets what "direct" gives."""
        profile = self.core.profile
        permitted = rp_id in profile.enterprise_rp_ids or rp_id in self.enterprise_policy
        return profile.enterprise_attestation and self.core.settings.enterprise and permitted

    def _attestation_object(self, registered: Registered, run: FaultRun | None) -> bytes:
        attested = attestation_object(
            registered.fmt, registered.statement, registered.authenticator_data
        )
        if run is not None:
            pairs = [(cbor.encode(k), cbor.encode(v)) for k, v in cbor.decode(attested).items()]
            for one in run.at("attestation_pairs"):
                one.attestation_pairs(pairs, run)
            attested = cbor.encode_pairs(pairs)
        return attested

    # ---- get

    def get(
        self,
        given: Any,
        page: Page,
        ignoring: frozenset[Rule],
        faults: tuple[Fault, ...],
        credential: Credential | None,
        conditional: bool,
    ) -> dict[str, Any]:
        core = self.core
        rp_id, challenge, timeout, allow, verification, extensions = request_options(
            given, self._known
        )
        with core.lock:
            run = core.fault_run(faults, "get") if faults else None
            if rp_id is None or not page_may_use(rp_id, page.origin):
                rp_id = self._rp_id(rp_id, page.origin, ignoring)
            app_id = None
            if extensions:
                from . import client_extensions

                app_id = self._app_id(
                    client_extensions.check_assertion,
                    extensions,
                    allow,
                    page.origin,
                    ignoring=ignoring,
                )
            verified = verification == "required" and core.can_verify
            if not verified:
                verified = self._verification(verification, ignoring)
            chosen = credential
            if chosen is None:
                chosen = choose(core.store, rp_id, allow, verified, ignoring)
                if chosen is None and app_id is not None and allow:
                    chosen = choose(core.store, app_id, allow, verified, ignoring)
            elif why := why_not(chosen, name_of(chosen, rp_id, app_id), allow, verified, ignoring):
                raise self._refused(why)
            if conditional:
                self._offer(chosen, verified, ignoring)
            elif core.person.has_a_mind_of_their_own:
                self._consent(timeout, verified, ignoring)
            if chosen is None:
                raise self._refused(f"no credential for {rp_id!r} that the request allows is here")
            if run is None and page.plain_tail is not None:
                client_data = _GETS + challenge.encode() + page.plain_tail
            else:
                client_data = self._client_data("webauthn.get", challenge, page, run)
            results: dict[str, Any] = {}
            outputs: dict[str, Any] | None = None
            if extensions:
                try:
                    results, outputs = client_extensions.assertion_results(
                        core, extensions, chosen, allow, verified=verified
                    )
                except NotSupportedError as error:
                    raise self._failed(error) from None
                if app_id is not None:
                    results["appid"] = name_of(chosen, rp_id, app_id) != rp_id
            data, signature = core.sign_assertion(
                chosen,
                sha256(client_data).digest(),
                verified=verified,
                outputs=outputs,
                faults=run,
            )
            parts = chosen, client_data, data, signature, core.profile.attachment, results
            return self._deliver("get", assertion_json, parts, run)

    def _offer(self, chosen: Credential | None, verified: bool, ignoring: frozenset[Rule]) -> None:
        """Section 5.1.4 under conditional mediation: the page's fields suggest what is
        discoverable, and nothing tells the page if nobody takes it."""
        if chosen is None or not chosen.discoverable:
            raise self._failed(AbortError("nothing to suggest: the page waits until it aborts"))
        try:
            self._consent(0, verified, ignoring)
        except NotAllowedError as error:
            why = f"{error}, and the page waits until it aborts"
            raise self._failed(AbortError(why)) from None

    # ---- what both share

    def _app_id(
        self, check: Callable[..., str | None], *given: Any, ignoring: frozenset[Rule]
    ) -> str | None:
        """Refuse what extensions forbid before anybody is asked; the AppID that they name."""
        try:
            return check(*given, enforce_app_id=Rule.RP_ID not in ignoring)
        except (NotAllowedError, NotSupportedError, SecurityError) as error:
            raise self._failed(error) from None

    def _rp_id(self, rp_id: str | None, origin: str, ignoring: frozenset[Rule]) -> str:
        try:
            if Rule.SECURE_CONTEXT not in ignoring:
                check_secure_context(origin)
            effective = effective_rp_id(rp_id, origin)
            if Rule.RP_ID not in ignoring:
                check_rp_id(effective, origin, self.related_origins)
        except WebAuthnError as error:
            raise self._failed(error) from None
        return effective

    def _verification(self, wanted: str, ignoring: frozenset[Rule]) -> bool:
        """Whether the person will be verified, or an error when that is required and cannot be."""
        core = self.core
        asked = wanted != "discouraged" or core.settings.always_uv
        if asked and core.pin.hash is None:
            self._let_set_pin()
        if core.can_verify:
            return asked
        if wanted == "required" and Rule.USER_VERIFICATION not in ignoring:
            raise self._refused("the authenticator cannot verify its user")
        return False

    def _let_set_pin(self) -> None:
        """A client that wants verification of a key without PIN has the person set one, which the
        CTAP layer then knows as well."""
        core = self.core
        if core.profile.has_pin and not core.can_verify and core.person.pin is not None:
            core.pin.set(core.person.pin)
            core.journal.append((core.clock.now(), "pin-set", {"length": core.pin.length}))

    def _consent(self, timeout: float, verified: bool, ignoring: frozenset[Rule]) -> None:
        """Ask the person; anything but an approval ends the ceremony."""
        person = self.core.person
        failures = 0
        while True:
            gesture = person.act()
            if gesture in (Gesture.APPROVE, Gesture.TAP):
                return
            if gesture in (Gesture.WRONG_FINGER, Gesture.SMUDGE):
                if not verified:
                    return  # any finger shows presence
                failures += 1
                if failures == VERIFICATION_ATTEMPTS:
                    raise self._refused("the user could not be verified")
            elif gesture is Gesture.IGNORE:
                self.core.clock.skip(timeout / 1000)
                if Rule.TIMEOUT not in ignoring:
                    raise self._refused(f"nobody acted for {timeout:g} ms")
                if not person.planned and person.always is Gesture.IGNORE:
                    return  # or it would wait for ever
            elif gesture is Gesture.DECLINE:
                raise self._refused("the user declined")
            else:
                raise self._refused("the authenticator was taken away")

    def _client_data(self, kind: str, challenge: str, page: Page, run: FaultRun | None) -> bytes:
        draft = ClientDataDraft(
            kind, challenge, page.origin, page.cross_origin, page.top_origin, dict(page.extra)
        )
        if run is not None:
            for one in run.at("client_data"):
                one.client_data(draft, run)
        return draft.encode()

    def _deliver(
        self,
        ceremony: str,
        build: Callable[..., dict[str, Any]],
        parts: tuple[Any, ...],
        run: FaultRun | None,
    ) -> dict[str, Any]:
        response = build(*parts)
        if run is not None:
            previous = self._previous.get(ceremony)
            run.previous = previous[0](*previous[1]) if previous is not None else None
            for one in run.at("response"):
                response = one.response(response, run)
            run.close()
            build, parts = deepcopy, (deepcopy(response),)
        self._previous[ceremony] = build, parts
        return response

    def _refused(self, why: str) -> WebAuthnError:
        return self._failed(NotAllowedError(why))

    def _failed(self, error: WebAuthnError) -> WebAuthnError:
        self.core.journal.append(
            (self.core.clock.now(), "refused", {"error": error.name, "why": str(error)})
        )
        return error
