// A client in a page: it calls tools, and asks its person where the server wants one asked.
import { Connection, ServerError } from "./connection.js";

const KEY = "io.modelcontextprotocol/verified-approval";
const WORDS = {
  missing_evidence: "The approval did not reach the server.",
  unsupported_method: "The server does not take this kind of approval.",
  challenge_unknown: "The server does not know this approval. Ask again.",
  challenge_consumed: "This approval was used already. Ask again.",
  challenge_expired: "The approval came too late. Ask again.",
  challenge_wrong_tool: "The approval was for another tool.",
  unknown_credential: "The server does not know this passkey. Enroll it.",
  authenticator_class_mismatch: "This tool does not take this kind of passkey.",
  signature_verification_failed: "The signature is not right.",
  signature_counter_regression: "The passkey may have been copied.",
  argument_hash_mismatch: "What was called is not what was approved.",
  tool_not_approved_required: "This tool needs no approval, says the server.",
  no_eligible_credential: "None of your passkeys is enough for this tool.",
  credential_already_enrolled: "This passkey is enrolled already.",
  no_pending_enrollment: "The enrollment took too long.",
  verification_failed: "The server could not verify the new passkey.",
};
const at = (id) => document.getElementById(id);
const connection = new Connection(new URLSearchParams(location.search).get("server"));
let tools = [];

class Ended extends Error {}

// ---- the person

/** Show who asks what, and wait for an answer: accept, decline or cancel. */
function decide({ who, text, url = "", schema = null }) {
  at("who").textContent = who;
  at("text").textContent = text;
  at("url").textContent = url;
  at("host").textContent = url ? aboutAddress(url) : "";
  at("wrong").textContent = "";
  const members = Object.entries(schema?.properties ?? {});
  at("fields").replaceChildren(...members.map(([name, member]) => field(name, member)));
  at("review").hidden = false;
  return new Promise((resolve) => {
    const end = (action, content) => {
      at("review").hidden = true;
      resolve({ action, content });
    };
    at("decline").onclick = () => end("decline");
    at("cancel").onclick = () => end("cancel");
    at("agree").onclick = () => {
      try {
        end("accept", schema ? filled(schema) : undefined);
      } catch (error) {
        at("wrong").textContent = error.message;
      }
    };
  });
}

function field(name, member) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  if (member.type === "boolean") {
    input.type = "text";
    input.placeholder = "true or false";
  }
  input.name = name;
  input.value = member.default ?? "";
  label.append(`${member.title ?? name} `, input);
  return label;
}

/** What the person filled in; throws what is expected instead. */
function filled(schema) {
  const content = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    const typed = at("fields").querySelector(`[name="${CSS.escape(name)}"]`).value.trim();
    if (typed === "" && !schema.required?.includes(name)) continue;
    content[name] = checked(name, member, typed);
  }
  return content;
}

function checked(name, member, typed) {
  const fits = (holds, expected) => {
    if (!holds) throw new Error(`${name}: expected ${expected}, got ${typed || "nothing"}`);
  };
  if (member.enum) fits(member.enum.includes(typed), `one of ${member.enum.join(", ")}`);
  if (member.type === "boolean") {
    fits(["true", "false"].includes(typed), "true or false");
    return typed === "true";
  }
  if (member.type === "integer" || member.type === "number") {
    const number = Number(typed);
    fits(typed !== "" && Number.isFinite(number), "a number");
    fits(member.type === "number" || Number.isInteger(number), "a whole number");
    fits(number >= (member.minimum ?? number) && number <= (member.maximum ?? number), "another number");
    return number;
  }
  fits(typed.length >= (member.minLength ?? 0), "a longer text");
  if (member.format === "email") fits(/^\S+@\S+$/.test(typed), "an address");
  if (member.format === "date") fits(/^\d{4}-\d\d-\d\d$/.test(typed), "a date");
  return typed;
}

function aboutAddress(url) {
  const parts = new URL(url);
  const told = [`It leads to ${parts.host || "no host"}.`];
  if (!/^https?:$/.test(parts.protocol)) told.push("Careful: no web address, it will not be opened.");
  if (parts.username || parts.host.includes("xn--")) told.push("Careful: it may look like another one.");
  return told.join(" ");
}

// ---- elicitation

async function answer(params) {
  const mode = params.mode ?? "form";
  if (!["form", "url"].includes(mode)) throw new ServerError({ code: -32602, message: "This mode was not declared" });
  const who = `${connection.server} asks`;
  if (mode === "form") {
    const { action, content } = await decide({ who, text: params.message, schema: params.requestedSchema });
    return action === "accept" ? { action, content } : { action };
  }
  const { action } = await decide({ who, text: params.message, url: params.url });
  if (action === "accept" && /^https?:/.test(params.url)) open(params.url, "_blank", "noopener");
  return { action };
}

/** The call, and the retries that its results ask for: each a new request with the same params. */
async function call(params) {
  let sent = params;
  for (let round = 0; round < 10; round++) {
    const result = await connection.request("tools/call", sent, answer);
    if (result.resultType !== "input_required") return result;
    const inputResponses = {};
    for (const [key, asked] of Object.entries(result.inputRequests ?? {})) {
      inputResponses[key] = await answer(asked.params);
    }
    sent = { ...params, inputResponses };
    if ("requestState" in result) sent.requestState = result.requestState;
  }
  throw new Ended("The server does not stop asking.");
}

// ---- SEP-2672

async function approved(params) {
  const asked = { toolName: params.name, arguments: params.arguments };
  const envelope = await connection.request("approval/challenge/create", asked);
  const who = `${connection.server} wants ${params.name} approved`;
  const { action } = await decide({ who, text: envelope.displayText });
  if (action !== "accept") throw new Ended(action === "decline" ? "You declined." : "You left it.");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(envelope.requestOptions);
  const credential = await navigator.credentials.get({ publicKey });
  const evidence = { method: "webauthn", challengeId: envelope.challengeId, response: credential.toJSON() };
  return { ...params, _meta: { [KEY]: evidence } };
}

async function enroll() {
  const { options } = await connection.request("approval/enroll/begin", {});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const made = await navigator.credentials.create({ publicKey });
  await connection.request("approval/enroll/finish", { response: made.toJSON() });
  return "The passkey is enrolled.";
}

// ---- the page

async function told(act) {
  at("call").disabled = true;
  at("outcome").textContent = "";
  try {
    at("outcome").textContent = await act();
  } catch (error) {
    const words = WORDS[error.data?.reason];
    at("outcome").textContent = words ? `Refused: ${words}` : `${error.name}: ${error.message}`;
  }
  at("call").disabled = false;
}

at("calling").onsubmit = (event) => {
  event.preventDefault();
  told(async () => {
    const tool = tools.find((one) => one.name === at("tool").value);
    let params = { name: tool.name, arguments: JSON.parse(at("arguments").value) };
    if (tool._meta?.[KEY]) params = await approved(params);
    const result = await call(params);
    return `Done: ${(result.content ?? []).map((one) => one.text).join("\n")}`;
  });
};
at("enroll").onclick = () => told(enroll);

await told(async () => {
  await connection.open();
  ({ tools } = await connection.request("tools/list", {}));
  at("tool").replaceChildren(...tools.map((tool) => new Option(tool.name)));
  if (tools.some((tool) => tool._meta?.[KEY]) && !connection.capabilities.extensions?.verifiedApproval) {
    at("warning").textContent = "This server asks for approvals, and does not declare the capability for them.";
  }
  return `Connected to ${connection.server}.`;
});
