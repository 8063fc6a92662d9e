/** The same tools as the SDK's documentation shows it: node stock.js [--http PORT] */
import { createServer } from 'node:http';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, acceptedContent, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const changes = [];
const Confirmation = z.object({ confirm: z.boolean() });
const inputSchema = z.object({ user: z.string(), reason: z.string() });
const text = (said) => ({ content: [{ type: 'text', text: said }] });

function build() {
  const server = new McpServer({ name: 'user-desk', version: '1.0.0' });
  for (const [name, verb, done] of [['delete_user', 'Delete', 'deleted'], ['suspend_user', 'Suspend', 'suspended']]) {
    server.registerTool(name, { inputSchema, annotations: { destructiveHint: true } }, ({ user, reason }, ctx) => {
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'confirm', Confirmation);
      if (answer?.confirm !== true) {
        const confirm = inputRequired.elicit({ message: `${verb} the user ${user}?`, requestedSchema: Confirmation });
        return inputRequired({ inputRequests: { confirm } });
      }
      changes.push(`${done} ${user}: ${reason}`);
      return text(changes.at(-1));
    });
  }
  server.registerTool('list_changes', { annotations: { readOnlyHint: true } }, () => text(JSON.stringify(changes)));
  return server;
}

if (process.argv[2] === '--http') createServer(toNodeHandler(createMcpHandler(build))).listen(Number(process.argv[3]), 'localhost');
else serveStdio(build);
