// Passkeys, with JSON on both sides. The browser converts to JSON if it can; the rest is for
// browsers that cannot yet. Knows no server and no reason for a ceremony.

export class PasskeysMissing extends Error {}

/** A new credential for PublicKeyCredentialCreationOptionsJSON, as RegistrationResponseJSON. */
export async function create(options, signal) {
  requireApi();
  const publicKey = native("parseCreationOptionsFromJSON")?.(options) ?? {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    ...(options.excludeCredentials && { excludeCredentials: options.excludeCredentials.map(descriptor) }),
  };
  return responseJson(await navigator.credentials.create({ publicKey, signal }));
}

/** An assertion for PublicKeyCredentialRequestOptionsJSON, as AuthenticationResponseJSON. */
export async function get(options, signal) {
  requireApi();
  const publicKey = native("parseRequestOptionsFromJSON")?.(options) ?? {
    ...options,
    challenge: bytes(options.challenge),
    ...(options.allowCredentials && { allowCredentials: options.allowCredentials.map(descriptor) }),
  };
  return responseJson(await navigator.credentials.get({ publicKey, signal }));
}

function requireApi() {
  if (!globalThis.isSecureContext || !navigator.credentials || !globalThis.PublicKeyCredential) throw new PasskeysMissing();
}

function native(name) {
  const parse = globalThis.PublicKeyCredential[name];
  return typeof parse === "function" ? (options) => parse.call(globalThis.PublicKeyCredential, options) : undefined;
}

function descriptor(one) {
  return { ...one, id: bytes(one.id) };
}

function responseJson(credential) {
  if (credential === null) throw new DOMException("no credential", "NotAllowedError");
  if (typeof credential.toJSON === "function") return credential.toJSON();
  const { response } = credential;
  const inner = {};
  for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (response[name]) inner[name] = text(response[name]);
  }
  if (response.getTransports) inner.transports = response.getTransports();
  if (response.getAuthenticatorData) inner.authenticatorData = text(response.getAuthenticatorData());
  if (response.getPublicKeyAlgorithm) inner.publicKeyAlgorithm = response.getPublicKeyAlgorithm();
  const key = response.getPublicKey?.();
  if (key) inner.publicKey = text(key);
  return {
    id: credential.id,
    rawId: text(credential.rawId),
    type: credential.type,
    ...(credential.authenticatorAttachment && { authenticatorAttachment: credential.authenticatorAttachment }),
    clientExtensionResults: credential.getClientExtensionResults(),
    response: inner,
  };
}

/** base64url without padding, in both directions. */
function bytes(encoded) {
  const letters = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
}

function text(buffer) {
  const letters = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
