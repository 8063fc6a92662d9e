"""What a page sees of the bridge: the objects, the errors and the care of a browser."""

from __future__ import annotations

import pytest

from tests.browser.site import Asking

CREATE = """async (change) => {
  const text = new TextEncoder();
  const publicKey = {
    rp: {name: 'Example', id: 'localhost'},
    user: {id: text.encode('ada'), name: 'ada', displayName: 'Ada'},
    challenge: text.encode('0123456789abcdef').buffer,
    pubKeyCredParams: [{type: 'public-key', alg: -7}],
  };
  const changed = new Function('publicKey', 'text', change);
  changed(publicKey, text);
  try {
    const credential = await navigator.credentials.create({publicKey});
    return 'made';
  } catch (error) {
    return `${error.constructor.name} ${error.name}`;
  }
}"""


@pytest.fixture
def key(approval_page):
    return approval_page.key("icloud-keychain", kind="bridge")


def test_credentials_are_the_browser_s_own_classes(key, ask, party):
    told = ask.frame.evaluate(
        """async ([creation, request]) => {
          const base64url = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
            .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
          const made = await navigator.credentials.create(
            {publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(creation)});
          const json = made.toJSON();
          request.allowCredentials = [{type: 'public-key', id: made.id}];
          const got = await navigator.credentials.get(
            {publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(request)});
          const checks = {
            credential: made instanceof PublicKeyCredential && made instanceof Credential,
            attestation: made.response instanceof AuthenticatorAttestationResponse,
            assertion: got.response instanceof AuthenticatorAssertionResponse,
            both: got.response instanceof AuthenticatorResponse,
            id: made.id === base64url(made.rawId) && got.id === made.id,
            type: made.type === 'public-key' && got.type === 'public-key',
            attachment: made.authenticatorAttachment === 'platform',
            transports: made.response.getTransports().join() === 'hybrid,internal',
            data: base64url(made.response.getAuthenticatorData())
              === json.response.authenticatorData,
            key: base64url(made.response.getPublicKey()) === json.response.publicKey,
            algorithm: made.response.getPublicKeyAlgorithm() === -7,
            attested: base64url(made.response.attestationObject)
              === json.response.attestationObject,
            sameBuffer: made.rawId === made.rawId && made.response === made.response,
            buffers: got.response.signature instanceof ArrayBuffer,
            handle: new Uint8Array(got.response.userHandle).length === 16,
            client: JSON.parse(new TextDecoder().decode(got.response.clientDataJSON)).type
              === 'webauthn.get',
            stringified: JSON.parse(JSON.stringify(made)).response.transports.length === 2,
            results: Object.keys(made.getClientExtensionResults()).length === 0,
          };
          return [checks, json, got.toJSON()];
        }""",
        [party.creation_options(), party.request_options()],
    )
    checks, made, got = told
    assert [name for name, passed in checks.items() if not passed] == []
    party.challenge = _challenge(made)
    party.accept_registration(made)
    party.challenge = _challenge(got)
    party.accept_assertion(got)


def _challenge(response):
    import json

    from virtual_authenticator.encoding import base64url_decode

    told = json.loads(base64url_decode(response["response"]["clientDataJSON"]))
    return base64url_decode(told["challenge"])


def test_prf_results_are_bytes(key, ask, party):
    told = ask.frame.evaluate(
        """async (creation) => {
          const text = new TextEncoder();
          const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(creation);
          publicKey.extensions = {prf: {eval: {first: text.encode('one')}}, credProps: true};
          const made = await navigator.credentials.create({publicKey});
          const results = made.getClientExtensionResults();
          const {first} = results.prf.results;
          return [first instanceof ArrayBuffer, first.byteLength, results.credProps.rk,
                  typeof made.toJSON().clientExtensionResults.prf.results.first];
        }""",
        party.creation_options(),
    )
    assert told == [True, 32, True, "string"]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ("", "made"),
        ("publicKey.challenge = new DataView(new ArrayBuffer(16))", "made"),
        ("delete publicKey.rp.id", "made"),
        ("publicKey.timeout = 1e12; publicKey.unknown = {}", "made"),
        ("publicKey.attestation = 'by-pigeon'", "made"),
        ("publicKey.challenge = 'AAAA'", "TypeError TypeError"),
        ("publicKey.challenge = undefined", "TypeError TypeError"),
        ("publicKey.user.id = 'ada'", "TypeError TypeError"),
        ("publicKey.user.id = new Uint8Array(65)", "TypeError TypeError"),
        ("delete publicKey.user.name", "TypeError TypeError"),
        ("delete publicKey.rp", "TypeError TypeError"),
        ("publicKey.pubKeyCredParams = 5", "TypeError TypeError"),
        ("publicKey.pubKeyCredParams[0].alg = -65535", "DOMException NotSupportedError"),
        ("publicKey.excludeCredentials = [{type: 'public-key', id: 'x'}]", "TypeError TypeError"),
        ("publicKey.rp.id = 'example.com'", "DOMException SecurityError"),
        (
            "publicKey.authenticatorSelection = {authenticatorAttachment: 'cross-platform'}",
            "DOMException NotAllowedError",
        ),
        ("publicKey.challenge = new Uint8Array(2e6)", "DOMException NotAllowedError"),
        ("publicKey.rp.name = 'x'.repeat(2e6)", "DOMException NotAllowedError"),
    ],
)
def test_options_are_read_with_a_browser_s_care(key, ask, change, outcome):
    assert ask.frame.evaluate(CREATE, change) == outcome


def test_other_credentials_are_the_browser_s_business(key, ask):
    told = ask.frame.evaluate(
        """async () => [
          await navigator.credentials.get().catch((error) => error.name),
          await navigator.credentials.get({}).catch((error) => error.name),
          navigator.credentials.create.name, navigator.credentials.get.length,
        ]"""
    )
    assert told[2:] == ["create", 0]
    assert key.prompts == []


def test_a_page_without_the_api_gets_none(approval_page, site):
    key = approval_page.key("security-key", kind="bridge")
    approval_page.context.route(
        "http://insecure.test/*", lambda route: route.fulfill(body="<h1>plain</h1>")
    )
    approval_page.goto("http://insecure.test/")
    assert approval_page.page.evaluate("[isSecureContext, typeof navigator.credentials]") == [
        False,
        "undefined",
    ]
    assert key.prompts == []


def test_a_strict_policy_of_the_page_changes_nothing(approval_page, site, party):
    address = site.put(
        "/strict",
        Content_Security_Policy="default-src 'none'; require-trusted-types-for 'script'",
    )
    approval_page.key("security-key", kind="bridge")
    approval_page.goto(address)
    party.accept_registration(Asking(approval_page).response("create", party.creation_options()))


def test_an_address_is_no_relying_party(approval_page, site, party):
    approval_page.key("security-key", kind="bridge")
    approval_page.goto(f"http://127.0.0.1:{site.port}/")
    party.rp_id = "127.0.0.1"
    outcome = Asking(approval_page)("create", party.creation_options())
    assert outcome["error"] == "SecurityError"
