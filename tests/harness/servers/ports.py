"""Ports of 127.0.0.1 that belong to one test: no other process can take them, also while no server listens.

A number alone is not enough: between the socket that found a free port and the server that binds it, another process may
get the port, as a server or as the local end of a connection. A Port keeps its socket until it is closed.
"""

import os
import pathlib
import socket
import subprocess
import time

START_SECONDS = 120  # devpi takes ten of them on a busy machine
LISTENING = "0A"


class Port:
    """The socket never listens, so clients are refused until a server of this test binds the number.

    Servers may bind it because both sides set SO_REUSEADDR and only one of them listens; a bind to port 0 and a connect
    never pick a port that a socket is bound to. Linux: inet_csk_bind_conflict, __inet_hash_connect.
    """

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.number = self.socket.getsockname()[1]

    def listeners(self) -> set[str]:
        """The sockets that listen on the port, as links in /proc/<pid>/fd name them."""
        found = set()
        for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, *_, = columns = line.split()
            if state == LISTENING and local.endswith(f":{self.number:04X}"):
                found.add(f"socket:[{columns[9]}]")
        return found

    def serve(self, command: list, log: pathlib.Path, **options) -> subprocess.Popen:
        """Starts a server that binds the port, and returns once it listens there: this process, and no other."""
        with open(log, "wb") as output:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, **options)
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            if listeners := self.listeners():
                assert listeners <= sockets_of(process.pid), f"another process than {command[0]} listens on port {self.number}"
                return process
            time.sleep(0.02)
        process.kill()
        process.wait()
        raise AssertionError(f"{command[0]} does not listen on port {self.number}:\n{log.read_text(errors='replace')}")

    def close(self) -> None:
        self.socket.close()


def sockets_of(pid: int) -> set[str]:
    found = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.add(os.readlink(descriptor))
        except FileNotFoundError:
            pass
    return found
