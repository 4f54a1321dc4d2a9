"""The end of listening: nobody new comes in, and everybody who is in is let through.

A connection is made by the system, and waits at the door until a worker takes it. Whoever comes in between the last one
taken and the closing of the door is thrown out: the browser sees a broken connection. Therefore the door is shut for
new ones first, and closed when all others have been taken. Who knocks in between hears nothing, knocks again a second
later, and finds the server that was started since, or none.
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
# A program of the Berkeley packet filter, which is given the TCP header: whoever asks for a connection is not heard.
_FLAGS, _SYN = 13, 0x02
_DROP_NEW = (
    (0x30, 0, 0, _FLAGS),  # load the byte of the flags
    (0x45, 0, 1, _SYN),  # SYN? then on to the next line, else over it
    (0x06, 0, 0, 0),  # take nothing of the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # take all of it
)


def shut_for_new(listener: Any) -> None:
    """Accept no new connections; those that are open or on their way are not touched. Does nothing except on Linux."""
    if sys.platform != "linux":
        return
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in _DROP_NEW))
    pointer = struct.pack("@HP", len(_DROP_NEW), ctypes.addressof(program))
    with suppress(OSError):
        listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, pointer)


def shut_when_told_to_stop(arbiter: Any) -> None:
    """Make gunicorn's first process shut the door before it tells its workers to end.

    Not where somebody else goes on listening at the same door: the process that follows after an upgrade, or systemd.
    """
    stop = arbiter.stop

    def shut_and_stop(graceful: bool = True) -> None:
        if arbiter.reexec_pid == arbiter.master_pid == 0 and not arbiter.systemd:
            for listener in arbiter.LISTENERS:
                shut_for_new(listener)
        stop(graceful)

    arbiter.stop = shut_and_stop
