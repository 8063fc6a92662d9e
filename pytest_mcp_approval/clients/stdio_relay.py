"""What a client starts as its stdio server: carries bytes to the suite and back, and nothing else.

    python stdio_relay.py PORT KEY

Run by its path, without the package, so that it starts at once. Knows no message.
"""

import os
import socket
import sys
import threading

_PIECE = 65536


def main() -> None:
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10)
    connection.settimeout(None)
    connection.sendall(sys.argv[2].encode() + b"\n")
    threading.Thread(target=_back, args=(connection,), daemon=True).start()
    while piece := os.read(0, _PIECE):
        connection.sendall(piece)
    connection.shutdown(socket.SHUT_WR)


def _back(connection: socket.socket) -> None:
    while piece := connection.recv(_PIECE):
        while piece:
            piece = piece[os.write(1, piece) :]
    # The suite hung up: so does this server.
    os._exit(0)


if __name__ == "__main__":
    main()
