// Every way in which something can fail, in words. The code of each is shown too, for bug reports.
// Knows no screen.

import { Declined, NoChallenge, mayHaveRun } from "./ceremony.js";
import { NoAnswer, RpcError } from "./mcp.js";
import { PasskeysMissing } from "./webauthn.js";

/** SEP-2672 section 4.10: what happened, and what to do. */
export const REASONS = {
  missing_evidence: ["The approval did not arrive", "The call reached the server without a complete approval, so it was not run. Ask again."],
  unsupported_method: ["The server wants another kind of approval", "It was sent a passkey approval, and says that it does not accept one. Nothing was run."],
  challenge_unknown: ["The server does not know this request", "It may have been restarted since, or the request is someone else's. Nothing was run. Ask again for a new one."],
  challenge_consumed: ["This approval was used before", "An approval is good for one call only. If it was not you who used it, find out who did before you ask again."],
  challenge_expired: ["The approval came too late", "The request had expired by the time your approval arrived, so nothing was run. Ask again, and approve before the time that is shown."],
  challenge_wrong_tool: ["The approval is for another tool", "What you approved was not this tool, so nothing was run. Ask again."],
  unknown_credential: ["This passkey is not enrolled here", "The server does not know the passkey that signed. Enrol it first, or use one that is listed."],
  authenticator_class_mismatch: ["This passkey is not enough for this tool", "The tool wants a passkey that can be used from another device: a security key, a phone or a synced passkey. Yours is bound to one device."],
  signature_verification_failed: ["The signature is not valid", "The server could not verify what your passkey signed, so nothing was run. If it happens again, enrol the passkey again."],
  signature_counter_regression: ["This passkey may have been copied", "It counted backwards, as a copy would. Nothing was run. If you cannot explain it, stop using this passkey."],
  argument_hash_mismatch: ["The call is not the one that you approved", "Its arguments were changed after you approved them, so nothing was run. Find out how before you ask again."],
  tool_not_approved_required: ["This tool needs no approval", "The server issues no approval for it, although it is listed as needing one. Reload the page to see the tools as they are now."],
  no_eligible_credential: ["You have no passkey for this tool", "Enrol a passkey first. If you have one: this tool may want one that can be used from another device, such as a security key, a phone or a synced passkey."],
  credential_already_enrolled: ["This passkey is already enrolled", "There is nothing left to do: you can approve with it."],
  no_pending_enrollment: ["The enrolment has expired", "It took too long, or was finished before. Start it again."],
  verification_failed: ["The new passkey could not be verified", "The server does not trust what your device sent, and did not keep it. Most often the page's address is not one that the server knows."],
};

const BROWSER = {
  NotAllowedError: {
    create: ["No passkey was made", "The prompt was declined, closed, or ran out of time. Nothing was enrolled."],
    get: ["Not approved", "The prompt was declined, closed, or ran out of time, or no enrolled passkey was at hand. Nothing was called."],
  },
  AbortError: {
    create: ["Enrolment cancelled", "Nothing was enrolled."],
    get: ["Approval cancelled", "Nothing was called."],
  },
  InvalidStateError: {
    create: ["This device is already enrolled", "It holds a passkey for this server, with which you can approve."],
    get: ["This passkey cannot be used now", "The device says that it is in no state to sign. Nothing was called."],
  },
  SecurityError: {
    create: ["Passkeys cannot be used at this address", "The server's passkeys are for another address. Open the page under the server's own name: localhost, not a number."],
    get: ["Passkeys cannot be used at this address", "The server's passkeys are for another address. Open the page under the server's own name: localhost, not a number. Nothing was called."],
  },
  NotSupportedError: {
    create: ["No suitable device", "None of your devices can make a passkey of the kind that the server asks for."],
    get: ["No suitable device", "None of your devices can sign in the way that the server asks for. Nothing was called."],
  },
  ConstraintError: {
    create: ["No suitable device", "None of your devices can verify you in the way that the server asks for."],
    get: ["No suitable device", "None of your devices can verify you in the way that the server asks for. Nothing was called."],
  },
};

const SILENCE = {
  unreachable: ["The server cannot be reached", "It may have been stopped. Start it, and try again."],
  silent: ["The server does not answer", "It took the request and said nothing in time."],
  "session-lost": ["The server has forgotten this session", "It was restarted, or the session was ended. The call did not run, and was not sent again. Ask again for a new approval."],
  unreadable: ["The answer makes no sense", "What came back is no answer to what was asked."],
  cancelled: ["Cancelled", "The request was given up."],
};
const UNSURE = " It may or may not have run: look before you ask again.";

/**
 * {kind, title, text, code, said}: `kind` is refused, declined or failed, `said` is what the other side said.
 * `ceremony` is "create" or "get".
 */
export function explain(error, ceremony) {
  if (error instanceof Declined) return words("declined", ["Declined", "You did not approve. Nothing was called."], "declined");
  if (error instanceof RpcError) return refused(error);
  if (error instanceof NoAnswer) {
    const [title, text] = SILENCE[error.kind];
    return words("failed", [title, mayHaveRun(error) ? text + UNSURE : text], `${error.kind} · ${error.method}`, error.message);
  }
  if (error instanceof NoChallenge) return words("failed", ["The server sent no usable challenge", "Without one there is nothing to approve. Nothing was called."], `no challenge · ${error.message}`);
  if (error instanceof PasskeysMissing) return words("failed", ["This browser offers no passkeys here", "They work on https and on http://localhost, in a browser that knows WebAuthn."], "no WebAuthn");
  const known = BROWSER[error?.name]?.[ceremony];
  if (known) {
    const kind = error.name === "NotAllowedError" || error.name === "AbortError" ? "declined" : "failed";
    return words(kind, known, error.name, error.message);
  }
  return words("failed", ["Something went wrong in this page", "Nothing more was sent."], String(error?.name ?? "Error"), String(error?.message ?? error));
}

function refused(error) {
  const reason = error.data !== null && typeof error.data === "object" ? error.data.reason : undefined;
  const code = [reason, error.code, error.method].filter((part) => part !== undefined).map(String).join(" · ");
  if (typeof reason === "string") {
    const known = Object.hasOwn(REASONS, reason) ? REASONS[reason] : ["The server refused", "Its reason is one that this page does not know. Nothing was run."];
    return { ...words("refused", known, code, error.message), reason };
  }
  if (error.code === -32602) return words("refused", ["The server cannot use these arguments", "Nothing was run. Correct them, and ask again."], code, error.message);
  if (error.code === -32601) return words("refused", ["The server does not know this request", "It has no approval by passkey, or no such method."], code, error.message);
  return words("refused", ["The server refused", "It gives no reason that this page could explain."], code, error.message);
}

function words(kind, [title, text], code, said = "") {
  return { kind, title, text, code, said };
}
