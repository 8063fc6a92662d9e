// The client's half of SEP-2672: challenge first, then the person, then the passkey, then the one call.
// Knows no screen: it is given a function that shows a challenge and waits for the person.

import { NoAnswer } from "./mcp.js";
import { META_KEY } from "./tools.js";
import { create, get } from "./webauthn.js";

/** The person said no to what was shown. */
export class Declined extends Error {}

/** The server sent something other than a challenge. */
export class NoChallenge extends Error {}

const spent = new Set(); // section 4.5: a challengeId goes out on one call only, retries included

/** Section 4.4.1 and 4.4.2. `waiting` is told when the browser is about to ask. */
export async function enrol(connection, { signal, waiting }) {
  const begun = await connection.request("approval/enroll/begin", {}, { signal });
  if (begun?.options === null || typeof begun?.options !== "object") throw new NoChallenge("approval/enroll/begin");
  waiting();
  const response = await create(begun.options, signal);
  return connection.request("approval/enroll/finish", { response });
}

/**
 * One call of a tool. A tool without the annotation is called at once (section 4.2); for any other the
 * person reviews displayText before the assertion starts (section 4.9). `review(envelope, sign)` shows the
 * challenge and returns what `sign(signal)` returned, or throws `Declined`.
 */
export async function callTool(connection, tool, given, { review, calling }) {
  // The same value in both requests: nothing can change it in between.
  const text = JSON.stringify(given);
  if (!tool.approval) {
    calling();
    return connection.request("tools/call", { name: tool.name, arguments: JSON.parse(text) });
  }
  const envelope = await connection.request("approval/challenge/create", { toolName: tool.name, arguments: JSON.parse(text) });
  if (!isEnvelope(envelope) || spent.has(envelope.challengeId)) throw new NoChallenge("approval/challenge/create");
  const response = await review(envelope, (signal) => get(envelope.requestOptions, signal));
  spent.add(envelope.challengeId);
  calling();
  const evidence = { method: "webauthn", challengeId: envelope.challengeId, response };
  const params = { name: tool.name, arguments: JSON.parse(text), _meta: { [META_KEY]: evidence } };
  return connection.request("tools/call", params, { once: true });
}

/** Whether a failed call may have run all the same. */
export function mayHaveRun(error) {
  return error instanceof NoAnswer && error.method === "tools/call" && error.kind !== "session-lost";
}

function isEnvelope(value) {
  return (
    value !== null &&
    typeof value === "object" &&
    typeof value.challengeId === "string" &&
    typeof value.displayText === "string" &&
    value.requestOptions !== null &&
    typeof value.requestOptions === "object"
  );
}
