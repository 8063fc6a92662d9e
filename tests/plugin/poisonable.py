"""A server that odd transports poison: python -m tests.plugin.poisonable PORT NAME."""

from __future__ import annotations

import sys

import uvicorn

from tests.mutants.sep2672 import poison as sep2672_poison


def main() -> None:
    port, name = sys.argv[1:]
    server = getattr(sep2672_poison, name)()
    uvicorn.run(server.asgi_app(), host="127.0.0.1", port=int(port), log_level="error")


if __name__ == "__main__":
    main()
