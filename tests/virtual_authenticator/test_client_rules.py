"""Which origin may use which RP ID, as a browser decides it (sections 5.1.3, 5.1.4 and 5.11)."""

from __future__ import annotations

import pytest

from tests.virtual_authenticator.support.relying_party import RelyingParty
from virtual_authenticator import (
    Authenticator,
    NotAllowedError,
    Rule,
    SecurityError,
    WebAuthnError,
)

ACCEPTED = [
    ("example.org", "https://example.org"),
    ("example.org", "https://www.example.org"),
    ("example.org", "https://a.b.c.example.org"),
    ("b.c.example.org", "https://a.b.c.example.org"),
    ("example.org", "https://example.org:8443"),
    ("example.co.uk", "https://login.example.co.uk"),
    ("someone.github.io", "https://someone.github.io"),
    ("github.io", "https://github.io"),  # equal to the host: no suffix is taken
    ("www.ck", "https://login.www.ck"),  # an exception in the list of public suffixes
    ("shop.example.ck", "https://a.shop.example.ck"),
    ("localhost", "http://localhost"),
    ("localhost", "http://localhost:3000"),
    ("localhost", "https://localhost"),
    ("app.localhost", "http://app.localhost:3000"),
    ("xn--bcher-kva.example", "https://www.xn--bcher-kva.example"),
    (None, "https://example.org"),
    (None, "https://www.example.org:444"),
]
REFUSED = [
    ("www.example.org", "https://example.org"),  # below the host
    ("ample.org", "https://example.org"),  # no label boundary
    ("other.org", "https://example.org"),
    ("org", "https://example.org"),
    ("co.uk", "https://example.co.uk"),
    ("uk", "https://example.co.uk"),
    ("github.io", "https://someone.github.io"),
    ("kawasaki.jp", "https://a.b.kawasaki.jp"),  # below a wildcard rule
    ("b.kawasaki.jp", "https://a.b.kawasaki.jp"),
    ("ck", "https://www.ck"),
    ("localhost", "http://app.localhost"),
    ("", "https://example.org"),
    (".org", "https://example.org"),
    (".example.org", "https://www.example.org"),
    ("example.org.", "https://example.org"),
    ("https://example.org", "https://example.org"),
    ("example.org:443", "https://example.org"),
    ("127.0.0.1", "http://127.0.0.1"),
    ("192.0.2.7", "https://192.0.2.7"),
    ("0.2.7", "https://192.0.2.7"),
    ("::1", "http://[::1]"),
    ("[::1]", "http://[::1]"),
    (None, "http://127.0.0.1:8000"),
    (None, "https://[2001:db8::1]"),
]
INSECURE = [
    "http://example.org",
    "http://localhost.example.org",
    "http://192.168.0.1",
    "ftp://example.org",
    "ws://example.org",
    "chrome-extension://example.org",
]
GARBAGE = [
    "",
    "example.org",
    "https://",
    "https:///example.org",
    "https://example.org/",
    "https://example.org/path",
    "https://example.org?query",
    "https://example.org#fragment",
    "https://example.org?",
    "https://example.org#",
    "https://user@example.org",
    "https://example.org:port",
    "https://example.org:99999",
    "https://[::1",
    "https://example.org\n",
    " https://example.org",
    "https://exam\tple.org",
    "https://exam ple.org",
    "android:apk-key-hash:AAAA",
    "\ud800",
]


def creation(party: RelyingParty, rp_id: str | None) -> dict:
    rp = {"name": "Example"} if rp_id is None else {"name": "Example", "id": rp_id}
    return party.creation_options(rp=rp)


def request(party: RelyingParty, rp_id: str | None) -> dict:
    options = party.request_options()
    if rp_id is None:
        del options["rpId"]
    else:
        options["rpId"] = rp_id
    return options


