// The start: connect, list, and hand over to the parts of the page. `?protocol=2025-11-25` speaks
// that revision of MCP instead of the newest that the server has.

import { showTools } from "./calling.js";
import { announce, byId, make } from "./dom.js";
import { Connection } from "./mcp.js";
import { startPasskeys } from "./passkeys.js";
import { explain } from "./reasons.js";
import { inconsistencies, listTools } from "./tools.js";

const root = document.documentElement;
const protocol = new URLSearchParams(location.search).get("protocol") ?? undefined;

async function start() {
  byId("notices").replaceChildren();
  const state = byId("connection");
  state.textContent = "Connecting to the server …";
  const connection = new Connection(root.dataset.endpoint, protocol);
  try {
    const terms = await connection.open();
    const tools = await listTools(connection);
    const { name = "a server", version = "" } = terms.server;
    state.textContent = `Connected to ${name} ${version} · MCP ${terms.revision}`;
    for (const problem of inconsistencies(terms.capabilities, tools)) {
      console.warn(problem);
      notice(problem);
    }
    showTools(connection, tools);
    await startPasskeys(connection);
    root.dataset.ready = "connected";
  } catch (error) {
    const { title, text, code } = explain(error, "get");
    state.textContent = "Not connected";
    const button = make("button", { type: "button", class: "quiet" }, "Connect again");
    button.addEventListener("click", start);
    notice(`${title}. ${text} `, make("span", { class: "small" }, `Code: ${code}`), button);
    announce(`${title}. ${text}`);
    root.dataset.ready = "failed";
  }
}

function notice(...parts) {
  byId("notices").append(make("div", { class: "notice" }, ...parts));
}

start();
