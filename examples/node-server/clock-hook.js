/**
 * A clock that a test can stop, to check the rules about time if nothing else can move it. Never
 * switch it on in production: whoever can set the time can use an expired approval.
 */
import { bodyOf } from './doors.js';

export class HookedClock {
  /** @type {number | null} */
  #stoppedAt = null;

  /** @returns {number} milliseconds */
  now = () => this.#stoppedAt ?? Date.now();

  /** @type {import('node:http').RequestListener} */
  serve = async (request, response) => {
    try {
      const { now } = JSON.parse(String(await bodyOf(request)));
      const instant = now === null ? null : Date.parse(now);
      if (Number.isNaN(instant)) throw new Error(`now: got ${JSON.stringify(now)}, expected a time or null`);
      this.#stoppedAt = instant;
      response.writeHead(204).end();
    } catch (error) {
      response.writeHead(400).end(`${error.message}\n`);
    }
  };
}