@pytest.mark.parametrize(("rp_id", "origin"), ACCEPTED)
def test_a_page_may_use_its_own_domain_and_what_it_belongs_to(
    rp_id: str | None, origin: str
) -> None:
    effective = rp_id or origin.removeprefix("https://").partition(":")[0]
    device, party = Authenticator("icloud-keychain"), RelyingParty(effective, origin)
    party.accept_registration(device.create(creation(party, rp_id), origin))
    party.accept_assertion(device.get(request(party, rp_id), origin))
    assert device.credentials[0].rp_id == effective


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize(("rp_id", "origin"), REFUSED)
def test_a_page_may_use_no_other_domain(rp_id: str | None, origin: str, ceremony: str) -> None:
    device = Authenticator("icloud-keychain")
    party = RelyingParty(rp_id if rp_id is not None else "x", origin)
    options = creation(party, rp_id) if ceremony == "create" else request(party, rp_id)
    with pytest.raises(SecurityError, match=r"got .*, expected ") as caught:
        getattr(device, ceremony)(options, origin)
    assert caught.value.name == "SecurityError"
    assert not device.credentials


@pytest.mark.parametrize(
    ("rp_id", "origin"), [(rp_id, origin) for rp_id, origin in REFUSED if rp_id]
)
def test_ignoring_the_rp_id_rule_lets_any_domain_through(rp_id: str, origin: str) -> None:
    """The response is what a client without this check would send; its own server takes it."""
    device, party = Authenticator("icloud-keychain"), RelyingParty(rp_id, origin)
    party.accept_registration(
        device.create(party.creation_options(), origin, ignoring=[Rule.RP_ID])
    )
    party.accept_assertion(device.get(party.request_options(), origin, ignoring=["rp-id"]))


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize("origin", INSECURE)
def test_a_page_without_a_secure_context_is_refused(origin: str, ceremony: str) -> None:
    device = Authenticator("icloud-keychain")
    host = origin.partition("://")[2]
    party = RelyingParty(host, origin)
    device.create(party.creation_options(), origin, ignoring=[Rule.SECURE_CONTEXT, Rule.RP_ID])
    options = party.creation_options() if ceremony == "create" else party.request_options()
    with pytest.raises(SecurityError):
        getattr(device, ceremony)(options, origin)
    with pytest.raises(SecurityError):  # another rule does not stand for this one
        getattr(device, ceremony)(options, origin, ignoring=[Rule.RP_ID])


