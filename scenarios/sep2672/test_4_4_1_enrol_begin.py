"""SEP-2672 section 4.4.1: approval/enroll/begin, the options for a new credential."""

from typing import Any

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.driver import confirmed_enrolment
from pytest_mcp_approval.families.sep2672.registrations import (
    answer,
    begin,
    enrolled_ids,
    expect_an_answer,
)
from pytest_mcp_approval.families.sep2672.shapes import is_base64url, is_descriptor, is_texts
from pytest_mcp_approval.families.sep2672.vocabulary import Reason
from pytest_mcp_approval.wire import RawJson
from virtual_authenticator import WebAuthnError

BEGINS = 32
"""Challenges that are compared with each other."""
FIVE_MINUTES = 300.0
"""The TTL that section 4.4.1 suggests."""
MARGIN = 2.0
"""Seconds that a slow run may take between two steps."""
HOUR = 3600.0


# ---- params

IGNORED = {
    "empty": {},
    "unknown-member": {"unknown": True},
    "members-of-the-other-methods": {"response": {}, "toolName": "x", "arguments": {"a": 1}},
    "options-of-ones-own": {
        "rp": {"id": "attacker.example", "name": "Attacker"},
        "user": {"id": "AAAA", "name": "mallory", "displayName": "Mallory"},
        "challenge": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "pubKeyCredParams": [{"type": "public-key", "alg": -65535}],
        "timeout": 1,
        "attestation": "direct",
        "excludeCredentials": [],
        "authenticatorSelection": {"userVerification": "discouraged"},
        "userVerification": "discouraged",
    },
    "options-inside-options": {"options": {"challenge": "AAAA", "rp": {"id": "attacker.example"}}},
    "odd-values": {"": None, "a": [[[]]], "é": -0.0, "long": "x" * 5000},
    "meta": {"_meta": {"example.org/note": "kept apart from the rest"}},
}
SAME = ("rp", "pubKeyCredParams", "attestation", "authenticatorSelection", "timeout")
"""Members of the options that do not differ between two begins of one user."""


@requirement("sep2672/4.4.1-params-ignored")
@pytest.mark.parametrize("params", IGNORED.values(), ids=IGNORED)
def test_params_change_nothing(ceremony, params):
    """Whatever object comes along as params, the options are what they are without any."""
    plain = begin(ceremony)
    reply = ceremony.approval.begin(params)
    sent = f"{words.ENROLL_BEGIN} with params {str(params)[:60]}"
    options: Any = reply.result.get("options") if isinstance(reply.result, dict) else None
    ceremony.expect(
        isinstance(options, dict),
        sent=sent,
        expected="options, as without params",
        got=reply.describe(),
    )
    with ceremony.several() as several:
        for member in SAME:
            with several.one():
                ceremony.expect(
                    options.get(member) == plain.get(member),
                    sent=sent,
                    expected=f"{member} as without params: {plain.get(member)!r}",
                    got=f"{member} {options.get(member)!r}",
                )
    ceremony.expect(
        options.get("challenge") not in ("", params.get("challenge"), plain.get("challenge")),
        sent=sent,
        expected="a challenge of the server's own",
        got=f"challenge {options.get('challenge')!r}",
    )
    _, response = answer(ceremony, options=options)
    finished = ceremony.approval.finish(response)
    ceremony.expect(
        confirmed_enrolment(finished),
        sent=f"{words.ENROLL_FINISH} of the enrolment that began so",
        expected="success, as without params",
        got=finished.describe(),
    )


@requirement("sep2672/4.4.1-params-ignored")
@pytest.mark.parametrize("params", ["[]", "[1, 2]", '"text"', "7", "true", "null"])
def test_params_that_are_no_object_do_no_harm(ceremony, params):
    """Reading: the base protocol may refuse params that are no object, or the method ignore them.

    A server that breaks down over them is another matter.
    """
    ceremony.enrol()
    sent = f"{words.ENROLL_BEGIN} with params {params}"
    expect_an_answer(ceremony, ceremony.approval.begin(RawJson(params)), sent=sent)
    after = ceremony.approval.begin()
    ceremony.expect(
        after.error is None and after.answered,
        sent=f"{words.ENROLL_BEGIN}, after one with params {params}",
        expected="options",
        got=after.describe(),
    )


