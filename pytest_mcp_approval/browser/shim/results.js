// The credential that a page gets, made from the JSON that Python answered with: the browser's own
// classes, so that `instanceof` holds, with every member that they have. Knows nothing of ceremonies.

const made = (prototype, members) => {
  const object = Object.create(prototype);
  for (const [name, value] of Object.entries(members)) {
    const shape = typeof value === 'function' ? { value, writable: true } : { get: () => value };
    Object.defineProperty(object, name, { ...shape, configurable: true });
  }
  return object;
};

const copyOf = (value) => JSON.parse(stringify(value));

// Only prf has bytes among the extensions' results (section 10.1.4).
const extensionResults = (given) => {
  const results = copyOf(given);
  const outputs = results.prf?.results;
  for (const name of Object.keys(outputs ?? {})) outputs[name] = fromBase64url(outputs[name]);
  for (const name of Object.keys(results.hmacGetSecret ?? {})) {
    results.hmacGetSecret[name] = fromBase64url(results.hmacGetSecret[name]);
  }
  return results;
};

const attestationResponse = (given) =>
  made(AuthenticatorAttestationResponse.prototype, {
    clientDataJSON: fromBase64url(given.clientDataJSON),
    attestationObject: fromBase64url(given.attestationObject),
    getAuthenticatorData: () => fromBase64url(given.authenticatorData),
    getPublicKey: () => (given.publicKey ? fromBase64url(given.publicKey) : null),
    getPublicKeyAlgorithm: () => given.publicKeyAlgorithm,
    getTransports: () => [...given.transports],
  });

const assertionResponse = (given) =>
  made(AuthenticatorAssertionResponse.prototype, {
    clientDataJSON: fromBase64url(given.clientDataJSON),
    authenticatorData: fromBase64url(given.authenticatorData),
    signature: fromBase64url(given.signature),
    userHandle: given.userHandle === undefined ? null : fromBase64url(given.userHandle),
  });

const credentialFrom = (kind, json) =>
  made(PublicKeyCredential.prototype, {
    id: json.id,
    rawId: fromBase64url(json.rawId),
    type: json.type,
    authenticatorAttachment: json.authenticatorAttachment ?? null,
    response: kind === 'create' ? attestationResponse(json.response) : assertionResponse(json.response),
    getClientExtensionResults: () => extensionResults(json.clientExtensionResults),
    toJSON: () => copyOf(json),
  });

const errorFrom = ({ name, message }) =>
  name === 'TypeError' ? new TypeError(message) : new DOMException(message, name);
