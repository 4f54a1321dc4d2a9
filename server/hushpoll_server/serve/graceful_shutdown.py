"""On SIGTERM the server accepts no new connections and answers those that are open or waiting.

The system completes a connection, which then waits in the listener's queue until a worker accepts it. Connections that
are still in the queue when the listener closes are reset, and the browser shows an error. So the listener first
ignores new connections, and closes when the queue is empty. A client that connects in between retries after a second,
and reaches the server that was started since, or none.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from contextlib import suppress
from typing import Any

# Linux' number for it, which Python has no name for.
_SO_ATTACH_FILTER = 26
# A Berkeley packet filter, which gets the TCP header and drops requests for a connection.
_FLAGS, _SYN = 13, 0x02
_DROP_NEW = (
    (0x30, 0, 0, _FLAGS),  # load the byte of the flags
    (0x45, 0, 1, _SYN),  # SYN? then on to the next line, else over it
    (0x06, 0, 0, 0),  # take nothing of the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # take all of it
)


def ignore_new_connections(listener: Any) -> None:
    """Accept no new connections; those that are open or on their way are not touched. Does nothing except on Linux."""
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in _DROP_NEW))
    pointer = struct.pack("@HP", len(_DROP_NEW), ctypes.addressof(program))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pointer)


def ignore_new_connections_on_stop(arbiter: Any) -> None:
    """Make gunicorn's main process ignore new connections before it tells its workers to stop.

    Not if another process listens on the same socket: the successor after an upgrade, or systemd.
    """
    stop = arbiter.stop

    def ignore_and_stop(graceful: bool = True) -> None:
        if arbiter.reexec_pid == arbiter.master_pid == 0 and not arbiter.systemd:
            for listener in arbiter.LISTENERS:
                ignore_new_connections(listener)
        stop(graceful)

    arbiter.stop = ignore_and_stop
