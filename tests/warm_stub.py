"""The visible half of a program that is started warm (tests/warm_python.py).

    python -I -S warm_stub.py SOCKET (-m MODULE | SCRIPT) [ARGUMENT ...]

Hands its arguments, environment, folder, ignored signals and standard streams to the process that
has everything loaded. It then passes signals on, and ends as the program ends. If it is killed, its
end of the socket closes, and the program is killed too. Imports as little as possible: it has to be
quick.
"""

import json
import os
import signal
import socket
import sys

PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.connect(sys.argv[1])
    folder = os.getcwd()  # noqa: PTH109 pathlib takes longer to load than all of this
    ignored = [number for number in PASSED_ON if signal.getsignal(number) == signal.SIG_IGN]
    told = json.dumps([sys.argv[2:], dict(os.environ), folder, ignored]).encode()
    socket.send_fds(link, [len(told).to_bytes(4, "big")], [0, 1, 2])
    link.sendall(told)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # the program has them now, and closing them is up to it
        os.dup2(nothing, stream)
    program = int.from_bytes(link.recv(4), "big")
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(program, number))
    status = int.from_bytes(link.recv(4), "big", signed=True)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
