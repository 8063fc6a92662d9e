// Shows an outcome at its place on the page. It takes the focus, so that nobody misses it.

import { announce, make } from "./dom.js";

const MARKS = { executed: "✓", enrolled: "✓", "tool-error": "!", refused: "✕", declined: "–", failed: "!" };

/** `outcome` is {kind, title, text, code?, said?, reason?, value?}; `again` is what the button for another try does. */
export function showOutcome(place, outcome, again) {
  place.dataset.outcome = outcome.kind;
  place.dataset.reason = outcome.reason ?? "";
  const title = make("h3", { tabindex: "-1" }, make("span", { class: "mark", "aria-hidden": "true" }, MARKS[outcome.kind]), outcome.title);
  const parts = [title, make("p", { class: "outcome-text" }, outcome.text)];
  if (outcome.value !== undefined) parts.push(...valueParts(outcome.value));
  if (outcome.said) parts.push(make("p", { class: "small" }, outcome.kind === "refused" ? "The server's words: " : "Detail: ", make("q", { dir: "auto", class: "said" }, outcome.said)));
  if (outcome.code) parts.push(make("p", { class: "small" }, "Code: ", make("code", { class: "code" }, outcome.code)));
  if (again) {
    const button = make("button", { type: "button", class: "quiet" }, again.label);
    button.addEventListener("click", again.act);
    parts.push(make("div", { class: "actions" }, button));
  }
  place.replaceChildren(...parts);
  place.hidden = false;
  title.focus();
  announce(`${outcome.title}. ${outcome.text}`);
}

export function clearOutcome(place) {
  place.hidden = true;
  place.replaceChildren();
  delete place.dataset.outcome;
  delete place.dataset.reason;
}

/** The result of a tool: its texts, then what is structured. */
function valueParts(result) {
  const parts = [];
  const texts = (Array.isArray(result?.content) ? result.content : []).map((one) => (one?.type === "text" && typeof one.text === "string" ? one.text : pretty(one)));
  const structured = result?.structuredContent;
  const repeated = structured !== undefined && texts.length === 1 && same(texts[0], structured);
  if (!repeated) for (const text of texts) parts.push(block("What the tool says", text));
  if (structured !== undefined) parts.push(block("Result", pretty(structured)));
  if (!parts.length) parts.push(make("p", { class: "soft" }, "The tool said nothing."));
  return parts;
}

function block(label, text) {
  return make("pre", { class: "result", dir: "auto", tabindex: "0", role: "region", "aria-label": label }, text);
}

function same(text, value) {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
  } catch {
    return false;
  }
}

function pretty(value) {
  return JSON.stringify(value, null, 2) ?? "";
}
