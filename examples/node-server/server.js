#!/usr/bin/env node
/**
 * The entry: options, the parts, and a way in. `node server.js --help` says how.
 */
import { parseArgs } from 'node:util';

import { HookedClock } from './clock-hook.js';
import { openHttp, openStdio } from './doors.js';
import { Enrolment } from './enrolment.js';
import { Gate } from './gate.js';
import { createServer } from './mcp-server.js';
import { pageRoutes } from './page.js';
import { Store } from './store.js';
import { exampleTools } from './tools.js';

const HELP = `usage: node server.js (--http HOST:PORT | --stdio) [options]

  --http HOST:PORT            serve Streamable HTTP at /mcp, and a page at /; port 0 takes a free one
  --stdio                     serve one client on standard input and output
  --store FOLDER              remember across restarts, and share with other processes (default: in memory)
  --rp-id ID                  the WebAuthn relying party (default: localhost)
  --origin URL                a page that users approve on, besides the server's own; repeatable
                              (default: http://localhost:5173)
  --challenge-lifetime SECONDS  (default: 60)
  --server-id ID              the serverId in action hashes (default: made at first start and stored)
  --clock-hook                for tests only: POST {"now": "2030-06-01T12:00:00.000Z"} to /clock stops
                              time there, {"now": null} lets it go on; with --http
`;

/** The options of the command line; a wrong one throws an error with one readable line. */
function options() {
  const { values } = parseArgs({
    options: {
      http: { type: 'string' },
      stdio: { type: 'boolean' },
      store: { type: 'string' },
      'rp-id': { type: 'string', default: 'localhost' },
      origin: { type: 'string', multiple: true, default: ['http://localhost:5173'] },
      'challenge-lifetime': { type: 'string', default: '60' },
      'server-id': { type: 'string' },
      'clock-hook': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (!values.help && Boolean(values.http) === Boolean(values.stdio)) throw new Error('expected --http HOST:PORT or --stdio');
  const [, host, port] = /^(.+):(\d+)$/.exec(values.http ?? 'localhost:0') ?? [];
  if (!host) throw new Error(`--http: got ${values.http}, expected HOST:PORT`);
  const lifetime = Number(values['challenge-lifetime']) * 1000;
  if (!(lifetime > 0)) throw new Error(`--challenge-lifetime: got ${values['challenge-lifetime']}, expected seconds`);
  return { ...values, host, port: Number(port), lifetime };
}

async function main() {
  let given;
  try {
    given = options();
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${HELP}`);
    process.exitCode = 2;
    return;
  }
  if (given.help) {
    process.stdout.write(HELP);
    return;
  }
  const clock = given['clock-hook'] ? new HookedClock() : undefined;
  const now = clock ? clock.now : Date.now;
  const store = new Store(given.store);
  store.forgetOld(now());
  setInterval(() => store.forgetOld(now()), 60_000).unref();
  if (given['server-id']) store.serverId = given['server-id'];
  const relyingParty = { id: given['rp-id'], name: 'Verified approval example', origins: [...given.origin] };
  const tools = exampleTools(store, now);
  const enrolment = new Enrolment({ store, relyingParty, now });
  const gate = new Gate({ store, tools, relyingParty, now, lifetime: given.lifetime });
  const mcpServer = () => createServer({ tools, gate, enrolment });
  if (given.stdio) {
    openStdio(mcpServer);
  } else {
    const routes = { ...pageRoutes(), ...(clock && { '/clock': clock.serve }) };
    const url = await openHttp(mcpServer, { host: given.host, port: given.port, origins: [...given.origin, 'http://localhost'], routes });
    // By name: browsers have no passkeys for an address such as 127.0.0.1.
    const page = `http://localhost:${new URL(url).port}`;
    const isHere = relyingParty.id === 'localhost';
    if (isHere) relyingParty.origins.push(page);
    process.stderr.write(`listening on ${url}\n${isHere ? `page at ${page}/\n` : ''}`);
  }
}

await main();