# ---- options


def faults_of(options):
    """What keeps options from being a PublicKeyCredentialCreationOptionsJSON: (member, value)."""
    rp, user = options.get("rp"), options.get("user")
    rp, user = rp if isinstance(rp, dict) else {}, user if isinstance(user, dict) else {}
    params = options.get("pubKeyCredParams")
    for member, value, good in (
        ("rp.name, text", rp.get("name"), isinstance(rp.get("name"), str)),
        ("rp.id, text", rp.get("id"), isinstance(rp.get("id", ""), str)),
        ("user.id, base64url without padding", user.get("id"), is_base64url(user.get("id"))),
        ("user.name, text", user.get("name"), isinstance(user.get("name"), str)),
        (
            "user.displayName, text",
            user.get("displayName"),
            isinstance(user.get("displayName"), str),
        ),
        (
            "challenge, base64url without padding",
            options.get("challenge"),
            is_base64url(options.get("challenge")),
        ),
        (
            "pubKeyCredParams, a list of {type: public-key, alg: whole number}",
            params,
            isinstance(params, list) and all(map(is_parameter, params)),
        ),
        (
            "timeout, milliseconds, if present",
            options.get("timeout"),
            type(options.get("timeout", 0)) in (int, float) and options.get("timeout", 0) >= 0,
        ),
        (
            "attestation, text, if present",
            options.get("attestation"),
            isinstance(options.get("attestation", ""), str),
        ),
        (
            "authenticatorSelection, an object",
            options.get("authenticatorSelection"),
            isinstance(options.get("authenticatorSelection"), dict),
        ),
        (
            "extensions, an object, if present",
            options.get("extensions"),
            isinstance(options.get("extensions", {}), dict),
        ),
        ("hints, a list, if present", options.get("hints"), is_texts(options.get("hints", []))),
    ):
        if not good:
            yield member, value


def is_parameter(entry):
    return (
        isinstance(entry, dict)
        and entry.get("type") == "public-key"
        and type(entry.get("alg")) is int
    )


@requirement("sep2672/4.4.1-options-shape")
def test_the_options_are_what_a_browser_takes(ceremony):
    """`PublicKeyCredential.parseCreationOptionsFromJSON` must be able to read them.

    Readings: WebAuthn lets rp.id and the entries of pubKeyCredParams be absent (the page's domain,
    ES256 and RS256 are then meant), which the SEP's example does not: a warning.
    """
    reply = ceremony.approval.begin()
    if reply.error is not None or not reply.answered:
        raise NotVerified(f"{words.ENROLL_BEGIN}: {reply.describe()}")
    options: Any = reply.result.get("options") if isinstance(reply.result, dict) else None
    ceremony.expect(
        isinstance(options, dict),
        sent=words.ENROLL_BEGIN,
        expected="a result with the member options, an object",
        got=reply.describe(),
    )
    with ceremony.several() as several:
        for member, value in faults_of(options):
            with several.one():
                ceremony.expect(
                    False, sent=words.ENROLL_BEGIN, expected=f"options.{member}", got=f"{value!r}"
                )
    if "id" not in options["rp"]:
        ceremony.warn("options.rp has no id: a client that is no page cannot know the RP ID")
    if not options["pubKeyCredParams"]:
        ceremony.warn("options.pubKeyCredParams is empty: which keys are welcome is left open")


@requirement("sep2672/4.4.1-options-shape")
def test_the_user_handle_is_short_enough(ceremony):
    """WebAuthn section 5.4.3: a user.id has 1 to 64 bytes, or every authenticator refuses."""
    user = begin(ceremony).get("user")
    encoded: Any = user.get("id") if isinstance(user, dict) else None
    if not is_base64url(encoded):
        raise NotVerified("user.id cannot be read")
    length = len(encoded) * 3 // 4
    ceremony.expect(
        1 <= length <= 64,
        sent=words.ENROLL_BEGIN,
        expected="user.id of 1 to 64 bytes",
        got=f"{length} bytes",
    )


