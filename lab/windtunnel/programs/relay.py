"""Carry connections over a wall: from a port to a Unix socket, and back.

Inside bubblewrap there is no network but the loopback of its own. This file is started
there as a script, with nothing but Python's library. It listens on the server's port,
hands each connection to a socket in the file system, and runs the program. Outside,
`carry` hands the connections on to the server.

    python relay.py PORT SOCKET COMMAND...

What the program leaves behind ends with bubblewrap.
"""

import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

NOT_FOUND = 127
"""Exit code if there is no such program, as in a shell."""
_PIECE = 65_536


def carry(listener: socket.socket, reach: Callable[[], socket.socket]) -> None:
    """Hand each connection that comes to a socket that `reach` opens, in threads of
    their own. Returns when the listener is closed."""
    with suppress(OSError):
        while True:
            near, _ = listener.accept()
            try:
                far = reach()
            except OSError:
                near.close()
                continue
            threading.Thread(target=_join, args=(near, far), daemon=True).start()


def reach_socket(path: str) -> socket.socket:
    """Connect to a Unix socket."""
    far = socket.socket(socket.AF_UNIX)
    far.connect(path)
    return far


def _join(near: socket.socket, far: socket.socket) -> None:
    """Carry both ways until both ends are done, then close them."""
    with near, far:
        back = threading.Thread(target=_pump, args=(far, near), daemon=True)
        back.start()
        _pump(near, far)
        back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_PIECE):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def main() -> int:
    """Run the program behind the relay and return its exit code."""
    port = int(sys.argv[1])
    path = sys.argv[2]
    listener = socket.create_server(("127.0.0.1", port))
    carrier = threading.Thread(
        target=carry, args=(listener, lambda: reach_socket(path)), daemon=True
    )
    carrier.start()
    try:
        code = subprocess.run(sys.argv[3:], stdin=subprocess.DEVNULL).returncode
    except OSError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return NOT_FOUND
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main())
