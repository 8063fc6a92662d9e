/**
 * The gate: approval/challenge/create (SEP-2672 section 4.4.3) and the fourteen steps before a gated tool
 * runs (section 4.8). It knows nothing of what the tools do; whoever calls `verify` runs the tool after it
 * returned, and only then.
 */
import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';

import { generateAuthenticationOptions, verifyAuthenticationResponse } from '@simplewebauthn/server';

import { actionHash, canonicalArguments } from './action-hash.js';
import { approvalError, invalidParams } from './approval-error.js';
import { clientData } from './enrolment.js';
import { isSignedBy } from './public-key.js';

export const META_KEY = 'io.modelcontextprotocol/verified-approval';
const ROAMING_TRANSPORTS = new Set(['hybrid', 'usb', 'nfc', 'ble']);

export class Gate {
  #store;
  #tools;
  #relyingParty;
  #now;
  #lifetime;

  /**
   * @param {object} parts
   * @param {import('./store.js').Store} parts.store
   * @param {Map<string, import('./tools.js').Tool>} parts.tools
   * @param {{id: string, name: string, origins: string[]}} parts.relyingParty
   * @param {() => number} parts.now milliseconds
   * @param {number} parts.lifetime of a challenge, in milliseconds
   */
  constructor({ store, tools, relyingParty, now, lifetime }) {
    this.#store = store;
    this.#tools = tools;
    this.#relyingParty = relyingParty;
    this.#now = now;
    this.#lifetime = lifetime;
  }

