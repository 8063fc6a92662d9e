"""The model of SEP-2672: challenges (section 4.4.3), what they hash (4.6), and evidence (4.5).

Where the document leaves something open, either answer is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from virtual_authenticator import WebAuthnError

from ...wire import Reply
from ..base.exploration import AnyChange, EndOfWalk, one_of, transition, which
from ..base.fuzzing import fuzzed
from . import vocabulary as words
from .driver import Challenge, ListedTool
from .expected_calls import (
    FAULTS,
    OTHER_ORIGINS,
    PROFILES,
    Device,
    Issued,
    Signed,
    counter_of,
    fault_of,
    fits_profile,
)
from .exploration_enrollment import EnrollmentModel
from .exploration_state import MOST
from .outcome import reason_in
from .settings import settings_of
from .vocabulary import Reason


class ChallengeModel(EnrollmentModel):
    """Challenges and evidence."""

    @transition(
        "a challenge is asked for",
        when="can_ask",
        rules=(
            "4.4.3-allow-credentials",
            "4.4.3-no-eligible-credential",
            "4.4.3-nonce-unpredictable",
        ),
        weight=3,
        tool=which(3),
        user=one_of(0, 0, 0, 1),
    )
    def ask(self, tool: int, user: int) -> None:
        user = user if self.has_second_user else 0
        chosen = self.pick(self.tools, tool)
        name, arguments = chosen.name, dict(chosen.arguments)
        self.say(f"a challenge for {name} is asked for")
        eligible = {one.passkey.id for one in self.devices if one.eligible(chosen, user)}
        certain = {
            one.passkey.id for one in self.devices if one.eligible(chosen, user) and one.certain
        }
        reply = self.answered(
            self.approval.request_challenge(name, arguments, session=self.session_of(user))
        )
        envelope = reply.result
        if not (isinstance(envelope, dict) and isinstance(envelope.get("requestOptions"), dict)):
            self._no_challenge(reply, name, certain)
            return
        issued = Issued(Challenge(name, arguments, envelope, reply), chosen, user)
        self._check_hash(issued.challenge)
        self._check_issued(issued, eligible, certain)
        self.challenges.append(issued)
        self.say(f"a challenge for {name} is asked for", f"challenge {len(self.challenges)}")

    def _no_challenge(self, reply: Reply, name: str, certain: set[str]) -> None:
        rule = "4.4.3-no-eligible-credential"
        self.checked(rule)
        self.say("", reply.describe())
        none_eligible = reason_in(reply) == Reason.NO_ELIGIBLE_CREDENTIAL
        if certain or (self.knows_all and not none_eligible and not self.restarted):
            wanted = "a challenge" if certain else str(Reason.NO_ELIGIBLE_CREDENTIAL)
            raise self.broken(
                "4.4.3-allow-credentials" if certain else rule,
                "an honest challenge is refused" if certain else "refused for another reason",
                sent=f"approval/challenge/create for {name}",
                expected=wanted,
                got=reply.describe(),
            )

    def _check_issued(self, issued: Issued, eligible: set[str], certain: set[str]) -> None:
        challenge = issued.challenge
        offered = set(challenge.offered)
        sent = f"approval/challenge/create for {challenge.tool}"
        self.checked("4.4.3-allow-credentials", "4.4.3-nonce-unpredictable")
        unexpected = offered - eligible if self.knows_all else set()
        if certain - offered or unexpected:
            raise self.broken(
                "4.4.3-allow-credentials",
                "the wrong passkeys are offered",
                sent=sent,
                expected=f"the {len(certain)} eligible passkeys in allowCredentials",
                got=f"{len(certain - offered)} of them missing, {len(unexpected)} others offered",
            )
        registered = {one.passkey.id: one.transports for one in self.devices}
        for identity, listed in challenge.offered.items():
            own = registered.get(identity)
            if own is not None and isinstance(listed, list) and set(listed) != set(own):
                raise self.broken(
                    "4.4.3-allow-credentials",
                    "a passkey is offered with other transports",
                    sent=sent,
                    expected=f"transports {own}",
                    got=f"transports {listed}",
                )
        nonce = challenge.wire_challenge[:32]
        for earlier in self.challenges:
            if earlier.challenge.id == challenge.id or earlier.nonce == nonce:
                raise self.broken(
                    "4.4.3-nonce-unpredictable",
                    "a challenge is issued twice",
                    sent=sent,
                    expected="another challengeId and nonce each time",
                    got=f"challenge {challenge.id} as before",
                )
        issued.nonce = nonce

    @transition(
        "a challenge for changed arguments is asked for",
        when="has_device",
        rules=("4.6-jcs", "4.6-hash-construction"),
        tool=which(3),
        change=AnyChange(),
    )
    def ask_about(self, tool: int, change: Mapping[str, Any]) -> None:
        """It runs nothing, so that any arguments may be asked about."""
        chosen: ListedTool = self.pick(self.tools, tool)
        params = {"toolName": chosen.name, "arguments": dict(chosen.arguments or {"a": ["b", 1]})}
        request = fuzzed(self.approval.session, words.CHALLENGE_CREATE, params, change)
        if request is None:
            return
        reply = request.send()
        self.approval.forget()
        self.say(request.words, "" if reply.error is None else reply.describe())
        read, envelope = request.params, reply.result
        if not isinstance(envelope, dict) or request.ambiguous or not isinstance(read, dict):
            return
        name, arguments = read.get("toolName"), read.get("arguments")
        options = envelope.get("requestOptions")
        whole = isinstance(arguments, dict) and isinstance(options, dict)
        if whole and name == chosen.name and "__proto__" not in str(arguments):
            self._check_hash(Challenge(chosen.name, arguments, envelope, reply))

    def _check_hash(self, challenge: Challenge) -> None:
        """The same for the same call, another for another; if serverId is known, this very one."""
        try:
            canonical = words.canonical_arguments(challenge.arguments)
            nonce_and_hash, _ = challenge.wire_challenge, challenge.expires_at
        except words.NotCanonicalError:
            return
        except (ValueError, KeyError, TypeError) as error:
            raise EndOfWalk(f"the envelope cannot be read: {error}") from error
        self.checked("4.6-jcs", "4.6-hash-construction")
        call, signed = (challenge.tool, canonical), nonce_and_hash[32:]
        server_id = settings_of(self.target).server_id
        sent = f"approval/challenge/create for {challenge.tool} {canonical.decode()[:300]}"
        if server_id:
            wanted = words.action_hash(challenge.tool, challenge.arguments, server_id)
            if signed != wanted:
                raise self.broken(
                    "4.6-jcs",
                    "another action is hashed",
                    sent=sent,
                    expected=f"action hash {wanted.hex()}",
                    got=signed.hex(),
                )
        known = self.hashes.setdefault(signed, call)
        before = next((one for one, other in self.hashes.items() if other == call), signed)
        if known != call or before != signed:
            raise self.broken(
                "4.6-jcs",
                "two calls share an action hash" if known != call else "one call has two hashes",
                sent=sent,
                expected="one action hash for each call",
                got=f"{signed.hex()} as for {known}" if known != call else signed.hex(),
            )

    @transition(
        "evidence is signed",
        when="can_sign",
        weight=3,
        device=which(),
        challenge=which(),
        fault=one_of("", "", "", "", *FAULTS, *OTHER_ORIGINS),
    )
    def sign(self, device: int, challenge: int, fault: str) -> None:
        chosen: Device = self.pick(self.devices, device)
        issued: Issued = self.pick(self.challenges[::-1], challenge)
        faults = () if not fault else (fault_of(fault, chosen.passkey.origin),)
        try:
            evidence = chosen.passkey.sign(
                issued.challenge, faults=faults, ignoring=["allow-credentials"]
            )
        except (WebAuthnError, ValueError, KeyError, TypeError) as error:
            raise EndOfWalk(f"the requestOptions cannot be signed: {error}") from error
        signed = Signed(issued, chosen, evidence, fault, counter_of(evidence["response"]))
        self.signed.append(signed)
        number = self.challenges.index(issued) + 1
        name = chosen.passkey.authenticator.profile.name
        self.say(
            f"{name} signs challenge {number}" + (f", with the fault {fault}" if fault else ""),
            f"evidence {len(self.signed)}, signCount {signed.counter}",
        )

    @transition(
        "a call is approved",
        when="can_approve",
        weight=6,
        tool=which(3),
        profile=one_of(*PROFILES),
    )
    def approve(self, tool: int, profile: str) -> None:
        """What honest people do in one go; a passkey is enrolled if none fits."""
        chosen: ListedTool = self.pick(self.tools, tool)

        def fitting() -> list[int]:
            return [
                place
                for place, one in enumerate(self.devices)
                if one.eligible(chosen, 0) and one.certain
            ]

        if not fitting():
            if not self.can_enroll:
                return
            self.enroll(profile if fits_profile(profile, chosen) else PROFILES[0], 0)
        asked = len(self.challenges)
        self.ask(tool, 0)
        if len(self.challenges) > asked and fitting():
            self.sign(fitting()[-1], 0, "")
            self.say(f"{chosen.name} is approved", f"evidence {len(self.signed)}")

    @transition("a passkey is copied", when="can_copy", device=which())
    def clone(self, device: int) -> None:
        chosen: Device = self.pick(self.devices, device)
        if len(self.devices) < MOST:
            self.devices.append(chosen.copy())
            self.copies += 1
        self.say(f"{chosen.passkey.authenticator.profile.name} is copied, with its counter")

    @transition("a passkey is rolled back", when="can_copy", device=which())
    def roll_back(self, device: int) -> None:
        """Restored from a backup, as after a repair: its counter is that of its enrollment."""
        chosen: Device = self.pick(self.devices, device)
        chosen.roll_back()
        self.copies += 1
        self.say(f"{chosen.passkey.authenticator.profile.name} is put back as it was when enrolled")
