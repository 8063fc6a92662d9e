/** JSON-RPC to this server, as in MCP 2026-07-28: no session, every request says who asks. */

const REVISION = '2026-07-28';
const PATIENCE = 20_000;
let count = 0;

/** The server said no. `reason` is one of SEP-2672's, if it is about an approval. */
export class Refusal extends Error {
  constructor({ message, data }) {
    super(String(message));
    this.reason = data?.reason;
  }
}

export async function request(method, params = {}) {
  const id = `page-${++count}`;
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'verified-approval-page', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': REVISION,
    'mcp-method': method,
  };
  if (method === 'tools/call') headers['mcp-name'] = params.name;
  const response = await fetch('/mcp', {
    method: 'POST',
    headers,
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: { ...envelope, ...params._meta } } }),
    signal: AbortSignal.timeout(PATIENCE),
  });
  const body = await response.text();
  const message = messagesIn(response, body).find((one) => one.id === id || (one.error && one.id == null));
  if (!message) throw new Error(`the server sent no answer (status ${response.status})`);
  if (message.error) throw new Refusal(message.error);
  return message.result;
}

/** This server ends a stream after the answer, so that the whole text can be read. */
function messagesIn(response, body) {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return [JSON.parse(body)];
  return body
    .split(/\r?\n\r?\n/)
    .map((event) => event.split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart()).join('\n'))
    .filter(Boolean)
    .map((data) => JSON.parse(data));
}
