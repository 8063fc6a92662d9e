"""AAI gateway: a tool for one caller, by a consent page; then the app's own authorisation."""
