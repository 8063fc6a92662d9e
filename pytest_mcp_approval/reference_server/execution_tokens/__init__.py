"""ADR-006 as a library: an arbiter that approves, an operator that executes, a log of nonces."""