  /**
   * Section 4.4.3.
   *
   * @param {{toolName?: unknown, arguments?: unknown}} params
   */
  async createChallenge({ toolName, arguments: argumentsAsReceived }) {
    if (typeof toolName !== 'string') throw invalidParams(`toolName: got ${typeof toolName}, expected a string`);
    const tool = this.#tools.get(toolName);
    if (!tool?.approval) throw approvalError('tool_not_approved_required');
    // A call that the tool would refuse cannot be described either. This changes nothing.
    const fault = tool.faultIn(argumentsAsReceived);
    if (fault) throw invalidParams(`arguments: ${fault}`);
    let canonical;
    try {
      canonical = canonicalArguments(argumentsAsReceived);
    } catch (error) {
      throw invalidParams(`arguments have no canonical form: ${error.message}`);
    }
    const credentials = this.#store.credentials.values().filter((one) => isEligible(one, tool));
    if (credentials.length === 0) throw approvalError('no_eligible_credential');

    const hash = actionHash(toolName, canonical, this.#store.serverId);
    const wireChallenge = Buffer.concat([randomBytes(32), hash]);
    const requestOptions = await generateAuthenticationOptions({
      rpID: this.#relyingParty.id,
      challenge: wireChallenge,
      allowCredentials: credentials.map(({ id, transports }) => ({ id, transports })),
      userVerification: 'required',
      timeout: this.#lifetime,
    });
    const challengeId = randomUUID();
    const expiresAt = this.#now() + this.#lifetime;
    this.#store.challenges.put(challengeId, {
      toolName,
      canonicalArguments: canonical,
      serverId: this.#store.serverId,
      actionHash: hash.toString('base64url'),
      wireChallenge: wireChallenge.toString('base64url'),
      expiresAt,
    });
    return {
      challengeId,
      displayText: tool.describe(argumentsAsReceived),
      expiresAt: new Date(expiresAt).toISOString(),
      requestOptions,
    };
  }

  /**
   * Section 4.8: returns if this call is approved, throws the reason if it is not.
   *
   * @param {import('./tools.js').Tool} tool
   * @param {{arguments?: unknown, _meta?: Record<string, unknown>}} params of tools/call, as they came
   */
  async verify(tool, params) {
    // 1. Evidence is present.
    const evidence = params._meta?.[META_KEY];
    if (evidence === undefined || evidence === null) throw approvalError('missing_evidence');
    // 2. It is whole. What is inside `response` is for the method to judge (section 5.6).
    if (!isEvidence(evidence)) throw approvalError('missing_evidence');
    // 3. Its method is known.
    if (evidence.method !== 'webauthn') throw approvalError('unsupported_method');

    // 4. to 7. The challenge, in the order unknown, consumed, expired, wrong tool.
    const challenge = this.#store.challenges.get(evidence.challengeId);
    if (!challenge) throw approvalError('challenge_unknown');
    if (this.#store.consumedChallenges.get(evidence.challengeId)) throw approvalError('challenge_consumed');
    if (!(this.#now() < challenge.expiresAt)) throw approvalError('challenge_expired');
    if (challenge.toolName !== tool.name) throw approvalError('challenge_wrong_tool');

    // 8. The credential is enrolled.
    const { id } = evidence.response;
    const credential = typeof id === 'string' ? this.#store.credentials.get(id) : undefined;
    if (!credential) throw approvalError('unknown_credential');
    // 9. It is of a class that the tool accepts; the list in the challenge was only a request.
    if (!isEligible(credential, tool)) throw approvalError('authenticator_class_mismatch');
    // 10. The assertion verifies.
    const counter = await this.#verifiedCounter(evidence.response, challenge, credential);

    // From here to the end nothing waits, so in this process no other call comes between.
    // 11. The counter increases, unless this authenticator never counted. It may have while step 10 waited.
    const { counter: stored } = this.#store.counters.get(credential.id);
    if (stored > 0 && counter <= stored) throw approvalError('signature_counter_regression');
    // 12. The arguments of this call are those that were approved.
    if (!this.#isApprovedAction(tool.name, params.arguments, challenge)) throw approvalError('argument_hash_mismatch');
    // 13. The challenge is consumed: of all racing calls, also in other processes, `add` lets one pass.
    if (!this.#store.consumedChallenges.add(evidence.challengeId, {})) throw approvalError('challenge_consumed');
    // 14. The counter is remembered.
    this.#store.counters.put(credential.id, { counter });
  }

  /** Step 10. @returns {Promise<number>} the counter that the authenticator reported */
  async #verifiedCounter(response, challenge, credential) {
    const publicKey = Buffer.from(credential.publicKey, 'base64url');
    let outcome;
    try {
      // SimpleWebAuthn checks the type, the challenge, the origin, the RP id, the UP and UV flags
      // and the signature.
      outcome = await verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge.wireChallenge,
        expectedOrigin: this.#relyingParty.origins,
        expectedRPID: this.#relyingParty.id,
        requireUserVerification: true,
        credential: {
          id: credential.id,
          publicKey,
          // Zero turns its own counter check off: it comes before the signature, and step 11 after it.
          counter: 0,
        },
      });
      // What it does not check: a frame of another site, whether the credential can be backed up as
      // it could before, and whose it says it is.
      if (clientData(response).crossOrigin === true) throw new Error('got a cross-origin assertion');
      if (outcome.authenticationInfo.credentialDeviceType !== credential.deviceType) throw new Error('got another flag BE');
      const { authenticatorData, clientDataJSON, signature, userHandle } = response.response;
      if (userHandle && userHandle !== credential.userHandle) throw new Error('got another user');
      // And a second check of the signature, with OpenSSL.
      const clientDataHash = createHash('sha256').update(clientDataJSON, 'base64url').digest();
      const signed = Buffer.concat([Buffer.from(authenticatorData, 'base64url'), clientDataHash]);
      if (!isSignedBy(publicKey, signed, Buffer.from(signature, 'base64url'))) throw new Error('got no signature of it');
    } catch {
      throw approvalError('signature_verification_failed');
    }
    if (!outcome.verified) throw approvalError('signature_verification_failed');
    return outcome.authenticationInfo.newCounter;
  }

  /** Step 12: from the arguments as they came, before any schema has seen them (section 4.6). */
  #isApprovedAction(toolName, argumentsAsReceived, challenge) {
    let hash;
    try {
      hash = actionHash(toolName, canonicalArguments(argumentsAsReceived), this.#store.serverId);
    } catch {
      return false; // what has no canonical form was never approved
    }
    return timingSafeEqual(hash, Buffer.from(challenge.actionHash, 'base64url'));
  }
}

/**
 * Section 4.7: "platform" takes any credential, "cross-platform" (also when nothing is said) one that can
 * be reached from another device. A credential that names no transport at all is not known to be such.
 */
function isEligible(credential, tool) {
  return (
    tool.approval.authenticatorClass === 'platform' ||
    credential.transports.some((transport) => ROAMING_TRANSPORTS.has(transport))
  );
}

/** Section 4.5. */
function isEvidence(value) {
  return (
    isObject(value) &&
    typeof value.method === 'string' &&
    typeof value.challengeId === 'string' &&
    isObject(value.response)
  );
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
