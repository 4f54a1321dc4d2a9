"""The files that respondents' browsers run are those of the release: their hashes were pinned when it was built."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hushpoll_client import HushpollError

import hushpoll_server

_PLACE = Path(hushpoll_server.__file__).parent
PINNED = _PLACE / "assets.sha256"


def check_pins(pinned: Path = PINNED) -> int | None:
    """Refuse to serve a file that is not the one that was built; give their number, None for a development tree."""
    if not pinned.exists():
        return None
    packages, digests = pinned.parent.parent, {}
    for line in pinned.read_text(encoding="ascii").splitlines():
        digest, _, name = line.partition("  ")
        digests[name] = digest
    for name, digest in digests.items():
        path = packages / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            raise HushpollError(f"{path}: is not the file of this release", "install the release again")
    folders = {(packages / name).parent for name in digests}
    for folder in sorted(folders):
        for path in folder.iterdir():
            if path.suffix == ".js" and str(path.relative_to(packages)) not in digests:
                raise HushpollError(f"{path}: is not a file of this release", "install the release again")
    return len(digests)
