/**
 * One MCP server object: which methods there are, and which part answers them. The SDK makes one for each
 * HTTP request (or stdio connection), so all state is in the parts that are handed in.
 */
import { Server } from '@modelcontextprotocol/server';

import { invalidParams } from './approval-error.js';
import { META_KEY } from './gate.js';

/**
 * The SDK's own schema for tools/call would copy, and may one day change, what it lets through. The action
 * hash is over the arguments as they came (section 4.6), so all parameters pass as they are.
 */
const asReceived = { '~standard': { version: 1, vendor: 'example', validate: (value) => ({ value }) } };

/**
 * @param {object} parts
 * @param {Map<string, import('./tools.js').Tool>} parts.tools
 * @param {import('./gate.js').Gate} parts.gate
 * @param {import('./enrolment.js').Enrolment} parts.enrolment
 */
export function createServer({ tools, gate, enrolment }) {
  const server = new Server(
    { name: 'verified-approval-example', version: '1.0.0' },
    // Section 4.3: the bare key, in the `extensions` slot.
    { capabilities: { tools: {}, extensions: { verifiedApproval: {} } } },
  );

  server.setRequestHandler('tools/list', () => ({ tools: [...tools.values()].map(listing) }));

  server.setRequestHandler('tools/call', { params: asReceived }, async (params) => {
    const tool = tools.get(params.name);
    if (!tool) throw invalidParams(`got ${JSON.stringify(params.name)}, expected the name of a tool`);
    if (tool.approval) await gate.verify(tool, params);
    return resultOf(tool, params.arguments ?? {});
  });

  server.setRequestHandler('approval/enroll/begin', { params: asReceived }, () => enrolment.begin());
  server.setRequestHandler('approval/enroll/finish', { params: asReceived }, ({ response }) => enrolment.finish(response));
  server.setRequestHandler('approval/challenge/create', { params: asReceived }, (params) => gate.createChallenge(params));
  return server;
}

/** Section 4.2: what gates a tool is also what its listing says. */
function listing({ name, title, description, inputSchema, annotations, approval }) {
  return {
    name,
    title,
    description,
    inputSchema,
    ...(annotations && { annotations }),
    ...(approval && { _meta: { [META_KEY]: { required: 'verified', ...approval } } }),
  };
}

function resultOf(tool, given) {
  const fault = tool.faultIn(given);
  if (fault) return { isError: true, content: [{ type: 'text', text: `arguments: ${fault}` }] };
  const structuredContent = tool.run(given);
  return { structuredContent, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] };
}
