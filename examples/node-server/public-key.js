/**
 * Public keys of credentials: whether a new one is valid, and whether it made a signature.
 *
 * Both are second checks. SimpleWebAuthn reads a new key and checks only its algorithm, so that a
 * registration whose last byte was cut off enrols a credential that can never sign; and it reads an ECDSA
 * signature leniently, so that one whose first byte was changed still verifies. OpenSSL is strict in both.
 */
import { createPublicKey, verify } from 'node:crypto';

import { decodeCredentialPublicKey } from '@simplewebauthn/server/helpers';

/**
 * ES256 and RS256: the COSE algorithms that are offered and accepted. EdDSA is left out because OpenSSL
 * accepts any 32 bytes as an Ed25519 key, whether they are a point of the curve or not.
 */
export const ALGORITHMS = [-7, -257];

// The labels of RFC 9052 and RFC 9053.
const [KEY_TYPE, ALGORITHM] = [1, 3];
const [CURVE, X, Y] = [-1, -2, -3];
const [MODULUS, EXPONENT] = [-1, -2];

/** @param {Uint8Array} bytes a COSE key */
export function isUsableKey(bytes) {
  try {
    openKey(bytes);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {Uint8Array} bytes a COSE key
 * @param {Uint8Array} data
 * @param {Uint8Array} signature
 */
export function isSignedBy(bytes, data, signature) {
  return verify('sha256', data, openKey(bytes), signature);
}

function openKey(bytes) {
  return createPublicKey({ key: toJwk(decodeCredentialPublicKey(bytes)), format: 'jwk' });
}

/** @param {Map<number, any>} key */
function toJwk(key) {
  const kind = [key.get(ALGORITHM), key.get(KEY_TYPE)].join();
  if (kind === '-7,2' && key.get(CURVE) === 1) {
    return { kty: 'EC', crv: 'P-256', x: bytesOf(key, X, 32), y: bytesOf(key, Y, 32) };
  }
  if (kind === '-257,3') {
    return { kty: 'RSA', n: bytesOf(key, MODULUS, 256, 512), e: bytesOf(key, EXPONENT, 1, 4) };
  }
  throw new Error('got a key of another kind, expected ES256 or RS256');
}

function bytesOf(key, label, least, most = least) {
  const bytes = key.get(label);
  if (!(bytes instanceof Uint8Array) || bytes.length < least || bytes.length > most) {
    throw new Error('got a key of the wrong size');
  }
  return Buffer.from(bytes).toString('base64url');
}
