"""The two-person rule: what one person requests, another one approves with a PIN."""
