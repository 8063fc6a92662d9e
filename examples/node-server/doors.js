/**
 * The two ways in: Streamable HTTP and stdio, both with strict JSON before the SDK sees a message, and
 * both for the handshake revisions of MCP (up to 2025-11-25) and for 2026-07-28.
 */
import { createServer } from 'node:http';

import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { StrictJsonError, parseStrictly } from './strict-json.js';

const LONGEST_MESSAGE = 1024 * 1024;

/**
 * @param {() => import('@modelcontextprotocol/server').Server} mcpServer
 * @param {object} options
 * @param {string} options.host
 * @param {number} options.port 0 takes a free one
 * @param {string[]} options.origins pages that may call from a browser
 * @param {Record<string, import('node:http').RequestListener>} [options.routes] what else there is, by path
 * @returns {Promise<string>} the URL
 */
export function openHttp(mcpServer, { host, port, origins, routes = {} }) {
  const mcp = toNodeHandler(createMcpHandler(mcpServer));
  // A page of another site must not reach a server on this machine by a name of its own.
  const isOurHost = hostHeaderValidation(['localhost', '127.0.0.1', '[::1]', host]);
  const isOurPage = originValidation(origins.map((origin) => new URL(origin).hostname));
  const http = createServer(async (request, response) => {
    if (!isOurHost(request, response) || !isOurPage(request, response)) return;
    const { pathname } = new URL(request.url, 'http://localhost');
    if (pathname === '/mcp') await serveMcp(mcp, request, response);
    else if (Object.hasOwn(routes, pathname)) await routes[pathname](request, response);
    else response.writeHead(404).end();
  });
  return new Promise((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, () => resolve(`http://${host}:${http.address().port}/mcp`));
  });
}

async function serveMcp(mcp, request, response) {
  if (request.method !== 'POST') {
    await mcp(request, response);
    return;
  }
  let message;
  try {
    message = parseStrictly(await bodyOf(request));
  } catch (error) {
    if (error instanceof StrictJsonError) {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(error.answer));
    } else {
      response.destroy(); // the client went away while it was sending
    }
    return;
  }
  await mcp(request, response, message);
}

/** @param {import('node:http').IncomingMessage} request */
export async function bodyOf(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    // A message that is too long is read to its end, so that the client gets an answer, but not
    // kept.
    if (length <= LONGEST_MESSAGE) chunks.push(chunk);
  }
  if (length > LONGEST_MESSAGE) throw tooLong();
  return Buffer.concat(chunks);
}

/** @param {() => import('@modelcontextprotocol/server').Server} mcpServer */
export function openStdio(mcpServer) {
  serveStdio(mcpServer, { transport: new StrictStdioTransport(process.stdin, process.stdout) });
}

/**
 * A line is a message. The SDK's own transport silently drops a line that it cannot read, and the
 * client waits for ever; here every line that is not a message is answered.
 */
class StrictStdioTransport {
  #input;
  #output;
  /** @type {Buffer[]} */
  #line = [];
  #length = 0;

  /** @type {(() => void) | undefined} */ onclose;
  /** @type {((error: Error) => void) | undefined} */ onerror;
  /** @type {((message: any) => void) | undefined} */ onmessage;

  constructor(input, output) {
    this.#input = input;
    this.#output = output;
  }

  async start() {
    this.#input.on('data', (chunk) => this.#take(chunk));
    this.#input.on('end', () => this.close());
    this.#output.on('error', () => this.close());
  }

  async close() {
    this.#input.destroy();
    this.onclose?.();
    this.onclose = undefined;
  }

  async send(message) {
    this.#output.write(`${JSON.stringify(message)}\n`);
  }

  #take(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      this.#keep(chunk.subarray(start, end));
      this.#finishLine();
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part) {
    this.#length += part.length;
    if (this.#length <= LONGEST_MESSAGE) this.#line.push(part);
  }

  #finishLine() {
    const line = Buffer.concat(this.#line);
    const isTooLong = this.#length > LONGEST_MESSAGE;
    this.#line = [];
    this.#length = 0;
    if (line.length === 0) return;
    try {
      if (isTooLong) throw tooLong();
      const message = parseStrictly(line);
      if (!isMessage(message)) throw new StrictJsonError(-32600, 'Invalid request: got no JSON-RPC 2.0 message');
      this.onmessage?.(message);
    } catch (error) {
      if (!(error instanceof StrictJsonError)) throw error;
      this.send(error.answer);
    }
  }
}

function isMessage(value) {
  return isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value);
}

function tooLong() {
  return new StrictJsonError(-32600, `Invalid request: got more than ${LONGEST_MESSAGE} bytes`);
}
