/**
 * The TypeScript SDK's client at the reference server: it is asked, says no and then yes, and what ran is seen.
 *
 *     node sdk-client.js http://localhost:8000/mcp
 */
import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const TOOL = { name: 'erase_account', arguments: { account: 'test-1' } };
const asked = [];
let says = 'decline';

const client = new Client({ name: 'interop', version: '1.0.0' }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler('elicitation/create', async ({ params }) => {
  asked.push(params.message);
  if (says !== 'accept') return { action: says };
  const [member] = Object.entries(params.requestedSchema.properties).find(([, one]) => one.type === 'boolean');
  return { action: 'accept', content: { [member]: true } };
});

async function effects() {
  const { structuredContent } = await client.callTool({ name: 'list_effects', arguments: {} });
  return structuredContent.effects.length;
}

await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
assert(tools.some((one) => one.name === TOOL.name));
const before = await effects();
const refused = await client.callTool(TOOL).catch((error) => ({ isError: true, error }));
assert(refused.isError, 'a person said no, and the call succeeded');
assert.equal(await effects(), before, 'a person said no, and the tool ran');
says = 'accept';
const done = await client.callTool(TOOL);
assert(!done.isError, `a person said yes, and got ${JSON.stringify(done)}`);
assert.equal(await effects(), before + 1);
assert.equal(asked.length, 2);
assert(asked.every((one) => one.includes('test-1')));
await client.close();
console.log(`asked twice, ran once (${tools.length} tools)`);
