"""The model of SEP-2672: enrollments (sections 4.4.1 and 4.4.2), honest, late, broken and repeated.

Where the document leaves something open, either answer is taken.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.exploration import one_of, transition, which
from ..base.paths import value_at
from .driver import Passkey, confirmed_enrolment
from .expected_calls import PROFILES, Device, counter_of, device_of
from .exploration_state import MOST, OpenRegistration, Pending, StateModel

BAD_REGISTRATIONS = {
    "wrong-challenge": "4.4.2-challenge-must-match",
    "flip-flag": "4.4.2-uv-asserted",
    "wrong-origin": "4.4.2-response-verified",
    "wrong-rp-id-hash": "4.4.2-response-verified",
    "wrong-type": "4.4.2-response-verified",
}
CLOSE = datetime.timedelta(seconds=2)


class EnrollmentModel(StateModel):
    """Enrollments of one or two users."""

    @transition(
        "a passkey is enrolled",
        when="can_enroll",
        rules=("4.4.1-tracked", "4.4.1-exclude-credentials", "4.4.2-confirmation-shape"),
        weight=2,
        profile=one_of(*PROFILES),
        user=one_of(0, 0, 0, 1),
    )
    def enroll(self, profile: str, user: int) -> None:
        user = user if self.has_second_user else 0
        self.say(f"a passkey is enrolled ({profile}{', second user' if user else ''})")
        with self.honest_steps("4.4.1-tracked", "an honest enrollment is refused", sent="begin"):
            options = self.begin_options(user)
            self._check_excluded(options, user)
            authenticator, origin, response = self.approval.register(device_of(profile), options)
        passkey = Passkey(authenticator, origin, response)
        self._finish(Pending(passkey, user, options, self.target.clock.now()))

    def _finish(self, pending: Pending) -> None:
        passkey, session = pending.passkey, self.session_of(pending.user)
        over = self.target.clock.now() - pending.since > pending.life + CLOSE
        near = self.target.clock.now() - pending.since > pending.life - CLOSE
        reply = self.answered(self.approval.finish(passkey.registration, session=session))
        confirmed = confirmed_enrolment(reply)
        self.say("", reply.describe() if not confirmed else "")
        self.checked("4.4.1-tracked", "4.4.1-ttl", "4.4.2-confirmation-shape")
        if confirmed == over and not (near and not over) and pending.certain:
            raise self.broken(
                "4.4.1-ttl" if over else "4.4.1-tracked",
                "an enrollment that is over is taken"
                if over
                else "an honest enrollment is refused",
                sent=f"approval/enroll/finish with an honest registration{' too late' * over}",
                expected="no_pending_enrollment" if over else "it is confirmed",
                got=reply.describe(),
            )
        if confirmed and value_at(reply.result, "credentialId") != passkey.id:
            raise self.broken(
                "4.4.2-confirmation-shape",
                "another credential is confirmed",
                sent="approval/enroll/finish with an honest registration",
                expected=f"credentialId {passkey.id}",
                got=reply.describe(),
            )
        if confirmed:
            device = Device(passkey, pending.user, counter_of(passkey.registration))
            self.devices.append(device)
            self.registrations.append(OpenRegistration(passkey.registration, device))

    @transition("an enrollment is begun", when="can_begin", profile=one_of(*PROFILES))
    def begin_enrollment(self, profile: str) -> None:
        self.say(f"an enrollment is begun ({profile})")
        with self.honest_steps("4.4.1-tracked", "an honest enrollment is refused", sent="begin"):
            options = self.begin_options()
            authenticator, origin, response = self.approval.register(device_of(profile), options)
        passkey = Passkey(authenticator, origin, response)
        self.pending.append(Pending(passkey, 0, options, self.target.clock.now()))

    @transition(
        "an enrollment that was begun is finished",
        when="has_pending",
        rules=("4.4.1-tracked", "4.4.1-ttl"),
        number=which(),
    )
    def finish_enrollment(self, number: int) -> None:
        self._finish(self.pending.pop(number % len(self.pending)))

    def _check_excluded(self, options: Mapping[str, Any], user: int) -> None:
        listed = options.get("excludeCredentials")
        entries = listed if isinstance(listed, list) else []
        known = {str(one.get("id")) for one in entries if isinstance(one, dict)}
        self.checked("4.4.1-exclude-credentials")
        for device in self.devices:
            mine = device.enrolled and device.certain and device.user == user
            if mine and device.passkey.id not in known:
                raise self.broken(
                    "4.4.1-exclude-credentials",
                    "an enrolled passkey is missing",
                    sent="approval/enroll/begin after enrollments",
                    expected="every enrolled passkey in excludeCredentials",
                    got=f"{len(known)} entries, without {device.passkey.id}",
                )

    @transition(
        "a broken registration is sent",
        when="may_spoil",
        rules=tuple(sorted(set(BAD_REGISTRATIONS.values()))),
        fault=one_of(*BAD_REGISTRATIONS),
    )
    def enroll_badly(self, fault: str) -> None:
        self.spoilt += 1
        self.say(f"a registration with the fault {fault} is sent")
        with self.honest_steps("4.4.1-tracked", "an honest begin is refused", sent="begin"):
            options = self.begin_options()
            device, origin, response = self.approval.register("security-key", options, faults=fault)
        reply = self.answered(self.approval.finish(response))
        rule = BAD_REGISTRATIONS[fault]
        self.checked(rule)
        if confirmed_enrolment(reply):
            raise self.broken(
                rule,
                f"a registration with the fault {fault} is taken",
                sent=f"approval/enroll/finish with the fault {fault}",
                expected="verification_failed",
                got=reply.describe(),
            )
        stranger = Device(Passkey(device, origin, response), 0, counter_of(response))
        stranger.enrolled = False
        if len(self.devices) < MOST:
            self.devices.append(stranger)

    @transition(
        "a registration is sent again",
        when="has_registration",
        rules=("4.4.2-no-pending",),
        number=which(),
    )
    def enroll_again(self, number: int) -> None:
        self.spoilt += 1
        old = self.pick(self.registrations, number)
        session = self.session_of(old.device.user)
        reply = self.answered(self.approval.finish(old.response, session=session))
        self.say(f"registration {number % len(self.registrations) + 1} is sent again")
        self.checked("4.4.2-no-pending")
        if confirmed_enrolment(reply) and old.device.certain:
            raise self.broken(
                "4.4.2-no-pending",
                "a registration is taken twice",
                sent="approval/enroll/finish with a response that was taken before",
                expected="a refusal",
                got=reply.describe(),
            )
