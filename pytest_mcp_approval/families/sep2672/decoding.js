// What the messages of SEP-2672 hold, taken apart for somebody who reads a report: client data,
// authenticator data, keys, the two halves of a challenge, canonical arguments.
//
// Runs in the report's page when a step is opened. Judges nothing: it shows what is there. Its
// input is untrusted: anything may be missing or of another type. What cannot be read throws, and
// the page says so.

explainers.sep2672 = (() => {
  const META_KEY = "io.modelcontextprotocol/verified-approval";
  const FLAGS = [
    [0x01, "UP user present"], [0x02, "reserved bit 1"], [0x04, "UV user verified"], [0x08, "BE backup eligible"],
    [0x10, "BS backed up"], [0x20, "reserved bit 5"], [0x40, "AT attested credential"], [0x80, "ED extensions"],
  ];
  const ALGORITHMS = { "-7": "ES256", "-8": "EdDSA", "-35": "ES384", "-36": "ES512", "-257": "RS256" };
  const KEY_TYPES = { 1: "OKP", 2: "EC2", 3: "RSA" };
  const CURVES = { 1: "P-256", 2: "P-384", 3: "P-521", 6: "Ed25519" };

  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "");
  const algorithm = (value) => (ALGORITHMS[value] ? `${ALGORITHMS[value]} (${value})` : text(value));

  // RFC 8785: members by their UTF-16 code units, values as ECMAScript writes them.
  function canonical(value) {
    if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    const members = Object.keys(value).sort((a, b) => (a < b ? -1 : 1));
    return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }

  function call(title, tool, given) {
    const rows = [["tool", text(tool)]];
    if (given !== undefined) rows.push(["canonical arguments", canonical(given)]);
    return { title, side: "sent", rows: () => rows };
  }

  // ---- what ceremonies are made of

  // Section 4.4.3: a wire challenge is a nonce and an action hash; any other is shown whole.
  function halves(challenge) {
    const bytes = base64url(challenge);
    if (bytes.length !== 64) return [["challenge", hex(bytes)]];
    return [["challenge, nonce", hex(bytes.slice(0, 32))], ["challenge, action hash", hex(bytes.slice(32))]];
  }

  function clientData(encoded) {
    const data = JSON.parse(new TextDecoder("utf-8").decode(base64url(encoded)));
    return Object.entries(data).flatMap(([name, value]) => (name === "challenge" ? halves(value) : [[name, text(value)]]));
  }

  // WebAuthn Level 3, section 6.1.
  function authenticatorData(data) {
    if (data.length < 37) throw new Error(`${data.length} bytes, expected 37 or more`);
    const flags = data[32];
    const named = FLAGS.filter(([bit]) => flags & bit).map(([, name]) => name).join(", ");
    const rows = [
      ["rpIdHash", hex(data.slice(0, 32))],
      ["flags", `0x${flags.toString(16).padStart(2, "0")} ${named || "none"}`],
      ["signCount", String(new DataView(data.buffer, data.byteOffset).getUint32(33))],
    ];
    let at = 37;
    if (flags & 0x40 && data.length >= at + 18) {
      const length = data[at + 16] * 256 + data[at + 17];
      rows.push(["aaguid", hex(data.slice(at, at + 16))], ["credential id", hex(data.slice(at + 18, at + 18 + length))]);
      const [key, end] = cbor(data, at + 18 + length);
      rows.push(...coseKey(key));
      at = end;
    }
    if (at < data.length) rows.push([flags & 0x80 ? "extensions" : "trailing bytes", hex(data.slice(at))]);
    return rows;
  }

  // RFC 9052, section 7.
  function coseKey(key) {
    const kind = key.get(1);
    const rows = [["COSE key", `${KEY_TYPES[kind] ?? kind}, ${algorithm(key.get(3))}`]];
    const names = kind === 3 ? [[-1, "n"], [-2, "e"]] : [[-1, "curve"], [-2, "x"], [-3, "y"]];
    for (const [label, name] of names) {
      const value = key.get(label);
      if (value instanceof Uint8Array) rows.push([`COSE ${name}`, hex(value)]);
      else if (value !== undefined) rows.push([`COSE ${name}`, String(CURVES[value] ?? value)]);
    }
    return rows;
  }

  function attestation(encoded) {
    const [object] = cbor(base64url(encoded), 0);
    const rows = [["fmt", text(object.get("fmt"))]];
    for (const [name, value] of object.get("attStmt") ?? []) {
      for (const one of [value].flat()) rows.push([`attStmt ${name}`, one instanceof Uint8Array ? hex(one) : text(one)]);
    }
    return [...rows, ...authenticatorData(object.get("authData"))];
  }

  const MEMBERS = {
    clientDataJSON: clientData,
    authenticatorData: (encoded) => authenticatorData(base64url(encoded)),
    attestationObject: attestation,
    signature: (encoded) => { const bytes = base64url(encoded); return [[`${bytes.length} bytes`, hex(bytes)]]; },
  };

  // A registration's or an assertion's response, as WebAuthn's JSON has it.
  function response(given) {
    const inner = given?.response;
    if (inner === null || typeof inner !== "object") return [];
    const rows = [];
    for (const name of ["id", "type", "authenticatorAttachment"]) if (given[name] !== undefined) rows.push([name, text(given[name])]);
    if (inner.transports) rows.push(["transports", text(inner.transports)]);
    if (inner.userHandle) rows.push(["userHandle", text(inner.userHandle)]);
    const parts = [{ title: "credential", side: "sent", rows: () => rows }];
    for (const [name, read] of Object.entries(MEMBERS)) {
      if (inner[name] !== undefined) parts.push({ title: name, side: "sent", rows: () => read(inner[name]) });
    }
    return parts;
  }

  // ---- the methods

  const METHODS = {
    "approval/enroll/begin": (params, result) => {
      const options = result?.options;
      if (!options) return [];
      const rows = () => [
        ["rp", text(options.rp)], ["user", text(options.user)], ...halves(options.challenge),
        ["algorithms", (options.pubKeyCredParams ?? []).map((one) => algorithm(one?.alg)).join(", ")],
        ...["attestation", "authenticatorSelection", "excludeCredentials", "timeout"]
          .filter((name) => options[name] !== undefined).map((name) => [name, text(options[name])]),
      ];
      return [{ title: "creation options", side: "received", rows }];
    },
    "approval/enroll/finish": (params) => response(params?.response),
    "approval/challenge/create": (params, result) => {
      const parts = [call("call to approve", params?.toolName, params?.arguments)];
      const options = result?.requestOptions;
      if (options) {
        const rows = () => [
          ...["challengeId", "displayText", "expiresAt"].map((name) => [name, text(result[name])]),
          ...["rpId", "userVerification"].map((name) => [name, text(options[name])]),
          ...halves(options.challenge),
          ...(options.allowCredentials ?? []).map((one) => ["allowed", `${text(one?.id)} ${text(one?.transports)}`]),
        ];
        parts.push({ title: "challenge", side: "received", rows });
      }
      return parts;
    },
    "tools/call": (params) => {
      const evidence = params?._meta?.[META_KEY];
      if (evidence === undefined) return [];
      const rows = ["method", "challengeId"].map((name) => [name, text(evidence?.[name])]);
      return [call("call", params?.name, params?.arguments), { title: "evidence", side: "sent", rows: () => rows }, ...response(evidence?.response)];
    },
    "tools/list": (params, result) => {
      const tools = Array.isArray(result?.tools) ? result.tools : [];
      const rows = tools.map((tool) => [text(tool?.name), tool?._meta?.[META_KEY] === undefined ? "plain" : `gated ${text(tool._meta[META_KEY])}`]);
      return [{ title: "tools", side: "received", rows: () => rows }];
    },
  };

  return {
    exchange: (method, request, answer) => METHODS[method]?.(request?.params, answer?.result),
    ceremony: (given) => response(given),
  };
})();
