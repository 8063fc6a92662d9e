// In a page under test: navigator.credentials, answered by the suite's authenticator.
(() => {
  const url = "AUTHENTICATOR";
  const encode = (bytes) =>
    btoa(String.fromCharCode(...new Uint8Array(bytes.buffer ?? bytes)))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const decode = (text) =>
    Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0)).buffer;
  const plain = (value) => {
    if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return encode(value);
    if (Array.isArray(value)) return value.map(plain);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
    }
    return value;
  };
  const ceremony = (what) => async ({ publicKey }) => {
    const body = JSON.stringify({ origin: location.origin, options: plain(publicKey) });
    const answer = await fetch(`${url}/${what}`, { method: "POST", body });
    const told = await answer.json();
    if (!answer.ok) throw new DOMException(told.error, "NotAllowedError");
    const response = {};
    for (const [name, value] of Object.entries(told.response)) {
      response[name] = typeof value === "string" ? decode(value) : value;
    }
    response.getTransports = () => told.response.transports ?? [];
    return {
      ...told,
      rawId: decode(told.rawId),
      response,
      getClientExtensionResults: () => told.clientExtensionResults ?? {},
      toJSON: () => told,
    };
  };
  navigator.credentials.get = ceremony("get");
  navigator.credentials.create = ceremony("create");
})();
