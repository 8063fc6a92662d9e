/**
 * What the SDK's helpers leave open, closed: one yes runs one call, once.
 *
 * `inputRequired` and `acceptedContent` carry a question and its answer. That an answer belongs to a question
 * that was asked, of this caller, about this call, not long ago and not used before is up to the server. Copy
 * this file; `server.js` shows its use.
 */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { closeSync, existsSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  CLIENT_CAPABILITIES_META_KEY,
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const KEY = 'approval';
const Confirmation = z.object({ confirm: z.boolean() });

export class Approvals {
  #answered;
  #codec;

  /** @param {string} folder which questions were answered, and the key of the seal; replicas share it */
  constructor(folder) {
    this.#answered = join(folder, 'answered');
    mkdirSync(this.#answered, { recursive: true });
    this.#codec = createRequestStateCodec({
      key: keptKey(join(folder, 'key')),
      ttlSeconds: 600,
      // Only the caller who was asked can answer.
      bind: (ctx) => ctx.http?.authInfo?.clientId ?? '',
    });
  }

  /**
   * For `requestState.verify` of the server. The codec also takes a seal with padding or a blank behind it.
   *
   * @param {string} state
   * @param {import('@modelcontextprotocol/server').ServerContext} ctx
   */
  verify = (state, ctx) => {
    const seal = state.slice(state.lastIndexOf('.') + 1);
    if (Buffer.from(seal, 'base64url').toString('base64url') !== seal) throw new Error('malformed');
    return this.#codec.verify(state, ctx);
  };

  /**
   * Ask, or act if this very call was approved, for the first time.
   *
   * @param {import('@modelcontextprotocol/server').ServerContext} ctx
   * @param {{tool: string, arguments: object}} call
   * @param {string} message what a person reads: everything that is about to happen
   * @param {() => object} act
   */
  async once(ctx, call, message, act) {
    const bound = createHash('sha256').update(JSON.stringify(call)).digest('hex');
    const state = ctx.mcpReq.requestState(); // checked by the codec before we get here
    const given = inputResponse(ctx.mcpReq.inputResponses, KEY);
    // Without a state of ours nobody was asked, whatever the answer says. A client that cannot ask is asked as
    // well: the SDK then refuses, with the error that says why.
    if (state === undefined || given.kind === 'missing' || !canAsk(ctx)) {
      return inputRequired({
        inputRequests: { [KEY]: inputRequired.elicit({ message, requestedSchema: Confirmation }) },
        requestState: await this.#codec.mint({ id: randomUUID(), bound }, ctx),
      });
    }
    if (state.bound !== bound) return refused('it was another call that was approved');
    // A question is over with its first answer, whatever that is.
    if (!this.#isFirst(state.id)) return refused('this question has been answered before');
    // Strict: nothing that was not asked for is taken.
    const answer = acceptedContent(ctx.mcpReq.inputResponses, KEY, Confirmation.strict());
    if (answer?.confirm !== true) return refused('it was not confirmed');
    return act();
  }

  /** A file of one name can be created only once, also by two processes at the same moment. */
  #isFirst(id) {
    try {
      closeSync(openSync(join(this.#answered, id), 'wx'));
      return true;
    } catch (error) {
      if (error.code === 'EEXIST') return false;
      throw error;
    }
  }
}

/** What a client can do is what this very request declares; `elicitation: {}` means forms. */
function canAsk(ctx) {
  if (ctx.mcpReq.envelope === undefined) return true; // handshake era: it was asked inside this very call
  const declared = ctx.mcpReq.envelope[CLIENT_CAPABILITIES_META_KEY]?.elicitation;
  return declared !== undefined && (declared.form !== undefined || declared.url === undefined);
}

/** The key outlives the process, or an approval would end with it. */
function keptKey(path) {
  if (!existsSync(path)) {
    const draft = `${path}.${randomUUID()}`;
    writeFileSync(draft, randomBytes(32), { mode: 0o600 });
    try {
      linkSync(draft, path); // fails if another process was quicker
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    } finally {
      rmSync(draft);
    }
  }
  return readFileSync(path);
}

/** Values as people can read them: what could rewrite a sentence is written out. */
export function shown(value) {
  return JSON.stringify(value).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0).toString(16)}}`);
}

function refused(why) {
  return { isError: true, content: [{ type: 'text', text: `Nothing was done: ${why}.` }] };
}
