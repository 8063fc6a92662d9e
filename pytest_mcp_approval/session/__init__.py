"""A run inside pytest: what is collected, the preflight, the verdicts step by step, the end."""