@pytest.mark.parametrize("origin", [one for one in INSECURE if "192" not in one])
def test_ignoring_the_secure_context_leaves_the_rp_id_to_be_checked(origin: str) -> None:
    host = origin.partition("://")[2]
    device, party = Authenticator("icloud-keychain"), RelyingParty(host, origin)
    response = device.create(party.creation_options(), origin, ignoring=[Rule.SECURE_CONTEXT])
    party.accept_registration(response)
    with pytest.raises(SecurityError):
        device.create(
            party.creation_options(rp={"id": "other.example", "name": "x"}),
            origin,
            ignoring=[Rule.SECURE_CONTEXT],
        )


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://[::1]", "http://127.9.9.9"])
def test_a_loopback_address_is_secure_but_no_domain(origin: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty("example.org", origin)
    with pytest.raises(SecurityError, match="address"):
        device.create(party.creation_options(), origin)
    response = device.create(party.creation_options(), origin, ignoring=[Rule.RP_ID])
    party.accept_registration(response)


@pytest.mark.parametrize("ceremony", ["create", "get"])
@pytest.mark.parametrize("origin", GARBAGE)
def test_what_is_no_origin_is_refused(origin: str, ceremony: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    options = party.creation_options() if ceremony == "create" else party.request_options()
    with pytest.raises(SecurityError, match=r"origin: got .*, expected "):
        getattr(device, ceremony)(options, origin)


@pytest.mark.parametrize("ceremony", ["create", "get"])
def test_an_opaque_origin_is_not_allowed(ceremony: str) -> None:
    """Sections 5.1.3 and 5.1.4 name this error for it, not SecurityError."""
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    party.register(device)
    options = party.creation_options() if ceremony == "create" else party.request_options()
    with pytest.raises(NotAllowedError, match="opaque"):
        getattr(device, ceremony)(options, "null")


@pytest.mark.parametrize("origin", ["null", "android:apk-key-hash:AAAA", "example.org"])
def test_with_both_rules_ignored_any_text_is_an_origin(origin: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty(origin=origin)
    ignoring = [Rule.SECURE_CONTEXT, Rule.RP_ID]
    party.accept_registration(device.create(party.creation_options(), origin, ignoring=ignoring))
    party.accept_assertion(device.get(party.request_options(), origin, ignoring=ignoring))


# ---- related origins


def related(count: int) -> list[str]:
    return [f"https://brand{number}.example" for number in range(count)]


@pytest.mark.parametrize(
    ("listed", "origin"),
    [
        (["https://example.de"], "https://example.de"),
        (["https://example.de:8443"], "https://example.de:8443"),
        (related(5), "https://brand4.example"),
        ([*related(5), "https://brand2.test"], "https://brand2.test"),  # a label seen before
        ([*related(4), "https://brand0.test", "https://x.org"], "https://x.org"),
        (["not an origin", "https://co.uk", "https://example.de"], "https://example.de"),
        (["https://example.de/"], "https://example.de"),  # entries are URLs
        (["https://EXAMPLE.de"], "https://example.de"),
        (["https://example.de:443"], "https://example.de"),
    ],
)
def test_a_listed_origin_may_use_the_rp_id(listed: list[str], origin: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty(origin=origin)
    with pytest.raises(SecurityError):
        device.create(party.creation_options(), origin)
    device.related_origins["example.org"] = listed
    party.register(device)
    party.sign_in(device)


@pytest.mark.parametrize(
    ("listed", "origin"),
    [
        ([], "https://example.de"),
        (["https://www.example.de"], "https://example.de"),
        (["http://example.de"], "https://example.de"),
        (["https://example.de:444"], "https://example.de"),
        (related(6), "https://brand5.example"),  # the sixth label
        (["https://co.uk"], "https://co.uk"),  # no label of its own
        (["https://192.0.2.7"], "https://192.0.2.7"),  # no domain, listed or not
        (["http://127.0.0.1"], "http://127.0.0.1"),
    ],
)
def test_another_origin_may_not(listed: list[str], origin: str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty(origin=origin)
    device.related_origins["example.org"] = listed
    with pytest.raises(SecurityError):
        device.create(party.creation_options(), origin)
    with pytest.raises(SecurityError):
        device.get(party.request_options(), origin)


def test_a_list_counts_for_its_own_rp_id_only() -> None:
    device = Authenticator("icloud-keychain")
    party = RelyingParty("other.example", "https://example.de")
    device.related_origins["example.org"] = ["https://example.de"]
    with pytest.raises(SecurityError):
        device.create(party.creation_options(), party.origin)


def test_an_insecure_page_is_not_helped_by_a_list() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty(origin="http://example.de")
    device.related_origins["example.org"] = ["http://example.de"]
    with pytest.raises(SecurityError):
        device.create(party.creation_options(), party.origin)


# ---- naming rules


@pytest.mark.parametrize("ignoring", [["rp_id"], ["rp-id", "nothing"], "all"])
def test_an_unknown_rule_is_an_error_of_the_test(ignoring: list[str] | str) -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty()
    with pytest.raises(ValueError, match=r"ignoring: got .*, expected names among secure-context"):
        device.create(party.creation_options(), party.origin, ignoring=ignoring)


def test_one_rule_may_be_named_by_itself() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty(origin="https://other.example")
    party.accept_registration(
        device.create(party.creation_options(), party.origin, ignoring="rp-id")
    )


def test_every_failure_is_a_webauthn_error_and_is_logged() -> None:
    device, party = Authenticator("icloud-keychain"), RelyingParty(origin="https://other.example")
    with pytest.raises(WebAuthnError):
        device.create(party.creation_options(), party.origin)
    assert device.log[-1].what == "refused"
    assert device.log[-1].details["error"] == "SecurityError"
