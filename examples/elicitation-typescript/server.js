/**
 * A user desk whose dangerous tools ask a person first, by elicitation.
 *
 *     node server.js [--http PORT] [--state FOLDER] [--patience SECONDS]
 *
 * Over HTTP callers are known by tokens: DESK_TOKENS="token-of-ann=ann token-of-ben=ben".
 */
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

import { Approvals, shown } from './approval.js';

const { values: given } = parseArgs({
  options: {
    http: { type: 'string' },
    state: { type: 'string', default: 'approvals' },
    patience: { type: 'string', default: '60' },
  },
});
const approvals = new Approvals(given.state);
const changes = [];
// Strict: an argument that nobody knows would be dropped in silence, and could not be asked about.
const inputSchema = z.strictObject({ user: z.string(), reason: z.string() });

function build() {
  const server = new McpServer(
    { name: 'user-desk', version: '1.0.0' },
    {
      requestState: { verify: approvals.verify },
      // Handshake era: how long a question may wait inside its call.
      inputRequired: { roundTimeoutMs: 1000 * Number(given.patience) },
    },
  );
  const gated = (tool, description, question, done) =>
    server.registerTool(tool, { description, inputSchema, annotations: { destructiveHint: true } }, (call, ctx) => {
      const message = `${question} ${shown(call.user)}? The reason: ${shown(call.reason)}`;
      return approvals.once(ctx, { tool, arguments: call }, message, () => {
        if (call.user === 'nobody') throw new Error('There is no such user.');
        changes.push({ tool, arguments: call });
        return text(`${done} ${call.user}: ${call.reason}`);
      });
    });
  gated('delete_user', 'Delete a user for ever.', 'Delete for ever the user', 'deleted');
  gated('suspend_user', 'Suspend a user.', 'Suspend the user', 'suspended');
  server.registerTool(
    'list_changes',
    { description: 'Everything that was done so far.', annotations: { readOnlyHint: true } },
    () => text(JSON.stringify(changes)),
  );
  return server;
}

function text(said) {
  return { content: [{ type: 'text', text: said }] };
}

/** Who is calling. Yours come from your identity provider; the approval is bound to them. */
const users = new Map((process.env.DESK_TOKENS ?? '').split(' ').map((one) => one.split('=')));

function openHttp(port) {
  const mcp = toNodeHandler(createMcpHandler(build));
  createServer((request, response) => {
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    const user = users.get(token);
    if (!user) return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    request.auth = { token, clientId: user, scopes: [] };
    return mcp(request, response);
  }).listen(port, 'localhost');
}

if (given.http) openHttp(Number(given.http));
else serveStdio(build);
