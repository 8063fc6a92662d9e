"""The WebAuthn layer: `create` and `get` as a page calls them, including the browser's part.

Options in, response JSON out; a failure is a DOM exception (see `errors`). Each client rule can be
ignored on purpose. The core does what the authenticator itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from . import cbor
from .algorithms import BY_NAME, Algorithm, PrivateKey, algorithm_of
from .attestation import attestation_object
from .client_data import ClientDataDraft, Page
from .client_rules import Rule, check_rp_id, check_secure_context, effective_rp_id, page_may_use
from .core import Core, NewCredential, Registered
from .credentials import Credential
from .encoding import shorten
from .errors import InvalidStateError, NotAllowedError, NotSupportedError, WebAuthnError
from .options import creation_options, request_options
from .person import Gesture
from .plain_ceremonies import PlainCeremonies
from .response_json import assertion_json, registration_json

if TYPE_CHECKING:
    from .faults import Fault, FaultRun

VERIFICATION_ATTEMPTS = 3
"""How often a client lets a person try again before it gives up."""

NO_RULES: frozenset[Rule] = frozenset()


class Ceremonies:
    """Runs ceremonies on one core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._verifies = core.profile.verifies
        self._known = core.store.by_encoded_id
        self.related_origins: dict[str, Sequence[str]] = {}
        self._previous: dict[str, Callable[[], dict[str, Any]]] = {}
        """By ceremony, a function that makes the last response again: tests may change it."""
        self._plain = PlainCeremonies(core, self._previous)

    # ---- create

    def create(
        self,
        given: Any,
        page: Page,
        ignoring: frozenset[Rule],
        faults: tuple[Fault, ...],
        credential_id: bytes | None,
        private_key: PrivateKey | None,
    ) -> dict[str, Any]:
        fixed = credential_id is not None or private_key is not None
        if type(given) is dict and not fixed and not faults and not ignoring:
            answered = self._plain.create(given, page)
            if answered is not None:
                return answered
        core, profile = self.core, self.core.profile
        options = creation_options(given)
        with core.lock:
            run = core.fault_run(faults, "create")
            rp_id = options.rp_id
            if rp_id is None or not page_may_use(rp_id, page.origin):
                rp_id = self._rp_id(rp_id, page.origin, ignoring)
            if (
                options.attachment not in (None, profile.attachment)
                and Rule.ATTACHMENT not in ignoring
            ):
                raise self._refused(f"no {options.attachment} authenticator is here")
            replaces = core.store.account(rp_id, options.user_id) is not None
            discoverable = self._discoverable(options.resident_key, replaces, ignoring)
            verified = self._verification(options.user_verification, ignoring)
            algorithm = self._algorithm(options.algorithms, private_key, ignoring, run)
            self._consent(options.timeout, verified, ignoring)
            if Rule.EXCLUDE_CREDENTIALS not in ignoring:
                for excluded in options.exclude:
                    held = core.store.by_encoded_id.get(excluded)
                    # CTAP 2.1, section 6.1.2, step 12: credProtect hides from the unverified.
                    if (
                        held is not None
                        and held.belongs_to(rp_id)
                        and (verified or held.protection < 3)
                    ):
                        raise self._failed(
                            InvalidStateError(
                                "the authenticator holds a credential that is excluded"
                            )
                        )
            client_data = self._client_data("webauthn.create", options.challenge, page, run)
            wanted = NewCredential(
                rp_id=rp_id,
                client_data_hash=sha256(client_data).digest(),
                algorithm=algorithm,
                user_id=options.user_id,
                user_name=options.user_name,
                user_display_name=options.user_display_name,
                rp_name=options.rp_name,
                discoverable=discoverable,
                verified=verified,
                attestation=self._attestation(options.attestation, ignoring),
                credential_id=credential_id,
                private_key=private_key,
            )
            if options.extensions:
                from . import client_extensions

                try:
                    client_extensions.prepare_registration(core, options.extensions, wanted)
                except (NotAllowedError, NotSupportedError) as error:
                    raise self._failed(error) from None
            registered = core.register(wanted, run)
            results: dict[str, Any] = {}
            if options.extensions:
                results = client_extensions.registration_results(
                    core, options.extensions, registered.credential, verified=verified
                )
            build = partial(
                registration_json,
                registered.credential,
                client_data,
                registered.authenticator_data,
                registered.public_der,
                self._attestation_object(registered, run),
                profile.sorted_transports,
                profile.attachment,
                results,
            )
            return self._deliver(build, "create", run)

    def _discoverable(self, wanted: str, replaces: bool, ignoring: frozenset[Rule]) -> bool:
        profile = self.core.profile
        able = profile.discoverable != "never"
        if wanted == "required" and not able and Rule.RESIDENT_KEY not in ignoring:
            raise self._refused("the authenticator makes no discoverable credentials")
        if not able or (wanted == "discouraged" and profile.discoverable != "always"):
            return False
        if self.core.is_full and not replaces:
            if wanted == "required" and Rule.RESIDENT_KEY not in ignoring:
                raise self._refused(f"the authenticator is full ({profile.capacity} credentials)")
            return False
        return True

    def _algorithm(
        self,
        offered: tuple[int, ...],
        key: PrivateKey | None,
        ignoring: frozenset[Rule],
        run: FaultRun | None,
    ) -> Algorithm:
        own = algorithm_of(key) if key is not None else None
        chosen = self.core.choose_algorithm(
            offered if own is None else [one for one in offered if one == own.identifier]
        )
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
        profile = self.core.profile
        if asked == "none" and not profile.names_no_model and Rule.ATTESTATION not in ignoring:
            return "none"
        return profile.attestation

    def _attestation_object(self, registered: Registered, run: FaultRun | None) -> bytes | None:
        if run is None and registered.fmt == "none":
            return None  # the one without statement
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
    ) -> dict[str, Any]:
        if type(given) is dict and credential is None and not faults:
            answered = self._plain.get(given, page)
            if answered is not None:
                return answered
        core = self.core
        rp_id, challenge, timeout, allow, verification, extensions = request_options(
            given, self._known
        )
        with core.lock:
            run = core.fault_run(faults, "get") if faults else None
            if rp_id is None or not page_may_use(rp_id, page.origin):
                rp_id = self._rp_id(rp_id, page.origin, ignoring)
            verified = bool(verification == "required" and self._verifies and core.pin.retries)
            if not verified:
                verified = self._verification(verification, ignoring)
            chosen = credential
            if chosen is None:
                chosen = self._choose(rp_id, allow, verified, ignoring)
            else:
                self._check_choice(chosen, rp_id, allow, verified, ignoring)
            if core.person.planned or core.person.always is not Gesture.APPROVE:
                self._consent(timeout, verified, ignoring)
            if chosen is None:
                raise self._refused(f"no credential for {rp_id!r} that the request allows is here")
            client_data = self._client_data("webauthn.get", challenge, page, run)
            results: dict[str, Any] = {}
            outputs: dict[str, Any] | None = None
            if extensions is not None:
                from . import client_extensions

                try:
                    results, outputs = client_extensions.assertion_results(
                        core, extensions, chosen, allow, verified=verified
                    )
                except NotSupportedError as error:
                    raise self._failed(error) from None
            data, signature = core.sign_assertion(
                chosen,
                sha256(client_data).digest(),
                verified=verified,
                outputs=outputs,
                faults=run,
            )
            build = partial(
                assertion_json,
                chosen,
                client_data,
                data,
                signature,
                core.profile.attachment,
                results,
            )
            return self._deliver(build, "get", run)

    def _choose(
        self, rp_id: str, allow: list[str] | None, verified: bool, ignoring: frozenset[Rule]
    ) -> Credential | None:
        """The first allowed credential that is here, or the newest discoverable one."""
        store = self.core.store
        for credential_id in allow or ():
            held = store.by_encoded_id.get(credential_id)
            if held is None or (held.rp_id != rp_id and not held.belongs_to(rp_id)):
                continue
            if verified or held.protection < 3:
                return held
        if allow and Rule.ALLOW_CREDENTIALS not in ignoring:
            return None
        newest = store.newest_for(rp_id)
        if newest is None or verified or newest.protection == 1:
            return newest
        return next((held for held in store.discoverable_for(rp_id) if held.protection == 1), None)

    def _check_choice(
        self,
        credential: Credential,
        rp_id: str,
        allow: list[str] | None,
        verified: bool,
        ignoring: frozenset[Rule],
    ) -> None:
        """A credential that the test picked must still be one that the page may use."""
        if not credential.belongs_to(rp_id) and Rule.RP_ID not in ignoring:
            raise self._refused(f"the credential is for {credential.rp_id!r}, not for {rp_id!r}")
        if not verified and credential.protection > (2 if allow else 1):
            raise self._refused("the credential's protection asks for user verification")
        if Rule.ALLOW_CREDENTIALS in ignoring:
            return
        if allow and credential.encoded_id not in allow:
            raise self._refused("the credential is not among allowCredentials")
        if not allow and not credential.discoverable:
            raise self._refused("the credential is not discoverable: allowCredentials must name it")

    # ---- what both share

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
        if self._verifies and self.core.pin.retries:
            return wanted != "discouraged" or self.core.settings.always_uv
        if wanted == "required" and Rule.USER_VERIFICATION not in ignoring:
            raise self._refused("the authenticator cannot verify its user")
        return False

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
        if run is None and page.plain_tail is not None:
            text = f'{{"type":"{kind}","challenge":"{challenge}",{page.plain_tail}'
            return text.encode("utf-8", "surrogatepass")
        draft = ClientDataDraft(
            kind, challenge, page.origin, page.cross_origin, page.top_origin, dict(page.extra)
        )
        if run is not None:
            for one in run.at("client_data"):
                one.client_data(draft, run)
        return draft.encode()

    def _deliver(
        self, build: Callable[[], dict[str, Any]], ceremony: str, run: FaultRun | None
    ) -> dict[str, Any]:
        response = build()
        if run is not None:
            previous = self._previous.get(ceremony)
            run.previous = previous() if previous is not None else None
            for one in run.at("response"):
                response = one.response(response, run)
            run.close()
            build = partial(deepcopy, deepcopy(response))
        self._previous[ceremony] = build
        return response

    def _refused(self, why: str) -> WebAuthnError:
        return self._failed(NotAllowedError(why))

    def _failed(self, error: WebAuthnError) -> WebAuthnError:
        self.core.journal.append(
            (self.core.clock.now(), "refused", {"error": error.name, "why": str(error)})
        )
        return error
