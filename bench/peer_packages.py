"""The environment of the packages that we are compared with: bench/peers, made at the first run.

They pin what they need badly, and nobody who uses hushpoll needs them.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["PACKAGES", "peers_python"]

PEERS = Path(__file__).resolve().parent / "peers"
PACKAGES = (
    "pure-ldp==1.2.0",
    "multi-freq-ldpy==0.2.5",
    "opendp==0.16.0",
    "scikit-learn",
    "statsmodels",
    "xxhash<4",
    "setuptools",
)


def peers_python() -> Path:
    """Give the interpreter of their environment, which is made or brought up to date where it has to be."""
    python, listed = PEERS / "bin" / "python", PEERS / "packages.txt"
    wanted = "\n".join(PACKAGES)
    if not listed.exists() or listed.read_text("utf-8") != wanted:
        print("making bench/peers (once) ...", file=sys.stderr)
        venv.create(PEERS, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        listed.write_text(wanted, "utf-8")
    return python
