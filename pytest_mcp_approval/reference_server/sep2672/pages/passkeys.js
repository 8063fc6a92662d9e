// The part of the page where passkeys are enrolled and listed.

import { enrol } from "./ceremony.js";
import { announce, byId, make, showTime } from "./dom.js";
import { clearOutcome, showOutcome } from "./outcome.js";
import { explain } from "./reasons.js";

const known = new Map(); // by id: what the server lists, and what was enrolled from here

export function startPasskeys(connection) {
  const button = byId("enrol");
  button.disabled = false;
  button.addEventListener("click", () => enrolOne(connection));
  return refresh();
}

async function enrolOne(connection) {
  const button = byId("enrol");
  const wait = byId("enrolment-wait");
  const place = byId("enrolment-outcome");
  const cancel = byId("enrolment-cancel");
  const prompt = new AbortController();
  const leave = () => prompt.abort();
  clearOutcome(place);
  button.disabled = true;
  cancel.addEventListener("click", leave);
  const waiting = () => {
    wait.hidden = false;
    cancel.focus();
    announce("Waiting for your passkey.");
  };
  let outcome;
  try {
    const done = await enrol(connection, { signal: prompt.signal, waiting });
    known.set(String(done?.credentialId), { credentialId: String(done?.credentialId), createdAt: done?.createdAt });
    await refresh();
    outcome = { kind: "enrolled", title: "Passkey enrolled", text: "You can approve calls with it now." };
  } catch (error) {
    outcome = explain(error, "create");
  }
  cancel.removeEventListener("click", leave);
  wait.hidden = true;
  button.disabled = false;
  showOutcome(place, outcome);
}

/** What the server has; if it does not say, what was enrolled from this page. */
async function refresh() {
  try {
    const response = await fetch("/passkeys", { credentials: "omit", signal: AbortSignal.timeout(10_000) });
    if (response.ok) {
      known.clear();
      for (const one of await response.json()) known.set(one.credentialId, one);
    }
  } catch {
    // The server is gone: the next request to it will say so.
  }
  show();
}

function show() {
  const list = byId("passkeys");
  list.hidden = !known.size;
  list.replaceChildren(...[...known.values()].map(entry));
  const count = known.size === 1 ? "One passkey is" : `${known.size} passkeys are`;
  byId("passkeys-state").textContent = known.size ? `${count} enrolled.` : "No passkey is enrolled yet. You need one to approve calls.";
}

function entry({ credentialId, createdAt, transports }) {
  const when = make("time");
  showTime(when, createdAt);
  const ways = Array.isArray(transports) && transports.length ? transports.join(", ") : "transports unknown";
  return make("li", {},
    make("code", { title: credentialId }, credentialId.length > 16 ? `${credentialId.slice(0, 12)}…` : credentialId),
    make("span", { class: "soft" }, ways),
    make("span", { class: "soft" }, "since ", when));
}
