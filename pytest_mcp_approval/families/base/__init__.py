"""What the families share: driver, scenario, preflight, needs, a client of HTML forms."""
