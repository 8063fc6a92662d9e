// MCP over Streamable HTTP, from a page. Both eras: 2026-07-28 (`server/discover`, no session) and
// the handshake up to 2025-11-25 (`initialize`, then a session); the page asks which one. Knows no
// approval: other files explain a refusal.

import { UnreadableAnswer, answerIn } from "./stream.js";

const NEWEST = "2026-07-28";
const HANDSHAKE = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const META = "io.modelcontextprotocol/";
const CLIENT = { name: "reference-page", version: "1" };
const ANSWER_MILLISECONDS = 30_000;
const OPEN_MILLISECONDS = 10_000;

/** The server answered with an error. */
export class RpcError extends Error {
  constructor(method, error) {
    super(typeof error.message === "string" ? error.message : "");
    this.method = method;
    this.code = error.code;
    this.data = error.data;
  }
}

/** Nobody knows what became of the request. `kind`: unreachable, silent, session-lost, unreadable, cancelled. */
export class NoAnswer extends Error {
  constructor(kind, method, detail = "") {
    super(detail);
    this.kind = kind;
    this.method = method;
  }
}

export class Connection {
  #endpoint;
  #wanted;
  #terms;
  #ids = 0;

  /** `protocol` is a revision, or undefined to find out. */
  constructor(endpoint, protocol) {
    this.#endpoint = endpoint;
    this.#wanted = protocol;
  }

  /** {revision, capabilities, server}: what was agreed; connects first if needed. */
  async open() {
    this.#terms ??= await this.#agree();
    return this.#terms;
  }

  /** The result of a request. One that must be sent `once` is never sent again, even if the session was lost. */
  async request(method, params = {}, { once = false, signal } = {}) {
    await this.open();
    try {
      return await this.#ask(method, params, signal);
    } catch (error) {
      if (!(error instanceof NoAnswer) || error.kind !== "session-lost") throw error;
      this.#terms = undefined;
      if (once) throw error;
      await this.open();
      return this.#ask(method, params, signal);
    }
  }

  async #agree() {
    if (!this.#wanted || this.#wanted === NEWEST) {
      const found = await this.#discover();
      if (found) return found;
      if (this.#wanted) throw new NoAnswer("unreadable", "server/discover", `the server does not speak ${NEWEST}`);
    }
    return this.#initialize(this.#wanted ?? HANDSHAKE[0]);
  }

  async #discover() {
    try {
      const result = await this.#exchange("server/discover", this.#enveloped({}), sessionlessHeaders("server/discover"), OPEN_MILLISECONDS);
      if (!Array.isArray(result?.supportedVersions) || !result.supportedVersions.includes(NEWEST)) return undefined;
      return { revision: NEWEST, capabilities: object(result.capabilities), server: object(object(result._meta)[`${META}serverInfo`]) };
    } catch (error) {
      // A server of the handshake era may refuse this in any way.
      if (error instanceof NoAnswer && error.kind === "unreachable") throw error;
      return undefined;
    }
  }

  async #initialize(revision) {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: CLIENT };
    let session;
    const result = await this.#exchange("initialize", params, {}, OPEN_MILLISECONDS, undefined, (response) => {
      session = response.headers.get("mcp-session-id") ?? undefined;
    });
    if (!HANDSHAKE.includes(result?.protocolVersion)) throw new NoAnswer("unreadable", "initialize", "the server offers no revision that this page knows");
    const terms = { revision: result.protocolVersion, session, capabilities: object(result.capabilities), server: object(result.serverInfo) };
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, handshakeHeaders(terms), OPEN_MILLISECONDS, undefined, async () => {});
    return terms;
  }

  #ask(method, params, signal) {
    const terms = this.#terms;
    if (terms.revision === NEWEST) {
      const headers = sessionlessHeaders(method, method === "tools/call" ? params.name : undefined);
      return this.#exchange(method, this.#enveloped(params), headers, ANSWER_MILLISECONDS, signal);
    }
    return this.#exchange(method, params, handshakeHeaders(terms), ANSWER_MILLISECONDS, signal, (response) => {
      if (response.status === 404 && terms.session) throw new NoAnswer("session-lost", method);
    });
  }

  #enveloped(params) {
    const envelope = { [`${META}protocolVersion`]: NEWEST, [`${META}clientInfo`]: CLIENT, [`${META}clientCapabilities`]: {} };
    return { ...params, _meta: { ...envelope, ...params._meta } };
  }

  async #exchange(method, params, headers, milliseconds, signal, look = () => {}) {
    const id = ++this.#ids;
    const message = { jsonrpc: "2.0", id, method, params };
    const answer = await this.#post(message, headers, milliseconds, signal, (response) => {
      look(response);
      return answerIn(response, id);
    });
    if (answer?.error) throw new RpcError(method, answer.error);
    if (answer === undefined || !("result" in answer)) throw new NoAnswer("unreadable", method, "the answer ended without a result");
    return answer.result;
  }

  async #post(message, headers, milliseconds, signal, read) {
    const hangUp = new AbortController();
    const cancelled = () => hangUp.abort();
    signal?.addEventListener("abort", cancelled, { once: true });
    let late = false;
    const timer = setTimeout(() => { late = true; hangUp.abort(); }, milliseconds);
    try {
      if (signal?.aborted) throw new NoAnswer("cancelled", message.method);
      const response = await fetch(this.#endpoint, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
        body: JSON.stringify(message),
        credentials: "omit",
        redirect: "error",
        signal: hangUp.signal,
      });
      return await read(response);
    } catch (error) {
      if (error instanceof NoAnswer || error instanceof RpcError) throw error;
      if (error instanceof UnreadableAnswer) throw new NoAnswer("unreadable", message.method, error.message);
      if (late) throw new NoAnswer("silent", message.method, `nothing within ${milliseconds / 1000} s`);
      if (signal?.aborted) throw new NoAnswer("cancelled", message.method);
      throw new NoAnswer("unreachable", message.method, String(error?.message ?? error));
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancelled);
    }
  }
}

function handshakeHeaders({ revision, session }) {
  return { "MCP-Protocol-Version": revision, ...(session === undefined ? {} : { "MCP-Session-Id": session }) };
}

function sessionlessHeaders(method, name) {
  return { "MCP-Protocol-Version": NEWEST, "Mcp-Method": method, ...(name === undefined ? {} : { "Mcp-Name": headerValue(name) }) };
}

/** Plain if a header can carry it, else base64, as in 2026-07-28. */
function headerValue(text) {
  if (/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !/^=\?base64\?.*\?=$/.test(text)) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

function object(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}
