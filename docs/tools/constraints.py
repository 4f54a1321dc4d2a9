"""Write constraints.txt of a release: the versions that it was tested with, for `pip install -c`.

    python docs/tools/constraints.py [FILE]

Without FILE they are printed. `requirements/run.txt` has the same versions with hashes, which pip takes only where
every file has one, the wheel of hushpoll itself included.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"^([A-Za-z0-9._-]+==[^ ;\\]+)(?: *; *([^\\\n]*))?", re.MULTILINE)


def constraints(requirements: str) -> str:
    """Return one line a package, with its marker and without hashes."""
    lines = [
        f"{pin} ; {marker.strip()}" if marker.strip() else pin for pin, marker in _PIN.findall(requirements)
    ]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    """Print the constraints, or write them."""
    text = constraints((ROOT / "requirements" / "run.txt").read_text())
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
