/**
 * What the server remembers. In memory it ends with the process; in a folder it survives a restart, and
 * several processes can share it.
 *
 * - `add` stores a record unless there is one of that key, and says which it was. Consuming a challenge is
 *   an `add`: of any number of racing calls, in one process or several, one gets `true`, and it is on the
 *   disk before that one goes on.
 * - `put` stores or replaces a record. A crash leaves the old one or the new one, never half of one.
 *
 * Everything is synchronous, so that nothing comes between two operations of one process.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {object} Credential
 * @property {string} id base64url, as in the signed authenticator data
 * @property {string} publicKey the COSE key, base64url
 * @property {string[]} transports
 * @property {string} userHandle base64url
 * @property {string} createdAt
 *
 * @typedef {object} Enrolment
 * @property {number} expiresAt milliseconds
 *
 * @typedef {object} Challenge
 * @property {string} toolName
 * @property {string} canonicalArguments
 * @property {string} serverId
 * @property {string} actionHash base64url
 * @property {string} wireChallenge base64url of nonce || action hash
 * @property {number} expiresAt milliseconds
 */

/** How long an expired challenge is still called expired (or used) rather than unknown. */
const REMEMBERED_AFTER_EXPIRY = 60 * 60_000;

export class Store {
  /** @param {string} [folder] without one, what is remembered ends with the process */
  constructor(folder) {
    const table = (name) => (folder ? new FolderTable(join(folder, name)) : new MemoryTable());
    /** By credential id. The counter is apart, since it alone changes. */
    this.credentials = table('credentials');
    this.counters = table('counters');
    /** By registration challenge. */
    this.enrolments = table('enrolments');
    this.finishedEnrolments = table('finished-enrolments');
    /** By challenge id. */
    this.challenges = table('challenges');
    this.consumedChallenges = table('consumed-challenges');
    /** What the gated tools did, for the example's own `list_effects`. */
    this.effects = folder ? new FileLog(join(folder, 'effects.jsonl')) : new MemoryLog();
    const identity = table('identity');
    identity.add('server', { id: `urn:uuid:${randomUUID()}` });
    identity.add('user', { handle: randomBytes(32).toString('base64url') });
    /** Made at first start, and then kept (section 4.6). */
    this.serverId = identity.get('server').id;
    this.userHandle = identity.get('user').handle;
  }

  /** @param {number} now milliseconds */
  forgetOld(now) {
    for (const [records, marks] of [
      [this.enrolments, this.finishedEnrolments],
      [this.challenges, this.consumedChallenges],
    ]) {
      for (const record of records.values()) {
        if (record.expiresAt + REMEMBERED_AFTER_EXPIRY > now) continue;
        records.remove(record.key); // before its mark, so that a forgotten challenge never counts as unused
        marks.remove(record.key);
      }
    }
  }
}

class MemoryTable {
  #records = new Map();

  get(key) {
    return this.#records.get(key);
  }

  values() {
    return [...this.#records.values()];
  }

  put(key, record) {
    this.#records.set(key, { ...record, key });
  }

  /** @returns {boolean} whether this was the first of its key */
  add(key, record) {
    if (this.#records.has(key)) return false;
    this.put(key, record);
    return true;
  }

  remove(key) {
    this.#records.delete(key);
  }
}

/** A file for each record. Keys come from clients, so a file is named by its key's hash. */
class FolderTable {
  #folder;
  /** What `values` has read, by file. Only tables whose records never change are asked for all of them. */
  #known = new Map();

  constructor(folder) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  get(key) {
    return read(this.#path(key));
  }

  values() {
    const names = readdirSync(this.#folder).filter((name) => name.endsWith('.json'));
    this.#known = new Map(names.map((name) => [name, this.#known.get(name) ?? read(join(this.#folder, name))]));
    return [...this.#known.values()].filter((record) => record !== undefined);
  }

  put(key, record) {
    renameSync(this.#draft(key, record), this.#path(key));
  }

  /** @returns {boolean} whether this was the first of its key */
  add(key, record) {
    const draft = this.#draft(key, record);
    try {
      flush(draft);
      linkSync(draft, this.#path(key)); // fails if the name is taken; if not, the record is there as a whole
      flush(this.#folder);
      return true;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      return false;
    } finally {
      rmSync(draft);
    }
  }

  remove(key) {
    rmSync(this.#path(key), { force: true });
  }

  #path(key) {
    return join(this.#folder, `${createHash('sha256').update(key).digest('hex')}.json`);
  }

  #draft(key, record) {
    const path = join(this.#folder, `${randomUUID()}.draft`);
    writeFileSync(path, JSON.stringify({ ...record, key }), { flag: 'wx', mode: 0o600 });
    return path;
  }
}

function flush(path) {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

class MemoryLog {
  #entries = [];

  append(entry) {
    this.#entries.push(entry);
  }

  all() {
    return this.#entries;
  }
}

class FileLog {
  #path;

  constructor(path) {
    this.#path = path;
  }

  append(entry) {
    appendFileSync(this.#path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
  }

  all() {
    if (!existsSync(this.#path)) return [];
    return readFileSync(this.#path, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }
}
