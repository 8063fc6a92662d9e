"""The WebAuthn layer: `create` and `get` as a page calls them, with the browser's part played too.

Options in, response JSON out; a failure is a DOM exception (see `errors`). Each client rule can be
ignored on purpose. What the authenticator itself does is the core's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from . import cbor, client_extensions
from .algorithms import BY_NAME, Algorithm, PrivateKey
from .attestation import attestation_object
from .client_data import ClientDataDraft, quote
from .client_rules import Rule, check_rp_id, check_secure_context, effective_rp_id, rp_id_suits
from .core import Core, NewCredential, Registered
from .credentials import Credential
from .encoding import base64url_encode
from .errors import InvalidStateError, NotAllowedError, NotSupportedError, WebAuthnError
from .faults import Fault, FaultRun
from .options import creation_options, request_options
from .person import Gesture

VERIFICATION_ATTEMPTS = 3
"""How often a client lets a person try again before it gives up."""

NO_RULES: frozenset[Rule] = frozenset()


@dataclass(frozen=True)
class Page:
    """The page that asks: its origin, and how it is framed."""

    origin: str
    cross_origin: bool = False
    top_origin: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members added to the client data, which relying parties have to tolerate."""


class Ceremonies:
    """Runs ceremonies on one core."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.related_origins: dict[str, Sequence[str]] = {}
        self._last: dict[str, dict[str, Any]] = {}

    # ---- create

    def create(
        self,
        given: Any,
        page: Page,
        *,
        ignoring: frozenset[Rule],
        faults: tuple[Fault, ...],
        credential_id: bytes | None,
        private_key: PrivateKey | None,
    ) -> dict[str, Any]:
        core, profile = self.core, self.core.profile
        options = creation_options(given)
        with core.lock:
            run = core.fault_run(faults, "create")
            rp_id = self._rp_id(options.rp_id, page.origin, ignoring)
            if (
                options.attachment not in (None, profile.attachment)
                and Rule.ATTACHMENT not in ignoring
            ):
                raise self._refused(f"no {options.attachment} authenticator is here")
            discoverable = self._discoverable(options.resident_key, ignoring)
            verified = self._verification(options.user_verification, ignoring)
            algorithm = self._algorithm(options.algorithms, ignoring, run)
            self._consent(options.timeout, verified, ignoring)
            if Rule.EXCLUDE_CREDENTIALS not in ignoring:
                for excluded in options.exclude:
                    held = core.store.get(excluded)
                    if held is not None and held.rp_id == rp_id:
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
                client_extensions.prepare_registration(core, options.extensions, wanted)
            registered = core.register(wanted, run)
            results: dict[str, Any] = {}
            if options.extensions:
                results = client_extensions.registration_results(
                    core, options.extensions, registered.credential, verified=verified
                )
            response = self._registration_json(registered, client_data, results, run)
            return self._deliver(response, "create", run)

    def _discoverable(self, wanted: str, ignoring: frozenset[Rule]) -> bool:
        profile, store = self.core.profile, self.core.store
        able = profile.discoverable != "never"
        if wanted == "required" and not able and Rule.RESIDENT_KEY not in ignoring:
            raise self._refused("the authenticator makes no discoverable credentials")
        if not able or (wanted == "discouraged" and profile.discoverable != "always"):
            return False
        if profile.capacity and store.discoverable_count >= profile.capacity:
            if wanted == "required":
                raise self._refused(f"the authenticator is full ({profile.capacity} credentials)")
            return False
        return True

    def _algorithm(
        self, offered: tuple[int, ...], ignoring: frozenset[Rule], run: FaultRun | None
    ) -> Algorithm:
        chosen = self.core.choose_algorithm(offered)
        if chosen is None:
            if Rule.ALGORITHMS not in ignoring:
                mine = ", ".join(self.core.profile.algorithms)
                raise self._failed(
                    NotSupportedError(
                        f"got pubKeyCredParams {list(offered)}, expected one of {mine}"
                    )
                )
            chosen = BY_NAME[self.core.profile.algorithms[0]]
        if run is not None:
            run.offered = offered
            for one in run.at("algorithm"):
                chosen = one.algorithm(chosen, run)
        return chosen

    def _attestation(self, asked: str, ignoring: frozenset[Rule]) -> str:
        # Section 5.1.3: under "none" the client drops what could identify the device. The AAGUID
        # stays, as Level 3 has it.
        if asked == "none" and Rule.ATTESTATION not in ignoring:
            return "none"
        return self.core.profile.attestation

    def _registration_json(
        self,
        registered: Registered,
        client_data: bytes,
        results: dict[str, Any],
        run: FaultRun | None,
    ) -> dict[str, Any]:
        credential, data = registered.credential, registered.authenticator_data
        attested = attestation_object(registered.fmt, registered.statement, data)
        if run is not None:
            pairs = [(cbor.encode(k), cbor.encode(v)) for k, v in cbor.decode(attested).items()]
            for one in run.at("attestation_pairs"):
                one.attestation_pairs(pairs, run)
            attested = cbor.encode_pairs(pairs)
        return {
            "id": credential.encoded_id,
            "rawId": credential.encoded_id,
            "response": {
                "clientDataJSON": base64url_encode(client_data),
                "authenticatorData": base64url_encode(data),
                "transports": list(self.core.profile.transports),
                "publicKey": base64url_encode(credential.algorithm.spki(credential.key)),
                "publicKeyAlgorithm": credential.algorithm.identifier,
                "attestationObject": base64url_encode(attested),
            },
            "authenticatorAttachment": self.core.profile.attachment,
            "clientExtensionResults": results,
            "type": "public-key",
        }

    # ---- get

    def get(
        self,
        given: Any,
        page: Page,
        *,
        ignoring: frozenset[Rule],
        faults: tuple[Fault, ...],
        credential: Credential | None,
    ) -> dict[str, Any]:
        core = self.core
        options = request_options(given)
        with core.lock:
            run = core.fault_run(faults, "get") if faults else None
            rp_id = self._rp_id(options.rp_id, page.origin, ignoring)
            verified = self._verification(options.user_verification, ignoring)
            chosen = credential or self._choose(rp_id, options.allow, verified, ignoring)
            if credential is not None:
                self._check_choice(credential, rp_id, options.allow, ignoring)
            self._consent(options.timeout, verified, ignoring)
            if chosen is None:
                raise self._refused(f"no credential for {rp_id!r} that the request allows is here")
            client_data = self._client_data("webauthn.get", options.challenge, page, run)
            results: dict[str, Any] = {}
            outputs: dict[str, Any] | None = None
            if options.extensions:
                results, outputs = client_extensions.assertion_results(
                    core, options.extensions, chosen, verified=verified
                )
            data, signature = core.sign_assertion(
                chosen,
                sha256(client_data).digest(),
                verified=verified,
                outputs=outputs,
                faults=run,
            )
            inner = {
                "clientDataJSON": base64url_encode(client_data),
                "authenticatorData": base64url_encode(data),
                "signature": base64url_encode(signature),
            }
            if chosen.discoverable:
                inner["userHandle"] = chosen.encoded_user_id
            response = {
                "id": chosen.encoded_id,
                "rawId": chosen.encoded_id,
                "response": inner,
                "authenticatorAttachment": core.profile.attachment,
                "clientExtensionResults": results,
                "type": "public-key",
            }
            return self._deliver(response, "get", run)

    def _choose(
        self, rp_id: str, allow: list[bytes], verified: bool, ignoring: frozenset[Rule]
    ) -> Credential | None:
        """The first allowed credential that is here, or the newest discoverable one."""
        store = self.core.store
        for credential_id in allow:
            held = store.get(credential_id)
            if held is not None and held.rp_id == rp_id and (verified or held.protection < 3):
                return held
        if allow and Rule.ALLOW_CREDENTIALS not in ignoring:
            return None
        newest = store.newest_for(rp_id)
        if newest is None or verified or newest.protection == 1:
            return newest
        return next((held for held in store.discoverable_for(rp_id) if held.protection == 1), None)

    def _check_choice(
        self, credential: Credential, rp_id: str, allow: list[bytes], ignoring: frozenset[Rule]
    ) -> None:
        """A credential that the test picked still has to be one that the page may have."""
        if credential.rp_id != rp_id and Rule.RP_ID not in ignoring:
            raise self._refused(f"the credential is for {credential.rp_id!r}, not for {rp_id!r}")
        if allow and credential.id not in allow and Rule.ALLOW_CREDENTIALS not in ignoring:
            raise self._refused("the credential is not among allowCredentials")

    # ---- what both share

    def _rp_id(self, rp_id: str | None, origin: str, ignoring: frozenset[Rule]) -> str:
        if Rule.SECURE_CONTEXT not in ignoring:
            check_secure_context(origin)
        effective = effective_rp_id(rp_id, origin)
        if Rule.RP_ID not in ignoring and not rp_id_suits(effective, origin):
            check_rp_id(effective, origin, self.related_origins)
        return effective

    def _verification(self, wanted: str, ignoring: frozenset[Rule]) -> bool:
        """Whether the person will be verified, or an error when that is required and cannot be."""
        profile = self.core.profile
        if profile.verifies and self.core.pin.retries:
            return wanted != "discouraged" or profile.always_verifies
        if wanted == "required" and Rule.USER_VERIFICATION not in ignoring:
            raise self._refused("the authenticator cannot verify its user")
        return False

    def _consent(self, timeout: float, verified: bool, ignoring: frozenset[Rule]) -> None:
        """Ask the person; anything but an approval ends the ceremony."""
        person = self.core.person
        failures = 0
        while True:
            gesture = person.act()
            if gesture is Gesture.APPROVE:
                return
            if gesture is Gesture.WRONG_FINGER:
                if not verified:
                    return  # any finger proves presence
                failures += 1
                if failures == VERIFICATION_ATTEMPTS:
                    raise self._refused("the user could not be verified")
            elif gesture is Gesture.IGNORE:
                self.core.clock.skip(timeout / 1000)
                if Rule.TIMEOUT not in ignoring:
                    raise self._refused(f"nobody acted for {timeout:g} ms")
            elif gesture is Gesture.DECLINE:
                raise self._refused("the user declined")
            else:
                raise self._refused("the authenticator was taken away")

    def _client_data(self, kind: str, challenge: str, page: Page, run: FaultRun | None) -> bytes:
        if run is None and not (page.cross_origin or page.top_origin or page.extra):
            return (
                f'{{"type":"{kind}","challenge":"{challenge}",'
                f'"origin":{quote(page.origin)},"crossOrigin":false}}'
            ).encode()
        draft = ClientDataDraft(
            kind, challenge, page.origin, page.cross_origin, page.top_origin, dict(page.extra)
        )
        if run is not None:
            for one in run.at("client_data"):
                one.client_data(draft, run)
        return draft.encode()

    def _deliver(
        self, response: dict[str, Any], ceremony: str, run: FaultRun | None
    ) -> dict[str, Any]:
        if run is not None:
            run.previous = self._last.get(ceremony)
            for one in run.at("response"):
                response = one.response(response, run)
            run.close()
        # A copy of its own: a test may change what it was given before it asks for a replay.
        self._last[ceremony] = {**response, "response": {**response["response"]}}
        return response

    def _refused(self, why: str) -> WebAuthnError:
        return self._failed(NotAllowedError(why))

    def _failed(self, error: WebAuthnError) -> WebAuthnError:
        self.core.journal.append(
            (self.core.clock.now(), "refused", {"error": error.name, "why": str(error)})
        )
        return error
