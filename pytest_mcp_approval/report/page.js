// What the page does beyond showing: filters, and conversations, which are unpacked when looked at.
// Everything from a target goes through `textContent`, never through markup.
"use strict";

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

// ---- packed data

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

const blocks = new Map();
function block(name) {
  if (!blocks.has(name)) blocks.set(name, unpack($(`#packed-${name}`).textContent));
  return blocks.get(name);
}

// ---- characters that do not show, or show somewhere else

const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff]/;

function visible(text) {
  const parts = document.createDocumentFragment();
  let plain = "";
  for (const character of String(text)) {
    const code = character.codePointAt(0);
    const unseen = (character.length === 1 && UNSEEN.test(character)) || (code >= 0xe0000 && code <= 0xe0fff);
    if (!unseen) { plain += character; continue; }
    if (plain) parts.append(plain);
    plain = "";
    const escape = code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, "0")}`;
    parts.append(make("span", { class: "esc" }, escape));
  }
  if (plain) parts.append(plain);
  return parts;
}

// ---- scenarios

const GLYPHS = JSON.parse($("#glyphs").textContent);
const FIRST = 25;
const LONGEST = 4000;

function words(rows) {
  const list = make("dl", { class: "words" });
  for (const [name, value] of rows) list.append(make("dt", {}, name), make("dd", {}, visible(value)));
  return list;
}

function command(text, label) {
  const button = make("button", { type: "button", "aria-label": `Copy: ${label}` }, "copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "selected";
    }
  });
  return make("div", { class: "command" }, make("code", {}, visible(text)), button);
}

// For a reader who has only this page: the finding as a file, and the command for it.
async function saving({ name, finding, command: line }) {
  const head = (await block("index")).finding;
  const button = make("button", { type: "button" }, "save");
  button.addEventListener("click", () => {
    const text = JSON.stringify({ ...head, ...finding, conversation: null }, null, 1);
    const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    button.textContent = "saved";
  });
  button.setAttribute("aria-label", `Save the finding ${name}`);
  const shown = make("div", { class: "command" }, make("code", {}, visible(name)), button);
  return make("details", { class: "elsewhere" },
    make("summary", {}, "On another machine: save this finding, and run it there"),
    shown, command(line, "the command for the saved finding"));
}

// What is being filled in: until it is there, nobody knows where on the page things will be.
const filling = new Map();
function fillRule(rule) {
  const place = $(".scenarios", rule);
  if (place && !filling.has(rule)) filling.set(rule, fillScenarios(place));
  return filling.get(rule);
}

async function fillScenarios(place) {
  place.dataset.filled = "yes";
  const index = await block("index");
  const mine = index.rules[place.dataset.rule].map((number) => [number, index.scenarios[number]]);
  const list = make("div", {});
  let count = 0;
  const button = make("button", { type: "button", class: "more" });
  const show = (upTo) => {
    for (; count < Math.min(upTo, mine.length); count += 1) list.append(scenario(...mine[count]));
    button.hidden = count >= mine.length;
    button.textContent = `Show ${mine.length - count} more`;
    markSought(list);
  };
  button.addEventListener("click", () => show(mine.length));
  place.addEventListener("show-all", () => show(mine.length));
  const title = mine.length === 1 ? "One scenario looked at this rule" : `${mine.length} scenarios looked at this rule`;
  place.append(make("h4", {}, title), list, button);
  show(soughtIn(place).size ? mine.length : FIRST);
  const first = $(".scenario", list);
  if (first && (mine.length === 1 || mine[0][1].verdict !== "passed")) {
    first.open = true;
    await fillScenario(first, mine[0][1]);
  }
}

function scenario(number, data) {
  const slug = data.verdict.replace(" ", "-");
  const title = make("summary", {},
    make("span", { class: "mark", "aria-hidden": "true" }, GLYPHS[data.verdict]),
    make("span", { class: "name" }, visible(data.name), make("span", { class: "unseen" }, ` (${data.verdict})`)),
    make("span", { class: "took" }, `${Math.round(data.seconds * 1000)} ms`));
  const details = make("details", { class: `scenario ${slug}`, id: `scenario-${number}`, "data-number": String(number) }, title);
  details.addEventListener("toggle", () => { if (details.open) fillScenario(details, data); }, { once: false });
  return details;
}

async function fillScenario(details, data) {
  if (details.dataset.filled) return;
  details.dataset.filled = "yes";
  const body = make("div", { class: "body" });
  details.append(body);
  const rows = [];
  if (data.evidence) {
    rows.push(["sent", data.evidence[0]], ["expected", data.evidence[1]], ["got", data.evidence[2]]);
  }
  if (data.why && (!data.evidence || data.verdict === "known")) rows.push(["why", data.why]);
  if (rows.length) body.append(words(rows));
  for (const [kind, name, link] of data.files ?? []) {
    body.append(make("p", { class: "kept" }, `${kind} `, make("a", { href: link }, visible(name))));
  }
  if (data.again) body.append(command(data.again, "the command that runs this again"));
  if (data.saved) body.append(await saving(data.saved));
  if (data.command && data.command !== data.again) body.append(command(data.command, "the whole command"));
  if (data.block !== undefined) {
    const told = (await block(data.block))[data.place];
    body.append(flow(told, data.name, data.family));
  } else {
    const why = data.leftOut ? "What went over the wire is left out, or this page would be too large. Run it again to see it." : "Nothing went over the wire.";
    body.append(make("p", { class: "soft" }, why));
  }
}

// ---- the sequence diagram

const LANES = ["authenticator", "client", "server", "clock"];

function flow(told, name, family) {
  const kinds = new Set(told.steps.map((step) => step.kind));
  const lanes = LANES.filter((lane) => lane === "client" || lane === "server" || kinds.has(lane));
  const list = make("ol", { "aria-label": `Conversation of ${name}` });
  told.steps.forEach((step, number) => {
    if (told.leftOut && number === told.leftOut.after) {
      list.append(make("li", { class: "left-out" }, `… ${told.leftOut.steps} more steps, not kept …`));
    }
    list.append(stepRow(step, number + 1, lanes, family));
  });
  const head = make("div", { class: "lanes", "aria-hidden": "true" }, ...lanes.map((lane) => make("span", {}, lane)));
  head.style.gridTemplateColumns = `repeat(${lanes.length}, 1fr)`;
  return make("div", { class: "flow" }, head, list);
}

function arrow(lanes, from, to, text, kind) {
  const [a, b] = [lanes.indexOf(from), lanes.indexOf(to)];
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  const element = make("div", { class: `arrow ${b > a ? "right" : "left"} ${kind}` },
    make("span", {}, make("span", { class: "unseen" }, `${from} to ${to}: `), visible(text)));
  element.style.gridColumn = `${low + 1} / ${high + 2}`;
  element.style.marginInline = `calc(100% / ${2 * (high - low + 1)})`;
  return element;
}

function stepRow(step, number, lanes, family) {
  const rails = make("div", { class: "rails" });
  rails.style.setProperty("--count", lanes.length);
  rails.style.gridTemplateColumns = `repeat(${lanes.length}, 1fr)`;
  const says = explain(step, family);
  if (step.kind === "exchange") {
    rails.append(arrow(lanes, "client", "server", says.ask, "ask"));
    rails.append(arrow(lanes, "server", "client", says.answer, `answer ${says.tone}`));
  } else if (step.kind === "overheard") {
    rails.append(arrow(lanes, "server", "client", says.ask, "answer plain"));
  } else if (step.kind === "authenticator") {
    rails.append(arrow(lanes, "client", "authenticator", says.ask, "ask"));
    rails.append(arrow(lanes, "authenticator", "client", says.answer, `answer ${says.tone}`));
  } else if (step.kind === "clock") {
    rails.append(arrow(lanes, "clock", "server", says.ask, "clock"));
  } else {
    const note = make("div", { class: "mark-note" }, visible(says.ask));
    note.style.gridColumn = `${lanes.indexOf("server") + 1}`;
    rails.append(note);
  }
  if (step.offending) rails.append(make("div", { class: "verdict-note" }, "not what was expected: this is the finding"));
  const gutter = make("span", { class: "n" }, String(number), make("span", { class: "at" }, make("br"), `${(step.at * 1000).toFixed(0)} ms`));
  const details = make("details", {}, make("summary", {}, gutter, rails));
  details.addEventListener("toggle", () => {
    if (details.open && !details.dataset.filled) {
      details.dataset.filled = "yes";
      details.append(detail(step, says, number));
    }
  });
  return make("li", { class: step.offending ? "step offending" : "step" }, details);
}

function detail(step, says, number) {
  const sides = { sent: make("div", {}), received: make("div", {}) };
  for (const part of says.parts ?? []) {
    const table = make("table", { class: "part" }, make("caption", {}, part.title));
    const body = make("tbody", {});
    for (const [name, value] of rowsOf(part)) {
      body.append(make("tr", {}, make("th", { scope: "row" }, visible(name)), make("td", {}, visible(cut(value)))));
    }
    table.append(body);
    sides[part.side].append(table);
  }
  if (step.sent) {
    raw(sides.sent, "Sent", step.sent, step.requestHeaders, number);
    const status = step.status === undefined ? "" : `, HTTP ${step.status}`;
    const took = ` after ${(step.seconds * 1000).toFixed(1)} ms${status}`;
    raw(sides.received, "Received", step.received, step.responseHeaders, number, took);
    if (step.detail) sides.received.append(make("p", { class: "soft" }, visible(step.detail)));
  }
  if (step.details) {
    const shown = Object.entries(step.details).filter(([name]) => name !== "response");
    sides.sent.prepend(words(shown.map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)])));
    if (step.details.response) {
      exact(sides.received, "Given to the client", JSON.stringify(step.details.response), number);
    }
  }
  return make("div", { class: "detail" }, make("div", { class: "sides" }, sides.sent, sides.received));
}

function exact(place, title, text, number) {
  place.append(make("h5", {}, title));
  place.append(make("pre", { class: "raw", tabindex: "0", role: "region", "aria-label": `${title}, step ${number}` }, visible(text)));
}

function raw(place, title, body, headers, number, after = "") {
  if (!body.bytes && !headers) {
    if (title === "Received") place.append(make("h5", {}, `Nothing received${after}`));
    return;
  }
  const text = body.text ?? hexDump(body.base64 ?? "");
  const digest = body.sha256 ? `\nSHA-256 of all: ${body.sha256}` : "";
  const more = body.more ? `\n… ${body.more.toLocaleString("en")} more bytes${digest}` : "";
  const lead = (headers ?? []).map(([name, value]) => `${name}: ${value}`).join("\n");
  exact(place, `${title}: ${body.bytes.toLocaleString("en")} bytes${after}`, (lead ? `${lead}\n\n` : "") + text + more, number);
}

function rowsOf(part) {
  try {
    return part.rows();
  } catch (problem) {
    return [["not readable", String(problem?.message ?? problem)]];
  }
}

function cut(value) {
  const text = String(value);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}… ${text.length - LONGEST} more characters`;
}

