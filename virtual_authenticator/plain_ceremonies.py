"""The two ceremonies that nearly every server asks for, each in a straight line.

Both return None if anything is unusual, and then nothing has happened: the long way (`ceremonies`)
checks the request closely, applies every rule of a browser, and gives the same answers as here.
Knows nothing of faults, of rules to ignore and of error messages.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from .client_data import Page
from .client_rules import page_may_use
from .core import Core
from .encoding import base64url_decode, is_canonical
from .options import LONGEST_TIMEOUT
from .person import Gesture
from .response_json import assertion_json, registration_json

_WANTED = ("required", "preferred")


class PlainCeremonies:
    """Runs plain ceremonies on one core."""

    def __init__(self, core: Core, previous: dict[str, Callable[[], dict[str, Any]]]) -> None:
        profile = core.profile
        self._core, self._previous = core, previous
        self._verifies = profile.verifies
        self._attachment = profile.attachment
        self._transports = profile.sorted_transports
        self._known = core.store.by_encoded_id
        self._registers = (
            profile.verifies and profile.discoverable != "never" and not profile.names_no_model
        )

    def create(self, options: dict[str, Any], page: Page) -> dict[str, Any] | None:
        """A discoverable credential for a verified person, no statement, nothing to exclude."""
        find = options.get
        rp, user, selection = find("rp"), find("user"), find("authenticatorSelection")
        challenge, offered, excluded = (
            find("challenge"),
            find("pubKeyCredParams"),
            find("excludeCredentials"),
        )
        timeout, tail = find("timeout", 0), page.plain_tail
        if (
            type(rp) is not dict
            or type(user) is not dict
            or type(selection) is not dict
            or type(challenge) is not str
            or type(offered) is not list
            or (excluded is not None and excluded != [])
            or type(timeout) is not int
            or not 0 <= timeout <= LONGEST_TIMEOUT
            or tail is None
            or find("attestation", "none") != "none"
            or find("extensions") is not None
            or selection.get("residentKey") not in _WANTED
            or selection.get("userVerification", "preferred") not in _WANTED
            or selection.get("authenticatorAttachment") is not None
            or not is_canonical(challenge)
        ):
            return None
        rp_id, rp_name = rp.get("id"), rp.get("name")
        user_id, user_name, shown_name = user.get("id"), user.get("name"), user.get("displayName")
        if (
            type(rp_id) is not str
            or type(rp_name) is not str
            or type(user_id) is not str
            or type(user_name) is not str
            or type(shown_name) is not str
            or not 2 <= len(user_id) <= 86  # 1 to 64 bytes
            or not is_canonical(user_id)
            or not page_may_use(rp_id, page.origin)
        ):
            return None
        core = self._core
        algorithm = None
        for entry in offered:
            if type(entry) is not dict or entry.get("type") != "public-key":
                return None
            identifier = entry.get("alg")
            if type(identifier) is not int:
                return None
            if algorithm is None:
                algorithm = core.algorithms.get(identifier)
        with core.lock:
            person = core.person
            if (
                algorithm is None
                or not self._registers
                or not core.pin.retries
                or core.is_full
                or person.planned
                or person.always is not Gesture.APPROVE
            ):
                return None
            client_data = f'{{"type":"webauthn.create","challenge":"{challenge}",{tail}'.encode()
            credential, data, public_der = core.register_plain(
                algorithm, rp_id, rp_name, base64url_decode(user_id), user_name, shown_name
            )
            self._previous["create"] = build = partial(
                registration_json,
                credential,
                client_data,
                data,
                public_der,
                None,
                self._transports,
                self._attachment,
            )
            return build()

    def get(self, options: dict[str, Any], page: Page) -> dict[str, Any] | None:
        """One credential that is here, and a person to verify."""
        find = options.get
        challenge, rp_id, allow = find("challenge"), find("rpId"), find("allowCredentials")
        timeout, tail = find("timeout", 0), page.plain_tail
        if (
            type(challenge) is not str
            or type(rp_id) is not str
            or type(allow) is not list
            or len(allow) != 1
            or type(timeout) is not int
            or not 0 <= timeout <= LONGEST_TIMEOUT
            or tail is None
            or find("userVerification") != "required"
            or find("extensions") is not None
            or not is_canonical(challenge)
            or not page_may_use(rp_id, page.origin)
        ):
            return None
        entry = allow[0]
        if type(entry) is not dict or entry.get("type") != "public-key":
            return None
        wanted, transports = entry.get("id"), entry.get("transports")
        if type(wanted) is not str or (transports is not None and type(transports) is not list):
            return None
        core = self._core
        with core.lock:
            chosen, person = self._known.get(wanted), core.person
            if (
                chosen is None
                or chosen.rp_id != rp_id
                or not self._verifies
                or not core.pin.retries
                or person.planned
                or person.always is not Gesture.APPROVE
            ):
                return None
            client_data = f'{{"type":"webauthn.get","challenge":"{challenge}",{tail}'.encode()
            data, signature = core.sign_assertion(
                chosen, sha256(client_data).digest(), verified=True
            )
            self._previous["get"] = build = partial(
                assertion_json, chosen, client_data, data, signature, self._attachment
            )
            return build()
