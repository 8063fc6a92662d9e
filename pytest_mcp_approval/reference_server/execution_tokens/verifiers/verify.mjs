#!/usr/bin/env node
// Verifies an execution token (ADR-006) on the command line, in Node without dependencies.
//
//   verify.mjs --token FILE --content FILE --nonce-log FOLDER --action TYPE [--host URL] [-- COMMAND]
//
// The secret is in EXECUTION_TOKEN_SECRET. One line of JSON on standard output, and an exit code:
// 0 accepted (and the nonce spent), 1 refused, 2 not started. A COMMAND gets the very bytes that
// were hashed on standard input, and its output goes to standard error. `-` for a file is
// standard input.
import { spawnSync } from "node:child_process";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";

class NotStarted extends Error {}
class Refusal extends Error {
  constructor(reason, message) {
    super(message);
    this.reason = reason;
  }
}

// ---- the secret

function readSecret(environment) {
  const name = "EXECUTION_TOKEN_SECRET";
  const text = environment[name];
  if (text === undefined) throw new NotStarted(`${name}: got none, expected a secret of your own`);
  if (text.trim() === "") throw new NotStarted(`${name}: got an empty one, expected a secret of your own`);
  if (text.trim() === "CHANGE-ME-IN-PRODUCTION") {
    throw new NotStarted(`${name}: got CHANGE-ME-IN-PRODUCTION, expected a secret of your own`);
  }
  const secret = Buffer.from(text, "utf8");
  if (secret.length < 16) throw new NotStarted(`${name}: got ${secret.length} bytes, expected at least 16`);
  return secret;
}

// ---- JSON, read so that it can have only one meaning, and kept as Python's json would write it:
// JSON.parse would not tell 1 from 1.0, and would accept a repeated member.

const MAXIMUM_BYTES = 1_000_000;
const MAXIMUM_DEPTH = 32;
const NUMBER = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const SHORT = new Map([["\b", "\\b"], ["\t", "\\t"], ["\n", "\\n"], ["\f", "\\f"], ["\r", "\\r"], ['"', '\\"'], ["\\", "\\\\"]]);

function malformed(message) {
  return new Refusal("malformed", `token: ${message}`);
}

/** A text in ASCII, as Python's json writes it. */
function writtenText(text) {
  let out = '"';
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (SHORT.has(text[i])) out += SHORT.get(text[i]);
    else if (unit >= 0x20 && unit < 0x7f) out += text[i];
    else out += `\\u${unit.toString(16).padStart(4, "0")}`;
  }
  return `${out}"`;
}

