// navigator.credentials.create and .get of one document. Python decides what becomes of a request:
//   give    this response, from the Python authenticator (kind "bridge")
//   throw   this error
//   native  let the browser's own code do it, with its virtual authenticator (kind "cdp"); `timeout`
//           shortens it, `hold` keeps it open until Python says how it goes on
// Origins and who frames whom are no business of this script: Python asks the browser for them.

const container = CredentialsContainer.prototype;
const native = { create: container.create, get: container.get };
const tell = (message) => {
  const said = stringify(message);
  if (said.length > LONGEST) throw new DOMException('The request is too large.', 'NotAllowedError');
  return binding(said);
};

// Of this document for good, so taken before the page can change what is asked here.
const isOpaque = globalThis.origin === 'null';
const policy = document.permissionsPolicy ?? document.featurePolicy;
const allowed = (kind) => policy?.allowsFeature(`publickey-credentials-${kind}`) ?? true;
const permitted = { create: allowed('create'), get: allowed('get') };

let pending = null;

const whenAborted = (signal, act) => signal?.addEventListener('abort', act, { once: true });

// One try of the browser's own code: what came of it, or what Python wants done instead.
const attempt = async (request, wanted) => {
  const stop = new AbortController();
  whenAborted(request.signal, () => stop.abort(request.signal.reason));
  let { publicKey } = request;
  if (wanted.timeout !== undefined) {
    publicKey = Object.create(publicKey, { timeout: { value: wanted.timeout, enumerable: true } });
  }
  const options = { publicKey, signal: stop.signal };
  const outcome = native[request.kind].call(request.container, options).then(
    (credential) => ({ credential }),
    (error) => ({ error }),
  );
  if (wanted.hold) {
    const first = await Promise.race([outcome, tell({ step: 'held', id: request.id })]);
    if (first.do !== undefined) {
      stop.abort();
      await outcome;
      return { next: first };
    }
  }
  const { credential, error } = await outcome;
  const next = await tell({
    step: 'ended',
    id: request.id,
    error: error?.name ?? null,
    response: credential?.toJSON?.() ?? null,
  });
  return { credential, error, next };
};

const answered = async (request, options) => {
  const { kind, id, mediation } = request;
  let next = await tell({
    step: 'begin', id, kind, options, mediation, opaque: isOpaque, permitted: permitted[kind],
  });
  while (next.do === 'native') {
    const came = await attempt(request, next);
    if (came.next.do === 'done') {
      if (came.error !== undefined) throw came.error;
      return came.credential;
    }
    next = came.next;
  }
  if (next.do === 'give') return credentialFrom(kind, next.response);
  throw errorFrom(next);
};

const ceremony = async (kind, self, given) => {
  const { publicKey, signal } = given;
  const options = kind === 'create' ? creationJSON(publicKey) : requestJSON(publicKey);
  if (signal?.aborted) throw signal.reason;
  if (pending !== null) throw new DOMException('A request is already pending.', 'OperationError');
  const id = crypto.randomUUID();
  const mediation = text(given.mediation) ?? 'optional';
  const request = { kind, id, publicKey, signal, mediation, container: self };
  pending = id;
  const aborted = new Promise((_, reject) => {
    whenAborted(signal, () => {
      tell({ step: 'abort', id }).catch(() => {});
      reject(signal.reason);
    });
  });
  try {
    return await Promise.race([answered(request, options), aborted]);
  } finally {
    pending = null;
    tell({ step: 'over', id }).catch(() => {});
  }
};

// A browser that is asked for other credentials (passwords, ...) answers by itself.
const methods = {
  async create(options = undefined) {
    const { publicKey } = options ?? {};
    if (publicKey === undefined) return native.create.call(this, options);
    return ceremony('create', this, options);
  },
  async get(options = undefined) {
    const { publicKey } = options ?? {};
    if (publicKey === undefined) return native.get.call(this, options);
    return ceremony('get', this, options);
  },
};
for (const name of ['create', 'get']) {
  Object.defineProperty(container, name, {
    value: methods[name], enumerable: true, configurable: true, writable: true,
  });
}

const hasPlatform = async () => (await tell({ step: 'platform' })).available === true;
const nativeCapabilities = PublicKeyCredential.getClientCapabilities?.bind(PublicKeyCredential);
const statics = {
  isUserVerifyingPlatformAuthenticatorAvailable: hasPlatform,
  isConditionalMediationAvailable: async () => false,
  getClientCapabilities: async () => {
    const platform = await hasPlatform();
    return {
      ...(await nativeCapabilities?.()),
      conditionalCreate: false,
      conditionalGet: false,
      passkeyPlatformAuthenticator: platform,
      userVerifyingPlatformAuthenticator: platform,
    };
  },
};
PublicKeyCredential.parseCreationOptionsFromJSON ??= parseCreation;
PublicKeyCredential.parseRequestOptionsFromJSON ??= parseRequest;
for (const [name, value] of Object.entries(statics)) {
  Object.defineProperty(PublicKeyCredential, name, {
    value, enumerable: true, configurable: true, writable: true,
  });
}
