"""The authenticator that a test uses: one object for both layers.

    passkey = Authenticator("icloud-keychain")
    registration = passkey.create(creation_options, "https://example.org")
    assertion = passkey.get(request_options, "https://example.org")

Several can live in one process and share nothing (unless a `Vault` says so). One may be used by
several threads: every ceremony and every CTAP command holds the lock of its store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .algorithms import PrivateKey, from_pkcs8
from .ceremonies import NO_RULES, Ceremonies
from .client_data import Page, plain_page
from .client_rules import Rule, as_rules, is_conditional
from .clock import Clock
from .core import Core
from .credentials import Credential, CredentialStore
from .entropy import Entropy
from .journal import Journal
from .person import Person
from .pin_state import PinState
from .profile import Profile, profile
from .settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from .certificates import AttestationAuthority, AttestationIdentity
    from .ctap import VirtualCtapDevice
    from .faults import Fault

STATE_VERSION = 1


class Authenticator:
    """A software authenticator of any shape.

    `shape` is a profile or a profile's name; further keywords change members of it, as in
    `Authenticator("security-key", transports=["usb", "nfc"], counter=Scripted([7, 7]))`.
    With a `seed`, keys, ids and signatures are the same on every run. With a `pin`, it is set
    already; otherwise the person sets `person.pin` when they are verified first.
    """

    def __init__(
        self,
        shape: str | Profile = "security-key",
        *,
        seed: str | bytes | int | None = None,
        clock: Clock | None = None,
        person: Person | None = None,
        store: CredentialStore | None = None,
        identity: AttestationIdentity | None = None,
        pin: str | None = None,
        **changes: Any,
    ) -> None:
        chosen = shape.with_(**changes) if isinstance(shape, Profile) else profile(shape, **changes)
        self._open(
            Core(
                chosen,
                entropy=Entropy(seed),
                clock=clock,
                store=store,
                person=person,
                identities=[identity] if identity is not None else (),
            )
        )
        if pin is not None:
            if not chosen.has_pin:
                raise ValueError(f"pin: got one, expected none: {chosen.name} has no PIN")
            self.core.pin.set(pin)
            self.person.pin = pin

    def _open(self, core: Core) -> None:
        self.core = core
        self._ceremonies = Ceremonies(core)
        self._pages: dict[str, Page] = {}
        self._standing_faults: tuple[Fault, ...] = ()
        self.vault: Any = None
        """The vault that this is a device of, if it is one."""
        self._clones = 0
        self._device: VirtualCtapDevice | None = None

    def __repr__(self) -> str:
        return f"<Authenticator {self.profile.name}, {len(self.core.store)} credentials>"

    # ---- what a page calls

    def create(
        self,
        options: Mapping[str, Any] | str,
        origin: str,
        *,
        cross_origin: bool | None = None,
        top_origin: str | None = None,
        client_data_extra: Mapping[str, Any] | None = None,
        credential_id: bytes | None = None,
        private_key: PrivateKey | bytes | None = None,
        mediation: str = "optional",
        faults: Fault | str | Iterable[Fault | str] = (),
        ignoring: Iterable[Rule | str] = (),
    ) -> dict[str, Any]:
        """Register: PublicKeyCredentialCreationOptionsJSON in, RegistrationResponseJSON out.

        `credential_id` and `private_key` (a key, or PKCS#8) fix what is otherwise random. With
        `mediation="conditional"` a passkey is added to an account without asking anybody, as after
        a sign-in with a password: UP and UV are not set then. A failure is a `WebAuthnError`,
        malformed options are `InvalidOptionsError`.
        """
        page = self._pages.get(origin)
        if page is None or cross_origin is not None or top_origin is not None or client_data_extra:
            page = self._page(origin, cross_origin, top_origin, client_data_extra)
        return self._ceremonies.create(
            options,
            page,
            as_rules(ignoring) if ignoring else NO_RULES,
            self._faults(faults) if faults else self._standing_faults,
            credential_id,
            from_pkcs8(private_key) if isinstance(private_key, bytes) else private_key,
            mediation != "optional" and is_conditional(mediation),
        )

    def get(
        self,
        options: Mapping[str, Any] | str,
        origin: str,
        *,
        credential: Credential | bytes | None = None,
        cross_origin: bool | None = None,
        top_origin: str | None = None,
        client_data_extra: Mapping[str, Any] | None = None,
        mediation: str = "optional",
        faults: Fault | str | Iterable[Fault | str] = (),
        ignoring: Iterable[Rule | str] = (),
    ) -> dict[str, Any]:
        """Assert: PublicKeyCredentialRequestOptionsJSON in, AuthenticationResponseJSON out.

        `credential` (or its id) is the account that the person picks; otherwise it is the first one
        allowed, or the newest. With `mediation="conditional"` it is picked from what a page's
        fields suggest: only discoverable ones, no timeout, and `AbortError` where nobody picks any.
        Failures as with `create`.
        """
        page = self._pages.get(origin)
        if page is None or cross_origin is not None or top_origin is not None or client_data_extra:
            page = self._page(origin, cross_origin, top_origin, client_data_extra)
        return self._ceremonies.get(
            options,
            page,
            as_rules(ignoring) if ignoring else NO_RULES,
            self._faults(faults) if faults else self._standing_faults,
            self.credential(credential) if isinstance(credential, bytes) else credential,
            mediation != "optional" and is_conditional(mediation),
        )

    @contextmanager
    def faulty(self, *faults: Fault | str) -> Iterator[None]:
        """Every ceremony and CTAP command inside the block has these faults."""
        before, self._standing_faults = self._standing_faults, self._faults(faults)
        self.core.ctap_faults = self._standing_faults
        try:
            yield
        finally:
            self._standing_faults = self.core.ctap_faults = before

    def _faults(self, given: Fault | str | Iterable[Fault | str]) -> tuple[Fault, ...]:
        from .faults import as_faults  # loaded only when used

        return self._standing_faults + as_faults(given)

    def _page(
        self,
        origin: str,
        cross_origin: bool | None,
        top_origin: str | None,
        extra: Mapping[str, Any] | None,
    ) -> Page:
        if cross_origin is None and top_origin is None and not extra:
            page = self._pages.get(origin)
            if page is None:
                page = self._pages[origin] = plain_page(origin)
            return page
        framed = top_origin is not None if cross_origin is None else cross_origin
        return Page(origin, framed, top_origin, extra or {})

    # ---- what a client library talks to

    @property
    def ctap(self) -> VirtualCtapDevice:
        """This authenticator as a python-fido2 `CtapDevice`."""
        if self._device is None:
            from .ctap import VirtualCtapDevice

            self._device = VirtualCtapDevice(self.core)
        return self._device

    # ---- what a test looks at and changes

    @property
    def profile(self) -> Profile:
        return self.core.profile

    @property
    def person(self) -> Person:
        return self.core.person

    @property
    def clock(self) -> Clock:
        return self.core.clock

    @property
    def log(self) -> Journal:
        """What happened so far."""
        return self.core.journal

    @property
    def credentials(self) -> list[Credential]:
        """All credentials, oldest first."""
        return list(self.core.store)

    def credential(self, credential_id: bytes) -> Credential:
        """The credential with this id; KeyError if there is none."""
        found = self.core.store.get(credential_id)
        if found is None:
            raise KeyError(f"no credential {credential_id.hex()} on this authenticator")
        return found

    def add_credential(self, credential: Credential) -> None:
        """Put a credential on the device, as if it had been registered before."""
        if credential.large_blob is not None:
            from .large_blobs import take_over

            take_over(self.core, credential)
        self.core.store.add(credential)

    def remove_credential(self, credential_id: bytes) -> None:
        """Delete a credential; KeyError if there is none."""
        self.core.store.remove(self.credential(credential_id).id)

    @property
    def related_origins(self) -> dict[str, Sequence[str]]:
        """By RP ID, the origins that its well-known document lists (there is no network here)."""
        return self._ceremonies.related_origins

    def enable_enterprise_attestation(self) -> None:
        """What an owner does with CTAP's authenticatorConfig; ValueError if it was not made so."""
        if not self.profile.enterprise_attestation:
            raise ValueError(f"{self.profile.name} was not made for enterprise attestation")
        self.core.settings.enterprise = True

    @property
    def enterprise_policy(self) -> set[str]:
        """RP IDs to which the client's owner permits enterprise attestation, beside those that the
        profile lists; a device made for it then names itself (WebAuthn Level 3, section 5.4.7)."""
        return self._ceremonies.enterprise_policy

    @property
    def attestation_authority(self) -> AttestationAuthority:
        """The test CA behind this device's attestation; its `root` is the trust anchor."""
        return self.core.identities.authority

    # ---- copies and states

    def clone(self) -> Authenticator:
        """A stolen copy: the same keys and counters now, independent from here on."""
        with self.core.lock:
            self._clones += 1
            twin = self._restored(self.core, self.core.store.copy())
            twin.core.entropy = self.core.entropy.fork(f"clone {self._clones}")
            return twin

    def _restored(self, model: Core, store: CredentialStore) -> Authenticator:
        core = Core(
            model.profile,
            entropy=Entropy.from_json(model.entropy.to_json()),
            clock=model.clock,
            store=store,
        )
        # Of the factory: whichever of the two attests first, both attest with the same.
        core.identities = model.identities
        core.pin = PinState.from_json(model.pin.to_json())
        core.settings = Settings.from_json(model.settings.to_json())
        core.device_count, core.device_shown = model.device_count, model.device_shown
        core.large_blobs = model.large_blobs
        twin = type(self).__new__(type(self))
        twin._open(core)
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        """For `copy` and `pickle`: the persistent state, and what the test arranged around it."""
        around = {
            "clock": self.clock,
            "person": self.person,
            "vault": self.vault,
            "faults": self._standing_faults,
            "related_origins": dict(self.related_origins),
            "enterprise_policy": set(self.enterprise_policy),
            "log": self.log.entries,
            "clones": self._clones,
        }
        return _revived, (type(self), self.to_json(), around)

    def to_json(self) -> dict[str, Any]:
        """The whole persistent state, including private keys, as JSON values."""
        with self.core.lock:
            return {
                "version": STATE_VERSION,
                "profile": self.profile.to_json(),
                "entropy": self.core.entropy.to_json(),
                "pin": self.core.pin.to_json(),
                "settings": self.core.settings.to_json(),
                "device_count": self.core.device_count,
                "device_shown": self.core.device_shown,
                "large_blobs": self.core.large_blobs.hex(),
                "store": self.core.store.to_json(),
                "attestation": [each.to_json() for each in self.core.identities.to_keep()],
            }

    @classmethod
    def from_json(
        cls,
        state: Mapping[str, Any],
        *,
        clock: Clock | None = None,
        person: Person | None = None,
        vault: Any = None,
    ) -> Authenticator:
        """The authenticator that `to_json` described.

        A device of a vault is one again: of the vault given here, or else of a new one with what
        the vault held when the device was saved.
        """
        version = dict(state).get("version")
        if version != STATE_VERSION:
            raise ValueError(f"state version: got {version!r}, expected {STATE_VERSION}")
        kept = state.get("attestation") or []
        identities: Sequence[AttestationIdentity] = ()
        if kept:
            from .certificates import AttestationIdentity

            # States of earlier versions have one, or none.
            kept = kept if isinstance(kept, list) else [kept]
            identities = [AttestationIdentity.from_json(each) for each in kept]
        kind = next((each for each in cls.__subclasses__() if each._wrote(state)), cls)
        store, vault = kind._saved_store(state, vault)
        core = Core(
            Profile.from_json(state["profile"]),
            entropy=Entropy.from_json(state["entropy"]),
            clock=clock,
            person=person,
            store=store,
            identities=identities,
        )
        core.pin = PinState.from_json(state["pin"])
        if "settings" in state:  # not in states that were saved before there were any
            core.settings = Settings.from_json(state["settings"])
        core.device_count, core.device_shown = state["device_count"], state["device_shown"]
        if "large_blobs" in state:  # not in states of earlier versions
            core.large_blobs = bytes.fromhex(state["large_blobs"])
        authenticator = kind.__new__(kind)
        authenticator._open(core)
        authenticator.vault = vault
        return authenticator

    @classmethod
    def _wrote(cls, state: Mapping[str, Any]) -> bool:
        """Whether a saved state is of an authenticator of this class: for subclasses."""
        return "vault" not in state

    @classmethod
    def _saved_store(cls, state: Mapping[str, Any], vault: Any) -> tuple[CredentialStore, Any]:
        """The store of a saved state, and the vault it belongs to."""
        if vault is not None:
            raise ValueError("vault: got one, expected none: the state is of a device without")
        return CredentialStore.from_json(state["store"]), None

    def save(self, path: str | Path) -> None:
        """Write the state to a file, readable by its owner only: it holds private keys."""
        from .state_file import write

        write(path, self.to_json())

    @classmethod
    def load(
        cls, path: str | Path, *, clock: Clock | None = None, vault: Any = None
    ) -> Authenticator:
        """The authenticator that `save` wrote; see `from_json`."""
        from .state_file import read

        return cls.from_json(read(path), clock=clock, vault=vault)


def _revived(
    kind: type[Authenticator], state: Mapping[str, Any], around: Mapping[str, Any]
) -> Authenticator:
    """The authenticator of which `__reduce__` told."""
    revived = kind.from_json(
        state, clock=around["clock"], person=around["person"], vault=around["vault"]
    )
    revived._standing_faults = revived.core.ctap_faults = around["faults"]
    revived.related_origins.update(around["related_origins"])
    revived.enterprise_policy.update(around["enterprise_policy"])
    revived.log.entries = around["log"]
    revived._clones = around["clones"]
    return revived
