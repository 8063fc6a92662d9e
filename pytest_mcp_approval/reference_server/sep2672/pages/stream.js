// The answer to a request, from a JSON body or an event stream. Knows no method and no session.

const LARGEST = 32 * 1024 * 1024; // characters; more than that is not read

export class UnreadableAnswer extends Error {}

/** The JSON-RPC message with this id; undefined if the answer ends without it. */
export async function answerIn(response, id) {
  const type = (response.headers.get("content-type") ?? "").split(";")[0].trim().toLowerCase();
  if (type === "text/event-stream") {
    for await (const data of events(texts(response))) {
      const found = pick(parse(data), id);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (type !== "application/json") throw new UnreadableAnswer(`got ${type || "nothing"} (status ${response.status}), expected JSON`);
  let whole = "";
  for await (const text of texts(response)) whole += text;
  return pick(parse(whole), id);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new UnreadableAnswer("got something that is not JSON");
  }
}

/** An error may come without an id, if the server could not read ours. */
function pick(message, id) {
  for (const one of Array.isArray(message) ? message : [message]) {
    if (one === null || typeof one !== "object" || "method" in one) continue;
    if (one.id === id || (one.error && (one.id === null || one.id === undefined))) return one;
  }
  return undefined;
}

async function* texts(response) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let length = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      length += value.length;
      if (length > LARGEST) throw new UnreadableAnswer("got an endless answer");
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {}); // the answer is complete: hang up
  }
}

/** The data of each event. */
async function* events(chunks) {
  let data = [];
  for await (const line of lines(chunks)) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    if (line !== "") continue;
    if (data.length) yield data.join("\n");
    data = [];
  }
}

/** They end with CR LF, LF or CR, which may be cut anywhere; an unfinished line does not count. */
async function* lines(chunks) {
  let rest = "";
  for await (const chunk of chunks) {
    rest += chunk;
    const isOpen = rest.endsWith("\r"); // an LF may follow
    const found = (isOpen ? rest.slice(0, -1) : rest).split(/\r\n|\n|\r/);
    rest = found.pop() + (isOpen ? "\r" : "");
    yield* found;
  }
  if (rest.endsWith("\r")) yield rest.slice(0, -1);
}
