"""A run inside pytest: collection, preflight, verdicts step by step, and the end of the run."""
