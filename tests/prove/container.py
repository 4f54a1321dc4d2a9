"""deploy/Containerfile without a container engine: every step in a bare Debian, then its entry point.

Needs root and debootstrap. PROVE_DEBIAN may name a tree that debootstrap has made, to copy instead of a download.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.serving import LONGEST, Postgres, reserve

ROOT = Path(__file__).parents[2]
FILE = ROOT / "deploy" / "Containerfile"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_WITHOUT_EFFECT = ("EXPOSE",)
# In mounts of its own: the root file system read-only, as compose.yaml asks for, and what it may write in memory.
_LOCKED = """
mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/tmp"
mkdir -p /dev/shm && mount -t tmpfs tmpfs "$1/dev" && mkdir "$1/dev/shm" && chmod 1777 "$1/dev/shm" "$1/tmp"
for device in null urandom; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
for volume in $3; do mount --bind "$1.volumes$volume" "$1$volume"; done
root="$1"; user="$2"; shift 3; exec chroot --userspec="$user" "$root" "$@"
"""


@dataclass
class Image:
    """What the instructions of a Containerfile make of a tree."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    user: str = "root"
    volumes: tuple[str, ...] = ()
    entry: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    health: tuple[str, ...] = ()


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile with their arguments; each is on one line."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2]) for line in lines]


def context(folder: Path) -> None:
    """Make the release that the image is built from: the wheel and the versions it was tested with."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    constraints = [sys.executable, "docs/tools/constraints.py", str(folder / "constraints.txt")]
    for command in (build, constraints):
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)


def fetch_packages(release: Path, folder: Path) -> None:
    """Fetch the libraries here, where pip knows its index, for an installation without one."""
    (wheel,) = release.glob("*.whl")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--only-binary=:all:",
        "--python-version=3.11",
    ]
    command += ["--constraint", str(release / "constraints.txt"), "--dest", str(folder), f"{wheel}[server]"]
    subprocess.run(command, check=True, capture_output=True)


def bare_debian(root: Path, suite: str) -> None:
    """Make the tree that FROM names."""
    if ready := os.environ.get("PROVE_DEBIAN"):
        subprocess.run(["cp", "-a", ready, str(root)], check=True)
        return
    assert shutil.which("debootstrap"), (
        "debootstrap is missing; install it (Debian: apt-get install debootstrap)"
    )
    done = subprocess.run(
        ["debootstrap", "--variant=minbase", suite, str(root)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


def build(image: Image, release: Path, tell: Callable[[str], None]) -> int:
    """Carry out the Containerfile; return the number of RUN steps."""
    steps = 0
    for name, argument in instructions(FILE.read_text("utf-8")):
        tell(f"{name} {argument[:60]}")
        steps += name == "RUN"
        _carry_out(image, release, name, argument)
    return steps


def _carry_out(image: Image, release: Path, name: str, argument: str) -> None:
    if name == "FROM":
        suite = re.fullmatch(r"docker\.io/library/debian:(\w+)-slim", argument)
        assert suite, f"FROM {argument}: not a Debian"
        bare_debian(image.root, suite[1])
        shutil.copytree(release / "wheels", image.root / "wheels")
    elif name == "RUN":
        _run(image, argument)
    elif name == "COPY":
        _copy(image, release, *argument.split())
    else:
        _set(image, name, argument)


def _copy(image: Image, release: Path, *names: str) -> None:
    *patterns, target = names
    folder = image.root / target.lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in patterns:
        for path in release.glob(pattern):
            shutil.copy(path, folder)


def _set(image: Image, name: str, argument: str) -> None:
    """Note what an instruction says about running the image."""
    if name == "ENV":
        key, _, value = argument.partition("=")
        image.environment[key] = value
    elif name == "USER":
        image.user = argument
    elif name == "VOLUME":
        image.volumes = tuple(argument.split())
    elif name == "ENTRYPOINT":
        image.entry = tuple(json.loads(argument))
    elif name == "CMD":
        image.command = tuple(json.loads(argument))
    elif name == "HEALTHCHECK":
        image.health = tuple(json.loads(argument.partition("CMD ")[2]))
    else:
        assert name in _WITHOUT_EFFECT, f"{name}: not known to this harness"


def _run(image: Image, command: str) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        ["chroot", str(image.root), "/bin/sh", "-c", command],
        env={"PATH": PATH, **image.environment, **offline},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"RUN {command}: {(done.stdout + done.stderr)[-2000:]}"


def start(image: Image, port: int) -> subprocess.Popen[str]:
    """Start the entry point as its user, in its own mounts; only the port and the address are ours."""
    for volume in image.volumes:
        target = Path(f"{image.root}.volumes{volume}")
        target.parent.mkdir(parents=True, exist_ok=True)
        # An engine fills a new volume from the image, with owner and mode.
        subprocess.run(["cp", "-a", str(image.root / volume.lstrip("/")), str(target)], check=True)
    locked = ["sh", "-ec", _LOCKED, "sh", str(image.root), image.user, " ".join(image.volumes)]
    return subprocess.Popen(
        ["unshare", "--mount", *locked, *image.entry, *image.command],
        env={"PATH": PATH, **image.environment, "HOST": "127.0.0.1", "PORT": str(port)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def is_healthy(image: Image, port: int) -> bool:
    """Return what the health check says."""
    command = [word.replace(":8000/", f":{port}/") for word in image.health]
    done = subprocess.run(
        ["chroot", f"--userspec={image.user}", str(image.root), *command],
        env={"PATH": PATH, **image.environment},
        capture_output=True,
    )
    return done.returncode == 0


def _look(image: Image, process: subprocess.Popen[str], port: int) -> None:
    deadline = time.monotonic() + LONGEST
    while not is_healthy(image, port):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline, "the health check never holds"
        time.sleep(0.5)
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert re.search(r"^Uid:\t10001\t10001\t", status, re.MULTILINE), "it does not run as its user"
    volumes = {
        volume: {path.name for path in Path(f"{image.root}.volumes{volume}").iterdir()}
        for volume in image.volumes
    }
    assert "secret.key" in volumes["/var/lib/hushpoll-key"], volumes
    assert "hushpoll.sqlite3" in volumes["/var/lib/hushpoll"], volumes


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Build the image and run it."""
    assert os.getuid() == 0, "a chroot needs root"
    with tempfile.TemporaryDirectory(prefix="prove", dir="/var/tmp") as name:
        folder = Path(name)
        image, release = Image(folder / "root"), folder / "release"
        (release / "wheels").mkdir(parents=True)
        folder.chmod(0o755)
        context(release)
        fetch_packages(release, release / "wheels")
        steps = build(image, release, tell)
        with reserve() as held:
            port = held.getsockname()[1]
            process = start(image, port)
            try:
                _look(image, process, port)
            finally:
                process.send_signal(signal.SIGTERM)
                output = process.communicate(timeout=LONGEST)[0]
        assert process.returncode == 0, output
        assert "Account:" in output, output
    return (
        f"{steps} RUN steps in a bare Debian, healthy as {shlex.quote(image.user)} on a read-only file system"
    )
