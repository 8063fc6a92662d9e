"""The gate of SEP-2672: per-call approval by a passkey, for a server of any transport."""