/** A number that is no integer, as Python's repr has it. */
function writtenFloat(literal) {
  const value = Number(literal);
  if (!Number.isFinite(value)) throw malformed("got a number beyond a double's range");
  if (value === 0) return literal.startsWith("-") ? "-0.0" : "0.0";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const sign = value < 0 ? "-" : "";
  const digits = mantissa.replace(".", "");
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const shown = digits.length > 1 ? `${digits[0]}.${digits.slice(1)}` : digits;
    return `${sign}${shown}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return `${sign}${digits.padEnd(exponent + 1, "0")}.0`;
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

/** Keys in the order of their code points, which is not that of JavaScript's strings. */
function byCodePoint(left, right) {
  const a = Array.from(left, (one) => one.codePointAt(0));
  const b = Array.from(right, (one) => one.codePointAt(0));
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/** A JSON text as nested {kind, value, written}. */
class Reader {
  constructor(bytes) {
    if (bytes.length > MAXIMUM_BYTES) throw malformed(`got more than ${MAXIMUM_BYTES} bytes`);
    try {
      this.text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw malformed("got bytes that are no UTF-8");
    }
    this.position = 0;
  }

  whole() {
    const found = this.value(0);
    if (this.position !== this.text.length) throw malformed("no JSON: something after its end");
    return found;
  }

  space() {
    while (" \t\n\r".includes(this.text[this.position] ?? "x")) this.position++;
  }

  value(depth) {
    this.space();
    const found = this.bareValue(depth);
    this.space();
    return found;
  }

  bareValue(depth) {
    const character = this.text[this.position];
    if (character === "{") return this.object(depth + 1);
    if (character === "[") return this.array(depth + 1);
    if (character === '"') {
      const value = this.string();
      return { kind: "text", value, written: writtenText(value) };
    }
    for (const word of ["true", "false", "null"]) {
      if (this.text.startsWith(word, this.position)) {
        this.position += word.length;
        return { kind: word, written: word };
      }
    }
    return this.number();
  }

  number() {
    NUMBER.lastIndex = this.position;
    const found = NUMBER.exec(this.text);
    if (!found) throw malformed("no JSON: a value that is none");
    const [literal, , fraction, exponent] = found;
    if (literal.length > 400) throw malformed("got a number beyond a double's range");
    this.position += literal.length;
    if (fraction !== undefined || exponent !== undefined) return { kind: "number", written: writtenFloat(literal) };
    return { kind: "number", written: literal === "-0" ? "0" : literal };
  }

  string() {
    if (this.text[this.position] !== '"') throw malformed("no JSON: a text was expected");
    const start = this.position++;
    for (;;) {
      const unit = this.text.charCodeAt(this.position);
      if (Number.isNaN(unit) || unit < 0x20) throw malformed("no JSON: a text without end, or with a control character");
      if (this.text[this.position] === '"') break;
      this.position += this.text[this.position] === "\\" ? 2 : 1;
    }
    try {
      return JSON.parse(this.text.slice(start, ++this.position));
    } catch {
      throw malformed("no JSON: an escape that is none");
    }
  }

  object(depth) {
    if (depth > MAXIMUM_DEPTH) throw malformed(`got nesting beyond ${MAXIMUM_DEPTH}`);
    const members = new Map();
    this.position++;
    this.space();
    if (this.text[this.position] !== "}") {
      for (;;) {
        this.space();
        const name = this.string();
        if (members.has(name)) throw malformed("got a member that stands twice");
        this.space();
        if (this.text[this.position++] !== ":") throw malformed("no JSON: a colon was expected");
        members.set(name, this.value(depth));
        if (this.text[this.position] !== ",") break;
        this.position++;
      }
    }
    if (this.text[this.position++] !== "}") throw malformed("no JSON: a comma or the end of an object was expected");
    const names = [...members.keys()].sort(byCodePoint);
    const written = names.map((name) => `${writtenText(name)}: ${members.get(name).written}`).join(", ");
    return { kind: "object", value: members, written: `{${written}}` };
  }

  array(depth) {
    if (depth > MAXIMUM_DEPTH) throw malformed(`got nesting beyond ${MAXIMUM_DEPTH}`);
    const items = [];
    this.position++;
    this.space();
    if (this.text[this.position] !== "]") {
      for (;;) {
        items.push(this.value(depth));
        if (this.text[this.position] !== ",") break;
        this.position++;
      }
    }
    if (this.text[this.position++] !== "]") throw malformed("no JSON: a comma or the end of a list was expected");
    return { kind: "array", value: items, written: `[${items.map((one) => one.written).join(", ")}]` };
  }
}

// ---- the token's members: checked before they are joined

const UUID = /^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;
const INSTANT = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|\+00:00)$/;

function readToken(bytes) {
  const data = new Reader(bytes).whole();
  if (data.kind !== "object") throw malformed("got no object");
  const text = (object, name, pattern, what) => {
    const found = object.value.get(name);
    if (found?.kind !== "text" || !pattern.test(found.value)) {
      throw new Refusal("malformed", `${name}: got ${found ? "something else" : "none"}, expected ${what}`);
    }
    return found.value;
  };
  const token = {
    id: text(data, "token_id", UUID, "a UUID"),
    nonce: text(data, "nonce", UUID, "a UUID"),
    expiresAt: text(data, "expires_at", INSTANT, "an RFC 3339 instant in UTC"),
    signature: text(data, "signature", /^[0-9a-f]{64}$/, "64 hexadecimal digits"),
  };
  const scope = data.value.get("scope");
  if (scope?.kind !== "object") throw new Refusal("malformed", "scope: got no object");
  const hosts = scope.value.get("allowed_hosts");
  if (hosts?.kind !== "array" || hosts.value.some((one) => one.kind !== "text")) {
    throw new Refusal("malformed", "scope.allowed_hosts: got no list of texts");
  }
  token.scopeJson = scope.written;
  token.action = text(scope, "action_type", /^/, "a text");
  token.contentHash = text(scope, "content_hash", /^(sha256:)?[0-9a-f]{64}$/, "64 hexadecimal digits").replace("sha256:", "");
  token.hosts = hosts.value.map((one) => one.value);
  token.expiry = microseconds(token.expiresAt);
  return token;
}

/** Since 1970; a date that does not exist is refused. */
function microseconds(instant) {
  const [year, month, day, hour, minute, second] = INSTANT.exec(instant).slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const same = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!same || year < 1 || hour > 23 || minute > 59 || second > 59) {
    throw new Refusal("malformed", "expires_at: got a date or time that does not exist");
  }
  const fraction = (INSTANT.exec(instant)[7] ?? "").padEnd(6, "0").slice(0, 6);
  return BigInt(date.getTime()) * 1000n + BigInt(fraction);
}

// ---- hosts: whole, in lower case, without the dot of the root. Letters beyond ASCII are refused:
// such a host is written as xn--...

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function hostName(text) {
  const name = text.replace(/\.$/, "").replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return HOST_NAME.test(name) ? name : null;
}

function hostOf(text) {
  let authority = text;
  if (text.includes("://")) {
    const [scheme, ...rest] = text.split("://");
    if (!/^https?$/i.test(scheme)) throw new Refusal("host_not_allowed", "host: got a URL of another scheme, expected http or https");
    authority = rest.join("://").split(/[/?#]/)[0];
  }
  const found = /^([^:]*)(?::([0-9]{0,5}))?$/.exec(authority);
  if (!found || Number(found[2] ?? 0) > 65535) throw new Refusal("host_not_allowed", "host: got no host, or a port that is no number");
  const name = hostName(found[1]);
  if (name === null) throw new Refusal("host_not_allowed", "host: got no host name");
  return name;
}

// ---- the checks, in order

function verify(token, content, options, secret) {
  const signed = `${token.id}:${token.nonce}:${token.expiresAt}:${token.scopeJson}`;
  const expected = createHmac("sha256", secret).update(signed, "ascii").digest();
  if (!timingSafeEqual(expected, Buffer.from(token.signature, "hex"))) {
    throw new Refusal("bad_signature", "signature: got another one than was expected");
  }
  if (BigInt(Date.now()) * 1000n >= token.expiry) throw new Refusal("expired", `expires_at: ${token.expiresAt} has passed`);
  if (options.action !== token.action) throw new Refusal("action_not_allowed", "action_type: got another one than was approved");
  if (options.host !== undefined) {
    const wanted = hostOf(options.host);
    if (!token.hosts.some((one) => hostName(one) === wanted)) {
      throw new Refusal("host_not_allowed", "host: got one that was not approved");
    }
  } else if (token.hosts.length > 0) { // a token for some hosts is for nothing else
    throw new Refusal("host_not_allowed", "host: got none, expected an approved one");
  }
  const hash = createHash("sha256").update(content).digest();
  if (!timingSafeEqual(hash, Buffer.from(token.contentHash, "hex"))) {
    throw new Refusal("content_mismatch", "content: got other bytes than were approved");
  }
  spend(token.nonce, options["nonce-log"]);
}

/** Last: the file is made only if it is not there, and is on disk before anything runs. */
function spend(nonce, folder) {
  try {
    closeSync(openSync(join(folder, nonce.toLowerCase()), "wx", 0o600));
  } catch (error) {
    if (error.code === "EEXIST") throw new Refusal("nonce_spent", "nonce: it is spent");
    throw new NotStarted("a nonce log that cannot be written");
  }
  const handle = openSync(folder, "r");
  fsyncSync(handle);
  closeSync(handle);
}

// ---- the command line

function parse(given) {
  const cut = given.indexOf("--");
  const command = cut < 0 ? [] : given.slice(cut + 1);
  const words = cut < 0 ? given : given.slice(0, cut);
  const options = {};
  for (let i = 0; i < words.length; i += 2) {
    const name = words[i].replace(/^--/, "");
    if (!["token", "content", "nonce-log", "action", "host"].includes(name)) throw new NotStarted("an unknown option");
    if (words[i + 1] === undefined) throw new NotStarted(`--${name}: got no value`);
    options[name] = words[i + 1];
  }
  for (const name of ["token", "content", "nonce-log", "action"]) {
    if (options[name] === undefined) throw new NotStarted("expected --token, --content, --nonce-log and --action");
  }
  return { options, command };
}

function readBytes(name) {
  try {
    return readFileSync(name === "-" ? 0 : name);
  } catch {
    throw new NotStarted("a file that cannot be read");
  }
}

function main() {
  try {
    const secret = readSecret(process.env);
    const { options, command } = parse(process.argv.slice(2));
    const tokenBytes = readBytes(options.token);
    const content = readBytes(options.content);
    try {
      mkdirSync(options["nonce-log"], { recursive: true });
    } catch {
      throw new NotStarted("a nonce log that cannot be written");
    }
    const token = readToken(tokenBytes);
    verify(token, content, options, secret);
    const answer = { accepted: true, token_id: token.id };
    if (command.length) {
      const done = spawnSync(command[0], command.slice(1), { input: content, stdio: ["pipe", 2, 2] });
      answer.exit_code = done.status ?? 127;
    }
    return say(0, answer);
  } catch (error) {
    if (error instanceof Refusal) return say(1, { accepted: false, reason: error.reason, message: error.message });
    if (error instanceof NotStarted) return say(2, { accepted: false, error: error.message });
    throw error;
  }
}

function say(code, answer) {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
  process.exitCode = code;
}

main();
