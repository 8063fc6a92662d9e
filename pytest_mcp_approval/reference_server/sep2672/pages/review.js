// The approval surface: displayText as it came, then the person, then the passkey. No passkey is
// asked before Approve is pressed (SEP-2672 section 4.9).

import { Declined } from "./ceremony.js";
import { announce, byId, showTime } from "./dom.js";

/** Characters that cannot be seen, or that move others: mentioned beside the text, which stays unchanged. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Shows a challenge; returns what `sign(signal)` returned, or throws its error, or `Declined`. */
export function review(tool, envelope, sign) {
  const dialog = byId("review");
  const text = byId("display-text");
  text.textContent = envelope.displayText; // verbatim, and never as markup
  byId("review-tool").textContent = tool.name;
  byId("review-length").textContent = lengthOf(envelope.displayText);
  showTime(byId("review-expiry"), envelope.expiresAt);
  showOddities(envelope.displayText);
  showWaiting(false);
  const prompt = new AbortController();
  const ended = new AbortController();

  return new Promise((resolve, reject) => {
    let isWaiting = false;
    function end(settle, value) {
      ended.abort();
      dialog.close();
      text.textContent = "";
      settle(value);
    }
    const leave = () => (isWaiting ? prompt.abort() : end(reject, new Declined()));
    async function approve() {
      if (isWaiting) return;
      isWaiting = true;
      showWaiting(true);
      try {
        end(resolve, await sign(prompt.signal));
      } catch (error) {
        end(reject, error);
      }
    }
    const whileOpen = { signal: ended.signal };
    byId("approve").addEventListener("click", approve, whileOpen);
    byId("decline").addEventListener("click", leave, whileOpen);
    byId("review-cancel").addEventListener("click", leave, whileOpen);
    dialog.addEventListener("cancel", (event) => { event.preventDefault(); leave(); }, whileOpen);
    dialog.showModal();
    text.scrollTop = 0;
    text.focus(); // not a button: whoever keeps Enter pressed must not approve
  });
}

function showWaiting(isWaiting) {
  byId("review-actions").hidden = isWaiting;
  byId("review-wait").hidden = !isWaiting;
  if (isWaiting) {
    byId("review-cancel").focus();
    announce("Waiting for your passkey.");
  }
}

function showOddities(text) {
  const found = new Map();
  for (const [character] of text.matchAll(UNSEEN)) {
    if (character === "\n" || character === "\t") continue;
    const name = `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  const place = byId("review-oddities");
  place.hidden = !found.size;
  const named = [...found].slice(0, 8).map(([name, count]) => (count > 1 ? `${name} × ${count}` : name)).join(", ");
  place.textContent = `Read with care: the text has characters that cannot be seen or that move others (${named}${found.size > 8 ? ", …" : ""}).`;
}

function lengthOf(text) {
  const characters = [...text].length;
  const lines = text.split("\n").length;
  return `${characters.toLocaleString()} ${characters === 1 ? "character" : "characters"}${lines > 1 ? ` on ${lines.toLocaleString()} lines` : ""}`;
}
