"""The gate of the two-step tools, with a small back end of projects and users behind it."""
