"""Who may enrol: an agent of the user cannot approve its own calls with a key of its own."""

import uuid

import pytest

from pytest_mcp_approval.families.sep2672.vocabulary import ENROLL_BEGIN, META_KEY
from pytest_mcp_approval.reference_server import ApprovalRefusal, RelyingParty
from pytest_mcp_approval.reference_server.sep2672.enrolment_policy import CODE_KEY
from tests.reference_server.ceremony import ALICE, ORIGIN, Ceremony
from tests.reference_server.test_enrolment import together
from virtual_authenticator import Authenticator
from virtual_authenticator.certificates import AttestationAuthority

BEGIN = {"tool": ENROLL_BEGIN, "arguments": {}}


def begun(ceremony, meta=None, user=ALICE):
    params = None if meta is None else {"_meta": meta}
    return ceremony.gate.handle(user, ENROLL_BEGIN, params)["options"]


def refused_begin(ceremony, meta=None, user=ALICE):
    with pytest.raises(ApprovalRefusal) as caught:
        begun(ceremony, meta, user)
    return caught.value.reason.value


def finish(ceremony, options, passkey=None, user=ALICE):
    key = passkey or Authenticator()
    return ceremony.gate.finish_enrolment(user, key.create(options, ORIGIN))


# ---- open: what the document alone asks for


def test_by_the_document_alone_any_caller_can_approve_its_own_calls(ceremony):
    ceremony.enrol()
    agents_own = Authenticator()
    finish(ceremony, begun(ceremony), agents_own)
    assert ceremony.call(ceremony.evidence(agents_own, ceremony.challenge()))


# ---- first-free


@pytest.fixture
def owned(store):
    return Ceremony(store, enrolment_policy="first-free")


def test_a_further_key_needs_one_that_the_user_has(owned):
    passkey = Authenticator()
    finish(owned, begun(owned), passkey)
    assert refused_begin(owned) == "missing_evidence"
    challenge = owned.challenge(**BEGIN)
    assert "Add a passkey" in challenge["displayText"]
    evidence = {META_KEY: owned.evidence(passkey, challenge)}
    assert finish(owned, begun(owned, evidence))["success"] is True
    assert refused_begin(owned, evidence) == "challenge_consumed"
    assert finish(owned, begun(owned, user="bob"), user="bob")["success"] is True


def test_an_approval_of_something_else_adds_no_key(owned):
    passkey = Authenticator()
    finish(owned, begun(owned), passkey)
    trade = {META_KEY: owned.evidence(passkey, owned.challenge())}
    assert refused_begin(owned, trade) == "challenge_wrong_tool"
    stranger = Authenticator()
    finish(owned, begun(owned, user="eve"), stranger, "eve")
    theirs = {META_KEY: owned.evidence(stranger, owned.challenge(**BEGIN, user="eve"))}
    assert refused_begin(owned, theirs) == "challenge_unknown"


def test_what_was_begun_before_the_first_key_is_no_way_in(owned):
    """An agent begins while its user has no key, and finishes when there is one."""
    early = begun(owned)
    finish(owned, begun(owned))
    with pytest.raises(ApprovalRefusal, match="got a further key"):
        finish(owned, early)
    assert len(owned.store.credentials(ALICE)) == 1


def test_of_several_first_keys_one_is_kept(owned):
    registrations = [Authenticator().create(begun(owned), ORIGIN) for _ in range(6)]
    outcomes = together(lambda n: owned.gate.finish_enrolment(ALICE, registrations[n]), 6)
    assert outcomes.count("accepted") == 1
    assert len(owned.store.credentials(ALICE)) == 1


def test_by_another_policy_enrolment_is_no_tool(ceremony):
    ceremony.enrol()
    with pytest.raises(ApprovalRefusal, match="expected one that requires approval"):
        ceremony.challenge(**BEGIN)


# ---- arranged


@pytest.fixture
def arranged(store):
    return Ceremony(store, enrolment_policy="arranged")


def test_a_key_needs_a_code_that_only_the_person_has(arranged):
    assert refused_begin(arranged) == "no_pending_enrollment"
    code = arranged.gate.arrange_enrolment(ALICE)
    for meta in ({CODE_KEY: "x"}, {CODE_KEY: 7}, {CODE_KEY: code + "x"}, {"other": code}, "x", []):
        assert refused_begin(arranged, meta) == "no_pending_enrollment"
    assert refused_begin(arranged, {CODE_KEY: code}, "bob") == "no_pending_enrollment"
    assert finish(arranged, begun(arranged, {CODE_KEY: code}))["success"] is True
    assert refused_begin(arranged, {CODE_KEY: code}) == "no_pending_enrollment", "once"


def test_a_code_expires_and_is_not_kept_in_clear(arranged):
    code = arranged.gate.arrange_enrolment(ALICE, seconds=60)
    assert code.encode() not in b"".join(one.hashed for one in arranged.store._codes.find())
    arranged.clock.advance(60)
    assert refused_begin(arranged, {CODE_KEY: code}) == "no_pending_enrollment"


def test_a_code_is_used_once_however_many_use_it_at_once(arranged):
    code = arranged.gate.arrange_enrolment(ALICE)
    outcomes = together(lambda _: begun(arranged, {CODE_KEY: code}), 6)
    assert outcomes.count("accepted") == 1


# ---- attested models

MODEL = uuid.UUID("2fc0579f-8113-47ea-b116-bb5a8db9202a")


@pytest.fixture
def maker():
    return AttestationAuthority()


def device(maker, model=MODEL, attested=MODEL):
    return Authenticator(
        aaguid=model.bytes,
        attestation="packed",
        identity=maker.identity(aaguid=attested.bytes if attested else None),
    )


@pytest.fixture
def choosy(maker):
    party = RelyingParty(origins=[ORIGIN], models={str(MODEL).upper(): [maker.root_pem]})
    return Ceremony(relying_party=party)


def test_only_known_models_are_enrolled(choosy, maker):
    assert begun(choosy)["attestation"] == "direct"
    choosy.enrol(device(maker))
    choosy.enrol(device(maker, attested=None))
    strangers = {
        "made of software": Authenticator(),
        "that attests itself": Authenticator(aaguid=MODEL.bytes, attestation="packed-self"),
        "of another model": device(maker, uuid.uuid4()),
        "of another maker": device(AttestationAuthority()),
        "with another model's certificate": device(maker, attested=uuid.uuid4()),
    }
    for name, stranger in strangers.items():
        refused = choosy.refused_enrolment(choosy.register(stranger))
        assert refused == "verification_failed", name
    assert len(choosy.store.credentials(ALICE)) == 2


def test_a_model_without_anybody_who_attests_it_is_an_error():
    with pytest.raises(ValueError, match="models: got one without a certificate"):
        RelyingParty(models={str(MODEL): []})
