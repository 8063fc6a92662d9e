// The part of the page where a tool is chosen, its arguments are given, and the call is asked for.

import { callTool } from "./ceremony.js";
import { announce, byId, make } from "./dom.js";
import { argumentsForm } from "./form.js";
import { clearOutcome, showOutcome } from "./outcome.js";
import { explain } from "./reasons.js";
import { review } from "./review.js";

const MANY = 12; // tools: from here on they can be searched
const CLASS_WORDS = { "cross-platform": "a passkey usable from another device", platform: "any of your passkeys" };

export function showTools(connection, tools) {
  const groups = [
    ["Need your approval", tools.filter((tool) => tool.approval)],
    ["Called at once", tools.filter((tool) => !tool.approval)],
  ].filter(([, members]) => members.length);
  const parts = groups.map(([title, members], index) => {
    const id = `tool-group-${index}`;
    return make("div", {}, make("h3", { id }, `${title} (${members.length})`), make("ul", { class: "tools", "aria-labelledby": id }, ...members.map((tool) => entry(connection, tool))));
  });
  const list = make("div", { class: "tool-list" }, ...(parts.length ? parts : [make("p", { class: "soft" }, "The server lists no tools.")]));
  byId("tools").replaceChildren(...(tools.length > MANY ? [search(list)] : []), list);
  const first = groups[0]?.[1][0];
  if (first) choose(connection, first);
}

function search(list) {
  const control = make("input", { id: "find-tool", type: "text", autocomplete: "off", spellcheck: "false" });
  control.addEventListener("input", () => {
    const wanted = control.value.trim().toLowerCase();
    for (const one of list.querySelectorAll("li")) one.hidden = !one.textContent.toLowerCase().includes(wanted);
  });
  return make("div", { class: "field" }, make("label", { for: "find-tool" }, "Find a tool"), control);
}

function entry(connection, tool) {
  const button = make("button", { type: "button", class: "tool", "data-tool": tool.name, "aria-pressed": "false" },
    make("span", { class: "tool-title" }, tool.title), " ", make("code", {}, tool.name));
  button.addEventListener("click", () => {
    choose(connection, tool);
    byId("call-title").focus();
  });
  return make("li", { class: tool.approval ? "gated" : "" }, button,
    make("p", { class: "small soft" }, tool.description),
    tool.approval && make("p", { class: "badges" }, badge(tool)));
}

function badge({ approval }) {
  const name = approval.isGiven ? approval.class : `${approval.class}, by default`;
  return make("span", { class: "badge", title: `The class is ${name}: ${CLASS_WORDS[approval.class]}` }, `approval · ${name}`);
}

function choose(connection, tool) {
  for (const one of document.querySelectorAll("button.tool")) one.setAttribute("aria-pressed", String(one.dataset.tool === tool.name));
  byId("call-title").textContent = tool.title;
  clearOutcome(byId("call-outcome"));
  const form = argumentsForm(tool.schema);
  const submit = make("button", { type: "submit" }, tool.approval ? "Ask for approval" : "Call");
  const state = make("p", { class: "soft", id: "call-state", hidden: true });
  const lead = tool.approval
    ? `Runs only after you have approved this one call with ${CLASS_WORDS[tool.approval.class]}.`
    : "Runs at once: the server asks for no approval.";
  const element = make("form", { novalidate: true, "aria-labelledby": "call-title" },
    make("p", { class: "soft" }, make("code", {}, tool.name), " ", lead), form.element, make("div", { class: "actions" }, submit, state));
  let busy = false;
  async function ask() {
    const given = busy ? undefined : form.read();
    if (given === undefined) return;
    busy = true;
    submit.disabled = true;
    clearOutcome(byId("call-outcome"));
    const tell = (text) => { state.hidden = !text; state.textContent = text; if (text) announce(text); };
    tell(tool.approval ? "Asking the server for a challenge …" : "");
    const outcome = await outcomeOf(connection, tool, given, tell);
    tell("");
    busy = false;
    submit.disabled = false;
    const isDone = outcome.kind === "executed" || outcome.kind === "tool-error";
    if (element.isConnected) showOutcome(byId("call-outcome"), outcome, isDone ? undefined : { label: "Ask again", act: ask });
  }
  element.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  byId("call").replaceChildren(element);
}

async function outcomeOf(connection, tool, given, tell) {
  try {
    const result = await callTool(connection, tool, given, {
      review: (envelope, sign) => { tell(""); return review(tool, envelope, sign); },
      calling: () => tell(`Calling ${tool.name} …`),
    });
    if (result?.isError === true) return { kind: "tool-error", title: "The tool reports an error", text: "The call was allowed; the error is the tool's own.", value: result };
    const text = tool.approval ? "Your approval was accepted, once, and the tool has run." : "The tool has run.";
    return { kind: "executed", title: "Done", text, value: result };
  } catch (error) {
    return explain(error, "get");
  }
}
