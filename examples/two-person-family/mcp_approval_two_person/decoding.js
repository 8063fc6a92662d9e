// What the messages of the two-person rule mean, for somebody who reads a report. Judges nothing.
// What it is given comes from a stranger, so anything may be missing or of another type.

explainers.two_person = {
  exchange(method, request, answer) {
    if (method !== "tools/call") return {};
    const { name, arguments: given } = request?.params ?? {};
    const said = answer?.result?.structuredContent;
    const what = given?.action ?? (given?.requestId ? `request ${given.requestId}` : "");
    const explained = { request: `${name} ${what}` };
    if (said?.state) explained.answer = said.reason ? `${said.state}: ${said.reason}` : String(said.state);
    return explained;
  },
};