@requirement("sep2672/4.4.1-uv-required")
def test_user_verification_is_required(ceremony):
    """A touch alone cannot enrol: for the first credential, and for a further one."""
    for which in ("first", "second"):
        selection = begin(ceremony).get("authenticatorSelection")
        asked = selection.get("userVerification") if isinstance(selection, dict) else None
        ceremony.expect(
            asked == "required",
            sent=f"{words.ENROLL_BEGIN}, the {which} one",
            expected="authenticatorSelection.userVerification 'required'",
            got=f"authenticatorSelection {selection!r}",
        )
        if which == "first":
            ceremony.enrol()


# ---- challenge


def challenges(ceremony, count):
    found = []
    for _ in range(count):
        encoded = begin(ceremony).get("challenge")
        if not is_base64url(encoded):
            raise NotVerified("options.challenge cannot be read")
        found.append(words.base64url_decode(encoded))
    return found


@requirement("sep2672/4.4.1-fresh-challenge")
def test_no_registration_challenge_comes_twice(ceremony):
    """Many begins, each with a challenge of its own; a finished enrolment in between changes
    nothing."""
    found = challenges(ceremony, BEGINS // 2)
    ceremony.enrol()
    found += challenges(ceremony, BEGINS // 2)
    ceremony.expect(
        len(set(found)) == len(found),
        sent=f"{len(found)} times {words.ENROLL_BEGIN}",
        expected=f"{len(found)} different challenges",
        got=f"{len(set(found))} different ones",
    )


@requirement("sep2672/4.4.1-fresh-challenge")
def test_registration_challenges_cannot_be_guessed(ceremony):
    """Among many challenges, enough bytes change that nobody can guess the next.

    Reading: the SEP says "fresh"; WebAuthn section 13.4.3 asks for enough entropy (a must) and for
    16 bytes (a should). Fewer than 8 bytes that ever change are a failure, fewer than 16 a warning.
    """
    found = challenges(ceremony, BEGINS)
    moving = sum(1 for column in zip(*found, strict=False) if len(set(column)) > 1)
    shortest = min(map(len, found))
    sent = f"{BEGINS} times {words.ENROLL_BEGIN}"
    ceremony.expect(
        moving >= 8,
        sent=sent,
        expected="challenges of at least 16 random bytes",
        got=f"{shortest} bytes, of which only {moving} ever change",
    )
    if moving < 16:
        ceremony.warn(f"{sent}: {shortest} bytes, of which {moving} change; 16 are asked for")


# ---- time to live


def stated_ttl(options):
    """The TTL that a server announces by its timeout, where that is shorter or longer than the
    five minutes that the SEP suggests for servers that state none."""
    timeout = options.get("timeout")
    usable = type(timeout) in (int, float) and timeout > 0
    return timeout / 1000 if usable else FIVE_MINUTES


@requirement("sep2672/4.4.1-ttl")
def test_a_registration_challenge_lives_long_enough(ceremony):
    """Nearly at the end of its time a registration challenge is still good.

    Reading: five minutes, or the timeout that the options give to the browser if that is shorter.
    """
    ceremony.enrol()
    options = begin(ceremony)
    wait = min(stated_ttl(options), FIVE_MINUTES) - MARGIN
    if wait <= 0:
        raise NotVerified("the options give the browser no time worth waiting for")
    _, response = answer(ceremony, options=options)
    ceremony.clock.advance(wait, at_most=wait + MARGIN)
    reply = ceremony.approval.finish(response)
    ceremony.expect(
        confirmed_enrolment(reply),
        sent=f"{words.ENROLL_FINISH}, {wait:g} s after its begin",
        expected="success: the challenge is good for five minutes",
        got=reply.describe(),
    )


@requirement("sep2672/4.4.1-ttl")
@pytest.mark.parametrize("after", ["its-time", "a-day"])
def test_a_registration_challenge_dies(ceremony, after):
    """After its time, and at the latest after a day, a registration challenge is good no more."""
    ceremony.enrol()
    options = begin(ceremony)
    wait = max(stated_ttl(options), FIVE_MINUTES) + MARGIN if after == "its-time" else 24 * HOUR
    _, response = answer(ceremony, options=options)
    ceremony.clock.advance(wait)
    reply = ceremony.approval.finish(response)
    if not reply.answered:
        raise NotVerified(f"the conversation does not outlive the wait: {reply.describe()}")
    ceremony.expect_error(
        reply,
        Reason.NO_PENDING_ENROLLMENT,
        sent=f"{words.ENROLL_FINISH}, {wait:g} s after its begin",
    )


# ---- excludeCredentials


@requirement("sep2672/4.4.1-exclude-credentials")
def test_exclude_credentials_is_there_from_the_start(ceremony):
    """A list even before anything is enrolled; empty, where the target is known to be fresh."""
    fresh = ceremony.target.can_reset or ceremony.target.settings.reset is not None
    options = begin(ceremony)
    listed = options.get("excludeCredentials")
    ceremony.expect(
        isinstance(listed, list) and (not fresh or not listed),
        sent=f"{words.ENROLL_BEGIN}{', nothing enrolled yet' if fresh else ''}",
        expected="excludeCredentials []" if fresh else "excludeCredentials, a list",
        got=f"excludeCredentials {listed!r:.80}"
        if "excludeCredentials" in options
        else "no member excludeCredentials",
    )


@requirement("sep2672/4.4.1-exclude-credentials")
def test_exclude_credentials_names_every_enrolled_one(ceremony):
    """Each credential is excluded from the moment of its enrolment, and the ones before it stay.

    Reading: the SEP asks for the ids; transports that are left out or differ are a warning.
    """
    enrolled = {}
    for shape in ("security-key", "icloud-keychain", "touch-id", "security-key-nfc"):
        passkey = ceremony.enrol(shape)
        enrolled[passkey.id] = passkey.registration["response"]["transports"]
        listed: Any = begin(ceremony).get("excludeCredentials")
        sent = f"{words.ENROLL_BEGIN}, {len(enrolled)} credentials enrolled a moment ago"
        ceremony.expect(
            isinstance(listed, list) and all(map(is_descriptor, listed)),
            sent=sent,
            expected="excludeCredentials: a list of {type: public-key, id, transports}",
            got=f"{listed!r:.120}",
        )
        by_id = {one["id"]: one for one in listed}
        missing = set(enrolled) - set(by_id)
        ceremony.expect(
            not missing,
            sent=sent,
            expected="all of their ids in excludeCredentials",
            got=f"{len(missing)} of {len(enrolled)} missing",
        )
        ceremony.expect(
            len(by_id) == len(listed),
            sent=sent,
            expected="each id once",
            got=f"{len(listed)} entries for {len(by_id)} ids",
        )
    for credential_id, transports in enrolled.items():
        told = by_id[credential_id].get("transports")
        if told is None or set(told) != set(transports):
            ceremony.warn(f"excludeCredentials: transports {told}, enrolled with {transports}")


@requirement("sep2672/4.4.1-exclude-credentials")
def test_an_honest_authenticator_is_stopped_from_enrolling_twice(ceremony):
    """The list does what it is for: an authenticator that is enrolled refuses to enrol again."""
    passkey = ceremony.enrol()
    before = enrolled_ids(ceremony)
    if passkey.id not in before:
        raise NotVerified("the credential is not listed: another scenario says so")
    options = begin(ceremony)
    try:
        passkey.authenticator.create(options, passkey.origin)
    except WebAuthnError as error:
        name = error.name
    else:
        name = "a second credential"
    ceremony.expect(
        name == "InvalidStateError",
        sent="the options of a new begin to the authenticator that is enrolled already",
        expected="InvalidStateError, as a browser would say it",
        got=name,
    )
