/**
 * What the user signs (SEP-2672 section 4.6): one hash over the tool, the arguments as they came, and
 * this server. It knows nothing of challenges or credentials.
 */
import { createHash } from 'node:crypto';

import canonicalize from 'canonicalize';

/**
 * The RFC 8785 form of the arguments. No default, no coercion and no schema comes before this.
 *
 * @param {unknown} value
 * @returns {string}
 * @throws {Error} for what has no canonical form: a lone surrogate, a number out of range, no value
 */
export function canonicalArguments(value) {
  const text = canonicalize(value);
  if (text === undefined) throw new Error('got no arguments, expected an object');
  return text;
}

/**
 * @param {string} toolName
 * @param {string} canonical the arguments, from canonicalArguments
 * @param {string} serverId
 * @returns {Buffer} 32 bytes
 */
export function actionHash(toolName, canonical, serverId) {
  const separator = Buffer.of(0);
  return createHash('sha256')
    .update(toolName, 'utf8')
    .update(separator)
    .update(canonical, 'utf8')
    .update(separator)
    .update(serverId, 'utf8')
    .digest();
}
