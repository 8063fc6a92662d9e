/**
 * JSON with only one meaning. `JSON.parse` keeps the last of two equal names, rounds big integers,
 * turns 1e999 into Infinity and lets half a surrogate pair through: the user would sign for another
 * value than the one that a proxy, a log or another parser saw, or for one that has no RFC 8785 form.
 */
const DEEPEST = 64;

/** A refusal that can be answered: `id` is the request's, if it had a usable one. */
export class StrictJsonError extends Error {
  /** @param {number} code @param {string} message @param {string | number | null} id */
  constructor(code, message, id = null) {
    super(message);
    this.code = code;
    this.id = id;
  }

  get answer() {
    return { jsonrpc: '2.0', id: this.id, error: { code: this.code, message: this.message } };
  }
}

/**
 * @param {Uint8Array} bytes one message
 * @returns {unknown}
 */
export function parseStrictly(bytes) {
  let text;
  let value;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch (error) {
    throw new StrictJsonError(-32700, `Parse error: ${error.message}`);
  }
  const fault = faultIn(text);
  if (fault) throw new StrictJsonError(-32600, `Invalid request: ${fault}`, idOf(value));
  return value;
}

// A string with the colon that makes it a name, a number, or a bracket. The text is known to be JSON.
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")\s*(:?)|(-?\d[\d.eE+-]*)|([[\]{}])/g;

/** @param {string} text valid JSON */
function faultIn(text) {
  /** @type {Set<string>[]} the names seen in each open object (and a set that stays empty for arrays) */
  const open = [];
  for (const [, string, colon, number, bracket] of text.matchAll(TOKEN)) {
    if (bracket === '{' || bracket === '[') {
      if (open.push(new Set()) > DEEPEST) return `got more than ${DEEPEST} levels of nesting`;
    } else if (bracket) {
      open.pop();
    } else if (number) {
      if (!Number.isFinite(Number(number))) return 'got a number out of range';
      if (/^-?\d+$/.test(number) && !Number.isSafeInteger(Number(number))) {
        return 'got an integer beyond 2^53 - 1, which would be rounded';
      }
    } else {
      const characters = JSON.parse(string);
      if (!characters.isWellFormed()) return 'got half of a surrogate pair';
      if (!colon) continue;
      const names = open.at(-1);
      if (names.has(characters)) return 'got an object with the same name twice';
      names.add(characters);
    }
  }
  return undefined;
}

/** @param {any} value */
function idOf(value) {
  const id = value?.id;
  return typeof id === 'string' || Number.isSafeInteger(id) ? id : null;
}
