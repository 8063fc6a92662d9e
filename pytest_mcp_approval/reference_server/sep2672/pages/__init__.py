"""The web client of the reference server: static files, and the routes that serve them."""