function hexDump(packed) {
  const data = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const lines = [];
  for (let at = 0; at < data.length; at += 16) {
    const row = [...data.slice(at, at + 16)];
    const hex = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const letters = row.map((byte) => (byte > 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex}  ${letters}`);
  }
  return lines.join("\n");
}

// ---- filters

const rules = $$(".rule");
// Names of checks are packed: they are unpacked when somebody looks for something.
const names = new Map();
let sought = [];

async function loadNames() {
  const index = await block("index");
  for (const rule of rules) {
    const numbers = index.rules[$(".scenarios", rule).dataset.rule];
    names.set(rule, numbers.map((number) => [number, readable(index.scenarios[number].name)]));
  }
  applyFilters();
}

// As in the id, and with blanks, so that words are found either way.
function readable(name) {
  return `${name} ${name.replaceAll("_", " ")}`.toLowerCase();
}

// The checks of a rule that have all these words in their names; none if nothing is looked for.
function soughtIn(place) {
  const known = sought.length ? names.get(place.closest(".rule")) ?? [] : [];
  return new Set(known.filter(([, name]) => sought.every((word) => name.includes(word))).map(([number]) => number));
}

function markSought(list) {
  const found = soughtIn(list);
  for (const one of $$(".scenario", list)) one.classList.toggle("sought", found.has(Number(one.dataset.number)));
}

const cells = new Map($$(".cell").map((cell) => [cell.getAttribute("href").slice(1), cell]));

function applyFilters() {
  const chosen = new Set($$(".chips input:checked").map((input) => input.value));
  const level = $("#level").value;
  sought = $("#sought").value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (sought.length && !names.size) loadNames();
  let shown = 0;
  let checks = 0;
  for (const rule of rules) {
    const data = rule.dataset;
    const named = soughtIn($(".scenarios", rule));
    const fits = (!chosen.size || chosen.has(data.verdict)) && (!level || data.level === level)
      && (named.size > 0 || sought.every((word) => data.text.includes(word)));
    checks += fits ? named.size : 0;
    const list = $(".scenarios > div", rule);
    if (list && named.size) $(".scenarios", rule).dispatchEvent(new Event("show-all"));
    if (list) markSought(list);
    rule.hidden = !fits;
    cells.get(rule.id)?.classList.toggle("dim", !fits);
    shown += fits ? 1 : 0;
  }
  for (const family of $$(".family")) family.hidden = !$(".rule:not([hidden])", family);
  const told = shown === rules.length ? `All ${shown} rules shown` : `${shown} of ${rules.length} rules shown`;
  $("#shown").textContent = checks ? `${told}; ${checks} ${checks === 1 ? "check is" : "checks are"} named so` : told;
}

async function openNamed() {
  const rule = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!rule?.matches(".rule")) return;
  if (rule.hidden) { $("#filters").reset(); applyFilters(); }
  rule.open = true;
  fillRule(rule);
  $("summary", rule).focus({ preventScroll: true });
  rule.scrollIntoView({ behavior: "instant" });
  // Rules above it may still grow.
  await Promise.allSettled([...filling.values()]);
  rule.scrollIntoView({ behavior: "instant" });
}

for (const rule of rules) {
  rule.addEventListener("toggle", () => { if (rule.open) fillRule(rule); });
  if (rule.open) fillRule(rule);
}
$("#filters").hidden = false;
$("#filters").addEventListener("input", applyFilters);
$("#filters").addEventListener("submit", (event) => event.preventDefault());
$("#filters").addEventListener("reset", () => setTimeout(applyFilters));
addEventListener("hashchange", openNamed);
// A link to the rule that is named already changes no hash.
for (const cell of cells.values()) cell.addEventListener("click", () => setTimeout(openNamed));
addEventListener("beforeprint", () => {
  for (const rule of rules) if (!["passed", "not applicable"].includes(rule.dataset.verdict)) rule.open = true;
});
applyFilters();
openNamed().finally(() => { document.documentElement.dataset.ready = "yes"; });
