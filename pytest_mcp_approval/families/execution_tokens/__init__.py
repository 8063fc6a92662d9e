"""ADR-006: an action's content, approved by an HMAC token with a nonce that survives restarts."""
