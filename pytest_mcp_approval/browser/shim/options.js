// What a page hands to navigator.credentials, as the JSON that WebAuthn Level 3 (section 5.1) has for
// it. Strict where a browser is: bytes are bytes, what is required is there. Knows nothing of who asks.
// The files of this folder are one script (see `prompt_broker.py`), run before any script of the page.

const { stringify } = JSON;
const { isView } = ArrayBuffer;
const sizeOfBuffer = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength').get;
const encode = globalThis.btoa.bind(globalThis);
const decode = globalThis.atob.bind(globalThis);

const LONGEST = 1_000_000; // characters of a request; Python has the same bound
const DEEPEST = 8;

const isBytes = (value) => {
  if (isView(value)) return true;
  try {
    sizeOfBuffer.call(value); // also of another frame's ArrayBuffer, for which instanceof fails
    return true;
  } catch {
    return false;
  }
};

const toBase64url = (value) => {
  const bytes = isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
  if (bytes.length > LONGEST) throw new DOMException('The request is too large.', 'NotAllowedError');
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return encode(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
};

const fromBase64url = (text) => {
  const raw = decode(text.replaceAll('-', '+').replaceAll('_', '/'));
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes.buffer;
};

const wrong = (where, expected) => new TypeError(`Failed to read '${where}': expected ${expected}.`);

const dictionary = (value, where) => {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' && typeof value !== 'function') throw wrong(where, 'an object');
  return value;
};

const required = (value, where) => {
  if (value === undefined || value === null) throw wrong(where, 'it to be there');
  return value;
};

const bytes = (value, where) => {
  if (!isBytes(value)) throw wrong(where, 'an ArrayBuffer or a view of one');
  return toBase64url(value);
};

const list = (value, where) => {
  if (typeof value !== 'object' || value === null || typeof value[Symbol.iterator] !== 'function') {
    throw wrong(where, 'a sequence');
  }
  return [...value];
};

// Members that are absent stay absent; the rest is made what WebIDL makes of it.
const present = (members) => {
  const kept = {};
  for (const [name, value] of Object.entries(members)) {
    if (value !== undefined) kept[name] = value;
  }
  return kept;
};
const text = (value) => (value === undefined ? undefined : String(value));
const truth = (value) => (value === undefined ? undefined : Boolean(value));
const texts = (value, where) => (value === undefined ? undefined : list(value, where).map(String));

const descriptors = (value, where) =>
  value === undefined
    ? undefined
    : list(value, where).map((given, position) => {
        const one = dictionary(given, `${where}[${position}]`);
        return present({
          type: text(required(one.type, `${where}[${position}].type`)),
          id: bytes(one.id, `${where}[${position}].id`),
          transports: texts(one.transports, `${where}[${position}].transports`),
        });
      });

// Extensions are an open set: bytes become base64url wherever they stand.
const plain = (value, depth = 0) => {
  if (depth > DEEPEST) throw wrong('publicKey.extensions', 'less nesting');
  if (isBytes(value)) return toBase64url(value);
  if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
  if (typeof value === 'object' && value !== null) {
    const copied = {};
    for (const [name, one] of Object.entries(value)) copied[name] = plain(one, depth + 1);
    return copied;
  }
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
};
const extensions = (value) => (value === undefined ? undefined : plain(dictionary(value, 'extensions')));
const milliseconds = (value) => (value === undefined ? undefined : Number(value) >>> 0);

const creationJSON = (given) => {
  const options = dictionary(given, 'publicKey');
  const rp = dictionary(required(options.rp, 'publicKey.rp'), 'publicKey.rp');
  const user = dictionary(required(options.user, 'publicKey.user'), 'publicKey.user');
  const selection = dictionary(options.authenticatorSelection, 'publicKey.authenticatorSelection');
  const offered = required(options.pubKeyCredParams, 'publicKey.pubKeyCredParams');
  return present({
    rp: present({ id: text(rp.id), name: text(required(rp.name, 'publicKey.rp.name')) }),
    user: {
      id: bytes(required(user.id, 'publicKey.user.id'), 'publicKey.user.id'),
      name: text(required(user.name, 'publicKey.user.name')),
      displayName: text(required(user.displayName, 'publicKey.user.displayName')),
    },
    challenge: bytes(required(options.challenge, 'publicKey.challenge'), 'publicKey.challenge'),
    pubKeyCredParams: list(offered, 'publicKey.pubKeyCredParams').map((one) => ({
      type: text(required(one.type, 'publicKey.pubKeyCredParams.type')),
      alg: Number(required(one.alg, 'publicKey.pubKeyCredParams.alg')) | 0,
    })),
    timeout: milliseconds(options.timeout),
    excludeCredentials: descriptors(options.excludeCredentials, 'publicKey.excludeCredentials'),
    authenticatorSelection:
      options.authenticatorSelection === undefined
        ? undefined
        : present({
            authenticatorAttachment: text(selection.authenticatorAttachment),
            residentKey: text(selection.residentKey),
            requireResidentKey: truth(selection.requireResidentKey),
            userVerification: text(selection.userVerification),
          }),
    hints: texts(options.hints, 'publicKey.hints'),
    attestation: text(options.attestation),
    attestationFormats: texts(options.attestationFormats, 'publicKey.attestationFormats'),
    extensions: extensions(options.extensions),
  });
};

const requestJSON = (given) => {
  const options = dictionary(given, 'publicKey');
  return present({
    challenge: bytes(required(options.challenge, 'publicKey.challenge'), 'publicKey.challenge'),
    timeout: milliseconds(options.timeout),
    rpId: text(options.rpId),
    allowCredentials: descriptors(options.allowCredentials, 'publicKey.allowCredentials'),
    userVerification: text(options.userVerification),
    hints: texts(options.hints, 'publicKey.hints'),
    extensions: extensions(options.extensions),
  });
};

// The way back, for engines that have no PublicKeyCredential.parse...FromJSON.
const parsedDescriptors = (given) => given?.map((one) => ({ ...one, id: fromBase64url(one.id) }));
const parsedExtensions = (given) => {
  if (given?.prf === undefined) return given;
  const values = (one) =>
    one && present({ first: fromBase64url(one.first), second: one.second && fromBase64url(one.second) });
  const { eval: all, evalByCredential: each } = given.prf;
  const byCredential =
    each && Object.fromEntries(Object.entries(each).map(([id, one]) => [id, values(one)]));
  return { ...given, prf: present({ eval: values(all), evalByCredential: byCredential }) };
};
const parseCreation = (given) =>
  present({
    ...given,
    challenge: fromBase64url(given.challenge),
    user: { ...given.user, id: fromBase64url(given.user.id) },
    excludeCredentials: parsedDescriptors(given.excludeCredentials),
    extensions: parsedExtensions(given.extensions),
  });
const parseRequest = (given) =>
  present({
    ...given,
    challenge: fromBase64url(given.challenge),
    allowCredentials: parsedDescriptors(given.allowCredentials),
    extensions: parsedExtensions(given.extensions),
  });
