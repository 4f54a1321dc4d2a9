"""The process that publishes metrics, as gunicorn's master starts and ends it, and the folder its workers count in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from hushpoll_client import HushpollError

from hushpoll_server.config import Config
from hushpoll_server.metrics.counting import FOLDER

_OURS = "HUSHPOLL_METRICS_FOLDER"


def prepare(config: Config, mounts: Path = Path("/proc/self/mounts")) -> None:
    """Make a folder in memory for the workers' counts, and name it in the environment; nothing without METRICS_PORT."""
    if not config.metrics_port or _OURS in os.environ:
        return
    folders = [os.environ.get("RUNTIME_DIRECTORY", ""), "/dev/shm"]  # noqa: S108
    folder = next((folder for folder in folders if folder and is_in_memory(Path(folder), mounts)), None)
    if folder is None:
        # On a disk the files would be written back again and again, with the time of each change.
        raise HushpollError(
            "METRICS_PORT: there is no file system in memory (/dev/shm, RUNTIME_DIRECTORY)",
            "mount one, or turn metrics off",
        )
    os.environ[_OURS] = os.environ[FOLDER] = tempfile.mkdtemp(prefix="hushpoll-metrics-", dir=folder)


def is_in_memory(folder: Path, mounts: Path) -> bool:
    """Return whether a folder is on a tmpfs that we may write to."""
    if not os.access(folder, os.W_OK):
        return False
    points = [line.split() for line in mounts.read_text().splitlines()]
    parents = {str(parent): len(str(parent)) for parent in (folder, *folder.parents)}
    holding = [(parents[fields[1]], fields[2]) for fields in points if fields[1] in parents]
    return bool(holding) and max(holding)[1] in ("tmpfs", "ramfs")


def start(config: Config) -> subprocess.Popen[bytes] | None:
    """Start the process; None without METRICS_PORT."""
    if not config.metrics_port:
        return None
    return subprocess.Popen([sys.executable, "-m", "hushpoll_server.metrics"])


def end(process: subprocess.Popen[bytes] | None) -> None:
    """End the process and delete the counts."""
    if process is not None:
        process.terminate()
    if folder := os.environ.pop(_OURS, ""):
        shutil.rmtree(folder, ignore_errors=True)
