/**
 * The one way to say no (SEP-2672 section 4.10): code -32001 and a reason from the document's list.
 * The message is for people; clients branch on the reason.
 */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';

const APPROVAL_ERROR_CODE = -32001;

const MESSAGES = {
  // tools/call, in the order of section 4.8
  missing_evidence: 'This tool needs an approval, and the call carries no whole evidence of one',
  unsupported_method: 'Approvals are accepted by the method "webauthn" only',
  challenge_unknown: 'No challenge with this id is known here',
  challenge_consumed: 'This challenge has been used; ask for a new one',
  challenge_expired: 'This challenge has expired; ask for a new one',
  challenge_wrong_tool: 'This challenge was issued for another tool',
  unknown_credential: 'This credential is not enrolled',
  authenticator_class_mismatch: 'This tool does not accept credentials that live on this device only',
  signature_verification_failed: 'The assertion could not be verified',
  signature_counter_regression: "The authenticator's counter did not increase",
  argument_hash_mismatch: 'The approval is for other arguments than those of this call',
  // approval/challenge/create
  tool_not_approved_required: 'There is no tool of this name that needs an approval',
  no_eligible_credential: 'No enrolled credential may approve this tool',
  // approval/enroll/finish
  credential_already_enrolled: 'This credential is enrolled already',
  no_pending_enrollment: 'There is no open enrolment for this response; begin a new one',
  verification_failed: 'The registration could not be verified',
};

/** @param {keyof typeof MESSAGES} reason */
export function approvalError(reason) {
  return new ProtocolError(APPROVAL_ERROR_CODE, MESSAGES[reason], { reason });
}

/** @param {string} message what was got, and what was expected */
export function invalidParams(message) {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
