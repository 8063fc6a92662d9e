// A conversation with an MCP server from a page, in either era. A request is never sent twice.
const META = "io.modelcontextprotocol/";
const INFO = { name: "web-client-example", version: "1.0.0" };
const CAPABILITIES = { elicitation: { form: {}, url: {} } };
export const SESSIONLESS = "2026-07-28";

export class ServerError extends Error {
  constructor({ code, message, data }) {
    super(message);
    Object.assign(this, { code, data });
  }
}

export class Connection {
  #url;
  #id = 0;
  #session = null;
  revision = SESSIONLESS;
  capabilities = {};
  server = "The server";

  constructor(url) {
    this.#url = url;
  }

  /** The new era if the server has it, else the old one. */
  async open() {
    this.revision = SESSIONLESS;
    this.#session = null;
    try {
      const found = await this.request("server/discover", {});
      this.#heard(found, found._meta?.[`${META}serverInfo`]);
      return;
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
    }
    this.revision = null;
    const params = { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, clientInfo: INFO };
    const found = await this.request("initialize", params);
    this.revision = found.protocolVersion;
    this.#heard(found, found.serverInfo);
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  #heard(found, info) {
    this.capabilities = found.capabilities ?? {};
    this.server = info?.name ?? this.server;
  }

  /** The result; `asked` answers what the server asks inside the call (handshake era). */
  async request(method, params, asked) {
    const id = ++this.#id;
    const sessionless = this.revision === SESSIONLESS;
    const envelope = {
      [`${META}protocolVersion`]: this.revision,
      [`${META}clientInfo`]: INFO,
      [`${META}clientCapabilities`]: CAPABILITIES,
    };
    const sent = sessionless ? { ...params, _meta: { ...envelope, ...params._meta } } : params;
    const answer = await this.#post({ jsonrpc: "2.0", id, method, params: sent }, params.name);
    if (answer.status === 404 && this.#session) {
      await this.open(); // for the next request; this one is not sent again
      throw new Error("the server has forgotten this session");
    }
    this.#session = answer.headers.get("Mcp-Session-Id") ?? this.#session;
    for await (const message of messages(answer)) {
      if (message.method && "id" in message) await this.#answer(message, asked);
      else if (message.id === id) {
        if (message.error) throw new ServerError(message.error);
        return message.result;
      }
    }
    throw new Error("no answer came");
  }

  async #answer({ id, method, params }, asked) {
    let told;
    try {
      if (method !== "elicitation/create" || !asked) throw new ServerError({ code: -32601, message: "Method not found" });
      told = { result: await asked(params) };
    } catch (error) {
      told = { error: { code: error.code ?? -32603, message: error.message } };
    }
    await this.#post({ jsonrpc: "2.0", id, ...told });
  }

  #post(message, name) {
    const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    if (this.revision) headers["MCP-Protocol-Version"] = this.revision;
    if (this.#session) headers["Mcp-Session-Id"] = this.#session;
    if (this.revision === SESSIONLESS && message.method) {
      headers["Mcp-Method"] = message.method;
      if (message.method === "tools/call") headers["Mcp-Name"] = name;
    }
    return fetch(this.#url, { method: "POST", headers, body: JSON.stringify(message) });
  }
}

/** The messages of an answer: one, or those of an event stream as they come. */
async function* messages(answer) {
  if (!answer.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    yield await answer.json();
    return;
  }
  let text = "";
  for await (const piece of readable(answer.body.pipeThrough(new TextDecoderStream()))) {
    text += piece;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const data = text.slice(0, end).split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) yield JSON.parse(data.map((line) => line.slice(5)).join("\n"));
    }
  }
}

async function* readable(stream) {
  const reader = stream.getReader();
  for (let read; !(read = await reader.read()).done; ) yield read.value;
}
