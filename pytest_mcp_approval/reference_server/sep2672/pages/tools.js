// What a listing says about a tool's approval (SEP-2672 sections 4.2 and 4.3). Knows no screen.

export const META_KEY = "io.modelcontextprotocol/verified-approval";
const CAPABILITY = "verifiedApproval";
const CLASSES = ["cross-platform", "platform"];
const MOST_PAGES = 100;

/** {name, title, description, schema, approval}; `approval` is undefined for a tool that needs none. */
export async function listTools(connection) {
  const tools = [];
  let cursor;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const result = await connection.request("tools/list", cursor === undefined ? {} : { cursor });
    for (const one of Array.isArray(result?.tools) ? result.tools : []) {
      if (typeof one?.name === "string") tools.push(described(one));
    }
    cursor = result?.nextCursor;
    if (typeof cursor !== "string") break;
  }
  return tools;
}

function described(listing) {
  return {
    name: listing.name,
    title: typeof listing.title === "string" && listing.title ? listing.title : listing.name,
    description: typeof listing.description === "string" ? listing.description : "",
    schema: listing.inputSchema ?? {},
    approval: approvalOf(listing),
  };
}

/** Unknown members are ignored. Any mark, even a malformed one, means that approval is wanted. */
function approvalOf(listing) {
  const meta = listing._meta;
  if (meta === null || typeof meta !== "object" || !(META_KEY in meta)) return undefined;
  const said = meta[META_KEY] ?? {};
  const given = said.authenticatorClass;
  const oddities = [];
  if (said.required !== "verified") oddities.push(`required is ${JSON.stringify(said.required)}, not "verified"`);
  if (given !== undefined && !CLASSES.includes(given)) oddities.push(`authenticatorClass is ${JSON.stringify(given)}, which is unknown`);
  return { class: CLASSES.includes(given) ? given : "cross-platform", isGiven: given !== undefined, oddities };
}

/** Contradictions between the capability and the listings, one line each. */
export function inconsistencies(capabilities, tools) {
  const gated = tools.filter((tool) => tool.approval);
  const extensions = capabilities.extensions;
  const declared = extensions !== null && typeof extensions === "object" && CAPABILITY in extensions;
  const found = gated.flatMap((tool) => tool.approval.oddities.map((oddity) => `${tool.name}: ${oddity}.`));
  if (gated.length && !declared) {
    const names = gated.map((tool) => tool.name).join(", ");
    found.unshift(`The server marks tools as needing approval (${names}) but does not say that it can approve: the capability ${CAPABILITY} is missing.`);
  }
  return found;
}
