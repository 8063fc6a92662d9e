/**
 * The page: add a passkey, choose a tool, read what is to be signed, sign or do not. It keeps the client's
 * rules of SEP-2672 (section 4.9). Whatever comes from elsewhere is set as text, never as markup.
 */
import { Refusal, request } from './rpc.js';

const KEY = 'io.modelcontextprotocol/verified-approval';
const SAMPLES = {
  delete_resource: { resourceId: 'test-1' },
  place_trade: { side: 'buy', symbol: 'TEST', quantity: 10 },
  change_setting: { setting: 'theme', value: 'dark' },
  was_deleted: { resourceId: 'test-1' },
};
const SAY = {
  missing_evidence: 'The approval was lost on the way. Nothing ran.',
  unsupported_method: 'The server does not take approvals of this kind. Nothing ran.',
  challenge_unknown: 'The server has no record of this request; it may have been restarted. Nothing ran.',
  challenge_consumed: 'This approval had been used already. Nothing ran a second time.',
  challenge_expired: 'You signed too late: the request had expired. Nothing ran.',
  challenge_wrong_tool: 'The approval was for a different tool. Nothing ran.',
  unknown_credential: 'The server does not know this passkey. Add it first. Nothing ran.',
  authenticator_class_mismatch: 'This tool wants a passkey that is not tied to one device. Nothing ran.',
  signature_verification_failed: 'The signature did not verify. Nothing ran.',
  signature_counter_regression: 'Your passkey counted backwards, as a copied one would. Nothing ran.',
  argument_hash_mismatch: 'The arguments are not those that you signed for. Nothing ran.',
  tool_not_approved_required: 'The server wants no approval for this tool.',
  no_eligible_credential: 'None of your passkeys may sign for this tool. Add one that can be used from another device.',
  credential_already_enrolled: 'This passkey was added before.',
  no_pending_enrollment: 'Adding the passkey took too long. Begin again.',
  verification_failed: 'The server could not verify the new passkey, and did not keep it.',
};

const at = (id) => document.getElementById(id);
const tools = new Map();
const used = new Set();
let waiting;

at('add').addEventListener('click', () => alone(at('added'), addPasskey, at('add')));
at('run').addEventListener('click', () => alone(at('status'), run, at('run')));
at('tool').addEventListener('change', showTool);
at('stop').addEventListener('click', () => waiting?.abort());
await alone(at('status'), load);

/** One thing at a time; whatever goes wrong is shown in that place, and the focus goes back to its button. */
async function alone(place, task, button) {
  at('add').disabled = at('run').disabled = true;
  place.textContent = 'Working …';
  try {
    place.textContent = await task();
  } catch (error) {
    place.textContent = said(error);
  }
  at('add').disabled = false;
  at('run').disabled = tools.size === 0;
  button?.focus();
}

async function load() {
  const { capabilities } = await request('server/discover');
  for (const tool of (await request('tools/list')).tools) tools.set(tool.name, tool);
  const gated = [...tools.values()].filter(isGated);
  if (gated.length && !capabilities?.extensions?.verifiedApproval) {
    console.warn('tools are marked for approval, but the server does not declare verifiedApproval');
  }
  for (const { name, title } of tools.values()) {
    const option = new Option(title ?? name, name);
    if (isGated(tools.get(name))) option.text += ' (to be signed for)';
    at('tool').add(option);
  }
  showTool();
  return 'Nothing yet.';
}

function isGated(tool) {
  return tool._meta?.[KEY] !== undefined;
}

function showTool() {
  const tool = tools.get(at('tool').value);
  at('about').textContent = tool.description ?? '';
  at('arguments').value = JSON.stringify(SAMPLES[tool.name] ?? {}, null, 2);
}

async function addPasskey() {
  const { options } = await request('approval/enroll/begin');
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  const { createdAt } = await request('approval/enroll/finish', { response: credential.toJSON() });
  return `Added at ${new Date(createdAt).toLocaleTimeString()}.`;
}

async function run() {
  at('result').hidden = true;
  const name = at('tool').value;
  let given;
  try {
    given = JSON.parse(at('arguments').value);
  } catch (error) {
    return `The arguments are not JSON: ${error.message}`;
  }
  const call = { name, arguments: given };
  if (isGated(tools.get(name))) {
    const challenge = await request('approval/challenge/create', { toolName: name, arguments: given });
    const response = await signed(challenge);
    if (!response) return 'You did not sign. Nothing ran.';
    if (used.has(challenge.challengeId)) return 'The server gave the same challenge twice. Nothing ran.';
    used.add(challenge.challengeId);
    call._meta = { [KEY]: { method: 'webauthn', challengeId: challenge.challengeId, response } };
  }
  const result = await request('tools/call', call);
  at('result').textContent = JSON.stringify(result.structuredContent ?? result.content, null, 2);
  at('result').hidden = false;
  return result.isError ? 'The tool failed.' : 'It ran.';
}

/** Shows what is to be signed, and waits for the person; undefined if they will not. */
function signed({ displayText, expiresAt, requestOptions }) {
  at('text').textContent = displayText;
  at('until').textContent = new Date(expiresAt).toLocaleTimeString();
  at('until').dateTime = expiresAt;
  at('status').textContent = 'Waiting for your decision.';
  show({ confirm: true, nothing: false, sign: true, refuse: true, stop: false });
  at('text').focus();
  return new Promise((resolve, reject) => {
    at('refuse').onclick = () => resolve(undefined);
    at('sign').onclick = () => {
      waiting = new AbortController();
      show({ sign: false, refuse: false, stop: true });
      at('stop').focus();
      at('status').textContent = 'Waiting for your passkey.';
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(requestOptions);
      navigator.credentials.get({ publicKey, signal: waiting.signal }).then((one) => resolve(one.toJSON()), reject);
    };
  }).finally(() => {
    show({ confirm: false, nothing: true });
    at('text').textContent = '';
  });
}

function show(states) {
  for (const [id, isShown] of Object.entries(states)) at(id).hidden = !isShown;
}

function said(error) {
  if (error instanceof Refusal) return `${SAY[error.reason] ?? 'The server refused.'} (${error.reason ?? error.message})`;
  if (error.name === 'NotAllowedError') return 'Your passkey did not agree, or time ran out. Nothing ran. (NotAllowedError)';
  if (error.name === 'AbortError') return 'You stopped waiting. Nothing ran. (AbortError)';
  if (error.name === 'InvalidStateError') return 'This device has a passkey for this server already. (InvalidStateError)';
  if (error.name === 'SecurityError') return 'Passkeys of this server do not work at this address: use http://localhost. (SecurityError)';
  return `The server cannot be reached, or makes no sense. (${error.message})`;
}
