// A client on the TypeScript SDK 2.x that asks its person: `node client.js URL`, or a command.
// The SDK speaks both eras, sends the retry and returns the state by itself; what it cannot know is
// who sits in front of it. That is the handler of elicitation/create.
import { spawn } from "node:child_process";
import readline from "node:readline";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const ANSWERS = { y: "accept", n: "decline", c: "cancel" };
const lines = readline.createInterface({ input: process.stdin, terminal: false })[Symbol.asyncIterator]();

async function ask(prompt) {
  process.stdout.write(prompt);
  const { value, done } = await lines.next();
  return done ? null : value.trim();
}

async function decide(question) {
  for (;;) {
    const said = await ask(`${question} [y/n/c] `);
    if (said === null) return "cancel";
    if (said in ANSWERS) return ANSWERS[said];
  }
}

/** What was typed, as the schema wants it; throws what is expected. */
function checked(member, typed) {
  const fits = (holds, expected) => {
    if (!holds) throw new Error(expected);
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
    fits(number >= (member.minimum ?? number) && number <= (member.maximum ?? number), "another one");
    return number;
  }
  fits(typed.length >= (member.minLength ?? 0), "a longer text");
  if (member.format === "email") fits(typed.includes("@"), "an address");
  if (member.format === "date") fits(/^\d{4}-\d\d-\d\d$/.test(typed), "a date");
  return typed;
}

async function fill(schema) {
  const content = {};
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    for (;;) {
      const typed = (await ask(`${name} = `)) ?? "";
      if (typed === "" && ("default" in member || !schema.required?.includes(name))) {
        if ("default" in member) content[name] = member.default;
        break;
      }
      try {
        content[name] = checked(member, typed);
        break;
      } catch (error) {
        console.log(`not taken: ${error.message}`);
      }
    }
  }
  return content;
}

async function visit({ url }) {
  console.log(url);
  const parts = new URL(url);
  console.log(`It leads to ${parts.host || "no host"}`);
  const opens = ["http:", "https:"].includes(parts.protocol);
  if (!opens) console.log("Careful: no web address, it will not be opened");
  if (parts.username || parts.host.includes("xn--")) {
    console.log("Careful: this address may look like another one");
  }
  const action = await decide("Open it?");
  if (action === "accept" && opens) {
    await new Promise((done) => spawn(process.env.BROWSER ?? "xdg-open", [url]).on("close", done));
  }
  return { action };
}

const client = new Client(
  { name: "example-client", version: "1.0.0" },
  { capabilities: { elicitation: { form: {}, url: {} } }, versionNegotiation: { mode: "auto" } },
);

client.setRequestHandler("elicitation/create", async ({ params }) => {
  console.log(`${client.getServerVersion()?.name ?? "The server"} asks:\n${params.message}`);
  if (params.mode === "url") return visit(params);
  const action = await decide("Answer?");
  if (action !== "accept") return { action };
  const content = await fill(params.requestedSchema);
  console.log(JSON.stringify(content));
  const sent = await decide("Send this?");
  return sent === "accept" ? { action: sent, content } : { action: sent };
});

const [first, ...rest] = process.argv.slice(2);
const transport = first.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(first))
  : new StdioClientTransport({ command: first, args: rest });
await client.connect(transport);
await client.listTools();
for (;;) {
  const line = await ask("mcp> ");
  if (line === null) break;
  const [, name, written] = /^call (\S+) (.*)$/.exec(line) ?? [];
  try {
    const result = await client.callTool({ name, arguments: JSON.parse(written) });
    console.log(result.content.map((one) => one.text ?? "").join("\n"));
  } catch (error) {
    console.log(`refused: ${error.message}`);
  }
}
await client.close();
