// What the steps of a conversation show: labels, which the suite has found out when it recorded them,
// and parts, which are taken apart when somebody looks. Knows JSON-RPC, and no family by name.
"use strict";

// ---- the parts of a step. A family may have a script of its own (families/<family>/decoding.js):
//   explainers.<family> = { exchange(method, request, answer) -> parts, ceremony(response) -> parts }
// where a part is { title, side: "sent" | "received", rows: () => [[name, value], ...] }.

const explainers = {};
const LONGEST_LABEL = 140;

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

function base64url(encoded) {
  if (typeof encoded !== "string" || !/^[\w-]*$/.test(encoded)) throw new Error("no base64url");
  return Uint8Array.from(atob(encoded.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
}

// RFC 8949, as far as authenticators use it. Gives the item, and the place after it.
function cbor(data, at, depth = 0) {
  if (at >= data.length || depth > 8) throw new Error("CBOR ends early, or goes too deep");
  const major = data[at] >> 5;
  let value = data[at] & 31;
  at += 1;
  if (major === 7) return [{ 20: false, 21: true, 22: null }[value], at];
  if (value >= 24) {
    if (value > 27) throw new Error("CBOR of indefinite length");
    const width = 1 << (value - 24);
    value = data.slice(at, at + width).reduce((sum, byte) => sum * 256 + byte, 0);
    at += width;
  }
  if (major === 0) return [value, at];
  if (major === 1) return [-1 - value, at];
  if (major === 6) return cbor(data, at, depth + 1);
  if (value > data.length - at) throw new Error("CBOR goes beyond the data");
  if (major < 4) {
    const bytes = data.slice(at, at + value);
    return [major === 2 ? bytes : new TextDecoder().decode(bytes), at + value];
  }
  const items = major === 4 ? [] : new Map();
  for (let count = 0; count < value; count += 1) {
    let key, item;
    if (major === 5) [key, at] = cbor(data, at, depth + 1);
    [item, at] = cbor(data, at, depth + 1);
    if (major === 5) items.set(key, item); else items.push(item);
  }
  return [items, at];
}

function messageIn(body) {
  if (!body?.text || body.more) return undefined;
  try {
    return JSON.parse(body.text);
  } catch {
    // An event stream: the answer is its last message.
    let found;
    for (const line of body.text.split(/\r\n|\n|\r/)) {
      try { if (line.startsWith("data:")) found = JSON.parse(line.slice(5)); } catch { continue; }
    }
    return found;
  }
}

const short = (text) => (text.length <= LONGEST_LABEL ? text : `${text.slice(0, LONGEST_LABEL)}…`);

function move(details) {
  const seconds = (Date.parse(details.instant) - Date.parse(details.before)) / 1000;
  if (!Number.isFinite(seconds)) return `stopped at ${details.instant}`;
  return `${seconds < 0 ? "" : "+"}${Math.round(seconds).toLocaleString("en")} s: ${details.instant.slice(11, 19)}`;
}

function explain(step, family) {
  const own = Object.hasOwn(explainers, family) ? explainers[family] : undefined;
  const attempt = (act) => { try { return act(); } catch { return undefined; } };
  if (step.kind === "clock") return { ask: move(step.details) };
  if (step.kind === "effects") return { ask: short(step.asked ?? `${step.what}: ${step.details.said ?? ""}`) };
  if (step.kind === "page") return { ask: short(step.what) };
  if (step.kind === "authenticator") {
    const faults = [step.details.faults ?? []].flat();
    const answer = [step.what, ...faults.map((fault) => `fault ${fault}`)].join(", ");
    const parts = attempt(() => own?.ceremony(step.details.response));
    return { ask: step.what === "registered" ? "create a credential" : "sign", answer: short(answer), tone: faults.length ? "fault" : "plain", parts };
  }
  const answered = ["a result", "an error"].includes(step.outcome);
  const name = step.method || (step.kind === "overheard" ? "a message of its own accord" : `${step.sent.bytes} bytes`);
  return {
    ask: short(step.asked || name),
    answer: short(step.answered ?? step.outcome ?? ""),
    tone: answered ? (step.refused ? "error" : "result") : ["accepted", undefined].includes(step.outcome) ? "plain" : "none",
    parts: attempt(() => own?.exchange(step.method, messageIn(step.sent), messageIn(step.received))),
  };
}
