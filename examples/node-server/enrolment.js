/**
 * Enrolling a passkey: approval/enroll/begin and approval/enroll/finish (SEP-2672 sections 4.4.1, 4.4.2).
 *
 * The example has one user. A server with several takes the user from its authorization (for example
 * `authInfo` of the SDK's request context), and keeps credentials and open enrolments apart by user.
 */
import { generateRegistrationOptions, verifyRegistrationResponse } from '@simplewebauthn/server';

import { approvalError } from './approval-error.js';
import { ALGORITHMS, isUsableKey } from './public-key.js';

const ENROLMENT_LIFETIME = 5 * 60_000;
const LONGEST_ID = 1023; // bytes (WebAuthn, section 7.1)

export class Enrolment {
  #store;
  #relyingParty;
  #now;

  /**
   * @param {object} parts
   * @param {import('./store.js').Store} parts.store
   * @param {{id: string, name: string, origins: string[]}} parts.relyingParty
   * @param {() => number} parts.now milliseconds
   */
  constructor({ store, relyingParty, now }) {
    this.#store = store;
    this.#relyingParty = relyingParty;
    this.#now = now;
  }

  /** Section 4.4.1. It takes no parameters, and ignores what is sent as such. */
  async begin() {
    const options = await generateRegistrationOptions({
      rpName: this.#relyingParty.name,
      rpID: this.#relyingParty.id,
      userID: Buffer.from(this.#store.userHandle, 'base64url'),
      userName: 'operator',
      userDisplayName: 'Operator',
      attestationType: 'none',
      supportedAlgorithmIDs: ALGORITHMS,
      timeout: ENROLMENT_LIFETIME,
      excludeCredentials: this.#store.credentials.values().map(({ id, transports }) => ({ id, transports })),
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
    });
    this.#store.enrolments.put(options.challenge, { expiresAt: this.#now() + ENROLMENT_LIFETIME });
    return { options };
  }

  /**
   * Section 4.4.2.
   *
   * @param {unknown} response a RegistrationResponseJSON, from an untrusted client
   */
  async finish(response) {
    const challenge = this.#openChallenge(response);
    const { counter, ...credential } = await this.#verified(response, challenge);

    // Each `add` lets one of several racing calls pass. A refusal leaves the challenge for another try,
    // unless that very race was lost.
    if (this.#store.credentials.get(credential.id)) throw approvalError('credential_already_enrolled');
    if (!this.#store.finishedEnrolments.add(challenge, {})) throw approvalError('no_pending_enrollment');
    const createdAt = new Date(this.#now()).toISOString();
    this.#store.counters.add(credential.id, { counter });
    if (!this.#store.credentials.add(credential.id, { ...credential, createdAt })) {
      throw approvalError('credential_already_enrolled');
    }
    return { success: true, credentialId: credential.id, createdAt };
  }

  /**
   * The registration challenge that the response names, if an enrolment with it is open.
   *
   * Nothing open, or this one expired or used: no_pending_enrollment. Something open, but the response
   * names another challenge or none that can be read: it is a response that does not verify.
   */
  #openChallenge(response) {
    const challenge = challengeOf(response);
    const enrolment = challenge === undefined ? undefined : this.#store.enrolments.get(challenge);
    if (enrolment && this.#isOpen(enrolment)) return challenge;
    const anyOpen = this.#store.enrolments.values().some((one) => this.#isOpen(one));
    throw approvalError(anyOpen && !enrolment ? 'verification_failed' : 'no_pending_enrollment');
  }

  #isOpen(enrolment) {
    return this.#now() < enrolment.expiresAt && !this.#store.finishedEnrolments.get(enrolment.key);
  }

  async #verified(response, challenge) {
    let outcome;
    try {
      // SimpleWebAuthn checks the type, the challenge, the origin, the RP id, the UP and UV flags,
      // the key's algorithm and the attestation's own signature.
      outcome = await verifyRegistrationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin: this.#relyingParty.origins,
        expectedRPID: this.#relyingParty.id,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      });
    } catch {
      throw approvalError('verification_failed');
    }
    if (!outcome.verified) throw approvalError('verification_failed');
    const { credential, credentialDeviceType: deviceType } = outcome.registrationInfo;
    const { id, publicKey, counter } = credential;
    const transports = response.response.transports ?? [];
    // What it does not check: that the outer id is the one in the authenticator data and no longer
    // than ids are, that the key is valid, that the ceremony was not in another site's frame, and what the transports are.
    if (id !== response.id || Buffer.from(id, 'base64url').length > LONGEST_ID) throw approvalError('verification_failed');
    if (!isUsableKey(publicKey)) throw approvalError('verification_failed');
    if (clientData(response).crossOrigin === true) throw approvalError('verification_failed');
    if (!areTransports(transports)) throw approvalError('verification_failed');
    return {
      id,
      publicKey: Buffer.from(publicKey).toString('base64url'),
      counter,
      deviceType,
      transports,
      userHandle: this.#store.userHandle,
    };
  }
}

function areTransports(value) {
  return Array.isArray(value) && value.every((item) => typeof item === 'string' && item.length <= 32) && value.length <= 16;
}

/** The client data of any WebAuthn response; throws if there is none. */
export function clientData(response) {
  return JSON.parse(Buffer.from(response.response.clientDataJSON, 'base64url').toString('utf8'));
}

function challengeOf(response) {
  try {
    const { challenge } = clientData(response);
    return typeof challenge === 'string' ? challenge : undefined;
  } catch {
    return undefined;
  }
}
