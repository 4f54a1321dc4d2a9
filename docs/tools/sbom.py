"""Write the bill of materials of a release (CycloneDX 1.5): every package that `requirements/run.txt` pins.

    python docs/tools/sbom.py [FILE]

Without FILE it is printed. The same requirements give the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: *; *([^\\]*))?", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill(requirements: str, version: str) -> dict[str, Any]:
    """Make the bill from the text of a requirements file."""
    pins = list(_PIN.finditer(requirements))
    ends = [pin.start() for pin in pins[1:]] + [len(requirements)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/hushpoll@{version}",
                "name": "hushpoll",
                "version": version,
                "purl": f"pkg:pypi/hushpoll@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [
            _component(pin, requirements[pin.start() : end]) for pin, end in zip(pins, ends, strict=True)
        ],
    }


def _component(pin: re.Match[str], block: str) -> dict[str, Any]:
    name, version, marker = pin[1].lower(), pin[2], (pin[3] or "").strip()
    purl = f"pkg:pypi/{name}@{version}"
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        # Each file that may be installed: a wheel for one system or another, or the source.
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{name}/{version}/",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in sorted(_HASH.findall(block))],
            }
        ],
    }
    if marker:
        found["properties"] = [{"name": "python:marker", "value": marker}]
    return found


def main() -> None:
    """Print the bill, or write it."""
    sys.path.insert(0, str(ROOT / "client"))
    from hushpoll_client import __version__

    made = bill((ROOT / "requirements" / "run.txt").read_text(), __version__)
    text = json.dumps(made, indent=2, sort_keys=True) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
