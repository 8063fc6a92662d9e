"""The gate that asks a person through the client: by a form, or on a page of its own."""
