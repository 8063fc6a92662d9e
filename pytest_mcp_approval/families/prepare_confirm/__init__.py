"""Two-step tools: prepare_x shows what would happen, confirm_x does it on a one-time token."""
